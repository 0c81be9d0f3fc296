// A recursive descent parser of the text form (docs/TENSOR_IR.md). It stops at the first error. Nesting of brackets and
// depth of expressions are bounded, so that no text can exhaust the stack.
#include "tensor/parse.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <unordered_map>

#include "tensor/intrinsic.h"
#include "tensor/lexer.h"
#include "tensor/text.h"

namespace dlcc::tensor {
namespace {

constexpr int deepest_nesting = 200;
constexpr int deepest_expression = 2000;

// Thrown within the parser once a diagnostic was reported.
struct SyntaxError {};

class Parser {
 public:
  Parser(std::string_view text, const std::string& file, Diagnostics& diagnostics,
         std::span<const Intrinsic* const> known)
      : file_(file), diagnostics_(diagnostics), known_(known) {
    Lexer lexer(text);
    do tokens_.push_back(lexer.next());
    while (tokens_.back().kind != Token::Kind::end);
  }

  ParsedTensorIr module();

 private:
  // ---- tokens ----
  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  Token take() {
    Token t = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return t;
  }
  bool accept(std::string_view s) { return peek().is(s) ? (take(), true) : false; }
  void expect(std::string_view s) {
    if (!accept(s)) fail(peek(), fmt::format("expected '{}'", s));
  }
  [[noreturn]] void fail(const Token& t, const std::string& message) {
    std::string found = t.kind == Token::Kind::end ? "the end of the text" : "'" + t.text + "'";
    report(t, DiagnosticId::syntax_error, message + ", found " + found);
  }
  [[noreturn]] void report(const Token& t, DiagnosticId id, const std::string& message) {
    diagnostics_.error(id, {file_, t.line, t.column}, message);
    throw SyntaxError{};
  }

  // ---- names ----
  struct Meaning {  // one of them
    Var var;
    Buffer buffer;
  };
  struct Nest {  // one more level of brackets or blocks; names bound inside are forgotten at its end
    explicit Nest(Parser& p, bool scope = false) : p(p), bound(p.bound_.size()), scope(scope) {
      if (++p.nesting_ > deepest_nesting) p.report(p.peek(), DiagnosticId::syntax_error, "nested too deeply");
    }
    ~Nest() {
      --p.nesting_;
      if (!scope) return;
      for (; p.bound_.size() > bound; p.bound_.pop_back()) p.names_.erase(p.bound_.back());
    }
    Parser& p;
    size_t bound;
    bool scope;
  };
  std::string identifier();
  void bind(const Token& where, const std::string& name, Meaning m);
  const Meaning& look_up(const Token& t);
  Buffer buffer_named(const Token& t);

  // ---- parts ----
  std::string function_name();
  void symbols();
  int64_t integer();
  DType type();
  Dim dim();
  Dim dim_product();
  Dim dim_atom();
  Shape shape();
  Buffer declaration(Scope scope);
  std::vector<Axis> axes(Shape* origin = nullptr);

  // ---- expressions ----
  Expr make(const Token& where, DType type, decltype(ExprNode::v) v, const std::vector<Expr>& children);
  Expr expr();
  Expr infix(int lowest);
  Expr primary();
  Expr call();
  Expr number(bool negative);
  Expr load_from(const Token& name);
  std::vector<Expr> list(std::string_view end);

  // ---- definitions, statements ----
  TensorFunction function();
  Stage stage();
  bool at_reduction() const;
  Reduction reduction(std::vector<Expr>& values);
  Kernel kernel();
  Stmt block();
  Stmt statement();
  Stmt loop(LoopKind kind);
  Stmt if_statement();
  Stmt call_statement();
  Status status();

  const std::string& file_;
  Diagnostics& diagnostics_;
  std::span<const Intrinsic* const> known_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
  std::map<std::string, Meaning> names_;
  std::vector<std::string> bound_;
  std::map<std::string, Symbol> symbols_;
  std::vector<Expr> shared_;  // of the expression being read: %0, %1, ...
  std::unordered_map<const ExprNode*, int> depth_;
};

// ---- names and parts ------------------------------------------------------------------------------------------------

std::string Parser::identifier() {
  if (peek().kind != Token::Kind::word || is_reserved(peek().text)) fail(peek(), "expected a name");
  return take().text;
}

void Parser::bind(const Token& where, const std::string& name, Meaning m) {
  if (!names_.emplace(name, std::move(m)).second)
    report(where, DiagnosticId::duplicate_definition, fmt::format("'{}' is defined already", name));
  bound_.push_back(name);
}

const Parser::Meaning& Parser::look_up(const Token& t) {
  auto it = names_.find(t.text);
  if (it == names_.end()) report(t, DiagnosticId::undefined_value, fmt::format("'{}' is not defined", t.text));
  return it->second;
}

Buffer Parser::buffer_named(const Token& t) {
  const Meaning& m = look_up(t);
  if (!m.buffer) report(t, DiagnosticId::type_mismatch, fmt::format("'{}' is no buffer", t.text));
  return m.buffer;
}

std::string Parser::function_name() {
  if (peek().kind != Token::Kind::name) fail(peek(), "expected a name that begins with '@'");
  return take().text;
}

int64_t Parser::integer() {
  bool negative = accept("-");
  Token t = take();
  int64_t value = 0;
  std::string text = (negative ? "-" : "") + t.text;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (t.kind != Token::Kind::number || error != std::errc() || end != text.data() + text.size())
    fail(t, "expected an integer");
  return value;
}

// "<n in 1..512, m>"
void Parser::symbols() {
  if (!accept("<")) return;
  do {
    Token where = peek();
    Symbol s{identifier()};
    if (accept("in")) {
      s.low = integer();
      expect("..");
      if (peek().kind == Token::Kind::number) s.high = integer();
    }
    bind(where, s.name, {as<VarRef>(symbol_var(s))->var, nullptr});
    symbols_.emplace(s.name, s);
  } while (accept(","));
  expect(">");
}

DType Parser::type() {
  auto t = peek().kind == Token::Kind::word ? dtype_of_short(peek().text) : std::nullopt;
  if (!t) fail(peek(), "expected a type");
  take();
  return *t;
}

Dim Parser::dim() {
  Dim sum = dim_product();
  for (;;) {
    if (accept("+"))
      sum = sum + dim_product();
    else if (accept("-"))
      sum = sum - dim_product();
    else
      return sum;
  }
}

Dim Parser::dim_product() {
  bool negative = peek().is("-") && peek(1).kind != Token::Kind::number && accept("-");
  Dim product = dim_atom();
  while (accept("*")) product = product * dim_atom();
  return negative ? Dim(-1) * product : product;
}

Dim Parser::dim_atom() {
  if (peek().kind == Token::Kind::number || peek().is("-")) return integer();
  Nest nest(*this);
  if (accept("(")) {
    Dim d = dim();
    expect(")");
    return d;
  }
  Token t = take();
  if (peek().is("(")) {
    expect("(");
    Dim a = dim();
    expect(",");
    Dim b = dim();
    expect(")");
    if (t.is("min")) return min(a, b);
    if (t.is("max")) return max(a, b);
    if (auto c = b.constant(); c && *c <= 0) fail(t, "expected a positive divisor");
    if (t.is("floor_div")) return floor_div(a, b);
    if (t.is("floor_mod")) return floor_mod(a, b);
    fail(t, "expected a function of dimensions");
  }
  auto it = symbols_.find(t.text);
  if (t.kind != Token::Kind::word || it == symbols_.end()) fail(t, "expected a dimension");
  return Dim::symbol(it->second);
}

Shape Parser::shape() {
  Shape s;
  expect("[");
  while (!accept("]")) {
    s.push_back(dim());
    if (!peek().is("]")) expect(",");
  }
  return s;
}

// "x: f32[1, n] strides [64, 1] align 64", bound to its name.
Buffer Parser::declaration(Scope scope) {
  Token where = peek();
  BufferNode b;
  b.name = identifier();
  b.scope = scope;
  expect(":");
  b.type = type();
  b.shape = shape();
  if (accept("strides")) {
    expect("[");
    while (!accept("]")) {
      b.strides.push_back(integer());
      if (!peek().is("]")) expect(",");
    }
  }
  if (accept("align")) b.alignment = integer();
  Buffer buffer = std::make_shared<const BufferNode>(std::move(b));
  bind(where, buffer->name, {nullptr, buffer});
  return buffer;
}

// "i < 3, j < n", each with " at 4" when an origin may be given; the names are bound.
std::vector<Axis> Parser::axes(Shape* origin) {
  std::vector<Axis> list;
  while (peek().kind == Token::Kind::word) {
    Token where = peek();
    Var v = make_var(identifier());
    expect("<");
    list.push_back({v, dim()});
    if (origin && accept("at")) origin->push_back(dim());
    bind(where, v->name, {v, nullptr});
    if (!accept(",")) break;
  }
  if (origin && !origin->empty() && origin->size() != list.size())
    fail(peek(), "expected all axes or none with an origin");
  return list;
}

// ---- expressions ----------------------------------------------------------------------------------------------------

// Nodes are made as written: no constructor folds them, so that printing gives the text again.
Expr Parser::make(const Token& where, DType type, decltype(ExprNode::v) v, const std::vector<Expr>& children) {
  int depth = 0;
  for (const Expr& c : children)
    if (c) depth = std::max(depth, depth_[c.get()]);
  if (++depth > deepest_expression) report(where, DiagnosticId::syntax_error, "the expression is nested too deeply");
  Expr e(std::make_shared<const ExprNode>(ExprNode{type, std::move(v)}));
  depth_[e.get()] = depth;
  return e;
}

Expr Parser::expr() {
  Nest nest(*this);
  size_t outer = shared_.size();
  if (accept("with")) {
    do {
      Token t = take();
      if (t.kind != Token::Kind::shared || t.text != std::to_string(shared_.size()))
        fail(t, fmt::format("expected '%{}'", shared_.size()));
      expect("=");
      shared_.push_back(expr());
    } while (accept(","));
    expect(":");
  }
  Expr e = infix(1);
  Token where = peek();
  if (accept("?")) {
    Expr a = infix(1);
    expect(":");
    Expr b = infix(1);
    e = make(where, a.type(), Select{e, a, b}, {e, a, b});
  }
  shared_.resize(outer);
  return e;
}

std::optional<BinaryOp> infix_operator(const Token& t) {
  if (t.kind != Token::Kind::symbol && t.kind != Token::Kind::word) return std::nullopt;
#define UNARY(name, spelling)
#define BINARY(name, spelling, infix) \
  if (infix && t.text == spelling) return BinaryOp::name;
#include "tensor/ops.def"
#undef UNARY
#undef BINARY
  return std::nullopt;
}

// Operators of at least the given precedence, from the left.
Expr Parser::infix(int lowest) {
  Nest nest(*this);
  Expr left = primary();
  for (;;) {
    Token where = peek();
    auto op = infix_operator(where);
    if (!op || precedence(*op) < lowest) return left;
    take();
    Expr right = infix(precedence(*op) + 1);
    bool comparison = precedence(*op) == precedence(BinaryOp::eq);
    left = make(where, comparison ? dtype::boolean : left.type(), Binary{*op, left, right}, {left, right});
  }
}

Expr Parser::number(bool negative) {
  Token t = take();
  size_t length = t.text.find_first_not_of("0123456789.+-");
  // An exponent is part of the number, what follows names the type.
  if (length != std::string::npos && t.text[length] == 'e' && length + 1 < t.text.size()) {
    size_t end =
        t.text.find_first_not_of("0123456789", length + 1 + (t.text[length + 1] == '+' || t.text[length + 1] == '-'));
    length = end;
  }
  std::string digits = (negative ? "-" : "") + t.text.substr(0, length);
  std::string suffix = length == std::string::npos ? "" : t.text.substr(length);
  bool decimal = digits.find_first_of(".e") != std::string::npos;
  auto type = suffix.empty() ? std::optional(decimal ? dtype::f32 : dtype::i64) : dtype_of_short(suffix);
  if (!type || is_bool(*type) || (decimal && !is_float(*type))) fail(t, "expected a number");
  Literal l;
  const char *begin = digits.data(), *end = begin + digits.size();
  std::from_chars_result r{};
  if (is_float(*type)) {
    r = std::from_chars(begin, end, l.number);
    if (*type != dtype::f64) l.number = static_cast<float>(l.number);
  } else if (*type == dtype::u64) {
    uint64_t value = 0;
    r = std::from_chars(begin, end, value);
    l.integer = static_cast<int64_t>(value);
  } else {
    r = std::from_chars(begin, end, l.integer);
    Expr fitted = literal(*type, l.integer);
    if (constant_integer(fitted) != l.integer) fail(t, fmt::format("expected a value of {}", short_name(*type)));
  }
  if (r.ec != std::errc() || r.ptr != end) fail(t, "expected a number");
  return make(t, *type, l, {});
}

std::vector<Expr> Parser::list(std::string_view end) {
  std::vector<Expr> es;
  while (!accept(end)) {
    es.push_back(expr());
    if (!peek().is(end)) expect(",");
  }
  return es;
}

Expr Parser::load_from(const Token& name) {
  Buffer b = buffer_named(name);
  expect("[");
  std::vector<Expr> indices = list("]"), children = indices;
  if (static_cast<int>(indices.size()) != b->rank())
    report(name, DiagnosticId::shape_mismatch,
           fmt::format("'{}' has rank {}, but {} indices are given", b->name, b->rank(), indices.size()));
  Expr otherwise;
  if (accept("else")) children.push_back(otherwise = infix(1));
  return make(name, b->type, Load{b, std::move(indices), otherwise}, children);
}

// A function of one to three operands, a cast or a bitcast.
Expr Parser::call() {
  Token name = take();
  expect("(");
  if (name.is("bitcast")) {
    DType to = type();
    expect(",");
    Expr a = expr();
    expect(")");
    return make(name, to, Bitcast{a}, {a});
  }
  if (auto to = dtype_of_short(name.text)) {
    Expr a = expr();
    bool saturate = true;
    if (accept(",")) {
      if (!peek().is("wrap")) fail(peek(), "expected 'wrap'");
      take();
      saturate = false;
    }
    expect(")");
    return make(name, *to, Cast{a, saturate}, {a});
  }
  std::vector<Expr> operands = list(")");
  auto count = [&](size_t n) {
    if (operands.size() != n)
      report(name, DiagnosticId::wrong_arity,
             fmt::format("'{}' takes {} operands, not {}", name.text, n, operands.size()));
  };
  if (name.is("fma")) {
    count(3);
    return make(name, operands[0].type(), Fma{operands[0], operands[1], operands[2]}, operands);
  }
#define UNARY(op, spelling)                                                                                   \
  if (name.is(spelling)) {                                                                                    \
    count(1);                                                                                                 \
    bool test = UnaryOp::op == UnaryOp::is_nan || UnaryOp::op == UnaryOp::is_inf;                             \
    return make(name, test ? dtype::boolean : operands[0].type(), Unary{UnaryOp::op, operands[0]}, operands); \
  }
#define BINARY(op, spelling, infix)                                                                  \
  if (!infix && name.is(spelling)) {                                                                 \
    count(2);                                                                                        \
    return make(name, operands[0].type(), Binary{BinaryOp::op, operands[0], operands[1]}, operands); \
  }
#include "tensor/ops.def"
#undef UNARY
#undef BINARY
  report(name, DiagnosticId::undefined_value, fmt::format("'{}' is no function", name.text));
}

Expr Parser::primary() {
  Token t = peek();
  bool negative = t.is("-") && accept("-");
  const Token& word = peek();
  if (word.kind == Token::Kind::number) return number(negative);
  for (std::string_view special : {"inf", "nan"}) {
    if (word.kind != Token::Kind::word || !word.text.starts_with(special)) continue;
    std::string suffix = word.text.substr(3);
    auto type = suffix.empty()     ? std::optional(dtype::f32)
                : suffix[0] == '_' ? dtype_of_short(suffix.substr(1))
                                   : std::nullopt;
    if (!type || !is_float(*type)) continue;
    take();
    double value =
        special == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return make(t, *type, Literal{.number = negative ? -value : value}, {});
  }
  if (negative) fail(word, "expected a number");
  if (accept("(")) {
    Expr e = expr();
    expect(")");
    return e;
  }
  if (t.is("true") || t.is("false")) {
    take();
    return make(t, dtype::boolean, Literal{.integer = t.is("true")}, {});
  }
  if (t.kind == Token::Kind::shared) {
    take();
    for (size_t k = 0; k < shared_.size(); ++k)
      if (t.text == std::to_string(k)) return shared_[k];
    report(t, DiagnosticId::undefined_value, fmt::format("'%{}' is not defined", t.text));
  }
  if (t.kind != Token::Kind::word) fail(t, "expected an expression");
  if (peek(1).is("(") && is_reserved(t.text)) return call();
  if (is_reserved(t.text)) fail(t, "expected an expression");
  take();
  if (peek().is("[")) return load_from(t);
  const Meaning& m = look_up(t);
  if (!m.var)
    report(t, DiagnosticId::type_mismatch, fmt::format("'{}' is a buffer; its elements are read with [ ]", t.text));
  return make(t, m.var->type, VarRef{m.var}, {});
}

// ---- definitions ----------------------------------------------------------------------------------------------------

Status Parser::status() {
  Token t = take();
#define STATUS(name, number, text) \
  if (t.is(#name)) return Status::name;
#include "dlcc/status.def"
#undef STATUS
  fail(t, "expected a status");
}

TensorFunction Parser::function() {
  Nest nest(*this, true);
  TensorFunction f;
  f.name = function_name();
  symbols();
  expect("(");
  while (!accept(")")) {
    f.params.push_back(declaration(Scope::global));
    if (!peek().is(")")) expect(",");
  }
  expect("->");
  expect("(");
  while (!accept(")")) {
    f.results.push_back(declaration(Scope::global));
    if (!peek().is(")")) expect(",");
  }
  expect("{");
  while (!accept("}")) {
    if (accept("temp"))
      declaration(Scope::global);
    else
      f.stages.push_back(stage());
  }
  symbols_.clear();
  return f;
}

// Whether a value begins as "sum(k < 10) {": brackets, then a brace.
bool Parser::at_reduction() const {
  bool named = false;
  for (ReducerKind k : {ReducerKind::sum, ReducerKind::product, ReducerKind::min, ReducerKind::max, ReducerKind::all,
                        ReducerKind::any, ReducerKind::other})
    named |= peek().is(text_of(k));
  if (!named || !peek(1).is("(")) return false;
  int open = 0;
  for (size_t k = at_ + 1; k < tokens_.size(); ++k) {
    if (tokens_[k].is("(")) ++open;
    if (tokens_[k].is(")") && --open == 0) return k + 1 < tokens_.size() && tokens_[k + 1].is("{");
  }
  return false;
}

Reduction Parser::reduction(std::vector<Expr>& values) {
  Nest nest(*this, true);
  Token name = take();
  expect("(");
  Reduction r;
  r.axes = axes();
  expect(")");
  expect("{");
  values = list("}");
  for (ReducerKind k :
       {ReducerKind::sum, ReducerKind::product, ReducerKind::min, ReducerKind::max, ReducerKind::all, ReducerKind::any})
    if (name.is(text_of(k))) {
      if (values.size() != 1) report(name, DiagnosticId::wrong_arity, fmt::format("'{}' folds one value", name.text));
      return named_reduction(k, std::move(r.axes), values[0].type());
    }
  expect("fold");
  auto variables = [&] {
    std::vector<Var> list;
    expect("(");
    while (!accept(")")) {
      Token where = peek();
      std::string variable = identifier();
      expect(":");
      list.push_back(make_var(variable, type()));
      bind(where, variable, {list.back(), nullptr});
      if (!peek().is(")")) expect(",");
    }
    return list;
  };
  r.left = variables();
  expect(",");
  r.right = variables();
  expect("{");
  r.combined = list("}");
  expect("from");
  expect("{");
  r.identity = list("}");
  return r;
}

Stage Parser::stage() {
  Nest nest(*this, true);
  Stage s;
  auto target = [&] {
    Token t = peek();
    identifier();
    s.results.push_back(buffer_named(t));
  };
  if (accept("(")) {
    do target();
    while (accept(","));
    expect(")");
  } else {
    target();
  }
  expect("[");
  s.axes = axes(&s.origin);
  expect("]");
  expect("=");
  if (at_reduction()) {
    s.reduction = reduction(s.values);
  } else {
    do s.values.push_back(expr());
    while (accept(","));
  }
  while (accept("require")) {
    Expr condition = expr();
    expect(":");
    s.requirements.push_back({condition, status()});
  }
  return s;
}

// ---- kernels --------------------------------------------------------------------------------------------------------

Kernel Parser::kernel() {
  Nest nest(*this, true);
  Kernel k;
  k.name = function_name();
  symbols();
  expect("(");
  while (!accept(")")) {
    Access access = accept("read") ? Access::read : accept("write") ? Access::write : Access::scratch;
    if (access == Access::scratch) expect("scratch");
    k.params.push_back({declaration(Scope::global), access});
    if (!peek().is(")")) expect(",");
  }
  expect("{");
  k.body = block();
  symbols_.clear();
  return k;
}

// Statements up to the closing brace. What a let or alloc declares lives to the end of the block.
Stmt Parser::block() {
  Nest nest(*this, true);
  struct Open {  // a declaration and the statements before it
    Stmt declaration;
    std::vector<Stmt> before;
  };
  std::vector<Open> open;
  std::vector<Stmt> body;
  int declarations = 0;
  while (!accept("}")) {
    Token where = peek();
    Stmt declaration_here;
    if (accept("let")) {
      Token name = peek();
      std::string text = identifier();
      expect("=");
      Expr value = expr();
      Var v = make_var(text, value.type());
      bind(name, text, {v, nullptr});
      declaration_here = make_stmt(Let{v, value, nullptr});
    } else if (accept("alloc")) {
      Scope scope = accept("reg") ? Scope::reg : Scope::local;
      if (scope == Scope::local) expect("local");
      declaration_here = make_stmt(Allocate{declaration(scope), nullptr});
    } else {
      body.push_back(statement());
      continue;
    }
    if (++declarations > deepest_expression)
      report(where, DiagnosticId::syntax_error, "too many declarations in one block");
    open.push_back({declaration_here, std::move(body)});
    body.clear();
  }
  Stmt result = sequence(std::move(body));
  for (; !open.empty(); open.pop_back()) {
    if (result) {
      if (const Let* l = as<Let>(open.back().declaration))
        result = make_stmt(Let{l->var, l->value, result});
      else
        result = allocate(as<Allocate>(open.back().declaration)->buffer, result);
    }
    open.back().before.push_back(result);
    result = sequence(std::move(open.back().before));
  }
  return result;
}

Stmt Parser::loop(LoopKind kind) {
  Nest nest(*this, true);
  Token where = peek();
  Var v = make_var(identifier());
  expect("in");
  Expr extent = expr();
  bind(where, v->name, {v, nullptr});
  expect("{");
  Stmt body = block();
  return body ? make_stmt(For{v, extent, kind, body}) : nullptr;
}

Stmt Parser::if_statement() {
  Expr condition = expr();
  expect("{");
  Stmt then_body = block(), else_body;
  if (accept("else")) {
    expect("{");
    else_body = block();
  }
  return then_body || else_body ? make_stmt(IfThen{condition, then_body, else_body}) : nullptr;
}

Stmt Parser::call_statement() {
  Token name = take();
  const Intrinsic* intrinsic = nullptr;
  for (const Intrinsic* i : known_)
    if (name.kind == Token::Kind::word && i->name == name.text) intrinsic = i;
  if (!intrinsic) report(name, DiagnosticId::undefined_value, fmt::format("'{}' is no known intrinsic", name.text));
  IntrinsicCall c{intrinsic, {}};
  expect("(");
  while (!accept(")")) {
    Token t = peek();
    identifier();
    Buffer b = buffer_named(t);
    expect("[");
    c.operands.push_back({b, list("]")});
    if (!peek().is(")")) expect(",");
  }
  return make_stmt(std::move(c));
}

Stmt Parser::statement() {
  Nest nest(*this);
  for (LoopKind kind : {LoopKind::serial, LoopKind::parallel, LoopKind::vector, LoopKind::unrolled})
    if (accept(text_of(kind))) return loop(kind);
  if (accept("{")) return block();
  if (accept("if")) return if_statement();
  if (accept("call")) return call_statement();
  if (accept("require")) {
    Expr condition = expr();
    expect(":");
    return make_stmt(Require{condition, status()});
  }
  bool prefetch = accept("prefetch");
  Token t = peek();
  identifier();
  Buffer b = buffer_named(t);
  expect("[");
  std::vector<Expr> indices = list("]");
  if (prefetch) return make_stmt(Prefetch{b, std::move(indices)});
  expect("=");
  return make_stmt(Store{b, std::move(indices), expr()});
}

ParsedTensorIr Parser::module() {
  ParsedTensorIr m;
  while (peek().kind != Token::Kind::end) {
    Token where = peek();
    Diagnostics found;
    if (accept("tensor")) {
      m.functions.push_back(function());
      verify(m.functions.back(), found);
    } else if (accept("kernel")) {
      m.kernels.push_back(kernel());
      verify(m.kernels.back(), found);
    } else {
      fail(where, "expected 'tensor' or 'kernel'");
    }
    for (Diagnostic d : found.list()) {
      d.place.file = file_, d.place.line = where.line, d.place.column = where.column;
      diagnostics_.add(std::move(d));
    }
  }
  return m;
}

}  // namespace

std::optional<ParsedTensorIr> parse(std::string_view text, const std::string& file, Diagnostics& diagnostics,
                                    std::span<const Intrinsic* const> known) {
  size_t before = diagnostics.count();
  try {
    ParsedTensorIr m = Parser(text, file, diagnostics, known).module();
    if (diagnostics.count() == before) return m;
  } catch (const SyntaxError&) {
  }
  return std::nullopt;
}

}  // namespace dlcc::tensor

// The parser of expressions.
#include <charconv>
#include <limits>

#include "tensor/parser.h"

namespace dlcc::tensor {

namespace {

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

}  // namespace

// Makes nodes without the folding of the constructors in ir.h, so that printing gives the same text.
Expr Parser::make(const Token& where, DType type, decltype(ExprNode::v) v, const std::vector<Expr>& children) {
  int depth = 0;
  for (const Expr& c : children)
    if (c) depth = std::max(depth, depth_[c.get()]);
  if (++depth > max_expression_depth) report(where, DiagnosticId::syntax_error, "the expression is nested too deeply");
  Expr e(std::make_shared<const ExprNode>(ExprNode{type, std::move(v)}));
  depth_[e.get()] = depth;
  return e;
}

Expr Parser::expr() {
  Nesting nest(*this);
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

// A chain of infix operators of precedence `lowest` or higher (precedence climbing).
Expr Parser::infix(int lowest) {
  Nesting nest(*this);
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
  // The suffix names the type; an exponent is part of the number.
  if (length != std::string::npos && t.text[length] == 'e' && length + 1 < t.text.size()) {
    size_t end =
        t.text.find_first_not_of("0123456789", length + 1 + (t.text[length + 1] == '+' || t.text[length + 1] == '-'));
    length = end;
  }
  std::string digits = (negative ? "-" : "") + t.text.substr(0, length);
  std::string suffix = length == std::string::npos ? "" : t.text.substr(length);
  bool decimal = digits.find_first_of(".e") != std::string::npos;
  auto type = suffix.empty() ? std::optional(decimal ? dtype::f32 : dtype::i64) : dtype_of_short_name(suffix);
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
  if (auto to = dtype_of_short_name(name.text)) {
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
  report(name, DiagnosticId::undefined_value, fmt::format("'{}' is not a function", name.text));
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
                : suffix[0] == '_' ? dtype_of_short_name(suffix.substr(1))
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

}  // namespace dlcc::tensor

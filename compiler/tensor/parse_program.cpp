// The parser of definitions and of kernels.
#include "tensor/intrinsic.h"
#include "tensor/parser.h"

namespace dlcc::tensor {

Status Parser::status() {
  Token t = take();
#define STATUS(name, number, text) \
  if (t.is(#name)) return Status::name;
#include "dlcc/status.def"
#undef STATUS
  fail(t, "expected a status");
}

// Whether a scalar parameter follows: "scalar t: i64". A buffer may have the name "scalar".
bool Parser::at_scalar() const { return peek().is("scalar") && !peek(1).is(":"); }

Var Parser::scalar() {
  expect("scalar");
  Token where = peek();
  std::string name = identifier();
  expect(":");
  Var v = make_var(name, type());
  bind(where, name, {v, nullptr});
  return v;
}

TensorFunction Parser::function() {
  Nesting nest(*this, true);
  TensorFunction f;
  f.name = function_name();
  symbols();
  expect("(");
  while (!accept(")")) {
    if (at_scalar())
      f.scalars.push_back(scalar());
    else
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

// Whether a reduction follows, as in "sum(k < 10) {": a reducer's name, brackets, then a brace.
bool Parser::at_reduction() const {
  bool named = peek().is(text_of(ReducerKind::other)) || reducer_named(peek().text);
  if (!named || !peek(1).is("(")) return false;
  int open = 0;
  for (size_t k = at_ + 1; k < tokens_.size(); ++k) {
    if (tokens_[k].is("(")) ++open;
    if (tokens_[k].is(")") && --open == 0) return k + 1 < tokens_.size() && tokens_[k + 1].is("{");
  }
  return false;
}

Reduction Parser::reduction(std::vector<Expr>& values) {
  Nesting nest(*this, true);
  Token name = take();
  expect("(");
  Reduction r;
  r.axes = axes();
  expect(")");
  expect("{");
  values = list("}");
  if (auto kind = reducer_named(name.text)) {
    if (values.size() != 1) report(name, DiagnosticId::wrong_arity, fmt::format("'{}' reduces one value", name.text));
    return named_reduction(*kind, std::move(r.axes), values[0].type());
  }
  expect("combine");
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
  expect("identity");
  expect("{");
  r.identity = list("}");
  return r;
}

Stage Parser::stage() {
  Nesting nest(*this, true);
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
  if (accept("=")) {
    Token where = peek();
    expect("{");
    s.body = block();
    if (!s.body) report(where, DiagnosticId::syntax_error, "the body of a stage is empty");
    return s;
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

// "@k<n in 1..>(read x: f32[n], write y: f32[n], scalar t: i64)". Binds the names of the parameters.
Kernel Parser::signature() {
  Kernel k;
  k.name = function_name();
  symbols();
  expect("(");
  while (!accept(")")) {
    if (at_scalar()) {
      k.scalars.push_back(scalar());
    } else {
      Access access = accept("read") ? Access::read : accept("write") ? Access::write : Access::scratch;
      if (access == Access::scratch) expect("scratch");
      k.params.push_back({declaration(Scope::global), access});
    }
    if (!peek().is(")")) expect(",");
  }
  for (const auto& [name, symbol] : symbols_) k.scalars.push_back(scalar_of(symbol));
  return k;
}

Kernel Parser::kernel() {
  Nesting nest(*this, true);
  Kernel k = signature();
  expect("{");
  k.body = block();
  symbols_.clear();
  return k;
}

// Statements up to the closing brace. The scope of a `let` or an `alloc` is the rest of the block.
Stmt Parser::block() {
  Nesting nest(*this, true);
  struct Open {  // a declaration whose scope is open, and the statements before it
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
    if (++declarations > max_expression_depth)
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
  Nesting nest(*this, true);
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
  if (!intrinsic) report(name, DiagnosticId::undefined_value, fmt::format("'{}' is not a known intrinsic", name.text));
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
  Nesting nest(*this);
  for (LoopKind kind : {LoopKind::serial, LoopKind::parallel, LoopKind::vector, LoopKind::unrolled})
    if (accept(text_of(kind))) return loop(kind);
  if (accept("{")) return block();
  if (accept("if")) return if_statement();
  if (accept("call")) return call_statement();
  if (accept("outline")) {
    expect("{");
    return outline(block());
  }
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
  if (prefetch) {
    CacheLevel cache = CacheLevel::first;
    if (accept(":")) expect("l2"), cache = CacheLevel::second;
    return make_stmt(Prefetch{b, std::move(indices), cache});
  }
  expect("=");
  return make_stmt(Store{b, std::move(indices), expr()});
}

}  // namespace dlcc::tensor

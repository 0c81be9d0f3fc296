// The parser of names, types, dimensions, declarations and modules.
#include <charconv>

#include "tensor/parser.h"
#include "tensor/verify.h"

namespace dlcc::tensor {

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
  if (!m.buffer) report(t, DiagnosticId::type_mismatch, fmt::format("'{}' is not a buffer", t.text));
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
    bind(where, s.name, {scalar_of(s), nullptr});
    symbols_.emplace(s.name, s);
  } while (accept(","));
  expect(">");
}

DType Parser::type() {
  auto t = peek().kind == Token::Kind::word ? dtype_of_short_name(peek().text) : std::nullopt;
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
  Nesting nest(*this);
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

// "x: f32[1, n] strides [64, 1] align 64". Binds the name.
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

// "i < 3, j < n", or "i < 3 at 0, j < n at 4" if an origin is allowed. Binds the names.
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
      d.location.file = file_, d.location.line = where.line, d.location.column = where.column;
      diagnostics_.add(std::move(d));
    }
  }
  return m;
}

std::optional<ParsedTensorIr> parse(std::string_view text, const std::string& file, Diagnostics& diagnostics,
                                    std::span<const Intrinsic* const> known) {
  size_t before = diagnostics.error_count();
  try {
    ParsedTensorIr m = Parser(text, file, diagnostics, known).module();
    if (diagnostics.error_count() == before) return m;
  } catch (const SyntaxError&) {
  }
  return std::nullopt;
}

}  // namespace dlcc::tensor

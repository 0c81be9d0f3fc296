// Parses operations that have a form of their own: if, tuples, call_tensor, match_cast, define_sizes,
// require_sizes, and operators as values.
#include "frontends/relay/parser.h"

namespace dlcc::frontends::relay_text {

using namespace relay;

Parser::Value Parser::if_expression(const SourceLocation& where) {
  If op;
  if (!expect("(", "if")) return {nothing(), where};
  op.condition = atom_expr();
  expect(")", "the condition");
  op.then_block = braces();
  if (!accept_word("else")) unexpected("'else'");
  op.else_block = braces();
  return {Operation(std::move(op)), where};
}

// (), (e), (e,) or (e, f), after '('.
Parser::Value Parser::parenthesised(const SourceLocation& where) {
  MakeTuple tuple;
  if (accept(")")) return {Operation(std::move(tuple)), where};
  Value first = expr();
  if (accept(")")) return first;
  if (!peek().is(",")) unexpected("',' or ')'");
  lexer_.next();
  tuple.fields.push_back(atom(std::move(first)));
  list(")", [&] { tuple.fields.push_back(atom_expr()); });
  return {Operation(std::move(tuple)), where};
}

// An operator as a value: fn (%x, %y) { op(%x, %y) }, with default attributes.
Operation Parser::operator_function(const Operator& op, const SourceLocation& where) {
  Function function;
  Call call{OperatorRef{&op}, {}, {}};
  for (const std::string& name : op.arguments)
    call.args.emplace_back(function.params.emplace_back(module_.fresh(name)));
  const Var result = module_.fresh("");
  function.body.bindings.push_back({result, std::move(call), where});
  function.body.result = result;
  function.location = where;
  return MakeFunction{std::move(function)};
}

// call_tensor(@f, %x, %y, layouts=["0:1 1/16:2 1:16", ""])
Parser::Value Parser::call_tensor(const SourceLocation& where) {
  CallTensor op;
  if (!expect("(", "call_tensor")) return {nothing(), where};
  Token name = expect_kind(TokenKind::global, "a tensor function, @name");
  op.function = name.text;
  tensor_functions_used_.emplace_back(op.function, lexer_.location(name));
  if (!accept(",") && !peek().is(")")) unexpected("',' or ')'");
  list(")", [&] {
    if (!at_attributes()) return op.args.push_back(atom_expr());
    SourceLocation at = location();
    for (const auto& [key, value] : attributes(")"))
      if (key == "layouts")
        op.layouts = layouts(value, at);
      else
        report(DiagnosticId::bad_attribute, at, fmt::format("call_tensor has no attribute '{}'", key));
  });
  return {Operation(std::move(op)), where};
}

Parser::Value Parser::match_cast(const SourceLocation& where) {
  if (!expect("(", "match_cast")) return {nothing(), where};
  Atom value = atom_expr();
  expect(",", "the value");
  Type to = type();
  expect(")", "the type");
  return {Operation(MatchCast{std::move(value), std::move(to)}), where};
}

// define_sizes(%v, (n, m), (64, 2 * k))
Parser::Value Parser::define_sizes(const SourceLocation& where) {
  DefineSizes op;
  if (!expect("(", "define_sizes")) return {nothing(), where};
  op.value = atom_expr();
  expect(",", "the value");
  auto dims = [&](auto&& each) {
    expect("(", "define_sizes");
    list(")", each);
  };
  dims([&] {
    const SourceLocation at = location();
    const Dim d = dim();
    const std::vector<Symbol> symbols = d.symbols();
    if (symbols.size() == 1 && d == Dim::symbol(symbols[0]))
      op.symbols.push_back(symbols[0]);
    else
      report(DiagnosticId::syntax_error, at, fmt::format("expected a symbol, found {}", d.str()));
  });
  expect(",", "the symbols");
  dims([&] { op.most.push_back(dim()); });
  expect(")", "the bounds");
  return {Operation(std::move(op)), where};
}

// require_sizes((n - 4, 2 * m))
Parser::Value Parser::require_sizes(const SourceLocation& where) {
  RequireSizes op;
  if (!expect("(", "require_sizes") || !expect("(", "require_sizes")) return {nothing(), where};
  list(")", [&] { op.sizes.push_back(dim()); });
  expect(")", "the sizes");
  return {Operation(std::move(op)), where};
}

}  // namespace dlcc::frontends::relay_text

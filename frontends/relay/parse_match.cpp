// Parses match and its patterns.
#include "frontends/relay/parser.h"

namespace dlcc::frontends::relay_text {

using namespace relay;

Parser::Value Parser::match_statement() {
  Token head = lexer_.next();
  Match match;
  match.complete = head.kind == TokenKind::identifier;
  match.value = atom(primary());
  if (!expect("{", "the matched value")) return {nothing(), lexer_.location(head)};
  list("}", [&] {
    BlockScope scope(*this);
    Clause clause;
    names_in_pattern_.clear();
    clause.pattern = pattern();
    if (!expect("=>", "the pattern")) return;
    Block body;
    Block* outer = std::exchange(block_, &body);
    Value value = expr();
    body.range = value.range;
    body.result = atom(std::move(value));
    block_ = outer;
    clause.body = std::move(body);
    match.clauses.push_back(std::move(clause));
  });
  return {Operation(std::move(match)), lexer_.location(head)};
}

Pattern Parser::pattern() {
  const Token first = peek();
  Pattern read = pattern_without_range();
  read.range = lexer_.range_from(first);
  return read;
}

Pattern Parser::pattern_without_range() {
  Depth depth(*this);
  std::vector<Pattern> fields;
  auto field = [&] { fields.push_back(pattern()); };
  if (accept_word("_")) return {Pattern::Wildcard{}};
  if (accept("(")) {
    list(")", field);
    return {Pattern::Tuple{std::move(fields)}};
  }
  if (peek().kind == TokenKind::local) {
    const Token name = lexer_.next();
    Var var = module_.fresh(std::string(name.text));
    if (var->name != "_" && !names_in_pattern_.insert(var->name).second)
      report(DiagnosticId::duplicate_definition, lexer_.location(name),
             fmt::format("%{} occurs twice in the pattern", var->name),
             "give one of them another name, and compare the values in the arm");
    if (accept(":")) var->type = type();
    locals_.add(var->name, var);
    return {Pattern::Bind{var}};
  }
  Token name = expect_kind(TokenKind::identifier, "a pattern");
  if (accept("(")) list(")", field);
  auto it = constructors_.find(std::string(name.text));
  if (it == constructors_.end() && may_report() && load_constructor(std::string(name.text)))
    it = constructors_.find(std::string(name.text));
  if (it == constructors_.end()) {
    std::string help = may_report() ? why_hidden(std::string(name.text)) : "";
    const auto meant = meant_by(name.text, [&] { return known_constructors(); });
    if (help.empty() && meant) help = fmt::format("did you mean '{}'?", *meant);
    report(DiagnosticId::undefined_value, lexer_.location(name), fmt::format("there is no constructor {}", name.text),
           std::move(help));
  }
  if (it != constructors_.end() && it->second.fields != fields.size())
    report(DiagnosticId::wrong_arity, lexer_.location(name),
           fmt::format("constructor {} has {} fields, the pattern {}", name.text, it->second.fields, fields.size()));
  return {Pattern::Constructor{std::string(name.text), std::move(fields)}};
}

}  // namespace dlcc::frontends::relay_text

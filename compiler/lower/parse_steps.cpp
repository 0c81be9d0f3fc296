// Parses the steps of programs.
#include <algorithm>

#include "lower/program_parser.h"

namespace dlcc::lower {

using tensor::Expr;
using tensor::Var;

Region ProgramParser::region() {
  Nesting nest(*this);
  Region r;
  while (!peek().is("}") && !peek().is("yield") && !peek().is("next")) r.steps.push_back(step());
  return r;
}

Step ProgramParser::step() {
  const Token where = peek();
  if (where.kind == Token::Kind::name) return invoke();
  if (where.kind == Token::Kind::shared) return write();
  if (accept("copy")) return copy();
  if (accept("call")) return call();
  if (accept("require")) return requirement();
  if (accept("check")) return CheckSize{checked_size()};
  if (accept("let")) return definition();
  if (accept("if")) return branch({});
  if (accept("loop")) return loop();
  fail(where, "expected a step");
}

// @conv1(%0, %1, %2, n), %2 may replace %0  # conv/Conv
Step ProgramParser::invoke() {
  const Token where = take();
  Invoke call{.kernel = kernel_named(where, where.text)};
  expect("(");
  while (!accept(")")) {
    if (peek().kind == Token::Kind::shared)
      call.operands.push_back(value_id());
    else
      call.scalars.push_back(expr());
    if (!peek().is(")")) expect(",");
  }
  while (accept(",")) {
    const int written = operand_of(call);
    expect("may");
    expect("replace");
    call.in_place.emplace_back(written, operand_of(call));
  }
  call.node = peek().kind == Token::Kind::note ? take().text : "";
  return call;
}

// "%2", or "operand 2" where several operands have one value.
int ProgramParser::operand_of(const Invoke& call) {
  const Token where = peek();
  const auto count = static_cast<int64_t>(call.operands.size());
  if (accept("operand")) return static_cast<int>(number_in(0, count - 1));
  const ValueId v = value_id();
  if (std::ranges::count(call.operands, v) != 1) fail(where, "expected an operand of the call");
  return static_cast<int>(std::ranges::find(call.operands, v) - call.operands.begin());
}

// call @layer(%0, %1) -> %2, workspace at 64  # layer1
Step ProgramParser::call() {
  Call step{.function = function_named(take())};
  expect("(");
  if (!peek().is(")")) step.operands = value_ids();
  expect(")");
  expect("->");
  step.results = value_ids();
  workspace();
  step.node = peek().kind == Token::Kind::note ? take().text : "";
  return step;
}

// Values up to the last one that a comma and a further value follow.
std::vector<ValueId> ProgramParser::value_ids() {
  std::vector<ValueId> list = {value_id()};
  while (peek().is(",") && peek(1).kind == Token::Kind::shared) {
    expect(",");
    list.push_back(value_id());
  }
  return list;
}

// ", workspace at 64" or ", workspace block 2"; nothing if the function has no arena.
void ProgramParser::workspace() {
  const Token where = peek();
  int64_t workspace_at = -1;
  if (accept(",")) {
    expect("workspace");
    expect(plan_ && plan_->is_stacked() ? "block" : "at");
    workspace_at = number_in(0, tensor::max_value_bytes);
  }
  if (workspace_at >= 0 && !plan_) fail(where, "expected 'arena' before calls with a workspace");
  if (plan_ && plan_->is_stacked() && workspace_at >= static_cast<int64_t>(plan_->blocks.size()))
    fail(where, fmt::format("expected block {}, which the call names", workspace_at));
  if (plan_) plan_->workspaces.push_back(workspace_at);
}

Step ProgramParser::copy() {
  expect("(");
  const ValueId from = value_id();
  expect(",");
  const ValueId to = value_id();
  expect(")");
  return Copy{from, to};
}

int64_t ProgramParser::element() {
  expect("[");
  const int64_t index = number_in(0, tensor::max_value_bytes);
  expect("]");
  return index;
}

// %4[0] = t
Step ProgramParser::write() {
  const ValueId to = value_id();
  const int64_t index = element();
  expect("=");
  return Write{to, index, expr()};
}

Require ProgramParser::requirement() {
  const Expr condition = expr();
  expect(":");
  return {condition, status()};
}

// "t: i64". Binds the name.
Var ProgramParser::declaration_of_scalar() {
  const Token where = peek();
  const std::string name = identifier();
  expect(":");
  Var v = tensor::make_var(name, type());
  for (const DataSize& d : program_.data_sizes)
    if (d.symbol.name == name && v->type == dtype::i64) v = scalar_of(d.symbol);
  for (const Symbol& s : program_.input_sizes)
    if (s.name == name && v->type == dtype::i64) v = scalar_of(s);
  bind(where, name, {v, nullptr});
  return v;
}

// After `let`: an expression, an element of a value, or the results of a branch.
Step ProgramParser::definition() {
  std::vector<Var> results;
  do results.push_back(declaration_of_scalar());
  while (accept(","));
  expect("=");
  if (accept("if")) return branch(std::move(results));
  if (results.size() > 1) fail(peek(), "expected 'if'");
  if (peek().kind != Token::Kind::shared) return Compute{results[0], expr()};
  const ValueId from = value_id();
  return Read{results[0], from, element()};
}

// `word` and then `count` expressions; neither if `count` is 0.
std::vector<Expr> ProgramParser::results_at(std::string_view word, size_t count) {
  std::vector<Expr> values;
  if (count > 0) expect(word);
  for (size_t k = 0; k < count; ++k) {
    if (k > 0) expect(",");
    values.push_back(expr());
  }
  expect("}");
  return values;
}

Step ProgramParser::branch(std::vector<Var> results) {
  auto b = std::make_shared<Branch>();
  b->condition = expr();
  expect("{");
  b->then_region = region();
  const std::vector<Expr> then_values = results_at("yield", results.size());
  expect("else");
  expect("{");
  b->else_region = region();
  const std::vector<Expr> else_values = results_at("yield", results.size());
  for (size_t k = 0; k < results.size(); ++k) b->merges.push_back({results[k], then_values[k], else_values[k]});
  return b;
}

// loop i: i64 = 0 { the test } while i < 10 { the body ... next i + 1 }
Step ProgramParser::loop() {
  auto l = std::make_shared<Loop>();
  while (!accept("{")) {
    if (!l->carried.empty()) expect(",");
    const Var v = declaration_of_scalar();
    expect("=");
    l->carried.push_back({v, expr(), {}});
  }
  l->test = region();
  expect("}");
  expect("while");
  l->condition = expr();
  expect("{");
  l->body = region();
  const std::vector<Expr> next = results_at("next", l->carried.size());
  for (size_t k = 0; k < next.size(); ++k) l->carried[k].next = next[k];
  return l;
}

}  // namespace dlcc::lower

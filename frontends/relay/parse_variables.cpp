// Resolves local variables and graph variables. A graph variable is a name for its expression: outside the block that
// binds it, the text of the expression is parsed again.
#include <utility>

#include "frontends/relay/parser.h"

namespace dlcc::frontends::relay_text {

using namespace relay;

// When an expression is parsed again, each of its variables must refer to the same binding as before.
Atom Parser::local_variable(const Token& t) {
  const Var* var = locals_.find(std::string(t.text));
  if (rereading_) {
    auto meant = meanings_.find(t.offset);
    const int id = meant == meanings_.end() ? 0 : static_cast<int>(meant->second);
    if (!var || (id < rereading_->text.first_id && (*var)->id != id))
      return unknown(
          DiagnosticId::undefined_value, rereading_->use,
          fmt::format("%{} is not defined here: %{} of its expression is not visible", rereading_->number, t.text), "");
  }
  if (!var) return undefined_local(t);
  if (!rereading_) meanings_.insert_or_assign(t.offset, static_cast<size_t>((*var)->id));
  if (auto it = self_uses_.find((*var)->id); it != self_uses_.end()) ++it->second;
  if (auto named = operator_names_.find((*var)->id); named != operator_names_.end()) return named->second;
  return *var;
}

// The value of a graph variable that is bound in this block or in an enclosing one.
Atom Parser::graph_variable(const Token& t) {
  const GraphVariable* bound = graph_.find(t.integer);
  const auto text = graph_texts_.find(t.integer);
  if (!bound && text == graph_texts_.end())
    return unknown(DiagnosticId::undefined_value, lexer_.location(t), fmt::format("%{} is not defined here", t.integer),
                   "");
  const size_t offset = bound ? bound->offset : text->second.start.offset;
  if (!rereading_) meanings_.insert_or_assign(t.offset, offset);
  const auto meant = meanings_.find(t.offset);
  if (meant == meanings_.end() || meant->second != offset)
    return unknown(DiagnosticId::undefined_value, rereading_->use,
                   fmt::format("%{} is not defined here: %{} of its expression has another value here",
                               rereading_->number, t.integer),
                   "");
  return bound ? bound->value : read_again(t);
}

// Outside the block that binds a graph variable, its expression is parsed again and evaluated at the use, once for each
// block.
Atom Parser::read_again(const Token& t) {
  Depth depth(*this);
  const GraphText text = graph_texts_.at(t.integer);
  if (text.has_errors) return unknowns_.emplace_back(module_.fresh("unknown"));  // its errors are not reported twice
  const Token back = peek();
  const Rereading rereading{t.integer, text, rereading_ ? rereading_->use : lexer_.location(t)};
  const Rereading* outer = std::exchange(rereading_, &rereading);
  lexer_.go_to(text.start);
  Atom value = callee(bound_value());
  rereading_ = outer;
  lexer_.go_to(back);
  graph_.add(t.integer, {value, text.start.offset});
  return value;
}

}  // namespace dlcc::frontends::relay_text

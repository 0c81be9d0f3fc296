#include "driver/hover.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "driver/operator_signature.h"
#include "driver/text_positions.h"
#include "relay/operator.h"
#include "relay/types_in.h"
#include "support/ascii.h"

namespace dlcc::driver {

using namespace relay;

namespace {

bool is_in_name(char c) { return is_alphanumeric(c) || c == '_' || c == '.'; }

bool is_sign(char c) { return c == '%' || c == '@'; }

// The name around an offset, with the sign of a variable or function before it: nn.relu, %x, @main.
std::string_view word_at(std::string_view text, size_t offset) {
  if (offset < text.size() && is_sign(text[offset])) ++offset;
  size_t begin = std::min(offset, text.size()), end = begin;
  while (begin > 0 && is_in_name(text[begin - 1])) --begin;
  while (end < text.size() && is_in_name(text[end])) ++end;
  if (begin == 0 || !is_sign(text[begin - 1])) return text.substr(begin, end - begin);
  const std::string_view word = text.substr(begin - 1, end - begin + 1);
  return word.substr(0, word.find('.'));  // without the projection of %x.0
}

std::string describe(const Operator& op) {
  std::string about = operator_signature(op) + "\n" + op.summary + "\n";
  for (const auto& a : op.attributes) about += fmt::format("\n{}: {}", a.name, a.doc);
  return about;
}

// A place of a text; lines and columns count from 1.
struct Place {
  int line = 0, column = 0;
  auto operator<=>(const Place&) const = default;
};

Place place_at(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const size_t line_begin = before.rfind('\n') + 1;  // 0 if there is none
  return {static_cast<int>(std::ranges::count(before, '\n')) + 1, static_cast<int>(offset - line_begin) + 1};
}

// The place of the expression in the last definition `%12 = ...` that begins at or before an offset.
std::optional<Place> definition_of(std::string_view graph_variable, std::string_view text, size_t offset) {
  for (size_t at = offset + 1; at > 0; --at) {
    const size_t sign = at - 1;
    if (!text.substr(sign).starts_with(graph_variable)) continue;
    size_t next = sign + graph_variable.size();
    auto skip_blanks = [&] { next = std::min(text.find_first_not_of(" \t\r\n", next), text.size()); };
    skip_blanks();
    if (next == text.size() || text[next] != '=' || text.substr(next).starts_with("==")) continue;
    const size_t line = text.rfind('\n', sign) + 1;  // 0 for the first line
    if (text.substr(line, sign - line).find("//") != text.npos) continue;
    ++next;
    skip_blanks();
    return place_at(text, next);
  }
  return std::nullopt;
}

// The types of variables of one function.
class VariableTypes {
 public:
  // Of all variables of this name.
  VariableTypes(const Function& f, std::string_view name) : name_(name) { visit(f); }
  // Of the last binding whose expression begins at this place, which is the whole expression.
  VariableTypes(const Function& f, Place place) : place_(place) { visit(f); }

  const std::set<std::string>& types() const { return types_; }

 private:
  void visit(const Function& f) {
    for (const Var& v : f.params) add(v);
    visit(f.body);
  }

  void visit(const Block& block) {
    for (const Binding& b : block.bindings) {
      add(b.var);
      if (place_ && Place{b.location.line, b.location.column} == *place_) types_ = {str(b.var->type)};
      if (const Match* match = std::get_if<Match>(&b.op))
        for (const Clause& c : match->clauses) for_each_variable(c.pattern, [this](const Var& v) { add(v); });
      if (const auto* closure = std::get_if<MakeFunction>(&b.op))
        visit(*closure->function);
      else
        for_each_block(b.op, [this](const Block& within) { visit(within); });
    }
  }

  void add(const Var& v) {
    if (!place_ && v->name == name_) types_.insert(str(v->type));
  }

  std::string_view name_;
  std::optional<Place> place_;
  std::set<std::string> types_;
};

// The last function of the file that begins at or before a line.
const Function* function_around(const Module& module, const std::string& file, int line) {
  const Function* result = nullptr;
  auto place = [](const Function& f) { return Place{f.location.line, f.location.column}; };
  for (const auto& [name, f] : module.functions)
    if (f.location.file == file && f.location.line <= line && (!result || place(f) > place(*result))) result = &f;
  return result;
}

}  // namespace

std::string describe_word(std::string_view text, size_t offset, const std::string& file, const Module* module) {
  const std::string_view word = word_at(text, offset);
  if (const Operator* op = operators().find(std::string(word))) return describe(*op);
  if (!module || word.size() < 2) return "";
  const std::string_view name = word.substr(1);
  if (word.front() == '@') {
    const GlobalRef function{std::string(name)};
    return module->functions.contains(function.name) ? fmt::format("{}: {}", word, str(type_of(*module, function)))
                                                     : "";
  }
  const Function* around = function_around(*module, file, place_at(text, offset).line);
  if (word.front() != '%' || !around) return "";
  std::set<std::string> types;
  if (is_digit(name.front())) {
    if (const auto place = definition_of(word, text, offset)) types = VariableTypes(*around, *place).types();
  } else {
    types = VariableTypes(*around, name).types();
  }
  std::string about;
  for (const std::string& type : types) about += fmt::format("{}{}: {}", about.empty() ? "" : "\n", word, type);
  return about;
}

}  // namespace dlcc::driver

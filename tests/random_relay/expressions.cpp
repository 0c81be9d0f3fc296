// Expressions of random programs: for each type, one of the forms that give a value of it.
#include <algorithm>
#include <optional>

#include "program.h"
#include "scope.h"

namespace dlcc::random_relay {

namespace {

const Ty int_type{"int32"}, bool_type{"bool"};

bool is_number(const Ty& t) { return t.head == "int32"; }

bool contains(const std::vector<std::string>& variables, const std::string& head) {
  return head[0] == '$' && std::ranges::find(variables, head.substr(1)) != variables.end();
}

// Adds the types that `variables` in the pattern stand for in `t`.
bool match_types(const Ty& pattern, const Ty& t, const std::vector<std::string>& variables,
                 std::map<std::string, Ty>& arguments) {
  if (contains(variables, pattern.head)) return arguments.emplace(pattern.head, t).first->second == t;
  if (pattern.head != t.head || pattern.args.size() != t.args.size()) return false;
  for (size_t k = 0; k < t.args.size(); ++k)
    if (!match_types(pattern.args[k], t.args[k], variables, arguments)) return false;
  return true;
}

}  // namespace

std::string Generator::variable_of(const Ty& t) {
  std::vector<std::string> names;
  for (const Variable& v : variables_)
    if (v.type == t) names.push_back(v.name);
  return names.empty() ? "" : one_of(names);
}

std::string Generator::expr(const Ty& t, int depth) {
  if (--budget_ < 0 || depth <= 0) return smallest(t);
  const int kind = draw(100);
  std::string text;
  if (kind < 25) text = variable_of(t);
  if (kind >= 25 && kind < 40) text = call(t, depth);
  if (kind >= 40 && kind < 48) text = branch(t, depth);
  if (kind >= 48 && kind < 58) text = match(t, depth);
  if (kind >= 58 && kind < 62) text = loop(t, depth);
  if (kind >= 62 && kind < 67) text = read_reference(t, depth);
  if (kind >= 67 && kind < 77) text = bound(t, depth);
  if (kind >= 77 && kind < 82) text = projection(t, depth);
  return text.empty() ? made(t, depth) : text;
}

std::string Generator::smallest(const Ty& t) {
  if (chance(70) || t.head[0] == '$')
    if (std::string name = variable_of(t); !name.empty()) return name;
  return made(t, 0);
}

// A value that is made of smaller ones.
std::string Generator::made(const Ty& t, int depth) {
  if (t.head == "small") return std::to_string(draw(4));
  if (is_number(t)) return number(depth);
  if (t.head == "bool") return truth(depth);
  if (t.head == "Tensor") return tensor(t, depth);
  if (t.head == "fn") return lambda(t, depth);
  if (t.head == "ref") return "ref(" + expr(t.args[0], depth - 1) + ")";
  if (t.head[0] == '$') return variable_of(t);
  if (t.head == "tuple") {
    std::string text = "(";
    for (size_t k = 0; k < t.args.size(); ++k) text += (k ? ", " : "") + expr(t.args[k], depth - 1);
    return text + (t.args.size() == 1 ? ",)" : ")");
  }
  const DataType& data = *data_type(t);
  const DataType::Constructor& c = depth > 0 ? one_of(data.constructors) : data.constructors.front();
  if (c.fields.empty() && !t.args.empty() && chance(30)) return polymorphic(c.name);
  std::string text;
  for (const Ty& field : fields_of(data, c, t)) text += (text.empty() ? "(" : ", ") + expr(field, depth - 1);
  return c.name + text + (text.empty() ? "" : ")");
}

// A variable whose value is a constructor without fields. Its uses may be of different types.
std::string Generator::polymorphic(const std::string& constructor) {
  std::vector<std::string> names;
  for (const Polymorphic& p : polymorphic_)
    if (p.constructor == constructor) names.push_back(p.name);
  if (!names.empty() && chance(80)) return one_of(names);
  const std::string name = fresh("%e"), pair = fresh("%p");
  statements_->push_back("let " + name + " = " + constructor);
  polymorphic_.push_back({constructor, name});
  if (chance(70)) return name;
  statements_->push_back("let " + pair + " = (" + name + ", " + constructor + ")");
  polymorphic_.push_back({constructor, pair + ".0"});
  polymorphic_.push_back({constructor, pair + ".1"});
  return pair + ".1";
}

std::string Generator::number(int depth) {
  const int kind = depth > 0 ? draw(8) : 0;
  if (kind < 2) return std::to_string(draw(21) - 5);
  if (kind == 2) return "sum(" + expr({"Tensor", {{"2"}}}, depth - 1) + ")";
  if (kind == 3) return "maximum(" + expr(int_type, depth - 1) + ", " + expr(int_type, depth - 1) + ")";
  static constexpr const char* operators[] = {" + ", " - ", " * ", " + "};
  const std::string left = expr(int_type, depth - 1);
  return "(" + left + operators[kind - 4] + expr(int_type, depth - 1) + ")";
}

std::string Generator::truth(int depth) {
  const int kind = depth > 0 ? draw(6) : 0;
  if (kind < 2) return chance(50) ? "True" : "False";
  if (kind == 2) return "logical_and(" + expr(bool_type, depth - 1) + ", " + expr(bool_type, depth - 1) + ")";
  static constexpr const char* operators[] = {" < ", " == ", " >= "};
  const std::string left = expr(int_type, depth - 1);
  return "(" + left + operators[kind - 3] + expr(int_type, depth - 1) + ")";
}

std::string Generator::tensor(const Ty& t, int depth) {
  const std::string size = t.args[0].head;
  const int kind = depth > 0 ? draw(5) : 0;
  if (kind < 2) return "full(" + std::to_string(draw(10)) + ", shape=[" + size + "])";
  if (kind == 2) return "(" + expr(t, depth - 1) + " + " + expr(int_type, depth - 1) + ")";
  if (kind == 3) return "maximum(" + expr(t, depth - 1) + ", " + expr(t, depth - 1) + ")";
  return "(" + expr(t, depth - 1) + " * " + expr(t, depth - 1) + ")";
}

// fn (...) { ... }, or the name of a function or constructor that has the type.
std::string Generator::lambda(const Ty& t, int depth) {
  if (chance(30)) {
    std::vector<std::string> names;
    for (const Signature& s : signatures_) {
      std::map<std::string, Ty> arguments;
      Ty type{"fn", s.params};
      type.args.push_back(s.result);
      if (s.name[0] == '@' && s.name != "@plus" && match_types(type, t, s.variables, arguments))
        names.push_back(s.name);
    }
    for (const auto& [name, data] : types_)
      for (const DataType::Constructor& c : data.constructors)
        if (!c.fields.empty() && t.args.back().head == name) {
          std::vector<Ty> fields = fields_of(data, c, t.args.back());
          if (std::equal(fields.begin(), fields.end(), t.args.begin(), t.args.end() - 1)) names.push_back(c.name);
        }
    if (!names.empty()) return one_of(names);
  }
  Scope scope(*this);
  std::string params;
  for (size_t k = 0; k + 1 < t.args.size(); ++k) {
    const std::string name = fresh("%a");
    params += (k ? ", " : "") + name + ": " + text_of(t.args[k]);
    variables_.push_back({name, t.args[k]});
  }
  return "fn (" + params + ") -> " + text_of(t.args.back()) + " " + body(t.args.back(), depth - 1);
}

std::string Generator::branch(const Ty& t, int depth) {
  const std::string condition = expr(bool_type, depth - 1);
  return "if (" + condition + ") " + body(t, depth - 1) + " else " + body(t, depth - 1);
}

// A local function that counts, started with 0.
std::string Generator::loop(const Ty& t, int depth) {
  const std::string first = expr(t, depth - 1), name = fresh("%loop"), count = fresh("%i"), value = fresh("%x");
  Scope scope(*this);
  variables_.push_back({count, int_type});
  variables_.push_back({value, t});
  const std::string next = body(t, depth - 1);
  std::string end = name + "(" + count + " + 1, (" + next + "))";
  if (chance(30)) end = "if ((" + body(bool_type, depth - 1) + ")) { " + value + " } else { " + end + " }";
  if (chance(20)) end = "if ((" + body(bool_type, depth - 1) + ")) { " + end + " } else { " + name + "(9, " + value + ") }";
  statements_->push_back("let " + name + " = fn (" + count + ": int32, " + value + ": " + text_of(t) + ") -> " +
                         text_of(t) + " { if (" + count + " < " + std::to_string(1 + draw(3)) + ") { " + end +
                         " } else { " + value + " } }");
  return name + "(0, " + first + ")";
}

std::string Generator::read_reference(const Ty& t, int depth) {
  return "ref_read(" + expr({"ref", {t}}, depth - 1) + ")";
}

// Without an annotation, the type of an empty list would be unknown.
std::string Generator::annotated(const Ty& t, int depth) {
  const std::string value = expr(t, depth), name = fresh("%");
  statements_->push_back("let " + name + ": " + text_of(t) + " = " + value);
  return name;
}

std::string Generator::bound(const Ty& t, int depth) {
  if (chance(20)) local_generic();
  if (chance(30)) effect(depth - 1);
  const bool needs_annotation = !t.args.empty() && t.head != "Tensor";
  if (!needs_annotation && chance(25)) {
    const std::string value = expr(t, depth - 1), name = "%" + std::to_string(graph_++);
    statements_->push_back(name + " = " + value);
    return name;
  }
  std::string name;
  if (needs_annotation || chance(50)) {
    name = annotated(t, depth - 1);
  } else {
    const std::string value = expr(t, depth - 1);
    statements_->push_back("let " + (name = fresh("%")) + " = " + value);
  }
  variables_.push_back({name, t});
  return name;
}

std::string Generator::projection(const Ty& t, int depth) {
  Ty tuple{"tuple", {random_type(1), random_type(1)}};
  const int field = draw(2);
  tuple.args[static_cast<size_t>(field)] = t;
  const std::string name = annotated(tuple, depth - 1);
  variables_.push_back({name, tuple});
  return name + "." + std::to_string(field);
}

// A call of a function by its name, or of a function that is a value.
std::string Generator::call(const Ty& t, int depth) {
  struct Callee {
    Signature signature;
    std::map<std::string, Ty> arguments;
  };
  std::vector<Callee> callees;
  for (const Signature& s : signatures_)
    if (std::map<std::string, Ty> arguments; match_types(s.result, t, s.variables, arguments))
      callees.push_back({s, std::move(arguments)});
  for (const Variable& v : variables_)
    if (v.type.head == "fn" && v.type.args.back() == t)
      callees.push_back({{v.name, {}, {v.type.args.begin(), v.type.args.end() - 1}, t}, {}});
  if (callees.empty()) return "";
  Callee callee = one_of(callees);
  const Signature& s = callee.signature;
  for (const std::string& v : s.variables)
    if (!callee.arguments.contains("$" + v))
      callee.arguments.emplace("$" + v, v == "n" ? Ty{std::to_string(2 + draw(2))} : random_type(1));
  std::string text;
  for (size_t k = 0; k < s.params.size(); ++k) {
    const Ty param = with_arguments(s.params[k], callee.arguments);
    const bool needs_annotation = !param.args.empty() && param.head != "Tensor";
    text += k ? ", " : "";
    if (k == 0 && s.is_self)
      text += "%count - 1";
    else
      text += needs_annotation ? annotated(param, depth - 1) : expr(param, depth - 1);
  }
  return s.name + "(" + text + ")";
}

// let %g = fn [L](%x: L, ...) -> ... { ... }
void Generator::local_generic() {
  const std::string name = fresh("%g"), variable = fresh("L"), first = fresh("%x"), second = fresh("%y");
  const Ty own{"$" + variable}, other = random_type(1);
  Signature g{name, {variable}, {own, other}, own};
  if (chance(40)) g.result = {"tuple", {other, own}};
  if (chance(20)) g.result = {"List", {own}};
  std::string text;
  {
    Scope scope(*this);
    type_variables_.push_back(variable);
    variables_.push_back({first, own});
    variables_.push_back({second, other});
    text = body(g.result, 2);
    type_variables_.pop_back();
  }
  statements_->push_back("let " + name + " = fn [" + variable + "](" + first + ": " + variable + ", " + second + ": " +
                         text_of(other) + ") -> " + text_of(g.result) + " " + text);
  signatures_.push_back(std::move(g));
}

// A new reference, or a new value for one.
void Generator::effect(int depth) {
  std::vector<Variable> references;
  for (const Variable& v : variables_)
    if (v.type.head == "ref") references.push_back(v);
  if (references.empty() || chance(30)) {
    const Ty t{"ref", {random_type(1)}};
    variables_.push_back({annotated(t, depth), t});
    return;
  }
  const Variable& reference = one_of(references);
  const std::string value = annotated(reference.type.args[0], depth);
  statements_->push_back("ref_write(" + reference.name + ", " + value + ")");
}

// ---- patterns -------------------------------------------------------------------------------------------------------

std::string Generator::pattern(const Ty& t, int depth) {
  const DataType* data = data_type(t);
  const int kind = depth > 0 && (data || t.head == "tuple") ? draw(100) : draw(45);
  if (kind < 15) return "_";
  if (kind < 45) {
    const std::string name = fresh("%p");
    variables_.push_back({name, t});
    return name + (chance(30) ? ": " + text_of(t) : "");
  }
  const DataType::Constructor* c = data ? &one_of(data->constructors) : nullptr;
  std::string text;
  for (const Ty& field : c ? fields_of(*data, *c, t) : t.args)
    text += (text.empty() ? "(" : ", ") + pattern(field, depth - 1);
  return (c ? c->name : "") + text + (text.empty() ? "" : ")");
}

// Some arms with any patterns, and then those that make the match complete: one for each constructor, or one for all.
std::string Generator::match(const Ty& t, int depth) {
  Ty matched = random_type(2);
  for (int tries = 0; tries < 5 && !data_type(matched) && matched.head != "tuple"; ++tries) matched = random_type(2);
  const std::string value = annotated(matched, depth - 1);
  std::string arms;
  auto arm = [&](const std::string& pattern) { arms += pattern + " => " + body(t, depth - 1) + ", "; };
  for (int k = draw(4); k > 0; --k) {
    Scope scope(*this);
    arm(pattern(matched, 3));
  }
  const DataType* data = data_type(matched);
  const bool may_fail = !arms.empty() && chance(8);
  if (may_fail) return "(match? (" + value + ") { " + arms + "})";
  if (!data || chance(40)) {
    Scope scope(*this);
    arm(pattern(matched, 0));
    return "(match (" + value + ") { " + arms + "})";
  }
  for (const DataType::Constructor& c : data->constructors) {
    Scope scope(*this);
    std::string text;
    for (const Ty& field : fields_of(*data, c, matched)) text += (text.empty() ? "(" : ", ") + pattern(field, 0);
    arm(c.name + text + (text.empty() ? "" : ")"));
  }
  return "(match (" + value + ") { " + arms + "})";
}

}  // namespace dlcc::random_relay

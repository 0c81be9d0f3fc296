// Types and definitions of random programs; expressions.cpp has the expressions.
#include "program.h"

#include "scope.h"

namespace dlcc::random_relay {

namespace {

const Ty int_type{"int32"}, bool_type{"bool"};

// What the prelude and the library below offer. $n is a size.
std::vector<Signature> library_signatures() {
  const Ty a{"$A"}, b{"$B"}, c{"$C"}, tensor{"Tensor", {{"$n"}}};
  auto list = [](const Ty& t) { return Ty{"List", {t}}; };
  auto option = [](const Ty& t) { return Ty{"Option", {t}}; };
  auto tree = [](const Ty& t) { return Ty{"Tree", {t}}; };
  auto fn = [](std::vector<Ty> types) { return Ty{"fn", std::move(types)}; };
  return {{"@id", {"A"}, {a}, a},
          {"@compose", {"A", "B", "C"}, {fn({b, c}), fn({a, b})}, fn({a, c})},
          {"@iterate", {"A"}, {fn({a, a}), {"small"}}, fn({a, a})},
          {"@map", {"A", "B"}, {fn({a, b}), list(a)}, list(b)},
          {"@foldl", {"A", "B"}, {fn({a, b, a}), a, list(b)}, a},
          {"@foldr", {"A", "B"}, {fn({a, b, b}), b, list(a)}, b},
          {"@filter", {"A"}, {fn({a, bool_type}), list(a)}, list(a)},
          {"@zip", {"A", "B"}, {list(a), list(b)}, list({"tuple", {a, b}})},
          {"@rev", {"A"}, {list(a)}, list(a)},
          {"@concat", {"A"}, {list(a), list(a)}, list(a)},
          {"@length", {"A"}, {list(a)}, int_type},
          {"@option_map", {"A", "B"}, {fn({a, b}), option(a)}, option(b)},
          {"@option_or", {"A"}, {option(a), a}, a},
          {"@tmap", {"A", "B"}, {fn({a, b}), tree(a)}, tree(b)},
          {"@size", {"A"}, {tree(a)}, int_type},
          {"@even", {}, {{"small"}}, bool_type},
          {"@plus", {"n"}, {tensor, tensor}, tensor},
          {"@swap", {"A", "B"}, {{"tuple", {a, b}}}, {"tuple", {b, a}}},
          {"@twice", {"A"}, {fn({a, a}), a}, a},
          {"@choose", {"A"}, {bool_type, a, a}, a}};
}

const char* const library = R"(
def @even(%n: int32) -> bool { if (%n < 1) { True } else { @odd(%n - 1) } }
def @odd(%n: int32) -> bool { if (%n < 1) { False } else { @even(%n - 1) } }
def @plus(%x: Tensor[(n), int32], %y: Tensor[(n), int32]) -> Tensor[(n), int32] { %x + %y }
def @swap[A, B](%p: (A, B)) -> (B, A) { match (%p) { (%a, %b) => (%b, %a) } }
def @twice[A](%f: fn (A) -> A, %x: A) -> A { %f(%f(%x)) }
def @choose[A](%c: bool, %x: A, %y: A) -> A { if (%c) { %x } else { %y } }
)";

std::string list_of(const std::vector<Ty>& types, size_t count) {
  std::string text;
  for (size_t k = 0; k < count; ++k) text += (k ? ", " : "") + text_of(types[k]);
  return text;
}

}  // namespace

std::string text_of(const Ty& t) {
  if (t.head == "small") return "int32";
  if (t.head[0] == '$') return t.head.substr(1);
  if (t.head == "Tensor") return "Tensor[(" + text_of(t.args[0]) + "), int32]";
  if (t.head == "tuple") return "(" + list_of(t.args, t.args.size()) + (t.args.size() == 1 ? ",)" : ")");
  if (t.head == "fn") return "fn (" + list_of(t.args, t.args.size() - 1) + ") -> " + text_of(t.args.back());
  if (t.head == "ref") return "ref(" + text_of(t.args[0]) + ")";
  return t.args.empty() ? t.head : t.head + "[" + list_of(t.args, t.args.size()) + "]";
}

// ---- types ----------------------------------------------------------------------------------------------------------

Ty Generator::random_type(int depth, bool observable) {
  if (!type_variables_.empty() && !observable && chance(35)) return {"$" + one_of(type_variables_)};
  const int kind = draw(depth > 0 ? 13 : 4);
  if (kind < 2) return int_type;
  if (kind == 2) return bool_type;
  if (kind == 3) return {"Tensor", {{std::to_string(2 + draw(2))}}};
  if (kind < 6) {
    Ty tuple{"tuple"};
    for (int k = 1 + draw(3); k > 0; --k) tuple.args.push_back(random_type(depth - 1, observable));
    return tuple;
  }
  if (kind < 8 && !observable) {
    Ty function{"fn"};
    for (int k = 1 + draw(3); k > 0; --k) function.args.push_back(random_type(depth - 1));
    return function;
  }
  if (kind == 8 && !observable) return {"ref", {random_type(depth - 1)}};
  std::vector<std::string> names;
  for (const auto& [name, type] : types_)
    if (!observable || name != "Lazy") names.push_back(name);
  Ty data{one_of(names)};
  for (size_t k = types_.at(data.head).params.size(); k > 0; --k)
    data.args.push_back(random_type(depth - 1, observable));
  return data;
}

const DataType* Generator::data_type(const Ty& t) const {
  auto it = types_.find(t.head);
  return it == types_.end() ? nullptr : &it->second;
}

Ty with_arguments(const Ty& t, const std::map<std::string, Ty>& arguments) {
  if (auto it = arguments.find(t.head); it != arguments.end()) return it->second;
  Ty result{t.head};
  for (const Ty& part : t.args) result.args.push_back(with_arguments(part, arguments));
  return result;
}

std::vector<Ty> Generator::fields_of(const DataType& type, const DataType::Constructor& c, const Ty& instance) const {
  std::map<std::string, Ty> arguments;
  for (size_t k = 0; k < type.params.size(); ++k) arguments["$" + type.params[k]] = instance.args[k];
  std::vector<Ty> fields;
  for (const Ty& field : c.fields) fields.push_back(with_arguments(field, arguments));
  return fields;
}

// ---- definitions ----------------------------------------------------------------------------------------------------

void Generator::define_types() {
  const Ty a{"$A"}, b{"$B"}, term{"Term"};
  types_["List"] = {"List", {"A"}, {{"Nil", {}}, {"Cons", {a, {"List", {a}}}}}};
  types_["Option"] = {"Option", {"A"}, {{"None", {}}, {"Some", {a}}}};
  types_["Tree"] = {"Tree", {"A"}, {{"Rose", {a, {"List", {{"Tree", {a}}}}}}}};
  const DataType own[] = {{"Color", {}, {{"Red", {}}, {"Green", {}}, {"Blue", {}}}},
                          {"Term", {}, {{"Lit", {int_type}}, {"Neg", {term}}, {"Plus", {term, term}}}},
                          {"Either", {"A", "B"}, {{"Left", {a}}, {"Right", {b}}}},
                          {"Lazy", {"A"}, {{"Delay", {{"fn", {a}}}}}}};
  for (const DataType& type : own) types_[type.name] = type;
  for (int k = draw(3); k > 0; --k) random_data_type(k);
  for (const auto& [name, type] : types_) {
    if (name == "List" || name == "Option" || name == "Tree") continue;  // of the prelude
    definitions_ += "type " + name;
    for (size_t k = 0; k < type.params.size(); ++k) definitions_ += (k ? ", " : "[") + type.params[k];
    definitions_ += type.params.empty() ? " {" : "] {";
    for (const DataType::Constructor& c : type.constructors)
      definitions_ += " " + c.name + (c.fields.empty() ? "" : "(" + list_of(c.fields, c.fields.size()) + ")") + ",";
    definitions_ += " }\n";
  }
}

void Generator::random_data_type(int number) {
  DataType type{std::string("Data") + static_cast<char>('A' + number), {}, {}};
  if (chance(50)) type.params.push_back("A");
  Ty self{type.name};
  for (const std::string& p : type.params) self.args.push_back({"$" + p});
  type_variables_ = type.params;
  for (int k = 0; k < 1 + draw(4); ++k) {
    DataType::Constructor c{type.name + static_cast<char>('K' + k), {}};
    for (int field = draw(3); field > 0; --field)
      c.fields.push_back(k > 0 && chance(30) ? self : random_type(0, type.params.empty()));
    type.constructors.push_back(std::move(c));
  }
  type_variables_.clear();
  types_[type.name] = std::move(type);
}

std::string Generator::body(const Ty& type, int depth) {
  Scope scope(*this);
  std::vector<std::string> statements;
  std::vector<std::string>* outer = std::exchange(statements_, &statements);
  if (chance(20)) effect(depth - 1);
  const std::string result = expr(type, depth);
  statements_ = outer;
  std::string text = "{ ";
  for (const std::string& s : statements) text += s + "; ";
  return text + result + " }";
}

// A function that may be generic, and may call itself with a smaller first argument, at the same types.
void Generator::random_function(int number) {
  Signature f{"@f" + std::to_string(number), {}, {}, {}};
  if (chance(40)) f.variables = {"A"};
  type_variables_ = f.variables;
  const bool counts_down = chance(40);
  if (counts_down) f.params.push_back({"small"});
  if (!f.variables.empty()) f.params.push_back({"$A"});
  for (int k = draw(3); k > 0; --k) f.params.push_back(random_type(1));
  f.result = random_type(1);
  Scope scope(*this);
  std::string params;
  for (size_t k = 0; k < f.params.size(); ++k) {
    const std::string name = f.params[k].head == "small" ? "%count" : fresh("%p");
    params += (k ? ", " : "") + name + ": " + text_of(f.params[k]);
    if (name != "%count") variables_.push_back({name, f.params[k]});
  }
  budget_ = 10 + draw(30);
  std::string text = body(f.result, 4);
  if (counts_down) {
    signatures_.push_back({f.name, {}, f.params, f.result, true});
    budget_ = 10 + draw(20);
    text = "{ if (%count < 1) " + text + " else " + body(f.result, 4) + " }";
  }
  definitions_ += "def " + f.name + (f.variables.empty() ? "" : "[A]") + "(" + params + ") -> " + text_of(f.result) +
                  " " + text + "\n";
  type_variables_.clear();
  scope.close();
  signatures_.push_back(std::move(f));
}

std::string Generator::program() {
  define_types();
  definitions_ += library;
  signatures_ = library_signatures();
  for (int k = draw(4); k > 0; --k) random_function(k);
  Scope scope(*this);
  variables_ = {{"%n", int_type}, {"%t", {"Tensor", {{"2"}}}}};
  budget_ = 20 + draw(60);
  const Ty result{"tuple", {random_type(2, true), random_type(1, true)}};
  const std::string text = body(result, 6);
  return "#[version = \"0.0.5\"]\n" + definitions_ + "def @main(%n: int32, %t: Tensor[(2), int32]) -> " +
         text_of(result) + " " + text + "\n";
}

}  // namespace dlcc::random_relay

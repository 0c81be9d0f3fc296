// Closure conversion: local functions become functions of the module, and function values become data
// (defunctionalisation: Reynolds, "Definitional Interpreters for Higher-Order Programming Languages", 1972).
//
// A local function becomes a global one, whose first parameters are the variables that it takes from around it. A call
// of the function by its name calls the global directly; so a loop stays a recursion of one function. For each type of
// functions that are values there is a data type with one constructor for each such function, whose fields are those
// variables, and a function that applies its values:
//
//   def @main(%n: int32) {                       type Function { main_f(int32) }
//     let %f = fn (%x: int32) { %x + %n };       def @main_f(%n: int32, %x: int32) { %x + %n }
//     @twice(%f)                             →   def @apply(%f: Function, %x: int32) {
//   }                                              match (%f) { main_f(%n) => @main_f(%n, %x) }
//                                                }
//                                                def @main(%n: int32) { @twice(main_f(%n)) }
//
// Why this design: the program is closed, so that all functions of a type are known. The result is a program of the
// first-order language with data types. It needs no code pointers and no new operations: what runs data types and
// `match` runs it, calls are direct, each application is a switch, and each pass sees every call.
//
// Contract: the module has no type variables (monomorphize) and globals and constructors are eta-expanded first. After
// the pass no operation makes a function and no type has a function in it. Captured variables are immutable, so that
// copies of them are not seen; making a function has no effect; the order of effects stays. Data have no symbols in
// common with functions: a size in a captured value's type is checked where the function is applied. A size that a
// function uses is brought by a value that has it. A function that is a value and captures a reference to a tensor of
// symbolic sizes is an error: references have one type. Without values of a type of functions, applying one cannot
// happen: such a function calls itself.
#include <algorithm>
#include <set>

#include "relay/passes/function_types.h"
#include "relay/passes/passes.h"
#include "relay/passes/replace.h"
#include "relay/passes/retype.h"
#include "relay/type_arguments.h"
#include "relay/types_in.h"
#include "relay/unused_name.h"

namespace dlcc::relay {

namespace {

// A part of a module that is generic, for a message.
struct GenericPart {
  std::string name;
  SourceLocation location;
};

bool is_generic(const Type& type) {
  const DataType* data = as<DataType>(type);
  return as<VariableType>(type) || (data && !data->args.empty()) || std::ranges::any_of(parts_of(type), is_generic);
}

std::optional<GenericPart> first_generic_part(const Block& block) {
  for (const Binding& b : block.bindings) {
    const MakeFunction* made = std::get_if<MakeFunction>(&b.op);
    if (made && !made->function->type_params.empty())
      return GenericPart{fmt::format("the local function %{}", b.var->name), b.location};
    if (is_generic(b.var->type)) return GenericPart{fmt::format("the type {}", str(b.var->type)), b.location};
    std::optional<GenericPart> inside;
    for_each_block(b.op, [&](const Block& inner) {
      if (!inside) inside = first_generic_part(inner);
    });
    if (inside) return inside;
  }
  return std::nullopt;
}

// A generic function, or else a use of a generic function or data type.
std::optional<GenericPart> first_generic_part(const Module& module) {
  for (const auto& [name, f] : module.functions)
    if (!f.type_params.empty()) return GenericPart{"the function @" + name, f.location};
  for (const auto& [name, f] : module.functions) {
    for (const Var& p : f.params)
      if (is_generic(p->type)) return GenericPart{fmt::format("the type {} of %{}", str(p->type), p->name), f.location};
    if (auto part = first_generic_part(f.body)) return part;
  }
  for (const auto& [name, def] : module.data_types)
    if (!def.params.empty()) return GenericPart{"the type " + name, {}};
  return std::nullopt;
}

// The variables that are used as values, not only called.
void find_values(const Block& block, std::set<int>& values) {
  auto use = [&](const Atom& a) {
    if (const Var* var = std::get_if<Var>(&a)) values.insert((*var)->id);
  };
  for (const Binding& b : block.bindings) {
    bool callee = std::holds_alternative<Call>(b.op);
    for_each_atom(b.op, [&](const Atom& a) {
      if (!std::exchange(callee, false)) use(a);
    });
    for_each_block(b.op, [&](const Block& inner) { find_values(inner, values); });
  }
  use(block.result);
}

// The variables that a function takes from around it, in the order of their first use; which of them it only calls.
class FreeVariables {
 public:
  struct Use {
    Var var;
    bool is_value;  // not only called
  };

  explicit FreeVariables(const Function& f) {
    for (const Var& p : f.params) bound_.insert(p->id);
    block(f.body);
  }

  const std::vector<Use>& uses() const { return uses_; }

 private:
  void use(const Atom& atom, bool is_value) {
    const Var* var = std::get_if<Var>(&atom);
    if (!var || bound_.contains((*var)->id)) return;
    auto [it, added] = index_.emplace((*var)->id, uses_.size());
    if (added) uses_.push_back({*var, false});
    uses_[it->second].is_value |= is_value;
  }

  void block(const Block& b) {
    for (const Binding& binding : b.bindings) {
      bound_.insert(binding.var->id);  // visible in its own function
      bool callee = std::holds_alternative<Call>(binding.op);
      for_each_atom(binding.op, [&](const Atom& a) { use(a, !std::exchange(callee, false)); });
      if (const Match* match = std::get_if<Match>(&binding.op))
        for (const Clause& c : match->clauses)
          for_each_variable(c.pattern, [&](const Var& v) { bound_.insert(v->id); });
      if (const MakeFunction* made = std::get_if<MakeFunction>(&binding.op))
        for (const Var& p : made->function->params) bound_.insert(p->id);
      for_each_block(binding.op, [&](const Block& inner) { block(inner); });
    }
    use(b.result, true);
  }

  std::set<int> bound_;  // ids are unique in a module: nothing is removed
  std::map<int, size_t> index_;
  std::vector<Use> uses_;
};

class Converter {
 public:
  Converter(Module& module, Diagnostics& diagnostics) : module_(module), diagnostics_(diagnostics), types_(module) {}

  void run() {
    for (const auto& [name, f] : module_.functions) find_values(f.body, values_);
    std::map<std::string, Function> functions = std::move(module_.functions);
    for (const auto& [name, f] : functions) module_.functions[name];  // names that are taken
    for (auto& [name, f] : functions) {
      function(f, name, {});
      module_.functions[name] = std::move(f);
    }
    types_.define();
  }

 private:
  // A local function that became a global one: its first arguments, as seen in the current function.
  struct Known {
    std::string global;
    std::vector<Var> captured;
    std::string constructor;  // of its values, if there are any
  };
  struct Context {  // of the function that is being converted
    std::string name;
    std::map<int, Known> known;           // by variable
    std::map<std::string, Var> carriers;  // a visible value for each size that is the extent of one
  };

  void function(Function& f, const std::string& name, std::map<int, Known> known) {
    Context context{name, std::move(known), {}};
    std::swap(context_, context);
    for (const Var& p : f.params) enter(p);
    block(f.body);
    std::swap(context_, context);
  }

  void block(Block& block) {
    const std::map<std::string, Var> carriers_outside = context_.carriers;
    std::vector<Binding> out;
    out.reserve(block.bindings.size());
    for (Binding& b : block.bindings) {
      if (std::holds_alternative<MakeFunction>(b.op)) {
        lift(b, out);
        continue;
      }
      if (Call* call = std::get_if<Call>(&b.op)) convert(*call);
      for_each_block(b.op, [&](Block& inner) { this->block(inner); });
      enter(b.var);
      out.push_back(std::move(b));
    }
    block.bindings = std::move(out);
    context_.carriers = carriers_outside;
  }

  // ---- calls

  void convert(Call& call) {
    const Var* var = std::get_if<Var>(&call.callee);
    if (!var) return;
    std::vector<Atom> first;
    if (auto it = context_.known.find((*var)->id); it != context_.known.end()) {
      first.assign(it->second.captured.begin(), it->second.captured.end());
      call.callee = GlobalRef{it->second.global};
    } else {
      first = {call.callee};
      call.callee = types_.apply((*var)->type);
    }
    call.args.insert(call.args.begin(), first.begin(), first.end());
  }

  // ---- functions

  // Makes a global function of the local one that `b` binds, and a value of the data type if it is used as a value.
  void lift(Binding& b, std::vector<Binding>& out) {
    Function f = std::move(*std::get<MakeFunction>(b.op).function);
    const std::string stem = context_.name + "_" + (b.var->name.empty() ? "function" : b.var->name);
    Known self{unused_name(stem, module_.functions), captured_by(f, b.var), ""};
    module_.functions[self.global];
    if (values_.contains(b.var->id)) {
      refuse_references(b, self.captured);
      self.constructor = types_.add_constructor(b.var->type, self.global, self.captured);
      out.push_back(value_of(self, b.var, b.location));
    }
    Known inside = self;
    Replacements renamed;
    for (Var& v : inside.captured) {
      Var param = module_.fresh(v->name, v->type);
      renamed.add(v, param);
      v = std::move(param);
    }
    std::map<int, Known> known = known_in(f, renamed);
    renamed.apply(f.body);
    if (!self.constructor.empty()) {  // in its own body, the function is a value that is made again
      Var again = module_.fresh(b.var->name, b.var->type);
      std::set<int> values;
      find_values(f.body, values);
      if (values.contains(b.var->id)) {
        rename_values(f.body, b.var, again);
        f.body.bindings.insert(f.body.bindings.begin(), value_of(inside, again, b.location));
      }
    }
    f.params.insert(f.params.begin(), inside.captured.begin(), inside.captured.end());
    known.insert_or_assign(b.var->id, inside);
    function(f, self.global, std::move(known));
    module_.functions[self.global] = std::move(f);
    context_.known.insert_or_assign(b.var->id, std::move(self));
  }

  // A tensor's sizes are checked when it is taken out of data. A reference has one type.
  void refuse_references(const Binding& b, const std::vector<Var>& captured) {
    auto check = [&](const std::string& what, const Type& type) {
      if (types_.has_sized_reference(type))
        diagnostics_.error(
            DiagnosticId::unsupported_construct, b.location,
            fmt::format("{} of type {}: data in place of functions have no sizes that are names", what, str(type)), {},
            "give the sizes of tensors in references as numbers");
    };
    check("a function", b.var->type);
    for (const Var& v : captured) check(fmt::format("a function captures %{}", v->name), v->type);
  }

  static Binding value_of(const Known& known, const Var& var, const SourceLocation& location) {
    Call call{ConstructorRef{known.constructor}, {known.captured.begin(), known.captured.end()}, {}};
    return {var, std::move(call), location};
  }

  // The variables that the function needs from around it: those that it uses, the ones that known functions need which
  // it calls, and carriers of the sizes that none of these has.
  std::vector<Var> captured_by(Function& f, const Var& self) {
    std::vector<Var> captured;
    std::set<int> seen;
    auto add = [&](const Var& v) {
      if (seen.insert(v->id).second) captured.push_back(v);
    };
    const FreeVariables free(f);
    for (const FreeVariables::Use& use : free.uses()) {
      if (use.var->id == self->id) continue;
      auto known = context_.known.find(use.var->id);
      if (known == context_.known.end() || use.is_value)
        add(use.var);
      else
        for (const Var& v : known->second.captured) add(v);
    }
    std::set<std::string> sizes;
    for (const Var& v : captured) find_sizes(v->type, [&](const std::string& s) { sizes.insert(s); });
    for (const Var& p : f.params) find_sizes(p->type, [&](const std::string& s) { sizes.insert(s); });
    auto need = [&](const Symbol& s) {
      auto carrier = context_.carriers.find(s.name);
      if (carrier != context_.carriers.end() && sizes.insert(s.name).second) add(carrier->second);
    };
    for_each_type(f, [&](Type& type) { for_each_symbol(type, need); });
    for_each_dim(f.body, [&](const Dim& d) { std::ranges::for_each(d.symbols(), need); });
    for (size_t k = 0; k < captured.size(); ++k) for_each_symbol(captured[k]->type, need);
    return captured;
  }

  // The known functions that the function only calls, with their variables as it sees them.
  std::map<int, Known> known_in(const Function& f, const Replacements& renamed) const {
    std::map<int, Known> known;
    const FreeVariables free(f);
    for (const FreeVariables::Use& use : free.uses()) {
      auto it = context_.known.find(use.var->id);
      if (it == context_.known.end() || use.is_value) continue;
      Known inside = it->second;
      for (Var& v : inside.captured) {
        Atom atom = v;
        renamed.apply(atom);
        v = std::get<Var>(atom);
      }
      known.emplace(it->first, std::move(inside));
    }
    return known;
  }

  // Replaces a variable where it is not called.
  static void rename_values(Block& block, const Var& var, const Var& by) {
    auto rename = [&](Atom& a) {
      const Var* v = std::get_if<Var>(&a);
      if (v && (*v)->id == var->id) a = by;
    };
    for (Binding& b : block.bindings) {
      bool callee = std::holds_alternative<Call>(b.op);
      for_each_atom(b.op, [&](Atom& a) {
        if (!std::exchange(callee, false)) rename(a);
      });
      for_each_block(b.op, [&](Block& inner) { rename_values(inner, var, by); });
    }
    rename(block.result);
  }

  // ---- sizes

  // The symbols that are an extent of a tensor by themselves: a parameter of this type gives them to its function.
  static void find_sizes(const Type& type, const std::function<void(const std::string&)>& visit) {
    for_each_field(type, [&](const Type& field) {
      const TensorType* t = as<TensorType>(field);
      for (size_t k = 0; t && k < t->shape.size(); ++k) {
        if (t->shape[k].is_constant()) continue;
        const std::vector<Symbol> symbols = t->shape[k].symbols();
        if (symbols.size() == 1 && t->shape[k] == Dim::symbol(symbols[0])) visit(symbols[0].name);
      }
    });
  }

  void enter(const Var& v) {
    find_sizes(v->type, [&](const std::string& s) { context_.carriers.emplace(s, v); });
  }

  Module& module_;
  Diagnostics& diagnostics_;
  FunctionTypes types_;
  std::set<int> values_;  // variables that are used as values
  Context context_;
};

// Whether values of the type may have functions in them.
bool may_have_functions(const Module& module, const Type& type, std::set<std::string>& seen) {
  auto any = [&](const std::vector<Type>& types) {
    return std::ranges::any_of(types, [&](const Type& t) { return may_have_functions(module, t, seen); });
  };
  if (as<FunctionType>(type) || any(parts_of(type))) return true;
  const DataType* data = as<DataType>(type);
  const auto def =
      data && seen.insert(data->name).second ? module.data_types.find(data->name) : module.data_types.end();
  return def != module.data_types.end() &&
         std::ranges::any_of(def->second.constructors, [&](const ConstructorDef& c) { return any(c.fields); });
}

// A function from outside is none of those that become data.
bool check_inputs(const Module& module, Diagnostics& diagnostics) {
  const auto main = module.functions.find("main");
  if (main == module.functions.end()) return true;
  for (const Var& p : main->second.params)
    if (std::set<std::string> seen; may_have_functions(module, p->type, seen)) {
      diagnostics.error(DiagnosticId::unsupported_construct, main->second.location,
                        fmt::format("the input %{} of type {} may be any function", p->name, str(p->type)), {},
                        "@main may take tensors and data without functions");
      return false;
    }
  return true;
}

}  // namespace

Module convert_closures(Module module, PassContext& context) {
  Diagnostics ignored;
  Diagnostics& diagnostics = context.diagnostics ? *context.diagnostics : ignored;
  if (const auto generic = first_generic_part(module)) {
    diagnostics.error(DiagnosticId::unsupported_construct, generic->location,
                      generic->name + " is generic: a data type has the functions of one type", {},
                      "run monomorphize first: --passes=monomorphize,convert-closures");
    return module;
  }
  if (!check_inputs(module, diagnostics)) return module;
  module = eta_expand(std::move(module), context);
  Converter(module, diagnostics).run();
  if (!diagnostics.has_errors()) infer_again(module, context);
  return module;
}

}  // namespace dlcc::relay

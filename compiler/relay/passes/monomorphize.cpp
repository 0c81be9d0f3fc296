// Monomorphisation: a copy of each generic function, local or global, and of each generic data type for all types that
// it is used at. After the pass no type has a variable, and no data type has parameters.
//
//   type List[A] { Cons(A, List[A]), Nil }          type List { Cons(int32, List), Nil }
//   def @id[A](%x: A) -> A { %x }             →     type List_1 { Cons_1(List, List_1), Nil_1 }
//                                                   def @id(%x: int32) -> int32 { %x }
//                                                   def @id_1(%x: List) -> List { %x }
//
// Contract: if a value has a polymorphic type, functions that take or return functions are inlined first, so that
// generic functions are called by their names. Globals and constructors are eta-expanded. The first instance keeps the
// name, others have a number. A call's types decide its instance; a type that nothing decides is (). Functions that
// @main does not reach go. An instance for a tensor of symbolic sizes has symbols of its own, and serves all sizes.
// Data have no symbols in common with functions: a size in the argument of a data type becomes "?", and is checked
// where a function takes such a value to be of a known size. Errors are: programs that need endlessly many instances (a
// function that calls itself at ever larger types); values of a polymorphic type that remain (a field of data, or a
// parameter or a result of a function that calls itself, of type fn [A](A) -> A); and data with functions of, or
// references to, tensors whose sizes are names.
#include <algorithm>
#include <deque>
#include <set>

#include "relay/call_graph.h"
#include "relay/passes/passes.h"
#include "relay/passes/retype.h"
#include "relay/type_arguments.h"
#include "relay/types_in.h"

namespace dlcc::relay {

namespace {

constexpr size_t most_instances = 1000;  // of one function or data type

std::string text_of(const std::vector<TypeVariable>& params, const TypeArguments& arguments) {
  std::string text;
  for (const TypeVariable& v : params) text += str(arguments.at(v.id)) + ";";
  return text;
}

Type map_sizes(const Type& type, const std::function<Dim(const Dim&)>& map) {
  return map_leaves(type, [&](const Type& leaf) {
    const TensorType* t = as<TensorType>(leaf);
    if (!t || t->shape.empty()) return leaf;
    Shape shape = t->shape;
    for (Dim& d : shape) d = map(d);
    return shape == t->shape ? leaf : with_shape(*t, std::move(shape));
  });
}

// Whether an argument of a data type in the type has a symbol.
bool has_symbolic_data(const Type& type) {
  auto any = [](const std::vector<Type>& list) { return std::ranges::any_of(list, has_symbolic_data); };
  if (const TupleType* t = as<TupleType>(type)) return any(t->fields);
  if (const FunctionType* t = as<FunctionType>(type)) return any(t->params) || has_symbolic_data(t->result);
  if (const RefType* t = as<RefType>(type)) return has_symbolic_data(t->value);
  bool found = false;
  if (as<DataType>(type)) for_each_symbol(type, [&](const Symbol&) { found = true; });
  return found;
}

bool is_polymorphic(const Type& type) {
  const FunctionType* f = as<FunctionType>(type);
  if (f && !f->type_params.empty()) return true;
  auto any = [](const std::vector<Type>& list) { return std::ranges::any_of(list, is_polymorphic); };
  if (f) return any(f->params) || is_polymorphic(f->result);
  if (const TupleType* t = as<TupleType>(type)) return any(t->fields);
  if (const DataType* t = as<DataType>(type)) return any(t->args);
  const RefType* r = as<RefType>(type);
  return r && is_polymorphic(r->value);
}

// Whether a variable other than the name of a generic function has a polymorphic type, or the function's result.
bool has_polymorphic_values(const Function& f) {
  std::function<bool(const Block&)> in_block = [&](const Block& block) {
    return std::ranges::any_of(block.bindings, [&](const Binding& b) {
      if (const MakeFunction* made = std::get_if<MakeFunction>(&b.op)) return has_polymorphic_values(*made->function);
      bool found = is_polymorphic(b.var->type);
      for_each_block(b.op, [&](const Block& inner) { found = found || in_block(inner); });
      return found;
    });
  };
  return is_polymorphic(f.result_type) || in_block(f.body) ||
         std::ranges::any_of(f.params, [](const Var& p) { return is_polymorphic(p->type); });
}

// Names for instances: the first one's is that of the definition.
class InstanceNames {
 public:
  void take(const std::string& name) { taken_.insert(name); }
  std::string next(const std::string& name) {
    int& k = next_[name];
    std::string instance = name;
    while (k > 0 && !taken_.insert(instance = fmt::format("{}_{}", name, k)).second) ++k;
    ++k;
    return instance;
  }

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> next_;  // 0: the name itself
};

class Monomorphizer {
 public:
  Monomorphizer(Module& module, Diagnostics& diagnostics)
      : module_(module), diagnostics_(diagnostics), next_size_(unused_symbol_number(module)) {
    for (const auto& [name, f] : module.functions) function_names_.take(name);
    for (const auto& [name, def] : module.data_types) {
      type_names_.take(name);
      for (const ConstructorDef& c : def.constructors) constructor_names_.take(c.name);
    }
    for (auto& [name, f] : module.functions)
      for_each_type(f, [&](Type& type) { erases_numbers_ |= has_symbolic_data(type); });
  }

  void run() {
    for (const auto& [name, def] : module_.data_types)
      if (def.params.empty() && !polymorphic_field(def)) instance_of(def, {});
    const std::set<std::string> used = functions_in_use(module_);
    for (const auto& [name, f] : module_.functions)
      if (f.type_params.empty() && used.contains(name) && !diagnostics_.has_errors()) build(name, {}, name);
    check_main();
    for (; !pending_.empty() && !diagnostics_.has_errors(); pending_.pop_front())
      build(pending_.front().name, pending_.front().arguments, pending_.front().instance);
    if (diagnostics_.has_errors()) return;
    module_.functions = std::move(functions_);
    module_.data_types = std::move(data_types_);
  }

 private:
  struct Pending {
    std::string name, instance;
    TypeArguments arguments;
  };
  struct LocalFunction {  // a generic one
    Binding definition;
    std::vector<Binding>* out;  // where its instances are bound
    std::map<std::string, Var> instances = {};
    bool is_being_built = false;
  };
  struct DataInstance {
    std::string name;
    std::map<std::string, std::string> constructors;
  };

  void refuse(DiagnosticId id, const SourceLocation& location, std::string message, std::string help) {
    if (!diagnostics_.has_errors()) diagnostics_.error(id, location, std::move(message), {}, std::move(help));
  }

  // ---- functions

  void check_main() {
    auto main = module_.functions.find("main");
    if (main != module_.functions.end() && !main->second.type_params.empty())
      refuse(DiagnosticId::unsupported_construct, main->second.location, "@main is generic",
             "give its parameters types without variables");
  }

  void build(const std::string& name, const TypeArguments& arguments, const std::string& instance) {
    const Function& definition = module_.functions.at(name);
    location_ = definition.location;
    Function f = instance_of(definition, arguments, "@" + name);
    if (diagnostics_.has_errors()) return;
    block(f.body);
    location_ = definition.location;
    for_each_type(f, [&](Type& type) { type = instance_of(type); });
    functions_.emplace(instance, std::move(f));
  }

  bool are_too_large(const TypeArguments& arguments) const {
    return std::ranges::any_of(arguments, [&](const auto& argument) { return limits_.exclude(argument.second); });
  }

  // A copy of the function with types for its variables.
  Function instance_of(const Function& generic, const TypeArguments& arguments, const std::string& name) {
    std::map<int, Atom> renamed;
    Function f = copy_function(module_, generic, renamed);
    f.type_params.clear();
    bool too_large = false;
    for_each_type(f, [&](Type& type) {
      type = with_arguments(type, arguments);
      too_large |= limits_.exclude(type);
    });
    if (too_large) refuse_instance(name);
    for (const Var& p : f.params) check_monomorphic(p);
    check_monomorphic("the result of " + name, f.result_type);
    return f;
  }

  void refuse_instance(const std::string& name) {
    refuse(DiagnosticId::too_large, location_, name + " is used at too many types, or at one that is too large",
           fmt::format("it may have {} instances; if it calls itself at another type, each call needs one",
                       most_instances));
  }

  // The types at which a call uses a generic function. Sizes that are not numbers are ?1, ?2, ... in the order of their
  // first occurrence, so that uses at any sizes are one instance; "?" is another size at each place.
  TypeArguments arguments_of(const FunctionType& generic, const Call& call, const Type& result) {
    TypeArguments arguments = type_arguments_at_call(module_, generic, call.args, result);
    std::map<std::string, Dim> sizes;
    for (const TypeVariable& v : generic.type_params) {
      Type& type = arguments.emplace(v.id, tuple_type({})).first->second;
      type = map_sizes(type, [&](const Dim& d) {
        if (d.is_constant() || d == unknown_dim()) return d;
        return sizes.emplace(d.str(), Dim::symbol({fmt::format("?{}", sizes.size() + 1)})).first->second;
      });
    }
    return arguments;
  }

  // The arguments of a new instance: with symbols that nothing else in the module has, the instances around it
  // included.
  TypeArguments with_new_sizes(TypeArguments arguments) {
    std::map<std::string, Dim> sizes;
    for (auto& [id, type] : arguments)
      type = map_sizes(type, [&](const Dim& d) {
        if (d.is_constant() || d == unknown_dim()) return d;
        auto [size, added] = sizes.emplace(d.str(), Dim());
        if (added) size->second = Dim::symbol({fmt::format("?{}", next_size_++)});
        return size->second;
      });
    return arguments;
  }

  std::string instance_of(const std::string& name, const FunctionType& type, TypeArguments arguments) {
    auto& instances = function_instances_[name];
    if (are_too_large(arguments) || instances.size() >= most_instances) {
      refuse_instance("@" + name);
      return name;
    }
    auto [it, added] = instances.emplace(text_of(type.type_params, arguments), "");
    if (!added) return it->second;
    it->second = function_names_.next(name);
    pending_.push_back({name, it->second, with_new_sizes(std::move(arguments))});
    return it->second;
  }

  Var instance_of(LocalFunction& local, const TypeArguments& arguments) {
    const Function& generic = *std::get<MakeFunction>(local.definition.op).function;
    auto [it, added] = local.instances.emplace(text_of(generic.type_params, arguments), nullptr);
    if (!added) return it->second;
    Var& var = it->second = module_.fresh(local.definition.var->name);
    if (local.is_being_built)
      refuse(DiagnosticId::unsupported_construct, local.definition.location,
             fmt::format("%{} calls itself at another type", local.definition.var->name),
             "make it a function of the module: def @...");
    if (diagnostics_.has_errors()) return var;
    local.is_being_built = true;
    Function f = instance_of(generic, with_new_sizes(arguments), "%" + local.definition.var->name);
    if (diagnostics_.has_errors()) return var;
    std::vector<Type> params;
    for (const Var& p : f.params) params.push_back(p->type);
    var->type = function_type(std::move(params), f.result_type);
    block(f.body);
    local.is_being_built = false;
    local.out->push_back({var, MakeFunction{std::move(f)}, local.definition.location});
    return var;
  }

  // ---- operations, with the types of the instance, whose data types still have arguments

  void block(Block& block) {
    std::vector<std::vector<Binding>> out(block.bindings.size());
    for (size_t k = 0; k < out.size(); ++k) {
      Binding& b = block.bindings[k];
      const MakeFunction* made = std::get_if<MakeFunction>(&b.op);
      if (made && !made->function->type_params.empty()) {
        const int id = b.var->id;
        local_functions_.insert_or_assign(id, LocalFunction{std::move(b), &out[k]});
        continue;
      }
      operation(b);
      out[k].push_back(std::move(b));
    }
    block.bindings.clear();
    for (std::vector<Binding>& list : out) std::ranges::move(list, std::back_inserter(block.bindings));
  }

  void operation(Binding& b) {
    location_ = b.location;
    check_monomorphic(b.var);
    if (Call* call = std::get_if<Call>(&b.op)) this->call(*call, b.var->type);
    if (Match* match = std::get_if<Match>(&b.op))
      for (Clause& c : match->clauses) {
        std::vector<Binding> casts;
        pattern(c.pattern, type_of(module_, match->value), false, casts);
        c.body->bindings.insert(c.body->bindings.begin(), casts.begin(), casts.end());
      }
    if (const MakeFunction* made = std::get_if<MakeFunction>(&b.op))
      for (const Var& p : made->function->params) check_monomorphic(p);
    for_each_block(b.op, [&](Block& inner) { block(inner); });
  }

  // Generic functions are only called, so that no variable, result or field needs a polymorphic type.
  void check_monomorphic(const Var& var) {
    check_monomorphic(var->name.empty() ? "a value" : "%" + var->name, var->type);
  }

  void check_monomorphic(const std::string& what, const Type& type) {
    if (is_polymorphic(type))
      refuse(DiagnosticId::unsupported_construct, location_,
             fmt::format("{} has the polymorphic type {}, for which there are no instances", what, str(type)),
             "call a generic function by its name");
  }

  void call(Call& call, const Type& result) {
    if (GlobalRef* global = std::get_if<GlobalRef>(&call.callee)) {
      const Type type = type_of(module_, call.callee);
      const FunctionType& f = *as<FunctionType>(type);
      if (!f.type_params.empty()) global->name = instance_of(global->name, f, arguments_of(f, call, result));
    }
    if (ConstructorRef* constructor = std::get_if<ConstructorRef>(&call.callee))
      constructor->name = constructor_of(constructor->name, result);
    if (Var* var = std::get_if<Var>(&call.callee)) {
      auto it = local_functions_.find((*var)->id);
      if (it == local_functions_.end()) return;
      const FunctionType& f = *as<FunctionType>((*var)->type);
      *var = instance_of(it->second, arguments_of(f, call, result));
    }
  }

  // Constructors become those of the instance. Where data have lost sizes, a tensor gets its type by a cast.
  void pattern(Pattern& pattern, const Type& type, bool lost_sizes, std::vector<Binding>& casts) {
    if (auto* bind = std::get_if<Pattern::Bind>(&pattern.v)) {
      const Type stored = without_sizes(bind->var->type);
      if (!lost_sizes || stored == bind->var->type) return;
      if (as<TensorType>(stored)) {
        Var value = module_.fresh(bind->var->name, stored);
        casts.push_back({bind->var, MatchCast{value, bind->var->type}, location_});
        bind->var = std::move(value);
      } else {
        bind->var->type = stored;
      }
    }
    if (auto* tuple = std::get_if<Pattern::Tuple>(&pattern.v))
      for (size_t k = 0; k < tuple->fields.size(); ++k)
        this->pattern(tuple->fields[k], as<TupleType>(type)->fields[k], lost_sizes, casts);
    auto* constructor = std::get_if<Pattern::Constructor>(&pattern.v);
    if (!constructor) return;
    const DataType& data = *as<DataType>(type);
    const auto fields = types_of_fields(module_.data_types.at(data.name), constructor->name, data);
    for (size_t k = 0; k < constructor->fields.size(); ++k)
      this->pattern(constructor->fields[k], (*fields)[k], lost_sizes || !data.args.empty(), casts);
    constructor->name = constructor_of(constructor->name, type);
  }

  // ---- data types

  std::string constructor_of(const std::string& name, const Type& type) {
    const DataType& data = *as<DataType>(type);
    const auto& constructors = instance_of(module_.data_types.at(data.name), data.args).constructors;
    const auto instance = constructors.find(name);
    return instance == constructors.end() ? name : instance->second;  // there is none after an error
  }

  // The type as an argument of a data type, with "?" for symbolic sizes. Where the module has data types over symbols,
  // data over numbers may be passed for them: then numbers become "?", too.
  Type without_sizes(const Type& type) const {
    return map_sizes(type, [&](const Dim& d) { return d.is_constant() && !erases_numbers_ ? d : unknown_dim(); });
  }

  // A function for any size is no function for a number, and a reference to a tensor of any size is none to a tensor of
  // one size. Neither can be checked as a tensor can.
  void refuse_invariant_sizes(const Type& type) {
    auto all = [&](const std::vector<Type>& list) {
      for (const Type& t : list) refuse_invariant_sizes(t);
    };
    if (const TupleType* t = as<TupleType>(type)) all(t->fields);
    if (const DataType* t = as<DataType>(type)) all(t->args);
    const bool is_reference = as<RefType>(type);
    if ((is_reference || as<FunctionType>(type)) && without_sizes(type) != type)
      refuse(DiagnosticId::unsupported_construct, location_,
             fmt::format("{} of type {} are in data, whose types have no sizes that are names",
                         is_reference ? "references" : "functions", str(type)),
             "give the sizes of what is in data as numbers");
  }

  static const ConstructorDef* polymorphic_field(const DataTypeDef& def) {
    for (const ConstructorDef& c : def.constructors)
      if (std::ranges::any_of(c.fields, is_polymorphic)) return &c;
    return nullptr;
  }

  // Without constructors if there is no instance, which is an error.
  const DataInstance& instance_of(const DataTypeDef& def, const std::vector<Type>& args) {
    static const DataInstance none{};
    TypeArguments arguments;
    for (size_t k = 0; k < def.params.size(); ++k) arguments[def.params[k].id] = without_sizes(args[k]);
    auto& instances = data_instances_[def.name];
    if (are_too_large(arguments) || instances.size() >= most_instances) {
      refuse_instance(def);
      return none;
    }
    for (const Type& argument : args) refuse_invariant_sizes(argument);
    if (const ConstructorDef* c = polymorphic_field(def))
      for (const Type& field : c->fields) check_monomorphic("a field of " + c->name, field);
    if (diagnostics_.has_errors()) return none;
    auto [it, added] = instances.emplace(text_of(def.params, arguments), DataInstance{});
    DataInstance& instance = it->second;
    if (!added) return instance;
    instance.name = type_names_.next(def.name);
    for (const ConstructorDef& c : def.constructors) instance.constructors[c.name] = constructor_names_.next(c.name);
    DataTypeDef copy{instance.name, {}, {}, def.is_extern};
    for (const ConstructorDef& c : def.constructors) {
      ConstructorDef fields{instance.constructors.at(c.name), {}};
      for (const Type& field : c.fields) {
        const Type type = with_arguments(field, arguments);
        if (limits_.exclude(type)) refuse_instance(def);
        fields.fields.push_back(instance_of(type));
      }
      copy.constructors.push_back(std::move(fields));
    }
    data_types_.emplace(instance.name, std::move(copy));
    return instance;
  }

  void refuse_instance(const DataTypeDef& def) {
    refuse(DiagnosticId::too_large, location_, def.name + " is used at too many types, or at one that is too large",
           "a type that contains itself at another type needs an instance for each level");
  }

  std::vector<Type> instances_of(const std::vector<Type>& list) {
    std::vector<Type> result;
    for (const Type& t : list) result.push_back(instance_of(t));
    return result;
  }

  // The type with instances in place of data types with arguments.
  Type instance_of(const Type& type) {
    if (!type || diagnostics_.has_errors()) return type;
    if (const TupleType* t = as<TupleType>(type)) return tuple_type(instances_of(t->fields));
    if (const FunctionType* t = as<FunctionType>(type))
      return function_type(instances_of(t->params), instance_of(t->result), t->type_params);
    if (const RefType* t = as<RefType>(type)) return ref_type(instance_of(t->value));
    const DataType* data = as<DataType>(type);
    return data ? data_type(instance_of(module_.data_types.at(data->name), data->args).name, {}) : type;
  }

  Module& module_;
  const TypeLimits limits_ = limits_of_types(module_);  // endlessly many types grow beyond them
  Diagnostics& diagnostics_;
  std::map<std::string, Function> functions_;
  std::map<std::string, DataTypeDef> data_types_;
  std::deque<Pending> pending_;
  std::map<std::string, std::map<std::string, std::string>> function_instances_;  // by name and arguments
  std::map<std::string, std::map<std::string, DataInstance>> data_instances_;
  std::map<int, LocalFunction> local_functions_;  // by variable
  InstanceNames function_names_, type_names_, constructor_names_;
  int next_size_;
  bool erases_numbers_ = false;
  SourceLocation location_;
};

}  // namespace

// After an error the module is what it was.
Module monomorphize(Module module, PassContext& context) {
  if (std::ranges::any_of(module.functions, [](const auto& f) { return has_polymorphic_values(f.second); }))
    module = inline_higher_order(std::move(module), context);
  module = eta_expand(std::move(module), context);
  Diagnostics ignored;
  Diagnostics& diagnostics = context.diagnostics ? *context.diagnostics : ignored;
  if (diagnostics.has_errors()) return module;
  Monomorphizer(module, diagnostics).run();
  infer_again(module, context);
  return module;
}

}  // namespace dlcc::relay

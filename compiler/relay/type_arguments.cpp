#include "relay/type_arguments.h"

#include <algorithm>

#include "relay/function_sizes.h"

namespace dlcc::relay {

// The first type with "?" for the sizes of tensors that are unknown given those of the second one, a type of the same
// parts.
static Type with_unknown_sizes(const Type& type, const Type& other,
                               const std::function<bool(const Dim&, const Dim&)>& is_unknown) {
  auto all = [&](const std::vector<Type>& types, const std::vector<Type>& others) {
    std::vector<Type> result;
    for (size_t k = 0; k < std::min(types.size(), others.size()); ++k)
      result.push_back(with_unknown_sizes(types[k], others[k], is_unknown));
    return result;
  };
  const TupleType *fields = as<TupleType>(type), *other_fields = as<TupleType>(other);
  if (fields && other_fields) return tuple_type(all(fields->fields, other_fields->fields));
  const DataType *data = as<DataType>(type), *other_data = as<DataType>(other);
  if (data && other_data) return data_type(data->name, all(data->args, other_data->args));
  const TensorType *tensor = as<TensorType>(type), *other_tensor = as<TensorType>(other);
  if (!tensor || !other_tensor || tensor->shape.size() != other_tensor->shape.size()) return type;
  Shape shape = tensor->shape;
  for (size_t k = 0; k < shape.size(); ++k)
    if (is_unknown(shape[k], other_tensor->shape[k])) shape[k] = unknown_dim();
  return with_shape(*tensor, std::move(shape));
}

static Type with_common_sizes(const Type& type, const Type& other) {
  return with_unknown_sizes(type, other, [](const Dim& d, const Dim& other_size) { return d != other_size; });
}

static Type with_unknown_sizes_of(const Type& type, const Type& other) {
  return with_unknown_sizes(type, other, [](const Dim&, const Dim& size) { return size == unknown_dim(); });
}

// Whether the type names one of the variables.
static bool names_any(const Type& type, const std::vector<TypeVariable>& variables) {
  return any_leaf(type, &TypeNode::has_variables, [&](const Type& leaf) {
    return std::ranges::find(variables, as<VariableType>(leaf)->variable) != variables.end();
  });
}

static void find_in_lists(const std::vector<Type>& generic, const std::vector<Type>& types, TypeArguments& arguments) {
  for (size_t k = 0; k < std::min(generic.size(), types.size()); ++k)
    find_type_arguments(generic[k], types[k], arguments);
}

// A generic function tells the types that do not depend on its instance.
static void find_in_functions(const FunctionType& generic, const FunctionType& type, TypeArguments& arguments) {
  TypeArguments found;
  find_in_lists(generic.params, type.params, found);
  find_type_arguments(generic.result, type.result, found);
  std::erase_if(found, [&](const auto& argument) { return names_any(argument.second, type.type_params); });
  arguments.merge(found);
}

void find_type_arguments(const Type& generic, const Type& type, TypeArguments& arguments) {
  if (!generic || !type) return;
  if (const VariableType* v = as<VariableType>(generic)) {
    if (has_holes(type)) return;
    const auto [known, is_new] = arguments.emplace(v->variable.id, type);
    if (!is_new) known->second = with_common_sizes(known->second, type);
    return;
  }
  const OpenTensorType* open = as<OpenTensorType>(generic);
  if (const TensorType* tensor = as<TensorType>(type); open && tensor) {
    find_type_arguments(open->shape, tensor_type(tensor->shape, dtype::boolean), arguments);
    find_type_arguments(open->element, with_shape(*tensor, {}), arguments);
  }
  if (generic->v.index() != type->v.index()) return;
  std::visit(overloaded{[&](const TupleType& t) { find_in_lists(t.fields, as<TupleType>(type)->fields, arguments); },
                        [&](const FunctionType& t) { find_in_functions(t, *as<FunctionType>(type), arguments); },
                        [&](const DataType& t) { find_in_lists(t.args, as<DataType>(type)->args, arguments); },
                        [&](const RefType& t) { find_type_arguments(t.value, as<RefType>(type)->value, arguments); },
                        [](const auto&) {}},
             generic->v);
}

// Adds what an argument tells. A generic function of the module, and a constructor, is an instance of its type: it does
// not tell the type of a variable whose value it is.
static void find_in_argument(const Module& module, const Type& param, const Atom& argument, TypeArguments& arguments) {
  const Type type = type_of(module, argument);
  const FunctionType* function = as<FunctionType>(type);
  const bool is_instance = function && !function->type_params.empty() && !std::holds_alternative<Var>(argument);
  if (!is_instance || !as<VariableType>(param)) find_type_arguments(param, type, arguments);
}

TypeArguments type_arguments_at_call(const Module& module, const FunctionType& callee, const std::vector<Atom>& args,
                                     const Type& result) {
  TypeArguments arguments;
  std::vector<std::pair<int, Type>> of_functions;
  auto add = [&](const Type& part, const std::function<void(TypeArguments&)>& find) {
    if (!as<FunctionType>(part)) return find(arguments);
    TypeArguments found;
    find(found);
    of_functions.insert(of_functions.end(), found.begin(), found.end());
  };
  add(callee.result, [&](TypeArguments& found) { find_type_arguments(callee.result, result, found); });
  for (size_t k = 0; k < args.size(); ++k)
    add(callee.params[k], [&](TypeArguments& found) { find_in_argument(module, callee.params[k], args[k], found); });
  for (const auto& [variable, type] : of_functions)
    if (const auto [known, is_new] = arguments.emplace(variable, type); !is_new)
      known->second = with_unknown_sizes_of(known->second, type);
  return arguments;
}

Type with_arguments(const Type& type, const TypeArguments& arguments) {
  if (arguments.empty()) return type;
  return map_leaves(type, &TypeNode::has_variables, [&](const Type& leaf) {
    const auto it = arguments.find(as<VariableType>(leaf)->variable.id);
    return it == arguments.end() ? leaf : it->second;
  });
}

void add_dim_pairs(const Shape& param, const Shape& argument, std::vector<DimPair>& pairs) {
  for (size_t k = 0; k < param.size() && param.size() == argument.size(); ++k)
    if (param[k] != unknown_dim()) pairs.push_back({param[k], argument[k]});
}

void add_dim_pairs(const Type& param, const Type& argument, std::vector<DimPair>& pairs) {
  if (!param || !argument) return;
  const OpenTensorType* open = as<OpenTensorType>(param);
  if (const TensorType* tensor = as<TensorType>(argument); open && tensor)
    return add_dim_pairs(open->shape, tensor_type(tensor->shape, dtype::boolean), pairs);
  if (param->v.index() != argument->v.index()) return;
  auto lists = [&](const std::vector<Type>& params, const std::vector<Type>& types) {
    for (size_t i = 0; i < std::min(params.size(), types.size()); ++i) add_dim_pairs(params[i], types[i], pairs);
  };
  std::visit(overloaded{[&](const TensorType& p) { add_dim_pairs(p.shape, as<TensorType>(argument)->shape, pairs); },
                        [&](const TupleType& p) { lists(p.fields, as<TupleType>(argument)->fields); },
                        [&](const FunctionType& p) {
                          const FunctionType& f = *as<FunctionType>(argument);
                          lists(p.params, f.params);
                          add_dim_pairs(p.result, f.result, pairs);
                        },
                        [&](const DataType& p) { lists(p.args, as<DataType>(argument)->args); },
                        [&](const RefType& p) { add_dim_pairs(p.value, as<RefType>(argument)->value, pairs); },
                        [](const auto&) {}},
             param->v);
}

std::vector<DimPair> dim_pairs(const Module& module, const Function& callee, const std::vector<Atom>& args) {
  std::vector<DimPair> pairs;
  for (size_t k = 0; k < args.size(); ++k) add_dim_pairs(callee.params[k]->type, type_of(module, args[k]), pairs);
  erase_sizes_of_values(callee, pairs);
  return pairs;
}

std::set<std::string> sizes_of_function_values(const Function& f) {
  std::vector<Type> signature;
  for (const Var& p : f.params) signature.push_back(p->type);
  signature.push_back(f.result_type);
  return sizes_of_function_values(signature);
}

void erase_sizes_of_values(const Function& callee, std::vector<DimPair>& pairs) {
  const std::set<std::string> sizes = sizes_of_function_values(callee);
  if (sizes.empty()) return;
  std::erase_if(pairs, [&](const DimPair& pair) {
    return std::ranges::any_of(pair.param.symbols(), [&](const Symbol& s) { return sizes.contains(s.name); });
  });
}

std::map<std::string, Dim> sizes_at_call(const std::vector<DimPair>& pairs) {
  std::map<std::string, Dim> sizes;
  match_sizes(
      pairs, [](const std::string&) { return true; }, sizes);
  return sizes;
}

std::vector<Dim> distances_from_lower_bounds(const Module& module, const GlobalRef& callee,
                                             const std::vector<Atom>& args) {
  const auto f = module.functions.find(callee.name);
  if (f == module.functions.end()) return {};
  return distances_from_lower_bounds(f->second, sizes_at_call(dim_pairs(module, f->second, args)));
}

std::vector<Dim> distances_from_lower_bounds(const Function& callee, const std::map<std::string, Dim>& values) {
  std::map<std::string, Dim> found;
  for (const Var& p : callee.params)
    for_each_symbol(p->type, [&](const Symbol& s) {
      const auto value = values.find(s.name);
      if (value != values.end() && !provably_le(s.low, value->second))
        found.emplace(s.name, value->second - Dim(s.low));
    });
  std::vector<Dim> distances;
  for (auto& [name, distance] : found) distances.push_back(std::move(distance));
  return distances;
}

Type substitute(const Type& type, const std::map<std::string, Dim>& sizes) {
  return map_leaves(type, &TypeNode::has_symbols, [&](const Type& leaf) {
    const TensorType* t = as<TensorType>(leaf);
    if (!t || is_static(t->shape)) return leaf;
    Shape shape = t->shape;
    for (Dim& d : shape) d = d.substitute(sizes);
    return with_shape(*t, std::move(shape));
  });
}

Type with_any_sizes(const Type& type, const std::function<bool(const std::string&)>& is_any) {
  return map_leaves(type, &TypeNode::has_symbols, [&](const Type& leaf) {
    const TensorType* tensor = as<TensorType>(leaf);
    if (!tensor) return leaf;
    Shape shape = tensor->shape;
    for (Dim& d : shape)
      if (std::ranges::any_of(d.symbols(), [&](const Symbol& s) { return is_any(s.name); })) d = unknown_dim();
    return with_shape(*tensor, std::move(shape));
  });
}

bool has_holes(const Type& type) { return type && type->has_holes; }

bool has_type_variables(const Type& type) { return type && type->has_variables; }

std::optional<std::vector<Type>> types_of_fields(const DataTypeDef& def, const std::string& constructor,
                                                 const DataType& type) {
  auto it = std::ranges::find(def.constructors, constructor, &ConstructorDef::name);
  if (it == def.constructors.end()) return std::nullopt;
  TypeArguments arguments;
  for (size_t k = 0; k < std::min(def.params.size(), type.args.size()); ++k)
    arguments.emplace(def.params[k].id, type.args[k]);
  std::vector<Type> fields;
  for (const Type& field : it->fields) fields.push_back(with_arguments(field, arguments));
  return fields;
}

}  // namespace dlcc::relay

#include "relay/type_arguments.h"

#include <algorithm>

namespace dlcc::relay {

static void find_in_lists(const std::vector<Type>& generic, const std::vector<Type>& types, TypeArguments& arguments) {
  for (size_t k = 0; k < std::min(generic.size(), types.size()); ++k)
    find_type_arguments(generic[k], types[k], arguments);
}

void find_type_arguments(const Type& generic, const Type& type, TypeArguments& arguments) {
  if (!generic || !type) return;
  if (const VariableType* v = as<VariableType>(generic)) {
    arguments.emplace(v->variable.id, type);
    return;
  }
  const OpenTensorType* open = as<OpenTensorType>(generic);
  if (const TensorType* tensor = as<TensorType>(type); open && tensor) {
    find_type_arguments(open->shape, tensor_type(tensor->shape, dtype::boolean), arguments);
    find_type_arguments(open->element, with_shape(*tensor, {}), arguments);
  }
  if (generic->v.index() != type->v.index()) return;
  std::visit(overloaded{[&](const TupleType& t) { find_in_lists(t.fields, as<TupleType>(type)->fields, arguments); },
                        [&](const FunctionType& t) {
                          const FunctionType& u = *as<FunctionType>(type);
                          find_in_lists(t.params, u.params, arguments);
                          find_type_arguments(t.result, u.result, arguments);
                        },
                        [&](const DataType& t) { find_in_lists(t.args, as<DataType>(type)->args, arguments); },
                        [&](const RefType& t) { find_type_arguments(t.value, as<RefType>(type)->value, arguments); },
                        [](const auto&) {}},
             generic->v);
}

Type with_arguments(const Type& type, const TypeArguments& arguments) {
  if (arguments.empty()) return type;
  return map_leaves(type, [&](const Type& leaf) {
    const VariableType* v = as<VariableType>(leaf);
    auto it = v ? arguments.find(v->variable.id) : arguments.end();
    return it == arguments.end() ? leaf : it->second;
  });
}

void find_sizes(const Type& param, const Type& found, const std::function<bool(const std::string&)>& quantified,
                std::map<std::string, Dim>& sizes) {
  if (!param || !found) return;
  const OpenTensorType* open = as<OpenTensorType>(param);
  if (const TensorType* tensor = as<TensorType>(found); open && tensor)
    return find_sizes(open->shape, tensor_type(tensor->shape, dtype::boolean), quantified, sizes);
  if (param->v.index() != found->v.index()) return;
  auto lists = [&](const std::vector<Type>& params, const std::vector<Type>& types) {
    for (size_t i = 0; i < std::min(params.size(), types.size()); ++i)
      find_sizes(params[i], types[i], quantified, sizes);
  };
  std::visit(overloaded{[&](const TensorType& p) {
                          const Shape& shape = as<TensorType>(found)->shape;
                          for (size_t i = 0; i < p.shape.size() && p.shape.size() == shape.size(); ++i) {
                            std::vector<Symbol> symbols = p.shape[i].symbols();
                            if (symbols.size() == 1 && symbols[0].name != "?" &&
                                p.shape[i] == Dim::symbol(symbols[0]) && quantified(symbols[0].name))
                              sizes.emplace(symbols[0].name, shape[i]);
                          }
                        },
                        [&](const TupleType& p) { lists(p.fields, as<TupleType>(found)->fields); },
                        [&](const FunctionType& p) {
                          const FunctionType& f = *as<FunctionType>(found);
                          lists(p.params, f.params);
                          find_sizes(p.result, f.result, quantified, sizes);
                        },
                        [&](const DataType& p) { lists(p.args, as<DataType>(found)->args); },
                        [&](const RefType& p) { find_sizes(p.value, as<RefType>(found)->value, quantified, sizes); },
                        [](const auto&) {}},
             param->v);
}

Type substitute(const Type& type, const std::map<std::string, Dim>& sizes) {
  return map_leaves(type, [&](const Type& leaf) {
    const TensorType* t = as<TensorType>(leaf);
    if (!t || is_static(t->shape)) return leaf;
    Shape shape = t->shape;
    for (Dim& d : shape) d = d.substitute(sizes);
    return with_shape(*t, std::move(shape));
  });
}

bool has_type_variables(const Type& type) {
  return any_leaf(type, [](const Type& leaf) { return as<VariableType>(leaf) != nullptr; });
}

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

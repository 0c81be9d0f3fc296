// Construction, comparison and text of Relay types.
#include "relay/type.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/diagnostics.h"

namespace dlcc::relay {

// ---- construction ---------------------------------------------------------------------------------------------------

namespace {

// A node of the given parts, from which its depth, its size, which saturates, and its flags are computed.
template <class T>
Type make_type(T value, std::initializer_list<const std::vector<Type>*> parts) {
  TypeNode node{std::move(value)};
  constexpr int64_t enough = INT64_MAX / 4;
  for (const std::vector<Type>* list : parts) {
    for (const Type& part : *list) {
      if (!part) continue;
      node.depth = std::max(node.depth, part->depth + 1);
      node.size = std::min(node.size + part->size, enough);
      node.has_holes |= part->has_holes;
      node.has_variables |= part->has_variables;
      node.has_symbols |= part->has_symbols;
    }
  }
  node.has_holes |= std::is_same_v<T, HoleType>;
  node.has_variables |= std::is_same_v<T, VariableType>;
  if constexpr (std::is_same_v<T, FunctionType>)
    node.has_variables |= !std::get<FunctionType>(node.v).type_params.empty();
  if constexpr (std::is_same_v<T, TensorType>) node.has_symbols = !is_static(std::get<TensorType>(node.v).shape);
  return std::make_shared<const TypeNode>(std::move(node));
}

}  // namespace

Type tensor_type(Shape shape, DType dtype) { return make_type(TensorType{std::move(shape), dtype}, {}); }
Type tensor_type(const std::vector<int64_t>& shape, DType dtype) { return tensor_type(shape_of(shape), dtype); }
Type with_shape(const TensorType& t, Shape shape) {
  return make_type(TensorType{std::move(shape), t.dtype, t.lanes}, {});
}
bool same_element_type(const TensorType& a, const TensorType& b) { return a.dtype == b.dtype && a.lanes == b.lanes; }
Type open_tensor_type(Type shape, Type element) {
  const TensorType *known_shape = as<TensorType>(shape), *scalar = as<TensorType>(element);
  if (known_shape && scalar) return with_shape(*scalar, known_shape->shape);
  const std::vector<Type> parts{shape, element};
  return make_type(OpenTensorType{std::move(shape), std::move(element)}, {&parts});
}
Type tuple_type(std::vector<Type> fields) { return make_type(TupleType{fields}, {&fields}); }

void for_each_field(const Type& type, const std::function<void(const Type&)>& visit) {
  const auto* tuple = as<TupleType>(type);
  if (!tuple) return visit(type);
  for (const Type& field : tuple->fields) for_each_field(field, visit);
}
Type function_type(std::vector<Type> params, Type result, std::vector<TypeVariable> type_params) {
  std::vector<Type> results{result};
  return make_type(FunctionType{std::move(type_params), params, result}, {&params, &results});
}
Type data_type(std::string name, std::vector<Type> args) { return make_type(DataType{std::move(name), args}, {&args}); }
Type ref_type(Type value) {
  std::vector<Type> values{value};
  return make_type(RefType{std::move(value)}, {&values});
}
Type variable_type(TypeVariable variable) { return make_type(VariableType{std::move(variable)}, {}); }
Type hole_type(int id) { return make_type(HoleType{id}, {}); }
Dim unknown_dim() { return Dim::symbol({"?"}); }
int number_of(const Symbol& s) {
  constexpr size_t max_length = 8;  // of names whose number is an int
  const bool is_numbered = s.name.size() > 1 && s.name.size() <= max_length && s.name[0] == '?';
  return is_numbered ? std::atoi(s.name.c_str() + 1) : 0;
}

// ---- traversal ------------------------------------------------------------------------------------------------------

namespace {

bool map_list(const std::vector<Type>& list, bool TypeNode::*with, const std::function<Type(const Type&)>& leaf,
              std::vector<Type>& out) {
  bool changed = false;
  for (const Type& t : list) {
    out.push_back(map_leaves(t, with, leaf));
    changed |= out.back() != t;
  }
  return changed;
}

}  // namespace

Type map_leaves(const Type& type, const std::function<Type(const Type&)>& leaf) {
  return map_leaves(type, nullptr, leaf);
}

Type map_leaves(const Type& type, bool TypeNode::*with, const std::function<Type(const Type&)>& leaf) {
  if (!type || (with && !((*type).*with))) return type;
  std::vector<Type> parts;
  return std::visit(
      overloaded{[&](const OpenTensorType& t) {
                   Type shape = map_leaves(t.shape, with, leaf), element = map_leaves(t.element, with, leaf);
                   return shape == t.shape && element == t.element ? type : open_tensor_type(shape, element);
                 },
                 [&](const TupleType& t) {
                   return map_list(t.fields, with, leaf, parts) ? tuple_type(std::move(parts)) : type;
                 },
                 [&](const FunctionType& t) {
                   bool changed = map_list(t.params, with, leaf, parts);
                   Type result = map_leaves(t.result, with, leaf);
                   changed |= result != t.result;
                   if (!changed) return type;
                   std::vector<TypeVariable> variables = t.type_params;
                   for (TypeVariable& v : variables)  // a bound variable that the map renames
                     if (const Type renamed = map_leaves(variable_type(v), with, leaf); as<VariableType>(renamed))
                       v = as<VariableType>(renamed)->variable;
                   return function_type(std::move(parts), result, std::move(variables));
                 },
                 [&](const DataType& t) {
                   return map_list(t.args, with, leaf, parts) ? data_type(t.name, std::move(parts)) : type;
                 },
                 [&](const RefType& t) {
                   Type value = map_leaves(t.value, with, leaf);
                   return value == t.value ? type : ref_type(value);
                 },
                 [&](const auto&) { return leaf(type); }},
      type->v);
}

bool any_leaf(const Type& type, bool TypeNode::*with, const std::function<bool(const Type&)>& predicate) {
  bool any = false;
  map_leaves(type, with, [&](const Type& leaf) {
    any = any || predicate(leaf);
    return leaf;
  });
  return any;
}

std::vector<Type> parts_of(const Type& type) {
  return std::visit(
      overloaded{[](const OpenTensorType& t) {
                   return std::vector{t.shape, t.element};
                 },
                 [](const TupleType& t) { return t.fields; },
                 [](const FunctionType& t) {
                   std::vector<Type> parts = t.params;
                   parts.push_back(t.result);
                   return parts;
                 },
                 [](const DataType& t) { return t.args; }, [](const RefType& t) { return std::vector{t.value}; },
                 [](const auto&) { return std::vector<Type>(); }},
      type->v);
}

static void visit_free(const Type& type, std::vector<TypeVariable>& bound,
                       const std::function<void(const TypeVariable&)>& visit) {
  if (!type || !type->has_variables) return;
  const VariableType* v = as<VariableType>(type);
  if (v && std::ranges::find(bound, v->variable) == bound.end()) visit(v->variable);
  const size_t outer = bound.size();
  if (const FunctionType* f = as<FunctionType>(type))
    bound.insert(bound.end(), f->type_params.begin(), f->type_params.end());
  for (const Type& part : parts_of(type)) visit_free(part, bound, visit);
  bound.resize(outer);
}

void for_each_free_variable(const Type& type, const std::function<void(const TypeVariable&)>& visit) {
  std::vector<TypeVariable> bound;
  visit_free(type, bound, visit);
}

void for_each_symbol(const Type& type, const std::function<void(const Symbol&)>& visit) {
  auto visit_tensor = [&](const Type& t) {
    for (const Dim& d : as<TensorType>(t)->shape)
      if (!d.is_constant())
        for (const Symbol& s : d.symbols()) visit(s);
    return t;
  };
  map_leaves(type, &TypeNode::has_symbols, visit_tensor);
}

bool has_symbols(const Type& type) { return type && type->has_symbols; }

bool is_static(const Type& type) { return type && !type->has_symbols && !type->has_holes && !type->has_variables; }

// ---- comparison -----------------------------------------------------------------------------------------------------

namespace {

struct Comparison {
  std::map<int, int> renamed;  // bound variables of the left type to those of the right

  bool lists(const std::vector<Type>& a, const std::vector<Type>& b) {
    return std::ranges::equal(a, b, [&](const Type& x, const Type& y) { return same(x, y); });
  }

  bool functions(const FunctionType& a, const FunctionType& b) {
    if (a.type_params.size() != b.type_params.size()) return false;
    for (size_t i = 0; i < a.type_params.size(); ++i) renamed[a.type_params[i].id] = b.type_params[i].id;
    return lists(a.params, b.params) && same(a.result, b.result);
  }

  bool same(const Type& a, const Type& b) {
    if (a == b && (renamed.empty() || !a || !a->has_variables)) return true;
    if (!a || !b || a->v.index() != b->v.index()) return false;
    return std::visit(overloaded{[&](const TensorType& t) {
                                   const TensorType& u = *as<TensorType>(b);
                                   return same_element_type(t, u) && t.shape == u.shape;
                                 },
                                 [&](const OpenTensorType& t) {
                                   const OpenTensorType& u = *as<OpenTensorType>(b);
                                   return same(t.shape, u.shape) && same(t.element, u.element);
                                 },
                                 [&](const TupleType& t) { return lists(t.fields, as<TupleType>(b)->fields); },
                                 [&](const FunctionType& t) { return functions(t, *as<FunctionType>(b)); },
                                 [&](const DataType& t) {
                                   const DataType& u = *as<DataType>(b);
                                   return t.name == u.name && lists(t.args, u.args);
                                 },
                                 [&](const RefType& t) { return same(t.value, as<RefType>(b)->value); },
                                 [&](const VariableType& t) {
                                   auto it = renamed.find(t.variable.id);
                                   int id = it == renamed.end() ? t.variable.id : it->second;
                                   return id == as<VariableType>(b)->variable.id;
                                 },
                                 [&](const HoleType& t) { return t.id == as<HoleType>(b)->id; }},
                      a->v);
  }
};

}  // namespace

bool same_type(const Type& a, const Type& b) { return Comparison{}.same(a, b); }

// ---- text -----------------------------------------------------------------------------------------------------------

namespace {

void write_list(const std::vector<Type>& list, std::string& out);

std::string element_text(const TensorType& t) {
  if (t.lanes == 1) return std::string(name(t.dtype));
  return fmt::format("{}x{}", t.dtype == dtype::boolean ? "uint1" : name(t.dtype), t.lanes);
}

// The name without the number that with_distinct_names() appends.
std::string stem_of(const std::string& name) {
  const size_t end = name.find_last_not_of("0123456789");
  const bool is_numbered = end != std::string::npos && end > 0 && end + 1 < name.size() && name[end] == '_';
  return is_numbered ? name.substr(0, end) : name;
}

// A generic function type whose bound variables have other names than the free ones in it, without numbers if possible,
// so that the type that is read from the text has the same text.
FunctionType with_distinct_names(const Type& type) {
  const FunctionType& f = *as<FunctionType>(type);
  std::set<std::string> taken;
  for_each_free_variable(type, [&](const TypeVariable& v) { taken.insert(v.name); });
  std::map<int, TypeVariable> renamed;
  for (const TypeVariable& v : f.type_params) {
    TypeVariable distinct = v;
    const std::string stem = distinct.name = stem_of(v.name);
    for (int k = 1; !taken.insert(distinct.name).second; ++k) distinct.name = fmt::format("{}_{}", stem, k);
    if (distinct.name != v.name) renamed.emplace(v.id, std::move(distinct));
  }
  if (renamed.empty()) return f;
  return *as<FunctionType>(map_leaves(type, [&](const Type& leaf) {
    const VariableType* v = as<VariableType>(leaf);
    const auto it = v ? renamed.find(v->variable.id) : renamed.end();
    return it == renamed.end() ? leaf : variable_type(it->second);
  }));
}

void write(const Type& type, std::string& out) {
  if (!type) {
    out += "_";
    return;
  }
  std::visit(overloaded{[&](const TensorType& t) {
                          const std::string element = element_text(t);
                          out += t.shape.empty() ? element : fmt::format("Tensor[{}, {}]", str(t.shape), element);
                        },
                        [&](const OpenTensorType& t) {
                          const TensorType *shape = as<TensorType>(t.shape), *element = as<TensorType>(t.element);
                          out += fmt::format("Tensor[{}, {}]", shape ? str(shape->shape) : str(t.shape),
                                             element ? element_text(*element) : str(t.element));
                        },
                        [&](const TupleType& t) {
                          out += "(";
                          write_list(t.fields, out);
                          out += t.fields.size() == 1 ? ",)" : ")";
                        },
                        [&](const FunctionType& function) {
                          const FunctionType t = function.type_params.empty() ? function : with_distinct_names(type);
                          out += "fn ";
                          for (size_t i = 0; i < t.type_params.size(); ++i)
                            out += (i ? ", " : "[") + str(t.type_params[i]);
                          out += t.type_params.empty() ? "(" : "](";
                          write_list(t.params, out);
                          out += ") -> ";
                          write(t.result, out);
                        },
                        [&](const DataType& t) {
                          out += t.name;
                          if (t.args.empty()) return;
                          out += "[";
                          write_list(t.args, out);
                          out += "]";
                        },
                        [&](const RefType& t) {
                          out += "ref(";
                          write(t.value, out);
                          out += ")";
                        },
                        [&](const VariableType& t) { out += t.variable.name; }, [&](const HoleType&) { out += "_"; }},
             type->v);
}

void write_list(const std::vector<Type>& list, std::string& out) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) out += ", ";
    write(list[i], out);
  }
}

}  // namespace

std::string str(const TypeVariable& v) {
  return v.kind == Kind::type ? v.name : fmt::format("{}: {}", v.name, v.kind == Kind::shape ? "Shape" : "BaseType");
}

std::string str(const Type& type) {
  std::string out;
  write(type, out);
  return out;
}

}  // namespace dlcc::relay

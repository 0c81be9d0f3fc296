// Unification of types with holes.
#include "relay/unify.h"

#include <algorithm>

#include "support/diagnostics.h"

namespace dlcc::relay {

namespace {

bool dims_fit(const Shape& found, const Shape& expected, bool subsume) {
  static const Dim any = unknown_dim();
  return std::ranges::equal(found, expected,
                            [&](const Dim& f, const Dim& e) { return f == e || (subsume && e == any); });
}

}  // namespace

Type Unifier::fresh() {
  value_.push_back(nullptr);
  return hole_type(static_cast<int>(value_.size()) - 1);
}

Type Unifier::shallow(const Type& type) const {
  Type t = type;
  for (const HoleType* h = as<HoleType>(t); h && value_[h->id]; h = as<HoleType>(t)) t = value_[h->id];
  const OpenTensorType* open = as<OpenTensorType>(t);
  return open ? open_tensor_type(shallow(open->shape), shallow(open->element)) : t;
}

// The sum `depth` of the depths of the visited types bounds the recursion; the number of visited nodes bounds the work.
Type Unifier::resolve(const Type& type) const {
  int64_t visited = 0;
  bool failed = false;
  std::function<Type(const Type&, int64_t)> go = [&](const Type& t, int64_t depth) -> Type {
    depth += t ? t->depth : 0;
    failed |= !t || limits_.exclude(t) || depth > limits_.depth;
    if (failed) return t;
    auto fill_hole = [&](const Type& leaf) {
      failed |= ++visited > limits_.size;
      if (failed) return leaf;
      Type value = shallow(leaf);
      return as<HoleType>(value) ? value : go(value, depth);
    };
    return map_leaves(t, &TypeNode::has_holes, fill_hole);
  };
  Type resolved = go(type, 0);
  return failed || limits_.exclude(resolved) ? nullptr : resolved;
}

bool Unifier::unify(const Type& found, const Type& expected) {
  steps_ = 0;
  return unify(found, expected, true);
}

bool Unifier::unify(const Type& f, const Type& e, bool subsume) {
  if (++steps_ > 4 * limits_.size) return false;
  Type found = shallow(f), expected = shallow(e);
  if (found == expected) return true;
  if (!found || !expected) return false;
  const HoleType *found_hole = as<HoleType>(found), *expected_hole = as<HoleType>(expected);
  if (found_hole && expected_hole && found_hole->id == expected_hole->id) return true;
  // The newer of two holes is filled, so that many holes that are equal to one are not a chain.
  if (found_hole && expected_hole && found_hole->id < expected_hole->id) return fill(expected_hole->id, found);
  if (found_hole) return fill(found_hole->id, expected);
  if (expected_hole) return fill(expected_hole->id, found);
  const OpenTensorType *found_open = as<OpenTensorType>(found), *expected_open = as<OpenTensorType>(expected);
  if (found_open && as<TensorType>(expected)) return unify_open(*found_open, *as<TensorType>(expected), subsume);
  if (expected_open && as<TensorType>(found)) return unify_open(*expected_open, *as<TensorType>(found), false);
  if (found->v.index() != expected->v.index()) return false;
  return std::visit(
      overloaded{[&](const TensorType& t) {
                   const TensorType& u = *as<TensorType>(expected);
                   return same_element_type(t, u) && dims_fit(t.shape, u.shape, subsume);
                 },
                 [&](const OpenTensorType& t) {
                   return unify(t.shape, expected_open->shape, subsume) &&
                          unify(t.element, expected_open->element, false);
                 },
                 [&](const TupleType& t) { return unify_lists(t.fields, as<TupleType>(expected)->fields, subsume); },
                 [&](const FunctionType& t) {
                   const FunctionType& u = *as<FunctionType>(expected);
                   if (!t.type_params.empty() || !u.type_params.empty()) return unify_generic(t, u);
                   return unify_lists(t.params, u.params, false) && unify(t.result, u.result, subsume);
                 },
                 [&](const DataType& t) {
                   const DataType& u = *as<DataType>(expected);
                   return t.name == u.name && unify_lists(t.args, u.args, false);
                 },
                 [&](const RefType& t) { return unify(t.value, as<RefType>(expected)->value, false); },
                 [&](const VariableType& t) { return t.variable == as<VariableType>(expected)->variable; },
                 [](const HoleType&) { return false; }},
      found->v);
}

static Type with_variables(const std::vector<TypeVariable>& variables, const Type& type,
                           const std::vector<TypeVariable>& others) {
  return map_leaves(type, &TypeNode::has_variables, [&](const Type& leaf) {
    const auto it = std::ranges::find(variables, as<VariableType>(leaf)->variable);
    return it == variables.end() ? leaf : variable_type(others[static_cast<size_t>(it - variables.begin())]);
  });
}

// Generic functions are equal up to the names of their type variables. A hole in them is filled with a type that does
// not depend on these variables.
bool Unifier::unify_generic(const FunctionType& found, const FunctionType& expected) {
  const size_t count = found.type_params.size();
  if (!std::ranges::equal(found.type_params, expected.type_params, {}, &TypeVariable::kind, &TypeVariable::kind))
    return false;
  std::vector<TypeVariable> variables;
  for (size_t k = 0; k < count; ++k) variables.push_back({--next_bound_, "", found.type_params[k].kind});
  auto monomorphic = [&](const FunctionType& f) {
    const Type known = resolve(function_type(f.params, f.result));
    return known ? with_variables(f.type_params, known, variables) : nullptr;
  };
  const Type a = monomorphic(found), b = monomorphic(expected);
  const size_t filled_before = filled_.size();
  const bool are_equal = unify(a, b, false);
  std::vector<int> dependent;  // holes that were filled with types that depend on the variables
  for (size_t k = filled_before; k < filled_.size(); ++k) {
    const Type known = resolve(hole_type(filled_[k]));
    const bool depends = !known || any_leaf(known, &TypeNode::has_variables, [&](const Type& leaf) {
      return std::ranges::find(variables, as<VariableType>(leaf)->variable) != variables.end();
    });
    if (depends) dependent.push_back(filled_[k]);
  }
  for (const int hole : dependent) value_[hole] = nullptr;
  return are_equal && dependent.empty();
}

// A shape in place of a type is a tensor type whose elements do not count, an element type that of its scalars.
bool Unifier::unify_open(const OpenTensorType& open, const TensorType& tensor, bool subsume) {
  return unify(open.shape, tensor_type(tensor.shape, dtype::boolean), subsume) &&
         unify(open.element, with_shape(tensor, {}), false);
}

bool Unifier::unify_lists(const std::vector<Type>& found, const std::vector<Type>& expected, bool subsume) {
  return std::ranges::equal(found, expected, [&](const Type& f, const Type& e) { return unify(f, e, subsume); });
}

bool Unifier::fill(int hole, const Type& type) {
  if (limits_.exclude(type) || occurs(hole, type)) return false;
  value_[hole] = type;
  filled_.push_back(hole);
  return true;
}

// A hole is not filled with a type that contains it, or that is too large to search.
bool Unifier::occurs(int hole, const Type& type) const {
  Type resolved = resolve(type);
  if (!resolved) return true;
  return any_leaf(resolved, &TypeNode::has_holes, [&](const Type& leaf) { return as<HoleType>(leaf)->id == hole; });
}

}  // namespace dlcc::relay

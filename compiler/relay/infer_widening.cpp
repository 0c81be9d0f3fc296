// Type inference of type variables that stand for tensors of several sizes at one call.
//
//   def @foldl[A, B](%f: fn (A, B) -> A, %acc: A, %xs: List[B]) -> A { ... }
//   @foldl(fn (%acc: Tensor[(k), float32], %x: Tensor[(2), float32]) { concatenate((%acc, %x)) }, %init, %list)
//
// Here A is Tensor[(?), float32], whatever the size of %init: the function gives another size than it takes, and @foldl
// passes it what it gave.
//
//   @map(fn (%x) { concatenate((%x, %x)) }, %list)
//
// For a List[Tensor[(?), float32]], A is the same. %x, which has no type, is a tensor of some size k, another one at
// each call, and B is again Tensor[(?), float32], not Tensor[(2 * k), float32].
#include <algorithm>

#include "relay/inference.h"
#include "relay/type_arguments.h"

namespace dlcc::relay {

namespace {

std::vector<Type> fields_of(const Type& type) {
  const TupleType* tuple = as<TupleType>(type);
  return tuple ? tuple->fields : std::vector<Type>();
}

// Calls `visit` with each hole of `param` and what `type` has in its place, outside of the types of functions.
void for_each_use(const Type& param, const Type& type, const std::function<void(int hole, const Type&)>& visit) {
  if (const HoleType* hole = as<HoleType>(param)) return visit(hole->id, type);
  const DataType *data = as<DataType>(param), *value = as<DataType>(type);
  const std::vector<Type> params = data ? data->args : fields_of(param);
  const std::vector<Type> types = value ? value->args : fields_of(type);
  for (size_t k = 0; k < std::min(params.size(), types.size()); ++k) for_each_use(params[k], types[k], visit);
}

// The type `known` with "?" for the sizes that a function takes as they come, and gives otherwise.
Type widened(const Type& known, const Type& taken, const Type& given,
             const std::function<bool(const std::string&)>& is_own) {
  const std::vector<Type> in_fields = fields_of(taken), out_fields = fields_of(given);
  std::vector<Type> fields = fields_of(known);
  if (!fields.empty() && fields.size() == in_fields.size() && fields.size() == out_fields.size()) {
    for (size_t k = 0; k < fields.size(); ++k) fields[k] = widened(fields[k], in_fields[k], out_fields[k], is_own);
    return fields == fields_of(known) ? known : tuple_type(std::move(fields));
  }
  const TensorType *tensor = as<TensorType>(known), *in = as<TensorType>(taken), *out = as<TensorType>(given);
  if (!tensor || !in || !out) return known;
  Shape shape = tensor->shape;
  if (in->shape.size() != shape.size() || out->shape.size() != shape.size()) return known;
  for (size_t k = 0; k < shape.size(); ++k)
    if (const auto symbol = plain_symbol(in->shape[k]); symbol && is_own(*symbol) && out->shape[k] != in->shape[k])
      shape[k] = unknown_dim();
  return shape == tensor->shape ? known : with_shape(*tensor, std::move(shape));
}

}  // namespace

void Inference::widen_type_arguments(const FunctionType& callee, const std::vector<Type>& found, const Call& call,
                                     const SourceLocation& location) {
  if (std::ranges::none_of(callee.params, [](const Type& param) { return relay::has_holes(param); })) return;
  std::vector<Type> types;
  std::map<int, Type> known, wide;  // the types in place of type variables, by hole
  for (size_t k = 0; k < found.size(); ++k) {
    types.push_back(unifier_.resolve(found[k]));
    if (types[k])
      for_each_use(callee.params[k], types[k], [&](int hole, const Type& type) { known.emplace(hole, type); });
  }
  for (size_t k = 0; k < found.size(); ++k) {
    const FunctionType *param = as<FunctionType>(callee.params[k]),
                       *function = types[k] ? as<FunctionType>(types[k]) : nullptr;
    if (!param || !function || !has_own_sizes(call.args[k], location)) continue;
    const auto is_own = sizes_of_value(call.args[k]);
    std::map<int, Type> taken;
    for (size_t i = 0; i < std::min(param->params.size(), function->params.size()); ++i)
      for_each_use(param->params[i], function->params[i], [&](int hole, const Type& t) { taken.emplace(hole, t); });
    for_each_use(param->result, function->result, [&](int hole, const Type& given) {
      const auto in = taken.find(hole);
      if (in == taken.end()) return;
      const auto [current, is_only_here] = known.emplace(hole, in->second);
      const Type type = widened(current->second, in->second, given, is_own);
      if (type == current->second) return;
      wide[hole] = current->second = is_only_here ? with_any_sizes(type, is_own) : type;
    });
  }
  for (const auto& [hole, type] : wide)
    if (open_arguments_.contains(hole)) unifier_.unify(hole_type(hole), type);
}

// The type of a function's parameter for arguments of the type `expected`: in place of each "?" outside of data and
// function types, a new symbol, which is another size at each call of the function.
Type Inference::with_sizes_of_function(const Type& expected) {
  if (const TupleType* tuple = as<TupleType>(expected)) {
    std::vector<Type> fields;
    for (const Type& field : tuple->fields) fields.push_back(with_sizes_of_function(field));
    return fields == tuple->fields ? expected : tuple_type(std::move(fields));
  }
  const TensorType* tensor = as<TensorType>(expected);
  if (!tensor || std::ranges::count(tensor->shape, unknown_dim()) == 0) return expected;
  Shape shape = tensor->shape;
  for (Dim& d : shape)
    if (d == unknown_dim()) chosen_sizes_.insert(plain_symbol(d = own_symbol()).value());
  return with_shape(*tensor, std::move(shape));
}

Type Inference::take_any_sizes(const Atom& function, const Type& found, const Type& expected,
                               const SourceLocation& location) {
  const Type type = unifier_.shallow(found), wanted = unifier_.shallow(expected);
  const FunctionType *f = as<FunctionType>(type), *w = as<FunctionType>(wanted);
  if (!f || !w || f->params.size() != w->params.size()) return found;
  for (size_t k = 0; k < f->params.size(); ++k) {
    const Type known = unifier_.resolve(w->params[k]);
    if (!is_incomplete(unifier_.resolve(f->params[k])) || !is_incomplete(known)) continue;
    const bool is_data = known && as<DataType>(known);
    const bool may_be_open = is_data && sizes_of_open_functions_ == SizesOfOpenFunctions::any;
    if (!may_be_open) return found;  // a tensor of unknown type may be one with the result
  }
  const int first_symbol = next_symbol_;
  for (size_t k = 0; k < f->params.size(); ++k) {
    const Type param = unifier_.shallow(f->params[k]), known = unifier_.resolve(w->params[k]);
    if (as<HoleType>(param) && !is_incomplete(known)) unifier_.unify(with_sizes_of_function(known), param);
  }
  if (next_symbol_ == first_symbol) return found;
  auto is_new = [first_symbol](const std::string& s) { return number_of({s}) >= first_symbol; };
  retry_relations();
  for (int k = first_symbol; k < next_symbol_; ++k) sizes_of_open_bodies_.insert(fmt::format("?{}", k));
  auto given = [this, function, f_result = f->result, is_new] {
    const Type result = unifier_.resolve(f_result);
    if (is_incomplete(result) || as<FunctionType>(result)) return f_result;
    if (const Var* var = std::get_if<Var>(&function))
      for_each_symbol(result, [&](const Symbol& s) {
        if (is_new(s.name) && symbols_.erase(s.name) > 0) result_symbols_[(*var)->id].insert(s.name);
      });
    return with_any_sizes(result, is_new);
  };
  std::vector<Type> params = f->params;
  for (Type& param : params)
    if (const Type known = unifier_.resolve(param); !is_incomplete(known) && as<DataType>(known))
      param = with_any_sizes(known, is_new);  // forget_foreign_sizes() has the same types
  if (!as<HoleType>(unifier_.shallow(f->result))) return function_type(std::move(params), given(), f->type_params);
  const Type result = unifier_.fresh();  // until a relation in the body is decided
  relate(
      [this, given, result, f_result = f->result, location, name = describe(function)] {
        if (const HoleType* hole = as<HoleType>(unifier_.shallow(f_result))) return hole->id;
        const Type type = given();
        if (!unifier_.unify(type, result)) mismatch(location, "the result of " + name, result, type);
        return 0;
      },
      location, "the function that is passed");
  return function_type(std::move(params), result, f->type_params);
}

}  // namespace dlcc::relay

#include "relay/definitions.h"

#include <algorithm>

#include "relay/call_type.h"

namespace dlcc::relay {

namespace {

// The attributes of a call whose sizes are known at run time only. Removes the operands that became attributes.
Attrs resolved_attributes(const Operator& op, const Attrs& attrs, Operands& operands) {
  auto typed = type_call(op, attrs, operands);
  if (const TypeError* error = std::get_if<TypeError>(&typed)) {
    const bool is_too_large = error->id == DiagnosticId::too_large;
    throw Stopped{is_too_large ? tensor::Status::dimension_out_of_range : error->status};
  }
  TypedCall& call = std::get<TypedCall>(typed);
  operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(call.operands), operands.end());
  return std::move(call.attrs);
}

// The types of the operands: the shapes that they have in this run, and the declared element types, because an
// evaluation in float64 stores all floats so.
std::vector<TensorType> types_of(const Module& module, const std::vector<Atom>& atoms,
                                 const std::vector<Constant>& args) {
  std::vector<TensorType> types;
  for (const Constant& c : args) types.push_back({shape_of(c.shape()), c.dtype()});
  size_t next = 0;
  for (const Atom& a : atoms)
    for_each_field(type_of(module, a), [&](const Type& field) {
      const TensorType* t = as<TensorType>(field);
      if (next < types.size() && t) types[next].dtype = t->dtype;
      ++next;
    });
  return types;
}

// Whether attributes repeat operands, as those of arange do: they are known when the operator is applied.
bool repeats_operands(const Operator& op) {
  return std::ranges::any_of(
      op.attributes, [&](const Operator::Attribute& a) { return std::ranges::count(op.arguments, a.name) > 0; });
}

void repeat_operands(const Operator& op, const std::vector<Constant>& args, Attrs& attrs) {
  for (size_t k = 0; k < args.size(); ++k) {
    const bool is_attribute = std::ranges::count(op.attributes, op.arguments[k], &Operator::Attribute::name) > 0;
    if (!is_attribute || args[k].count() != 1) continue;
    const bool is_number = is_float(args[k].dtype());
    attrs[op.arguments[k]] = is_number ? AttrValue(args[k].number_at(0)) : AttrValue(args[k].integer_at(0));
  }
}

}  // namespace

Type Definitions::type_in_run(const Operator& op, const Attrs& attrs, const Operands& operands,
                              const std::vector<Constant>& args) const {
  const TypeResult typed = op.type(attrs, operands);
  const TensorType& type = *as<TensorType>(std::get<Type>(typed));
  std::vector<size_t> axes;
  for (size_t k = 0; k < type.shape.size(); ++k)
    if (type.shape[k] == unknown_dim()) axes.push_back(k);
  if (axes.empty()) return std::get<Type>(typed);
  const auto first = args.begin() + static_cast<std::ptrdiff_t>(op.first_size_operand());
  const auto sizes = tensor::CompiledKernel(op.sizes(attrs, operands, axes), precision_).run({first, args.end()});
  if (sizes.status != tensor::Status::ok) throw Stopped{sizes.status};
  Shape shape = type.shape;
  for (size_t k = 0; k < axes.size(); ++k) {
    const int64_t size = sizes.results[0].integer_at(static_cast<int64_t>(k));
    if (size < 0 || size > tensor::max_elements) throw Stopped{tensor::Status::dimension_out_of_range};
    shape[axes[k]] = size;
  }
  if (!provably_le(product(shape), tensor::max_elements)) throw Stopped{tensor::Status::dimension_out_of_range};
  return with_shape(type, std::move(shape));
}

bool Definitions::Applied::fits(const std::vector<Constant>& list) const {
  return std::ranges::equal(
      args, list, [](const Argument& a, const Constant& c) { return a.dtype == c.dtype() && a.shape == c.shape(); });
}

const tensor::CompiledKernel& Definitions::of(const CallTensor& call) {
  auto it = functions_.find(call.function);
  if (it == functions_.end())
    it = functions_
             .emplace(call.function, tensor::CompiledKernel(module_.tensor_functions.at(call.function), precision_))
             .first;
  return it->second;
}

const tensor::CompiledKernel& Definitions::of(const Operator& op, const Call& call, const Type& result,
                                              std::vector<Constant>& args, const ActualSizes* sizes) {
  auto [it, added] = operators_.try_emplace(&call);
  Applied& applied = it->second;
  const bool by_value = !op.variadic && args.size() > op.arguments.size();
  const bool counts = op.sizes && op.values.empty();  // sizes of the result depend on elements of the operands
  const bool repeats = repeats_operands(op), symbolic = by_value || counts || repeats || applied.has_symbols;
  if (added || symbolic || !applied.fits(args)) {
    const std::vector<TensorType> types = types_of(module_, call.args, args);
    applied.args.clear();
    for (const Constant& c : args) applied.args.push_back({c.dtype(), c.shape()});
    applied.has_symbols = has_symbols(call.attrs);
    applied.types.clear();
    for (size_t k = 0; k < args.size(); ++k)
      applied.types.push_back({types[k], by_value ? tensor::value_of(args[k]) : nullptr});
    const bool sizes_matter = std::ranges::any_of(call.args, [](const Atom& a) {
      const Var* var = std::get_if<Var>(&a);
      return var && !is_static((*var)->type);
    });
    Attrs attrs = sizes ? sizes->apply(call.attrs) : call.attrs;
    // A size exceeds int64, or no value has the symbol.
    if (has_symbols(attrs)) throw Stopped{tensor::Status::dimension_out_of_range};
    if (repeats) repeat_operands(op, args, attrs);
    if (by_value || applied.has_symbols || sizes_matter || !is_static(result))
      attrs = resolved_attributes(op, attrs, applied.types);
    args.resize(applied.types.size());
    applied.definition.emplace(op.sizes
                                   ? op.compute_as(attrs, applied.types, type_in_run(op, attrs, applied.types, args))
                                   : op.compute(attrs, applied.types),
                               precision_);
  }
  return *applied.definition;
}

}  // namespace dlcc::relay

#include "frontends/onnx/operators/invariant_sizes.h"

#include <algorithm>
#include <utility>

#include "frontends/onnx/operators/loop_function.h"

namespace dlcc::frontends::onnx {

using relay::Atom;
using relay::Binding;

InvariantSizes::InvariantSizes(Node& n, Values parameters, int first_symbol)
    : n_(n), builder_(n.context().builder), first_symbol_(first_symbol), end_symbol_(builder_.next_symbol()) {
  for (const Value& v : parameters) copies_.emplace(std::get<relay::Var>(v.atom)->id, std::nullopt);
}

std::optional<Shape> InvariantSizes::before_loop(const Shape& sizes) {
  iteration_ = builder_.suspend();
  std::optional<Shape> before = shape(sizes);
  builder_.resume(std::move(iteration_));
  for (const Value& v : std::exchange(defined_, {})) builder_.check_sizes(v, v.type.shape, n_.location());
  return before;
}

std::optional<Shape> InvariantSizes::shape(const Shape& sizes) {
  Shape before;
  for (const Dim& d : sizes) {
    const std::optional<Dim> known = size(d);
    if (!known) return std::nullopt;
    before.push_back(*known);
  }
  return before;
}

std::optional<Dim> InvariantSizes::size(const Dim& d) {
  std::map<std::string, Dim> before;
  for (const Symbol& s : d.symbols()) {
    if (!is_of_iteration(s)) continue;
    const std::optional<Dim> known = size_of(s);
    if (!known) return std::nullopt;
    before.emplace(s.name, *known);
  }
  return before.empty() ? d : d.substitute(before);
}

bool InvariantSizes::is_of_iteration(const Symbol& s) const {
  for (int k = first_symbol_; k < end_symbol_; ++k)
    if (s.name == fmt::format("?{}", k)) return !builder_.is_size_of_input(k);
  return false;
}

// The size that the symbol stands for, from a copy of the operation that defines it.
std::optional<Dim> InvariantSizes::size_of(const Symbol& s) {
  const auto [known, is_new] = sizes_.emplace(s.name, std::nullopt);
  if (!is_new) return known->second;
  auto has_symbol = [&](const Dim& d) { return std::ranges::count(d.symbols(), s.name, &Symbol::name) > 0; };
  for (const Binding& b : iteration_.bindings) {
    const auto* type = relay::as<relay::TensorType>(b.var->type);
    const auto axis = type ? std::ranges::find_if(type->shape, has_symbol) : Shape::const_iterator();
    if (!type || axis == type->shape.end()) continue;
    if (!(*axis == Dim::symbol(axis->symbols()[0]))) return std::nullopt;
    if (const std::optional<Value> before = copy_binding(b, Purpose::sizes)) {
      sizes_[s.name] = before->type.shape[static_cast<size_t>(axis - type->shape.begin())];
      defined_.push_back({b.var, before->type});
    }
    return sizes_[s.name];
  }
  return std::nullopt;
}

const Binding* InvariantSizes::binding_of(const Atom& a) const {
  const auto* var = std::get_if<relay::Var>(&a);
  const auto found = std::ranges::find_if(iteration_.bindings, [&](const Binding& b) { return var && b.var == *var; });
  return found == iteration_.bindings.end() ? nullptr : &*found;
}

// The value before the loop: the value itself if it is defined there.
std::optional<Value> InvariantSizes::copy(const Atom& a) {
  if (const auto* constant = std::get_if<Constant>(&a)) return Value::of(*constant);
  const auto* var = std::get_if<relay::Var>(&a);
  if (!var) return std::nullopt;
  if (const auto known = copies_.find((*var)->id); known != copies_.end()) return known->second;
  std::optional<Value> copied;
  if (const Binding* b = binding_of(a))
    copied = copy_binding(*b, Purpose::elements);
  else if (const auto* type = relay::as<relay::TensorType>((*var)->type))
    copied = Value{*var, *type};
  copies_.emplace((*var)->id, copied);
  return copied;
}

std::optional<Value> InvariantSizes::copy_binding(const Binding& b, Purpose purpose) {
  if (const auto* call = std::get_if<relay::Call>(&b.op)) {
    const Values results = copy_call(*call, b.location, purpose, 1);
    return results.empty() ? std::nullopt : std::optional(results[0]);
  }
  if (const auto* field = std::get_if<relay::Project>(&b.op)) return copy_field(*field);
  const auto* cast = std::get_if<relay::MatchCast>(&b.op);
  const auto* type = cast ? relay::as<relay::TensorType>(cast->type) : nullptr;
  const std::optional<Value> value = type ? copy(cast->value) : std::nullopt;
  if (!value) return std::nullopt;
  const std::optional<Shape> sizes = shape(type->shape);
  return sizes ? std::optional(builder_.check_sizes(*value, *sizes, b.location)) : std::nullopt;
}

std::optional<Value> InvariantSizes::copy_field(const relay::Project& field) {
  const Binding* tuple = binding_of(field.tuple);
  const auto* call = tuple ? std::get_if<relay::Call>(&tuple->op) : nullptr;
  const auto* type = call ? relay::as<relay::TupleType>(tuple->var->type) : nullptr;
  if (!type) return std::nullopt;
  const auto [fields, is_new] = fields_.emplace(tuple->var->id, Values());
  if (is_new) fields->second = copy_call(*call, tuple->location, Purpose::elements, type->fields.size());
  return fields->second.empty() ? std::nullopt : std::optional(fields->second[static_cast<size_t>(field.index)]);
}

// The first `results` results; empty if they depend on the iteration. An operator that has sizes as operands reads only
// the sizes of the other operands to determine those of its result.
Values InvariantSizes::copy_call(const relay::Call& call, const SourceLocation& location, Purpose purpose,
                                 size_t results) {
  const auto* ref = std::get_if<relay::OperatorRef>(&call.callee);
  if (!ref) return {};
  std::vector<Atom> operands = call.args;
  if (ref->op->variadic) {
    const Binding* packed = binding_of(call.args[0]);
    const auto* tuple = packed ? std::get_if<relay::MakeTuple>(&packed->op) : nullptr;
    if (!tuple) return {};
    operands = tuple->fields;
  }
  const relay::Operator& op = *ref->op;
  auto reads_elements = [&](size_t operand) {
    if (op.name == "shape_of") return false;
    return purpose == Purpose::elements || !op.sizes || operand >= op.arguments.size();
  };
  Values args;
  for (size_t k = 0; k < operands.size(); ++k) {
    const bool by_zeros = binding_of(operands[k]) && !reads_elements(k);
    std::optional<Value> value = by_zeros ? std::nullopt : copy(operands[k]);
    if (!value && !reads_elements(k)) value = zeros_like(operands[k]);
    if (!value) return {};
    args.push_back(std::move(*value));
  }
  relay::Attrs attrs = call.attrs;
  for (auto& [name, value] : attrs)
    if (!replace_sizes(value)) return {};
  const auto copied = builder_.call(op.name, args, attrs, results, location);
  const Values* values = std::get_if<Values>(&copied);
  return values ? *values : Values();
}

// Replaces the sizes in an attribute's value; false if one depends on the iteration.
bool InvariantSizes::replace_sizes(relay::AttrValue& value) {
  bool all = true;
  if (auto* list = std::get_if<relay::AttrList>(&value.v))
    for (relay::AttrValue& item : *list) all = all && replace_sizes(item);
  const Dim* const d = std::get_if<Dim>(&value.v);
  const std::optional<Dim> before = d ? size(*d) : std::nullopt;
  if (!before) return all && !d;
  if (before->is_constant())
    value.v = before->value();
  else
    value.v = *before;
  return true;
}

std::optional<Value> InvariantSizes::zeros_like(const Atom& a) {
  const auto* var = std::get_if<relay::Var>(&a);
  const auto* type = var ? relay::as<relay::TensorType>((*var)->type) : nullptr;
  const std::optional<Shape> sizes = type ? shape(type->shape) : std::nullopt;
  return sizes ? std::optional(zeros(n_, type->dtype, *sizes)) : std::nullopt;
}

}  // namespace dlcc::frontends::onnx

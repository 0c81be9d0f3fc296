#include "relay/call_gradient.h"

#include <algorithm>

#include "support/scalar_constant.h"

namespace dlcc::relay {

// ---- terms

Term Term::map(const std::string& op, const Attrs& attrs) const { return code_->call(op, {*this}, attrs); }

Term Term::cast_to(DType type) const {
  return type == dtype() ? *this : map("cast", {{"dtype", std::string(name(type))}});
}

Term Term::reshaped(const Shape& to) const {
  return to == shape() ? *this : map("reshape", {{"newshape", sizes_attribute(to)}, {"allowzero", true}});
}

Term Term::transposed(const std::vector<int64_t>& axes) const {
  return std::ranges::is_sorted(axes) ? *this : map("transpose", {{"axes", axes}});
}

Term Term::broadcast_to(const Shape& to) const {
  return to == shape() ? *this : map("broadcast_to", {{"shape", sizes_attribute(to)}});
}

Term Term::summed_to(const Shape& to) const {
  return to == shape() ? *this : map("collapse_sum_to", {{"shape", sizes_attribute(to)}});
}

Term Term::sum_over(const std::vector<int64_t>& axes) const {
  return axes.empty() ? *this : map("sum", {{"axis", axes}, {"keepdims", true}});
}

Term Term::sliced(int64_t axis, const Dim& first, const Dim& count) const {
  const auto at = static_cast<size_t>(axis);
  if (first == Dim(0) && count == shape()[at]) return *this;
  const Term slice = map("strided_slice", {{"begin", sizes_attribute({first})},
                                           {"end", sizes_attribute({first + count})},
                                           {"axes", std::vector<int64_t>{axis}}});
  TensorType expected = type_;
  expected.shape[at] = count;
  return code_->checked(slice, expected);
}

Term Term::padded(int64_t axis, const Dim& before, const Dim& after) const {
  if (before == Dim(0) && after == Dim(0)) return *this;
  AttrList widths(shape().size(), sizes_attribute({0, 0}));
  widths[static_cast<size_t>(axis)] = sizes_attribute({before, after});
  return code_->call("nn.pad", {*this, code_->number(dtype(), 0)}, {{"pad_width", widths}});
}

namespace {

Term binary(const char* op, const Term& a, const Term& b) { return a.code().call(op, {a, b}); }
Term number_like(const Term& term, double value) { return term.code().number(term.dtype(), value); }

}  // namespace

Term operator-(const Term& a) { return a.map("negative"); }
Term operator+(const Term& a, const Term& b) { return binary("add", a, b); }
Term operator-(const Term& a, const Term& b) { return binary("subtract", a, b); }
Term operator*(const Term& a, const Term& b) { return binary("multiply", a, b); }
Term operator/(const Term& a, const Term& b) { return binary("divide", a, b); }
Term operator+(const Term& a, double b) { return a + number_like(a, b); }
Term operator-(double a, const Term& b) { return number_like(b, a) - b; }
Term operator*(const Term& a, double b) { return a * number_like(a, b); }
Term operator/(const Term& a, double b) { return a / number_like(a, b); }
Term operator/(double a, const Term& b) { return number_like(b, a) / b; }
Term operator>(const Term& a, const Term& b) { return binary("greater", a, b); }
Term operator>(const Term& a, double b) { return a > number_like(a, b); }
Term operator>(double a, const Term& b) { return number_like(b, a) > b; }
Term equal(const Term& a, const Term& b) { return binary("equal", a, b); }
Term equal(const Term& a, double b) { return equal(a, number_like(a, b)); }

Term where(const Term& condition, const Term& x, const Term& y) { return x.code().call("where", {condition, x, y}); }
Term where(const Term& condition, const Term& x, double y) { return where(condition, x, number_like(x, y)); }
Term where(const Term& condition, double x, const Term& y) { return where(condition, number_like(y, x), y); }

// ---- code

Var GradientCode::emit(Operation op, Type type) {
  Var var = module_.fresh("", std::move(type));
  bindings_.push_back({var, std::move(op), location});
  return var;
}

Term GradientCode::term(const Atom& atom) { return {*this, atom, *as<TensorType>(type_of(module_, atom))}; }

std::vector<Term> GradientCode::call_all(const Operator& op, const std::vector<Term>& args, const Attrs& attrs) {
  Operands operands;
  std::vector<Atom> atoms;
  std::vector<Type> types;
  for (const Term& arg : args) {
    operands.emplace_back(arg.type());
    atoms.push_back(arg.atom());
    types.push_back(tensor_type(arg.shape(), arg.dtype()));
  }
  TypeResult typed = op.type(attrs, operands);
  if (TypeError* error = std::get_if<TypeError>(&typed))
    throw NoGradient{fmt::format("it needs a call of {} that has no type: {}", op.name, error->message), error->help};
  if (op.variadic) atoms = {emit(MakeTuple{std::move(atoms)}, tuple_type(std::move(types)))};
  const Type type = std::get<Type>(typed);
  const Var var = emit(Call{OperatorRef{&op}, std::move(atoms), attrs}, type);
  if (as<TensorType>(type)) return {term(var)};
  std::vector<Term> fields;
  for (const Type& field : as<TupleType>(type)->fields)
    fields.push_back(term(emit(Project{var, static_cast<int>(fields.size())}, field)));
  return fields;
}

Term GradientCode::call(const std::string& name, const std::vector<Term>& args, const Attrs& attrs) {
  return call_all(*op(name), args, attrs).at(0);
}

Term GradientCode::number(DType type, double value) { return term(scalar_constant(type, value)); }

Term GradientCode::size(DType type, const Dim& size) {
  if (size.is_constant()) return number(type, static_cast<double>(size.value()));
  return call("ndarray_size", {full({size}, type, 0)}, {{"dtype", std::string(name(type))}});
}

Term GradientCode::inverse_of_size(DType type, const Dim& of) {
  if (of.is_constant()) return number(type, 1 / static_cast<double>(of.value()));
  return (1 / size(tensor::compute_type(type), of)).cast_to(type);
}

Term GradientCode::full(const Shape& shape, DType type, double value) {
  if (shape.empty()) return number(type, value);
  return call("full", {number(type, value)}, {{"shape", sizes_attribute(shape)}, {"dtype", std::string(name(type))}});
}

Term GradientCode::checked(const Term& value, const TensorType& type) {
  DLCC_CHECK(value.dtype() == type.dtype, "a gradient of type {} is one of {}", name(value.dtype()), name(type.dtype));
  if (value.shape() == type.shape) return value;
  const Type wanted = tensor_type(type.shape, type.dtype);
  return term(emit(MatchCast{value.atom(), wanted}, wanted));
}

// ---- calls

Term CallGradient::tensor(const Slot& slot) const {
  if (slot.field < 0) return {code_, slot.atom, slot.type};
  return code_.term(code_.emit(Project{slot.atom, slot.field}, tensor_type(slot.type.shape, slot.type.dtype)));
}

std::vector<Term> CallGradient::all_operands() const {
  std::vector<Term> terms;
  for (const Slot& slot : operands_) terms.push_back(tensor(slot));
  return terms;
}

Term CallGradient::gradient(size_t result) const {
  const Slot& slot = results_.at(result);
  return slot.gradient ? *slot.gradient : code_.full(slot.type.shape, slot.type.dtype, 0);
}

void CallGradient::add(size_t operand, const Term& gradient) {
  Slot& slot = operands_.at(operand);
  if (!slot.wanted) return;
  const Term fitting = code_.checked(gradient.summed_to(slot.type.shape).cast_to(slot.type.dtype), slot.type);
  slot.gradient = slot.gradient ? *slot.gradient + fitting : fitting;
}

void CallGradient::add_through(const std::function<std::vector<Term>()>& calls) {
  const auto first = static_cast<ptrdiff_t>(code_.bindings().size());
  const std::vector<Term> results = calls();
  std::vector<Term> gradients;
  for (size_t k = 0; k < results.size(); ++k) gradients.push_back(gradient(k));
  through_({code_.bindings().begin() + first, code_.bindings().end()}, results, gradients);
}

void CallGradient::refuse(std::string reason, std::string help) const {
  throw NoGradient{std::move(reason), std::move(help)};
}

}  // namespace dlcc::relay

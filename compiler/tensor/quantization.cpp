#include "tensor/quantization.h"

#include <cmath>

namespace dlcc::tensor {

namespace {

// The value of a small integer that is a literal of float32 or the conversion of an integer literal.
std::optional<int64_t> offset_of(const Expr& e) {
  constexpr int64_t largest = int64_t{1} << 16;
  const Cast* cast = as<Cast>(e);
  const Literal* number = as<Literal>(cast ? cast->a : e);
  if (!number || (cast && !is_integer(cast->a.type()))) return std::nullopt;
  const double value = cast ? static_cast<double>(number->integer) : number->number;
  const bool is_short_integer = std::abs(value) <= static_cast<double>(largest) && value == std::trunc(value);
  return is_short_integer ? std::optional(static_cast<int64_t>(value)) : std::nullopt;
}

}  // namespace

Expr without_enforced_bounds(DType type, Expr e) {
  const IntegerLimits limits = integer_limits(type);
  const auto low = static_cast<double>(limits.low), high = static_cast<double>(limits.high);
  for (;;) {
    const Binary* bound = as<Binary>(e);
    if (!bound || bound->a.type() != dtype::f32) return e;
    const bool first = as<Literal>(bound->a);
    const Literal* number = as<Literal>(first ? bound->a : bound->b);
    const bool is_enforced = number && ((bound->op == BinaryOp::min && number->number >= high) ||
                                        (bound->op == BinaryOp::max && number->number <= low));
    if (!is_enforced) return e;
    e = first ? bound->b : bound->a;
  }
}

std::optional<Quantization> as_quantization(const Cast& cast, DType to) {
  if (!is_integer(to) || bits(to) > 16 || cast.a.type() != dtype::f32) return std::nullopt;
  Quantization found{without_enforced_bounds(to, cast.a)};
  if (const Binary* sum = as<Binary>(found.value); sum && sum->op == BinaryOp::add) {
    const auto zero = offset_of(sum->b);
    if (!zero) return std::nullopt;
    found = {sum->a, *zero};
  }
  const Unary* rounding = as<Unary>(found.value);
  if (!rounding || rounding->op != UnaryOp::round_even) return std::nullopt;
  found.value = rounding->a;
  return found;
}

}  // namespace dlcc::tensor

#include "relay/op_support/resize_positions.h"

#include <algorithm>

namespace dlcc::relay {

namespace {

constexpr const char* position_modes[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                          "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
constexpr const char* roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"};

template <size_t n>
Failure check_one_of(const char* attribute, const std::string& value, const char* const (&known)[n]) {
  if (std::ranges::count(known, value) > 0) return std::nullopt;
  return attribute_error(fmt::format("{} is \"{}\"", attribute, value),
                         fmt::format("it is one of {}", fmt::join(known, ", ")));
}

// The position numerator / denominator. Both are int64 if the ratio of the sizes is known, else floats.
struct Position {
  Expr numerator, denominator;
};

// The sizes of an axis as expressions of type `type`.
struct Sizes {
  Expr in, out, numerator, denominator;
  Expr one, two;
};
Sizes sizes_of(const ResizedAxis& a, DType type) {
  auto size = [&](const Dim& d) { return cast(type, Expr(d)); };
  const Expr one = cast(type, Expr(1));
  const bool known = !a.scale;
  return {size(a.in), size(a.out), known ? size(a.numerator) : cast(type, a.scale), known ? size(a.denominator) : one,
          one,        one + one};
}

Position position_of(const std::string& mode, const ResizedAxis& a, Expr at, DType type) {
  const auto [in, out, p, q, one, two] = sizes_of(a, type);
  const Expr x = cast(type, at), zero = cast(type, Expr(0)), middle = two * x + one;
  if (mode == "asymmetric") return {x * q, p};
  if (mode == "tf_half_pixel_for_nn") {
    // An axis that keeps its size is not resized, also where only a run knows that.
    const Expr keeps_size = binary(tensor::BinaryOp::logical_and, equal(in, out), equal(p, q));
    return {select(keeps_size, two * x * q, middle * q), two * p};
  }
  if (mode == "half_pixel_symmetric") return {in * p - out * q + middle * q - p, two * p};
  const Position half_pixel = {middle * q - p, two * p};
  if (mode == "half_pixel") return half_pixel;
  if (mode == "pytorch_half_pixel") {
    const Expr single = equal(Expr(a.out), Expr(1));
    return {select(single, zero, half_pixel.numerator), half_pixel.denominator};
  }
  // align_corners: the last element of the result is the last one of the data, if there is more than one.
  const Expr steps = in * p - q;
  const Expr single = steps <= zero;
  return {select(single, zero, x * (in - one) * q), select(single, one, steps)};
}

// The box's elements are spread evenly over the result; a single one is the middle of the box.
Expr position_in_box(const ResizedAxis& a, Expr at, DType type) {
  const Expr last = cast(type, Expr(a.in - Dim(1))), steps = cast(type, Expr(a.out - Dim(1)));
  const Expr start = cast(type, a.roi_start), extent = cast(type, a.roi_end) - start;
  const Expr many = start * last + cast(type, at) * (extent * last) / steps;
  return select(equal(Expr(a.out), Expr(1)), (start + number(type, 0.5) * extent) * last, many);
}

// The rounding "simple": up where the axis shrinks, else down.
Expr shrinks(const ResizedAxis& a) {
  return a.scale ? a.scale < number(a.scale.type(), 1) : Expr(a.numerator) < Expr(a.denominator);
}

Expr rounded(const std::string& rounding, const ResizedAxis& a, Expr x) {
  const Expr half = number(x.type(), 0.5);
  if (rounding == "floor") return floor(x);
  if (rounding == "ceil") return ceil(x);
  if (rounding == "simple") return select(shrinks(a), ceil(x), floor(x));
  return rounding == "round_prefer_floor" ? ceil(x - half) : floor(x + half);
}

// The divisor is positive.
Expr quotient_rounded_up(const Expr& a, const Expr& b) { return floor_div(a + b - Expr(1), b); }

Expr rounded(const std::string& rounding, const ResizedAxis& a, const Position& x) {
  const auto& [n, d] = x;
  if (rounding == "floor") return floor_div(n, d);
  if (rounding == "ceil") return quotient_rounded_up(n, d);
  if (rounding == "simple") return select(shrinks(a), quotient_rounded_up(n, d), floor_div(n, d));
  const Expr twice = Expr(2) * n;
  return rounding == "round_prefer_floor" ? quotient_rounded_up(twice - d, Expr(2) * d)
                                          : floor_div(twice + d, Expr(2) * d);
}

}  // namespace

Failure check_position_mode(const std::string& mode) {
  return check_one_of("coordinate_transformation_mode", mode, position_modes);
}
Failure check_rounding(const std::string& rounding) { return check_one_of("rounding_method", rounding, roundings); }

Expr resized_position(const std::string& mode, const ResizedAxis& a, Expr at, DType type) {
  if (mode == "tf_crop_and_resize") return position_in_box(a, at, type);
  const Position x = position_of(mode, a, at, type);
  return x.numerator / x.denominator;
}

Expr resized_index(const std::string& mode, const std::string& rounding, const ResizedAxis& a, Expr at) {
  const Expr last = Expr(a.in - Dim(1));
  if (mode == "tf_crop_and_resize" || a.scale)
    return nearest_index(rounded(rounding, a, resized_position(mode, a, at, dtype::f32)), Expr(a.in));
  const Expr index = rounded(rounding, a, position_of(mode, a, at, dtype::i64));
  return max(min(index, last), Expr(0));
}

}  // namespace dlcc::relay

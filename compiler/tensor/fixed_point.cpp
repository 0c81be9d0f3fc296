#include "tensor/fixed_point.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace dlcc::tensor {

namespace {

// Sums are shifted to at most 30 bits, and offsets have at most as many, so that no number exceeds 32 bits.
constexpr int sum_bits = 30;
constexpr int64_t most_offset = int64_t{1} << sum_bits;
constexpr int64_t unbounded = int64_t{1} << 62;
// At most one number in 2^least_certain_bits is in doubt.
constexpr int least_certain_bits = 4;

// The bits of fraction that are tried in turn. `certain` bits of them decide whether a number is in doubt unless that
// leaves too few numbers in doubt.
struct Candidates {
  std::vector<int> fractions;
  int certain;
};
const Candidates long_products = {{13, 10}, 10}, short_products = {{18, 17, 16, 15, 13, 11}, 7};

int dropped_bits(const FixedPointFormat& f) { return f.has_long_product ? 32 : 16; }
int64_t most_multiplier(const FixedPointFormat& f) { return (int64_t{1} << (f.has_long_product ? 31 : 16)) - 1; }

// For a multiplier, the offsets for which the approximation has the values that the function reaches, [reaches, ..),
// and those for which it stays below the values that the function does not reach, [.., stays_below). In units of the
// last of `dropped` further bits.
struct Offsets {
  int64_t reaches = -unbounded, stays_below = unbounded;
};

template <class Product>
Offsets offsets_for(const Steps& steps, int value_bits, Product&& product) {
  Offsets o;
  for (const auto& [sum, value] : steps.reaches) o.reaches = std::max(o.reaches, (value << value_bits) - product(sum));
  for (const auto& [sum, value] : steps.stays_below)
    o.stays_below = std::min(o.stays_below, (value << value_bits) - product(sum));
  return o;
}

// The multiplier with which the steps of the approximation differ least from those of the function. The difference is a
// convex function of the multiplier: a maximum of linear functions minus a minimum.
int64_t best_multiplier(const FixedPointFormat& f, const Steps& steps) {
  if (steps.reaches.empty() || steps.stays_below.empty()) return 0;
  auto difference = [&](int64_t multiplier) {
    const Offsets o =
        offsets_for(steps, f.fraction + dropped_bits(f), [&](int64_t sum) { return (sum << f.shift) * multiplier; });
    return o.reaches - o.stays_below;
  };
  int64_t low = 0, high = most_multiplier(f);
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (difference(middle) <= difference(middle + 1))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

struct Fit {
  int64_t multiplier;
  Offsets offsets;

  // The least number of fractions, from 0 on, that have to be in doubt.
  int64_t doubtful() const { return std::max<int64_t>(offsets.reaches - offsets.stays_below + 1, 0); }
};

Fit fit(const FixedPointFormat& f, const Steps& steps) {
  const int64_t multiplier = best_multiplier(f, steps);
  const FixedPointFactors factors = {static_cast<int32_t>(multiplier), 0};
  auto product = [&](int64_t sum) { return fixed_point_number(f, factors, sum); };
  return {multiplier, offsets_for(steps, f.fraction, product)};
}

// The middle of the offsets that are right if the first 2^doubtful fractions are in doubt. A function with one value
// has a number in the middle between two integers.
std::optional<int64_t> offset_of(const Fit& fit, const FixedPointFormat& f) {
  auto [least, end] = fit.offsets;
  const int64_t one = int64_t{1} << f.fraction;
  if (least == -unbounded) least = end == unbounded ? 0 : end - one;
  if (end == unbounded) end = least + one;
  const int64_t most = end + (int64_t{1} << f.doubtful) - 1;
  const int64_t offset = least + (most - least) / 2;
  return offset > -most_offset && offset < most_offset ? std::optional(offset) : std::nullopt;
}

std::optional<FixedPoint> fit_all(FixedPointFormat f, const std::vector<Steps>& functions, int certain) {
  std::vector<Fit> fits;
  f.doubtful = std::max(f.fraction - certain, 0);
  for (const Steps& steps : functions) {
    fits.push_back(fit(f, steps));
    while (fits.back().doubtful() > int64_t{1} << f.doubtful)
      if (++f.doubtful > f.fraction - least_certain_bits) return std::nullopt;
  }
  FixedPoint result{f, {}};
  for (const Fit& fit : fits) {
    const std::optional<int64_t> offset = offset_of(fit, f);
    if (!offset) return std::nullopt;
    result.factors.push_back({static_cast<int32_t>(fit.multiplier), static_cast<int32_t>(*offset)});
  }
  return result;
}

// Whether all numbers that are not in doubt are right at these sums, and therefore between them.
bool is_right(const FixedPointFormat& f, FixedPointFactors factors, const Steps& steps) {
  auto reaches = [&](const Steps::Bound& b) { return fixed_point_number(f, factors, b.sum) >> f.fraction >= b.value; };
  auto stays_below = [&](const Steps::Bound& b) {
    const int64_t number = fixed_point_number(f, factors, b.sum), value = number >> f.fraction;
    return value < b.value || (value == b.value && is_in_doubt(f, number));
  };
  return std::ranges::all_of(steps.reaches, reaches) && std::ranges::all_of(steps.stays_below, stays_below);
}

Expr number_i32(int64_t value) { return literal(dtype::i32, value); }

}  // namespace

int64_t fixed_point_number(const FixedPointFormat& f, FixedPointFactors factors, int64_t sum) {
  return (((sum << f.shift) * factors.multiplier) >> dropped_bits(f)) + factors.offset;
}

// (a * 2^16 + b) * m / 2^16, rounded down, is a * m + b * m / 2^16.
Expr fixed_point_number(const FixedPointFormat& f, const Expr& sum, const Expr& multiplier, const Expr& offset) {
  const Expr shifted = f.shift == 0 ? sum : binary(BinaryOp::shl, sum, number_i32(f.shift));
  if (f.has_long_product) {
    const Expr product = cast(dtype::i64, shifted) * cast(dtype::i64, multiplier);
    return cast(dtype::i32, binary(BinaryOp::shr, product, literal(dtype::i64, int64_t{32}))) + offset;
  }
  const Expr high = binary(BinaryOp::shr, shifted, number_i32(16));
  const Expr low = cast(dtype::u32, binary(BinaryOp::bit_and, shifted, number_i32(0xffff)));
  const Expr carried = binary(BinaryOp::shr, low * cast(dtype::u32, multiplier), literal(dtype::u32, int64_t{16}));
  return high * multiplier + cast(dtype::i32, carried) + offset;
}

bool is_in_doubt(const FixedPointFormat& f, int64_t number) {
  const int64_t fraction = number & ((int64_t{1} << f.fraction) - 1);
  return fraction < int64_t{1} << f.doubtful;
}

Expr is_in_doubt(const FixedPointFormat& f, const Expr& number) {
  const int64_t certain = (int64_t{1} << f.fraction) - (int64_t{1} << f.doubtful);
  return equal(binary(BinaryOp::bit_and, number, number_i32(certain)), number_i32(0));
}

std::optional<FixedPoint> fit_fixed_point(const std::vector<Steps>& functions, int64_t largest,
                                          const FixedPointLimits& limits) {
  const int bits = std::bit_width(static_cast<uint64_t>(largest));
  if (bits > sum_bits) return std::nullopt;
  const Candidates& candidates = limits.has_long_product ? long_products : short_products;
  for (const int fraction : candidates.fractions) {
    if (fraction > limits.fraction) continue;
    const FixedPointFormat f{limits.has_long_product, sum_bits - bits, fraction, 0};
    std::optional<FixedPoint> found = fit_all(f, functions, std::min(candidates.certain, limits.certain));
    if (!found) continue;
    for (size_t k = 0; k < functions.size(); ++k)
      DLCC_CHECK(is_right(found->format, found->factors[k], functions[k]), "a wrong requantization");
    return found;
  }
  return std::nullopt;
}

}  // namespace dlcc::tensor

#include "frontends/onnx/finite_weights.h"

#include <algorithm>
#include <cstring>

namespace dlcc::frontends::onnx {
namespace {

struct Counts {
  int64_t nan = 0, infinite = 0, finite_nonzero = 0;
};

template <class Bits>
constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);

// Whether no number has an exponent of all ones. Nearly all weights are finite: the loop over a block is vectorized.
template <class Bits>
bool are_finite(std::span<const std::byte> bytes, Bits exponent) {
  constexpr size_t block = 1024;
  Bits numbers[block] = {};
  for (size_t at = 0; at < bytes.size(); at += sizeof numbers) {
    std::memcpy(numbers, bytes.data() + at, std::min(sizeof numbers, bytes.size() - at));
    Bits largest = 0;
    for (size_t i = 0; i < block; ++i) largest = std::max(largest, static_cast<Bits>(numbers[i] & ~sign<Bits>));
    if (largest >= exponent) return false;
  }
  return true;
}

// The counts by the bits of IEEE formats; none if all numbers are finite. An exponent of all ones is infinity with the
// fraction 0, else NaN.
template <class Bits>
Counts count(std::span<const std::byte> bytes, Bits exponent) {
  if (are_finite(bytes, exponent)) return {};
  Counts counts;
  for (size_t at = 0; at < bytes.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    const auto magnitude = static_cast<Bits>(bits & ~sign<Bits>);
    counts.nan += magnitude > exponent;
    counts.infinite += magnitude == exponent;
    counts.finite_nonzero += magnitude < exponent && magnitude != 0;
  }
  return counts;
}

Counts count(const Constant& c) {
  switch (c.dtype()) {
    case DType::float64_:
      return count<uint64_t>(c.bytes(), 0x7FF0000000000000);
    case DType::float32_:
      return count<uint32_t>(c.bytes(), 0x7F800000);
    case DType::float16_:
      return count<uint16_t>(c.bytes(), 0x7C00);
    case DType::bfloat16_:
      return count<uint16_t>(c.bytes(), 0x7F80);
    default:
      return {};
  }
}

}  // namespace

void warn_if_not_finite(const Constant& c, const SourceLocation& location, Diagnostics& diagnostics) {
  const Counts counts = count(c);
  auto warn = [&](int64_t number, const char* what) {
    diagnostics.warning(
        DiagnosticId::weights_not_finite, location, fmt::format("{} of {} elements are {}", number, c.count(), what),
        {}, "every result that depends on them is probably wrong; export the model from another checkpoint");
  };
  if (counts.nan > 0) warn(counts.nan, "NaN");
  if (counts.infinite > 0 && counts.finite_nonzero > 0) warn(counts.infinite, "infinite");
}

}  // namespace dlcc::frontends::onnx

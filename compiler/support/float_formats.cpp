#include "support/float_formats.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "support/diagnostics.h"

namespace dlcc {
namespace {

constexpr NarrowFloat half{5, 10, 15, true, false};
constexpr float infinity = std::bit_cast<float>(0x7F800000u), quiet_nan = std::bit_cast<float>(0x7FC00000u);

float widen(const NarrowFloat& f, uint32_t bits) {
  uint32_t sign = bits >> f.sign_shift();
  uint32_t exponent = bits >> f.mantissa & ((1u << f.exponent) - 1), mantissa = bits & ((1u << f.mantissa) - 1);
  uint32_t top = (1u << f.exponent) - 1;
  if (f.unsigned_zero_nan && sign && !exponent && !mantissa) return quiet_nan;
  if (f.has_infinity && exponent == top) return mantissa ? quiet_nan : (sign ? -infinity : infinity);
  if (f.has_nan && !f.has_infinity && !f.unsigned_zero_nan && exponent == top && mantissa == (1u << f.mantissa) - 1)
    return quiet_nan;
  double magnitude =
      exponent ? (mantissa + power_of_two(f.mantissa)) * power_of_two(static_cast<int>(exponent) - f.bias - f.mantissa)
               : mantissa * power_of_two(1 - f.bias - f.mantissa);
  return static_cast<float>(sign ? -magnitude : magnitude);
}

// Rounds to nearest even. `largest` is the bit pattern of the largest finite value; a magnitude that rounds to more
// becomes `overflow`, a bit pattern without sign.
uint32_t narrow(const NarrowFloat& f, float value, uint32_t largest, uint32_t overflow) {
  uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 31;
  int exponent = static_cast<int>(bits >> 23 & 255) - 127;
  uint64_t mantissa = (bits & 0x7FFFFF) | (exponent > -127 ? 0x800000 : 0);
  if (exponent == -127) exponent = -126;
  uint32_t result = 0;
  if (exponent == 128) {
    result = overflow;  // infinity; the caller handles NaN
  } else if (mantissa) {
    // value = mantissa * 2^(exponent - 23); the unit in the last place of the result is 2^step.
    int step = std::max(exponent, 1 - f.bias) - f.mantissa;
    int shift = step - (exponent - 23);
    uint64_t kept = shift < 40 ? mantissa >> shift : 0,
             lost = shift < 40 ? mantissa & ((uint64_t{1} << shift) - 1) : mantissa;
    uint64_t middle = shift < 40 ? uint64_t{1} << (shift - 1) : ~uint64_t{0};
    if (lost > middle || (lost == middle && kept & 1)) ++kept;
    // A carry out of the mantissa increments the exponent, as the addition of bit patterns does.
    uint64_t base = exponent >= 1 - f.bias ? static_cast<uint64_t>(exponent + f.bias - 1) << f.mantissa : 0;
    uint64_t pattern = base + kept;
    result = pattern > largest ? overflow : static_cast<uint32_t>(pattern);
  }
  if (f.unsigned_zero_nan && result == 0) sign = 0;
  return result | sign << f.sign_shift();
}

bool is_nan(float v) { return v != v; }

}  // namespace

FloatRange float_range(DType t) {
  constexpr double float_min = std::numeric_limits<float>::min();
  if (t == dtype::f64) return {std::numeric_limits<double>::min(), std::numeric_limits<double>::max()};
  if (t == dtype::f16) return {half_to_float(0x0400), half_to_float(0x7BFF)};
  if (t == dtype::bf16) return {float_min, bfloat16_to_float(0x7F7F)};
  return {float_min, std::numeric_limits<float>::max()};
}

const NarrowFloat& narrow_float(DType t) {
  static constexpr NarrowFloat e2m1fn{2, 1, 1, false, false, false}, e4m3fn{4, 3, 7, false, false},
      e4m3fnuz{4, 3, 8, false, true}, e5m2{5, 2, 15, true, false}, e5m2fnuz{5, 2, 16, false, true};
  switch (t) {
    case DType::float16_:
      return half;
    case DType::float4_e2m1fn_:
      return e2m1fn;
    case DType::float8_e4m3fn_:
      return e4m3fn;
    case DType::float8_e4m3fnuz_:
      return e4m3fnuz;
    case DType::float8_e5m2_:
      return e5m2;
    case DType::float8_e5m2fnuz_:
      return e5m2fnuz;
    default:
      DLCC_UNREACHABLE("{} has no sign or is not a narrow float", name(t));
  }
}

double power_of_two(int exponent) { return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52); }

float half_to_float(uint16_t bits) { return widen(half, bits); }

uint16_t float_to_half(float value) {
  if (is_nan(value)) return static_cast<uint16_t>((std::bit_cast<uint32_t>(value) >> 31 << 15) | 0x7E00);
  return static_cast<uint16_t>(narrow(half, value, 0x7BFF, 0x7C00));
}

float bfloat16_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t float_to_bfloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (is_nan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float minifloat_to_float(DType format, uint8_t bits) {
  if (format == DType::float8_e8m0fnu_) return bits == 0xFF ? quiet_nan : static_cast<float>(power_of_two(bits - 127));
  return widen(narrow_float(format), bits);
}

uint8_t float_to_minifloat(DType format, float value, bool saturate) {
  if (format == DType::float8_e8m0fnu_) return static_cast<uint8_t>(std::bit_cast<uint32_t>(value) >> 23 & 0xFF);
  const NarrowFloat& f = narrow_float(format);
  if (!f.has_nan) return static_cast<uint8_t>(is_nan(value) ? 8 : narrow(f, value, 7, 7));
  uint32_t sign = std::bit_cast<uint32_t>(value) >> 31 << 7;
  uint32_t nan = f.unsigned_zero_nan ? 0x80 : 0x7F | sign;
  const auto largest = static_cast<uint32_t>(f.largest());
  if (is_nan(value)) return static_cast<uint8_t>(nan);
  if (saturate) return static_cast<uint8_t>(narrow(f, value, largest, largest));
  constexpr uint32_t overflowed = 0x100;  // not a bit pattern of 8 bits
  uint32_t result = narrow(f, value, largest, overflowed);
  if (!(result & overflowed)) return static_cast<uint8_t>(result);
  return static_cast<uint8_t>(f.has_infinity ? (0x7C | sign) : nan);
}

}  // namespace dlcc

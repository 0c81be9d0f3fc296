// Conversions between float32 and the narrow float formats, rounded to nearest even. They use integer arithmetic, so
// that the bits are the same on every host.
#pragma once

#include <cstdint>

#include "support/dtype.h"

namespace dlcc {

// A narrow binary format: 1 sign bit, `exponent` bits with `bias`, `mantissa` bits.
struct NarrowFloat {
  int exponent, mantissa, bias;
  bool has_infinity;       // the largest exponent is infinity and NaN, as in IEEE 754
  bool unsigned_zero_nan;  // "fnuz": no negative zero; its bit pattern is the only NaN
  bool has_nan = true;     // without NaN, there is no infinity either

  constexpr int sign_shift() const { return exponent + mantissa; }
  // Bit patterns, without sign, of infinity and of the largest finite number.
  constexpr int64_t infinity() const { return ((int64_t{1} << exponent) - 1) << mantissa; }
  constexpr int64_t largest() const {
    const int64_t all = (int64_t{1} << sign_shift()) - 1;
    return has_infinity ? infinity() - 1 : unsigned_zero_nan || !has_nan ? all : all - 1;
  }
};

// The format of float16, or of a minifloat with a sign.
const NarrowFloat& narrow_float(DType);

// The magnitudes that a float type of at least 16 bits represents with its full precision.
struct FloatRange {
  double smallest_normal, largest;
};
FloatRange float_range(DType);

double power_of_two(int exponent);  // exact for normal numbers

float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);
float bfloat16_to_float(uint16_t bits);
uint16_t float_to_bfloat16(float value);

// `format` is a minifloat (support/dtype.h); a float4 is in the low half. With `saturate`, as by default in ONNX's
// Cast, a value out of range becomes the largest finite one; else infinity (e5m2) or NaN (the formats without
// infinity). float4_e2m1fn has neither: it always saturates, and NaN becomes -0, as in ml_dtypes. float8_e8m0fnu has
// powers of two only, without sign: a number keeps its exponent and loses sign and mantissa; infinity becomes NaN.
float minifloat_to_float(DType format, uint8_t bits);
uint8_t float_to_minifloat(DType format, float value, bool saturate);

}  // namespace dlcc

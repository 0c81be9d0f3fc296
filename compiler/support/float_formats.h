// Conversions between float32 and the narrow float formats, rounded to nearest even. They use integer arithmetic, so
// that the bits are the same on every host.
#pragma once

#include <cstdint>

#include "support/dtype.h"

namespace dlcc {

float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);
float bfloat16_to_float(uint16_t bits);
uint16_t float_to_bfloat16(float value);

// `format` is one of the four float8 types. With `saturate`, as by default in ONNX's Cast, a value out of range becomes
// the largest finite one; else infinity (e5m2) or NaN (the formats without infinity).
float float8_to_float(DType format, uint8_t bits);
uint8_t float_to_float8(DType format, float value, bool saturate);

}  // namespace dlcc

// Conversions between float32/float64 and the narrow floating formats, rounding to nearest even; defined in integer
// arithmetic so that every host gives the same bits.
#pragma once

#include <cstdint>

#include "support/dtype.h"

namespace dlcc {

float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);
float bfloat16_to_float(uint16_t bits);
uint16_t float_to_bfloat16(float value);

// `format` is one of the four float8 types. ONNX's Cast saturates by default: values beyond the largest finite one
// become that one; without saturation they become infinity (e5m2) or NaN (formats without infinity).
float float8_to_float(DType format, uint8_t bits);
uint8_t float_to_float8(DType format, float value, bool saturate);

}  // namespace dlcc

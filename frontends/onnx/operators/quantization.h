// Conversion between real numbers and quantized ones, real = (stored - zero point) * scale.
#pragma once

#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {

// Scale and zero point are one number each, or one per index of `axis`. The zero point has the quantized type.
Value quantized(Node&, const Value& x, const Value& scale, const Value& zero_point, int64_t axis);
Value dequantized(Node&, const Value& x, const Value& scale, const Value& zero_point, int64_t axis);

// The data as uint8 with the range of the data and 0, the scale and the zero point.
Values dynamically_quantized(Node&, const Value& x);

// The stored numbers as int32, minus the zero point.
Value centred(Node&, const Value& x, const std::optional<Value>& zero_point);

// The zero point that is an optional input; 0 of this type if the node has none.
Value zero_point_or_zero(Node&, int input, DType type);

// The converters of QuantizeLinear and DequantizeLinear.
Converter quantize_converter();
Converter dequantize_converter();

}  // namespace dlcc::frontends::onnx

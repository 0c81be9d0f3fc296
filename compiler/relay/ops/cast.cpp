// cast: converts elements to another type. The one operator that reads and writes minifloats and integers of 2 and 4
// bits.
#include "relay/op_support/elements.h"
#include "relay/op_support/gradients.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct CastAttrs {
  DType dtype = dtype::f32;
  bool saturate = true;
  std::string round_mode = "up";
};

// The number of type float8_e8m0fnu, a power of two, that a float32 is rounded to: the exponent's bits, incremented
// where the magnitude is rounded up. An exponent of 0 stands for numbers below 2^-126 in float32, and for
// 2^-127 in the result.
Expr power_of_two(const CastAttrs& a, const Expr& value) {
  auto word = [](uint32_t n) { return tensor::literal(dtype::u32, int64_t{n}); };
  const Expr bits = bitcast(dtype::u32, value);
  auto masked = [](const Expr& e, const Expr& mask) { return binary(tensor::BinaryOp::bit_and, e, mask); };
  const Expr exponent = masked(binary(tensor::BinaryOp::shr, bits, word(23)), word(0xFF));
  const Expr mantissa = masked(bits, word(0x7FFFFF));
  const Expr is_subnormal = equal(exponent, word(0));
  // 2^-127 has half of the largest mantissa of a subnormal number. The middle between it and 2^-126 is 1.5 * 2^-127.
  const Expr lower = select(is_subnormal, word(0x400000), word(0));
  const Expr middle = select(is_subnormal, word(0x600000), word(0x400000));
  Expr is_above = a.round_mode == "up" ? mantissa > lower : mantissa >= middle;
  if (a.saturate) is_above = logical_and(is_above, exponent < word(0xFE));
  const Expr is_rounded_up = logical_and(is_above, exponent < word(0xFF));
  const Expr result = a.round_mode == "down" ? exponent : select(is_rounded_up, exponent + word(1), exponent);
  return bitcast(DType::float8_e8m0fnu_, cast(dtype::u8, result));
}

TensorFunction define_cast(const CastAttrs& a, const Operands& in) {
  Definition d("cast");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  d.result("result", a.dtype, x.shape(), [&](Index i) {
    if (x.type() == a.dtype) return stored(x, i);
    Expr value = x(i);
    if (is_minifloat(x.type())) value = cast(dtype::f32, value);  // exact, and has arithmetic
    if (a.dtype == DType::float8_e8m0fnu_) return power_of_two(a, cast(dtype::f32, value));
    return cast(a.dtype, value, a.saturate);
  });
  return d.finish();
}

}  // namespace

void cast(OperatorTable& table) {
  table.add<CastAttrs>({
      .name = "cast",
      .summary = "converts to another element type; floats to integers toward zero and saturating, NaN to 0",
      .attributes = {{"dtype", &CastAttrs::dtype, "the element type of the result", true},
                     {"saturate", &CastAttrs::saturate,
                      "for float8: values beyond the largest finite one become that one, not infinity or NaN"},
                     {"round_mode", &CastAttrs::round_mode,
                      "for float8_e8m0fnu: up, down or nearest, to a power of two"}},
      .arguments = {"data"},
      .type = [](const CastAttrs& a, const Operands& in) -> TypeResult {
        if (a.round_mode != "up" && a.round_mode != "down" && a.round_mode != "nearest")
          return attribute_error(
              fmt::format("round_mode must be \"up\", \"down\" or \"nearest\", found \"{}\"", a.round_mode));
        return tensor_result(in[0].shape, a.dtype);
      },
      .compute = define_cast,
      .gradient = gradient_of_identity,
  });
}

}  // namespace dlcc::relay::ops

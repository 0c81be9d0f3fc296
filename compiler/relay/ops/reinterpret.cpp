// reinterpret: elements of another type with the same bits.
#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct ReinterpretAttrs {
  DType dtype = dtype::f32;
};

// A bool has the bits of a uint8. Integers of 4 bits have no arithmetic except conversions, which keep the bits.
Expr same_bits(DType to, const Expr& x) {
  DType from = x.type();
  if (from == to) return x;
  if (is_bool(from)) return bitcast(to, cast(dtype::u8, x));
  if (is_bool(to)) return not_equal(bitcast(dtype::u8, x), tensor::literal(dtype::u8, int64_t{0}));
  return bits(to) < 8 ? cast(to, x) : bitcast(to, x);
}

TypeResult type_of_reinterpret(const ReinterpretAttrs& a, const Operands& in) {
  auto width = [](DType t) { return is_bool(t) ? 8 : bits(t); };
  if (width(in[0].dtype) != width(a.dtype))
    return TypeError{DiagnosticId::type_mismatch,
                     fmt::format("elements of {} have {} bits, those of {} have {}", name(in[0].dtype),
                                 width(in[0].dtype), name(a.dtype), width(a.dtype)),
                     "choose a type with as many bits"};
  return tensor_result(in[0].shape, a.dtype);
}

TensorFunction define_reinterpret(const ReinterpretAttrs& a, const Operands& in) {
  Definition d("reinterpret");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  d.result("result", a.dtype, x.shape(), [&](Index i) { return same_bits(a.dtype, stored(x, i)); });
  return d.finish();
}

}  // namespace

void reinterpret(OperatorTable& table) {
  table.add<ReinterpretAttrs>({
      .name = "reinterpret",
      .summary = "the bits of the elements as elements of another type",
      .attributes = {{"dtype", &ReinterpretAttrs::dtype, "a type with as many bits", true}},
      .arguments = {"data"},
      .type = type_of_reinterpret,
      .compute = define_reinterpret,
  });
}

}  // namespace dlcc::relay::ops

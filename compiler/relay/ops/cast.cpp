// cast: converts elements to another type. The one operator that reads and writes float8 and 4-bit types.
#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct CastAttrs {
  DType dtype = dtype::f32;
  bool saturate = true;
};

TensorFunction define_cast(const CastAttrs& a, const Operands& in) {
  Definition d("cast");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  d.result("result", a.dtype, x.shape(), [&](Index i) {
    if (x.type() == a.dtype) return stored(x, i);
    Expr value = x(i);
    if (is_float(x.type()) && bits(x.type()) == 8) value = cast(dtype::f32, value);  // exact, and has arithmetic
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
                      "for float8: values beyond the largest finite one become that one, not infinity or NaN"}},
      .arguments = {"data"},
      .type = [](const CastAttrs& a, const Operands& in) { return tensor_result(in[0].shape, a.dtype); },
      .compute = define_cast,
  });
}

}  // namespace dlcc::relay::ops

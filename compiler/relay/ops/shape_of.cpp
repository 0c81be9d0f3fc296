// shape_of: the sizes of a tensor as a vector. Its operand's elements are not read.
#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct ShapeOfAttrs {
  DType dtype = dtype::i32;
};

TensorFunction define_shape_of(const ShapeOfAttrs& a, const Operands& in) {
  Definition d("shape_of");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  d.result("result", a.dtype, {x.rank()}, [&](Index i) {
    Expr size(0);
    for (int k = x.rank(); k-- > 0;)
      size = k == x.rank() - 1 ? Expr(x.extent(k)) : select(equal(i[0], Expr(k)), Expr(x.extent(k)), size);
    return size;
  });
  return d.finish();
}

}  // namespace

void shape_of(OperatorTable& table) {
  table.add<ShapeOfAttrs>({
      .name = "shape_of",
      .summary = "the sizes of the data's axes",
      .attributes = {{"dtype", &ShapeOfAttrs::dtype, "element type of the result, an integer"}},
      .arguments = {"data"},
      .type = [](const ShapeOfAttrs& a, const Operands& in) -> TypeResult {
        if (auto e = check_type({{}, a.dtype}, "dtype", types::integer)) return *e;
        return tensor_result({static_cast<int64_t>(in[0].shape.size())}, a.dtype);
      },
      .compute = define_shape_of,
  });
}

}  // namespace dlcc::relay::ops

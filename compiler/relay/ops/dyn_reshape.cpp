// dyn.reshape: the sizes are an operand, and the result's shape is declared. A run whose operand leads to another shape
// ends with status shape_mismatch.
#include "relay/op_support/indices.h"
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct DynReshapeAttrs {
  std::vector<Dim> shape;
  bool allowzero = false;
};

TypeResult type_of_dyn_reshape(const DynReshapeAttrs& a, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "data", types::movable), check_list_operand(in[1], "newshape")})) return *e;
  if (auto e = first_of({check_equal(in[1].shape[0], "the length of newshape",
                                     Dim(static_cast<int64_t>(a.shape.size())), "the number of declared dimensions"),
                         check_equal(product(a.shape), fmt::format("the element count of {}", str(a.shape)),
                                     product(in[0].shape), fmt::format("that of {}", str(in[0].shape)))}))
    return *e;
  return tensor_result(a.shape, in[0].dtype);
}

// The condition that newshape means `shape`: each size is equal, or 0 where the data has that size, or -1 at most once.
Expr means_shape(const DynReshapeAttrs& a, const Tensor& newshape, const Shape& data) {
  std::vector<Expr> fits;
  Expr unknown(0);
  for (size_t k = 0; k < a.shape.size(); ++k) {
    Expr size = integer_at(newshape, static_cast<int64_t>(k));
    bool copies = !a.allowzero && k < data.size() && data[k] == a.shape[k];
    Expr zero = equal(size, Expr(0));
    Expr same = equal(size, Expr(a.shape[k]));
    if (!a.allowzero) same = copies ? logical_or(same, zero) : logical_and(same, logical_not(zero));
    fits.push_back(logical_or(same, equal(size, Expr(-1))));
    unknown = unknown + cast(dtype::i64, equal(size, Expr(-1)));
  }
  fits.push_back(unknown <= Expr(1));
  return all_of(fits);
}

TensorFunction define_dyn_reshape(const DynReshapeAttrs& a, const Operands& in) {
  Definition d("dyn.reshape");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), newshape = d.input("newshape", in[1].dtype, in[1].shape);
  d.require_next([&](Index) { return means_shape(a, newshape, x.shape()); }, tensor::Status::shape_mismatch);
  d.result("result", x.type(), a.shape, [&](Index i) { return stored(x, reshape_index(x.shape(), a.shape, i)); });
  return d.finish();
}

}  // namespace

void dyn_reshape(OperatorTable& table) {
  table.add<DynReshapeAttrs>({
      .name = "dyn.reshape",
      .summary = "reshape with the sizes as an operand, which must give the declared shape",
      .attributes = {{"shape", &DynReshapeAttrs::shape, "the declared shape of the result", true},
                     {"allowzero", &DynReshapeAttrs::allowzero, "0 is a size of zero, not the data's size"}},
      .arguments = {"data", "newshape"},
      .type = type_of_dyn_reshape,
      .compute = define_dyn_reshape,
  });
}

}  // namespace dlcc::relay::ops

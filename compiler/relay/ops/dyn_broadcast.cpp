// dyn.broadcast_to and dyn.full: the shape is an operand, and the result's shape is declared. A run whose operand leads
// to another shape ends with status shape_mismatch.
#include "relay/op_support/broadcasting.h"
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct DynShapeAttrs {
  std::vector<Dim> shape;
};

Dim rank_of(const Shape& shape) { return static_cast<int64_t>(shape.size()); }

TypeResult type_of_dyn_broadcast_to(const DynShapeAttrs& a, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "data", types::movable), check_list_operand(in[1], "shape"),
                         check_broadcasts_to(in[0].shape, a.shape)}))
    return *e;
  Dim expected = max(in[1].shape[0], rank_of(in[0].shape));
  if (auto e = check_equal(rank_of(a.shape), "the number of declared dimensions", expected,
                           "the larger of the data's rank and the length of shape"))
    return *e;
  return tensor_result(a.shape, in[0].dtype);
}

// The condition that broadcasting the data to the operand's sizes gives the declared shape. A size of 1 keeps the
// data's.
Expr broadcasts(const Tensor& sizes, const Shape& data, const Shape& declared) {
  std::vector<Expr> fits;
  int64_t count = sizes.extent(0).value(), rank = static_cast<int64_t>(declared.size());
  int64_t data_rank = static_cast<int64_t>(data.size());
  for (int64_t k = 0; k < rank; ++k) {
    int64_t in_sizes = k - (rank - count), in_data = k - (rank - data_rank);
    bool from_data = in_data >= 0 && data[in_data] == declared[k];
    Expr fit = tensor::literal(dtype::boolean, int64_t{from_data});
    if (in_sizes >= 0) {
      Expr size = integer_at(sizes, in_sizes);
      fit = equal(size, Expr(declared[k]));
      if (from_data) fit = logical_or(fit, equal(size, Expr(1)));
    }
    fits.push_back(fit);
  }
  return all_of(fits);
}

TensorFunction define_dyn_broadcast_to(const DynShapeAttrs& a, const Operands& in) {
  Definition d("dyn.broadcast_to");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), sizes = d.input("shape", in[1].dtype, in[1].shape);
  d.require_next([&](Index) { return broadcasts(sizes, x.shape(), a.shape); }, tensor::Status::shape_mismatch);
  d.result("result", x.type(), a.shape, [&](Index i) { return stored(x, broadcast_index(x.shape(), a.shape, i)); });
  return d.finish();
}

TypeResult type_of_dyn_full(const DynShapeAttrs& a, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "fill_value", types::movable), check_rank(in[0], "fill_value", 0),
                         check_list_operand(in[1], "shape")}))
    return *e;
  if (auto e =
          check_equal(in[1].shape[0], "the length of shape", rank_of(a.shape), "the number of declared dimensions"))
    return *e;
  return tensor_result(a.shape, in[0].dtype);
}

TensorFunction define_dyn_full(const DynShapeAttrs& a, const Operands& in) {
  Definition d("dyn.full");
  Tensor value = d.input("fill_value", in[0].dtype, in[0].shape), sizes = d.input("shape", in[1].dtype, in[1].shape);
  d.require_next([&](Index) { return broadcasts(sizes, {}, a.shape); }, tensor::Status::shape_mismatch);
  d.result("result", value.type(), a.shape, [&](Index) { return stored(value, {}); });
  return d.finish();
}

}  // namespace

void dyn_broadcast(OperatorTable& table) {
  using A = DynShapeAttrs;
  std::vector<Field<A>> fields = {{"shape", &A::shape, "the declared shape of the result", true}};
  table.add<A>({
      .name = "dyn.broadcast_to",
      .summary = "broadcasts the data with sizes given as an operand, which must give the declared shape",
      .attributes = fields,
      .arguments = {"data", "shape"},
      .type = type_of_dyn_broadcast_to,
      .compute = define_dyn_broadcast_to,
  });
  table.add<A>({
      .name = "dyn.full",
      .summary = "a tensor of one value whose sizes are an operand, which must give the declared shape",
      .attributes = fields,
      .arguments = {"fill_value", "shape"},
      .type = type_of_dyn_full,
      .compute = define_dyn_full,
  });
}

}  // namespace dlcc::relay::ops

// nn.global_max_pool2d and nn.global_avg_pool2d: one value per channel.
#include "relay/op_support/reductions.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct GlobalPoolAttrs {
  std::string layout = "NCHW", out_layout;
};

Shape pixels_of(const GlobalPoolAttrs&, const Operands& in) { return {in[0].shape[2], in[0].shape[3]}; }

TypeResult type_of_global_pool(const GlobalPoolAttrs& a, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "data", types::real), check_rank(in[0], "data", 4),
                         check_layout("layout", a.layout, "NCHW"),
                         check_layout("out_layout", a.out_layout.empty() ? a.layout : a.out_layout, "NCHW")}))
    return *e;
  for (const Dim& size : pixels_of(a, in))
    if (provably_lt(size, 1)) return shape_error(fmt::format("data of shape {} has no pixel", str(in[0].shape)));
  return tensor_result({in[0].shape[0], in[0].shape[1], 1, 1}, in[0].dtype);
}

Expr element(const Tensor& x, Index i, Index r) { return x(i[0], i[1], r[0], r[1]); }

TensorFunction define_global_max_pool(const GlobalPoolAttrs& a, const Operands& in) {
  Definition d("nn.global_max_pool2d");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  d.reduce_result("result", x.type(), shape_in(type_of_global_pool(a, in)),
                  tensor::max_of(tensor::compute_type(x.type())), {x.extent(2), x.extent(3)},
                  [&](Index i, Index r) { return element(x, i, r); });
  return d.finish();
}

TensorFunction define_global_avg_pool(const GlobalPoolAttrs& a, const Operands& in) {
  Definition d("nn.global_avg_pool2d");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  Shape shape = shape_in(type_of_global_pool(a, in)), pixels = {x.extent(2), x.extent(3)};
  DType type = tensor::compute_type(x.type());
  Tensor total =
      d.reduce("total", shape, tensor::sum_of(type), pixels, [&](Index i, Index r) { return element(x, i, r); });
  d.result("result", x.type(), shape, [&](Index i) { return total(i) / size_as(type, pixels); });
  return d.finish();
}

}  // namespace

void global_pool(OperatorTable& table) {
  std::vector<Field<GlobalPoolAttrs>> fields = {
      {"layout", &GlobalPoolAttrs::layout, "order of the data's axes"},
      {"out_layout", &GlobalPoolAttrs::out_layout, "order of the result's axes; the data's if empty"}};
  table.add<GlobalPoolAttrs>({
      .name = "nn.global_max_pool2d",
      .summary = "the largest element of each channel",
      .attributes = fields,
      .arguments = {"data"},
      .type = type_of_global_pool,
      .compute = define_global_max_pool,
      .positive_sizes = pixels_of,
  });
  table.add<GlobalPoolAttrs>({
      .name = "nn.global_avg_pool2d",
      .summary = "the mean of each channel",
      .attributes = fields,
      .arguments = {"data"},
      .type = type_of_global_pool,
      .compute = define_global_avg_pool,
      .positive_sizes = pixels_of,
  });
}

}  // namespace dlcc::relay::ops

// nn.global_max_pool2d and nn.global_avg_pool2d: one value per channel.
#include "relay/op_support/gradients.h"
#include "relay/op_support/reductions.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct GlobalPoolAttrs {
  std::string layout = "NCHW", out_layout;
};

const std::string& result_layout(const GlobalPoolAttrs& a) { return a.out_layout.empty() ? a.layout : a.out_layout; }

Shape pixels_of(const GlobalPoolAttrs& a, const Operands& in) {
  const Shape data = AxisOrder(a.layout, "NCHW").to_own(in[0].shape);
  return {data[2], data[3]};
}

TypeResult type_of_global_pool(const GlobalPoolAttrs& a, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "data", types::real), check_rank(in[0], "data", 4),
                         check_axis_order("layout", a.layout, "NCHW"),
                         check_axis_order("out_layout", result_layout(a), "NCHW")}))
    return *e;
  for (const Dim& size : pixels_of(a, in))
    if (provably_lt(size, 1)) return out_of_range_error(fmt::format("data of shape {} has no pixel", str(in[0].shape)));
  const Shape data = AxisOrder(a.layout, "NCHW").to_own(in[0].shape);
  return tensor_result(AxisOrder(result_layout(a), "NCHW").from_own(Shape{data[0], data[1], 1, 1}), in[0].dtype);
}

// Pixel r of the channel of the result's element `index`.
Expr element(const GlobalPoolAttrs& a, const Tensor& x, Index index, Index r) {
  const std::vector<Expr> i = AxisOrder(result_layout(a), "NCHW").to_own(index);
  return x(AxisOrder(a.layout, "NCHW").from_own(std::vector<Expr>{i[0], i[1], r[0], r[1]}));
}

TensorFunction define_global_max_pool(const GlobalPoolAttrs& a, const Operands& in) {
  Definition d("nn.global_max_pool2d");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  d.reduce_result("result", x.type(), shape_in(type_of_global_pool(a, in)),
                  tensor::max_of(tensor::compute_type(x.type())), pixels_of(a, in),
                  [&](Index i, Index r) { return element(a, x, i, r); });
  return d.finish();
}

TensorFunction define_global_avg_pool(const GlobalPoolAttrs& a, const Operands& in) {
  Definition d("nn.global_avg_pool2d");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  Shape shape = shape_in(type_of_global_pool(a, in)), pixels = pixels_of(a, in);
  DType type = tensor::compute_type(x.type());
  Tensor total =
      d.reduce("total", shape, tensor::sum_of(type), pixels, [&](Index i, Index r) { return element(a, x, i, r); });
  d.result("result", x.type(), shape, [&](Index i) { return total(i) / size_as(type, pixels); });
  return d.finish();
}

// As of the reduction of the pixels.
void gradient_of_global_pool(const GlobalPoolAttrs& a, CallGradient& g, const char* reduction) {
  g.add_through([&]() -> std::vector<Term> {
    const Term x = to_own(AxisOrder(a.layout, "NCHW"), g.operand(0));
    const Term y = x.map(reduction, {{"axis", std::vector<int64_t>{2, 3}}, {"keepdims", true}});
    return {from_own(AxisOrder(result_layout(a), "NCHW"), y)};
  });
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
      .gradient = [](const GlobalPoolAttrs& a, CallGradient& g) { gradient_of_global_pool(a, g, "max"); },
  });
  table.add<GlobalPoolAttrs>({
      .name = "nn.global_avg_pool2d",
      .summary = "the mean of each channel",
      .attributes = fields,
      .arguments = {"data"},
      .type = type_of_global_pool,
      .compute = define_global_avg_pool,
      .positive_sizes = pixels_of,
      .gradient = [](const GlobalPoolAttrs& a, CallGradient& g) { gradient_of_global_pool(a, g, "mean"); },
  });
}

}  // namespace dlcc::relay::ops

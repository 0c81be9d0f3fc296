// nn.nll_loss: the negative log likelihood of target classes.
#include "relay/call_gradient.h"
#include "relay/op_support/reductions.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct NllLossAttrs {
  std::string reduction = "mean";
  int64_t ignore_index = -100;
};

// The shape of the targets: the shape of the predictions without axis 1, the axis of classes.
Shape target_shape(const Shape& predictions) {
  Shape shape = predictions;
  shape.erase(shape.begin() + 1);
  return shape;
}

TypeResult type_of_nll_loss(const NllLossAttrs& a, const Operands& in) {
  const Shape& predictions = in[0].shape;
  if (auto e = first_of({check_type(in[0], "predictions", types::real), check_type(in[1], "targets", types::index),
                         check_same_type(in[0], "predictions", in[2], "weights"), check_rank(in[2], "weights", 1)}))
    return *e;
  if (predictions.size() < 2) return shape_error("predictions must have axes for batch and classes");
  const Shape expected = target_shape(predictions);
  if (auto e = check_rank(in[1], "targets", static_cast<int>(expected.size()))) return *e;
  for (size_t k = 0; k < expected.size(); ++k)
    if (auto e = check_equal(in[1].shape[k], fmt::format("axis {} of targets", k), expected[k],
                             fmt::format("axis {} of predictions", k == 0 ? 0 : k + 1)))
      return *e;
  if (auto e = check_equal(in[2].shape[0], "the length of weights", predictions[1], "the number of classes")) return *e;
  if (a.reduction != "none" && a.reduction != "mean" && a.reduction != "sum")
    return attribute_error(fmt::format("reduction is '{}'", a.reduction), "it is 'none', 'mean' or 'sum'");
  return tensor_result(a.reduction == "none" ? expected : Shape{}, in[0].dtype);
}

// The loss and the weight of one target, 0 where the target is to be ignored. Other targets must be classes.
struct Terms {
  Expr class_index, ignored, loss, weight;
};
Terms terms_of(const NllLossAttrs& a, const Tensor& x, const Tensor& targets, const Tensor& weights, Index i) {
  Terms t;
  const Expr classes(x.extent(1)), target = cast(dtype::i64, targets(i));
  t.class_index = target;
  t.ignored = equal(target, Expr(a.ignore_index));
  const Expr at = max(min(target, classes - Expr(1)), Expr(0));
  std::vector<Expr> index = i;
  index.insert(index.begin() + 1, at);
  const Expr zero = number(weights(at).type(), 0);
  t.weight = select(t.ignored, zero, weights(at));
  t.loss = select(t.ignored, zero, -x(index) * weights(at));
  return t;
}

TensorFunction define_nll_loss(const NllLossAttrs& a, const Operands& in) {
  Definition d("nn.nll_loss");
  Tensor x = d.input("predictions", in[0].dtype, in[0].shape), targets = d.input("targets", in[1].dtype, in[1].shape),
         weights = d.input("weights", in[2].dtype, in[2].shape);
  const DType type = tensor::compute_type(x.type());
  const Shape shape = targets.shape();
  auto terms = [&](Index i) { return terms_of(a, x, targets, weights, i); };
  auto valid = [&](Index i) {
    const Terms t = terms(i);
    return logical_or(t.ignored, logical_and(t.class_index >= Expr(0), t.class_index < Expr(x.extent(1))));
  };
  d.require_next(valid, tensor::Status::index_out_of_range);
  if (a.reduction == "none") {
    d.result("result", x.type(), shape, [&](Index i) { return terms(i).loss; });
    return d.finish();
  }
  Tensor losses = d.compute("losses", type, shape, [&](Index i) { return terms(i).loss; });
  auto loss = [&](Index, Index r) { return losses(r); };
  if (a.reduction == "sum") {
    d.reduce_result("result", x.type(), {}, tensor::sum_of(type), shape, loss);
    return d.finish();
  }
  Tensor total = d.reduce("total", {}, tensor::sum_of(type), shape, loss);
  Tensor weight = d.reduce("weight", {}, tensor::sum_of(type), shape, [&](Index, Index r) { return terms(r).weight; });
  d.result("result", x.type(), {}, [&](Index) { return scalar(total) / scalar(weight); });
  return d.finish();
}

// By primitive operators: the prediction of each target's class is a sum in which the other classes count as 0.
void gradient_of_nll_loss(const NllLossAttrs& a, CallGradient& g) {
  g.add_through([&]() -> std::vector<Term> {
    GradientCode& code = g.code();
    const Term x = g.operand(0), targets = g.operand(1).cast_to(dtype::i64);
    const Term is_ignored = equal(targets, static_cast<double>(a.ignore_index)), known = where(is_ignored, 0, targets);
    const Term weights = where(is_ignored, 0, code.call("take", {g.operand(2), known}, {{"axis", 0}}));
    Shape row = targets.shape(), classes(x.shape().size(), Dim(1));
    row.insert(row.begin() + 1, Dim(1));
    classes[1] = x.shape()[1];
    const Term numbers = code.call("iota", {}, {{"shape", sizes_attribute({x.shape()[1]})}, {"dtype", "int64"}});
    const Term is_target = equal(known.reshaped(row), numbers.reshaped(classes));
    const Term losses = -(where(is_target, x, 0).map("sum", {{"axis", 1}}) * weights);
    if (a.reduction == "none") return {losses};
    const Term total = losses.map("sum");
    return {a.reduction == "sum" ? total : total / weights.map("sum")};
  });
}

}  // namespace

void nll_loss(OperatorTable& table) {
  table.add<NllLossAttrs>({
      .name = "nn.nll_loss",
      .summary = "-predictions[n, targets[n]] * weights[targets[n]], with the classes along axis 1",
      .attributes = {{"reduction", &NllLossAttrs::reduction,
                      "\"none\": a loss for each target; \"sum\"; \"mean\": the sum divided by that of the weights"},
                     {"ignore_index", &NllLossAttrs::ignore_index,
                      "a target without loss and weight; other targets outside stop with index_out_of_range"}},
      .arguments = {"predictions", "targets", "weights"},
      .type = type_of_nll_loss,
      .compute = define_nll_loss,
      .positive_sizes = [](const NllLossAttrs&, const Operands& in) -> std::vector<Dim> { return {in[0].shape[1]}; },
      .gradient = gradient_of_nll_loss,
  });
}

}  // namespace dlcc::relay::ops

// nn.standardize: elements with mean 0 and variance 1 over some axes, then scaled and shifted. The variance is the mean
// of the squared differences from the mean, in a second pass: the mean of the squares minus the square of the mean
// would lose digits.
#include "relay/call_gradient.h"
#include "relay/op_support/broadcasting.h"
#include "relay/op_support/reductions.h"

namespace dlcc::relay::ops {

namespace {

struct StandardizeAttrs {
  std::vector<int64_t> axis;
  double epsilon = 1e-5;
  bool center = true;
};

// Rows of up to this many elements have accurate sums.
constexpr int64_t short_row = 2048;

// An error unless the shape is broadcast to that of the data. Sizes that may be equal are the error's unproved pair.
std::optional<TypeError> check_broadcast_to_data(const Shape& data, const Shape& shape, const std::string& role) {
  const Checked<Shape> both = broadcast(data, shape);
  if (!std::get_if<TypeError>(&both) && std::get<Shape>(both) == data) return std::nullopt;
  TypeError error = shape_error(
      fmt::format("{} of shape {} cannot be broadcast to the data's shape {}", role, str(shape), str(data)));
  for (size_t k = 0; k < std::min(shape.size(), data.size()); ++k) {
    const Dim &size = shape[shape.size() - 1 - k], &wanted = data[data.size() - 1 - k];
    if (size == wanted || size == Dim(1)) continue;
    return unequal_sizes(std::move(error), size, wanted);
  }
  return error;
}

TypeResult type_of_standardize(const StandardizeAttrs& a, const Operands& in) {
  const int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of({check_type(in[0], "data", types::real), check_type(in[1], "gamma", types::real),
                         check_type(in[2], "beta", types::real), check_axes("axis", a.axis, rank)}))
    return *e;
  if (a.axis.empty()) return attribute_error("axis names no axes");
  for (int k : {1, 2})
    if (auto e = check_broadcast_to_data(in[0].shape, in[k].shape, k == 1 ? "gamma" : "beta")) return *e;
  return tensor_result(in[0].shape, in[0].dtype);
}

// The rows of the data, along which it is standardized.
struct Rows {
  const Tensor& x;
  std::vector<bool> reduced;
  Shape shape, extents;  // of all rows, and of one row

  Rows(const Tensor& x, const std::vector<int64_t>& axes)
      : x(x),
        reduced(axis_mask(axes, x.rank())),
        shape(reduced_shape(x.shape(), reduced, false)),
        extents(extents_of(x.shape(), reduced)) {}

  // The extents of the elements whose mean corrects that of a row: none where the row is short. Several symbolic
  // extents stay as they are, so that merge_axes (tensor/passes/merge_axes.h) can join them.
  Shape extents_of_correction() const {
    const Dim count = product(extents);
    if (extents.size() > 1 && !count.is_constant()) return extents;
    const Dim is_long = min(max(count - Dim(short_row), Dim(0)), Dim(1));  // 0 or 1
    Shape result = extents;
    result[0] = result[0] * is_long;
    return result;
  }

  std::vector<Expr> element(Index row, Index r) const { return merge_index(reduced, false, row, r); }
  std::vector<Expr> row_of(Index i) const {
    std::vector<Expr> row;
    for (size_t k = 0; k < i.size(); ++k)
      if (!reduced[k]) row.push_back(i[k]);
    return row;
  }
};

TensorFunction define_standardize(const StandardizeAttrs& a, const Operands& in) {
  Definition d("nn.standardize");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), gamma = d.input("gamma", in[1].dtype, in[1].shape),
         beta = d.input("beta", in[2].dtype, in[2].shape);
  const DType type = tensor::compute_type(x.type());
  const Rows rows(x, a.axis);
  const Expr count = size_as(type, rows.extents);

  // The mean and, for long rows, a correction of its rounding error: the mean of the differences from it.
  std::vector<Tensor> means;
  auto difference = [&](Index i, Index row) {
    Expr value = x(i);
    for (const Tensor& mean : means) value = value - mean(row);
    return value;
  };
  auto add_mean = [&](const Shape& extents) {
    Tensor total = d.reduce("total", rows.shape, tensor::sum_of(type), extents,
                            [&](Index row, Index r) { return difference(rows.element(row, r), row); });
    means.push_back(d.compute("mean", type, rows.shape, [&](Index row) { return total(row) / count; }));
  };
  if (a.center) {
    add_mean(rows.extents);
    if (const Shape rest = rows.extents_of_correction(); product(rest) != Dim(0)) add_mean(rest);
  }
  Tensor squares = d.reduce("squares", rows.shape, tensor::sum_of(type), rows.extents, [&](Index row, Index r) {
    Expr distance = difference(rows.element(row, r), row);
    return distance * distance;
  });
  Tensor scale = d.compute("scale", type, rows.shape, [&](Index row) {
    return number(type, 1) / sqrt(squares(row) / count + number(type, a.epsilon));
  });
  for (const Tensor* t : {&gamma, &beta}) require_broadcast_next(d, t->shape(), x.shape());
  d.result("result", x.type(), x.shape(), [&](Index i) {
    auto parameter = [&](const Tensor& t) { return cast(type, t(broadcast_index(t.shape(), x.shape(), i))); };
    const std::vector<Expr> row = rows.row_of(i);
    return difference(i, row) * scale(row) * parameter(gamma) + parameter(beta);
  });
  return d.finish();
}

void gradient_of_standardize(const StandardizeAttrs& a, CallGradient& g) {
  g.add_through([&]() -> std::vector<Term> {
    const DType type = tensor::compute_type(g.operand(0).dtype());
    const Term x = g.operand(0).cast_to(type);
    const Attrs over = {{"axis", a.axis}, {"keepdims", true}};
    const Term difference = a.center ? x - x.map("mean", over) : x;
    const Term variance = (difference * difference).map("mean", over);
    const Term y = difference * (variance + a.epsilon).map("rsqrt");
    return {(y * g.operand(1).cast_to(type) + g.operand(2).cast_to(type)).cast_to(g.operand(0).dtype())};
  });
}

}  // namespace

void standardize(OperatorTable& table) {
  table.add<StandardizeAttrs>({
      .name = "nn.standardize",
      .summary = "(data - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance over some axes",
      .attributes = {{"axis", &StandardizeAttrs::axis, "the axes of mean and variance", true},
                     {"epsilon", &StandardizeAttrs::epsilon, "added to the variance"},
                     {"center", &StandardizeAttrs::center,
                      "if False, the mean counts as 0: data / sqrt(mean of squares + epsilon) * gamma + beta"}},
      .arguments = {"data", "gamma", "beta"},
      .type = type_of_standardize,
      .compute = define_standardize,
      .gradient = gradient_of_standardize,
      .tolerance = 2e-6,
  });
}

}  // namespace dlcc::relay::ops

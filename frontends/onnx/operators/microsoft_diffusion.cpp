// Operators of the domain com.microsoft in models of diffusion: GroupNorm, SkipGroupNorm, Inverse.
#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/loop_function.h"
#include "frontends/onnx/operators/statistics.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// ---- GroupNorm, SkipGroupNorm -------------------------------------------------------------------------------------

struct GroupAttributes {
  bool channels_last, with_silu;
  int64_t groups;
  double epsilon;
};

GroupAttributes group_attributes(Node& n) {
  const int64_t activation = n.required_integer("activation");
  GroupAttributes a{n.flag("channels_last", true), activation == 1, n.required_integer("groups"),
                    n.number("epsilon", 1e-5f)};
  n.check(activation == 0 || activation == 1, DiagnosticId::bad_attribute,
          fmt::format("attribute 'activation' must be 0 (none) or 1 (SiLU), found {}", activation));
  n.check(n.in(0).rank() >= 3, DiagnosticId::shape_mismatch, "X must have axes for batch, channels and space");
  n.check(n.failed() || a.groups >= 1, DiagnosticId::bad_attribute,
          fmt::format("attribute 'groups' must be at least 1, found {}", a.groups));
  return a;
}

// x, whose channels are one axis, with mean 0 and variance 1 for each group of channels, scaled and shifted by gamma
// and beta of each channel, the inputs 1 and 2; then the activation. x is of float32 or float64.
Value group_norm(Node& n, const Value& x, const GroupAttributes& a) {
  if (x.poisoned) return x;
  const Shape shape = x.type.shape;
  const size_t channels = a.channels_last ? shape.size() - 1 : 1;
  const auto count = shape[channels].constant();
  n.check(!count || *count % a.groups == 0, DiagnosticId::shape_mismatch,
          fmt::format("{} channels cannot be divided into {} groups", shape[channels].str(), a.groups));
  for (int input : {1, 2})
    n.check(n.require_shape(input, {shape[channels]}), DiagnosticId::shape_mismatch,
            fmt::format("{} must have one number for each of the {} channels, found {}", n.in(input).role,
                        shape[channels].str(), describe(n.in(input).type)));
  if (n.failed()) return Value::poison();
  const Dim size = floor_div(shape[channels], a.groups);  // channels of a group
  Shape grouped = shape, parameter = {Dim(a.groups), size};
  grouped[channels] = Dim(a.groups);
  grouped.insert(grouped.begin() + static_cast<std::ptrdiff_t>(channels) + 1, size);
  parameter.insert(parameter.end(), grouped.size() - channels - 2, Dim(1));
  std::vector<int64_t> axes;
  for (size_t k = 1; k < grouped.size(); ++k)
    if (k != channels) axes.push_back(static_cast<int64_t>(k));
  const Value y = n.reshape(standardize(n, n.reshape(x, grouped), axes, n.reshape(n.in(1), parameter),
                                        n.reshape(n.in(2), parameter), a.epsilon),
                            shape);
  return a.with_silu ? multiply(n, y, n.call("sigmoid", {y})) : y;
}

Values convert_group_norm(Node& n) {
  const GroupAttributes a = group_attributes(n);
  if (n.failed()) return {};
  return {in_float32(n, n.in(0), [&](const Value& x) { return group_norm(n, x, a); })};
}

// GroupNorm of the sum of X, skip and the optional bias, and that sum. The skip may have one number for each channel
// of an image: its axes of space are 1 or missing.
Values convert_skip_group_norm(Node& n) {
  enum { x, gamma, beta, skip, bias };
  const GroupAttributes a = group_attributes(n);
  if (n.failed()) return {};
  const DType type = n.in(x).type.dtype;
  const int rank = n.in(x).rank();
  auto wide = [&](const Value& v) { return bits(v.type.dtype) == 16 ? n.cast(v, dtype::f32) : v; };
  Value added = wide(n.in(skip));
  if (added.rank() == 2 && rank > 2)
    added = n.call("expand_dims", {added},
                   {{"axis", a.channels_last ? 1 : 2}, {"num_newaxis", static_cast<int64_t>(rank) - 2}});
  Value sum = add(n, wide(n.in(x)), added);
  if (n.has(bias)) {
    const Value list = wide(n.in(bias));
    sum = add(n, sum, a.channels_last ? list : along_channels(n, list, rank));
  }
  if (sum.poisoned) return {};
  const auto whole = n.with_shape(sum, n.in(x).type.shape);
  if (!n.check(whole.has_value(), DiagnosticId::shape_mismatch,
               fmt::format("the sum of X, skip and bias has the shape {}, X has {}", str(sum.type.shape),
                           str(n.in(x).type.shape))))
    return {};
  const Value y = group_norm(n, *whole, a);
  if (y.poisoned) return {};
  return {n.cast(y, type), n.cast(*whole, type)};
}

// ---- Inverse ------------------------------------------------------------------------------------------------------

// Gauss-Jordan elimination with partial pivoting (Golub and Van Loan, Matrix Computations, 3.4) of matrices [batch, n,
// n] beside unit matrices, one column in each iteration.
Value inverses(Node& n, const Value& matrices) {
  if (matrices.poisoned) return matrices;
  const Dim batch = matrices.type.shape[0], size = matrices.type.shape[1];
  auto positions = [&](const Shape& shape, int64_t axis) {
    return n.call("iota", {}, {{"shape", relay::sizes_attribute(shape)}, {"dtype", "int64"}, {"axis", axis}});
  };
  const Value unit =
      n.cast(n.call("equal", {positions({size, size}, 0), positions({size, size}, 1)}), matrices.type.dtype);
  const Value units = n.call("broadcast_to", {unit}, {{"shape", relay::sizes_attribute({batch, size, size})}});
  const Value row = positions({size}, 0);
  LoopParts loop;
  loop.count = size_of_axis(n, matrices, 1);
  loop.initial = {n.call("concatenate", {matrices, units}, {{"axis", 2}})};
  loop.names = {"matrices"};
  if (n.failed()) return Value::poison();
  const Shape both = loop.initial[0].type.shape;
  loop.iteration = [&](const Value& k, const Values& carried) -> std::optional<Iteration> {
    auto with_axis = [&](const Value& v, int64_t axis) { return n.call("expand_dims", {v}, {{"axis", axis}}); };
    const Value is_done = n.call("less", {row, k}), is_current = n.call("equal", {row, k});
    const Value sizes = n.call("abs", {slice_at(n, carried[0], k, 2)});
    const Value candidates = n.call("where", {is_done, constant_like(n, sizes, -1), sizes});
    const Value pivot = n.call("argmax", {candidates},
                               {{"axis", relay::AttrList{1}}, {"keepdims", true}, {"dtype", "int64"}});  // [batch, 1]
    // Row k and the row of the pivot are exchanged.
    Value order = n.call("where", {n.call("equal", {row, pivot}), k, row});
    order = n.call("where", {is_current, pivot, order});
    order = n.call("broadcast_to", {with_axis(order, 2)}, {{"shape", relay::sizes_attribute(both)}});
    const Value exchanged = n.call("gather", {carried[0], order}, {{"axis", 1}});
    if (exchanged.poisoned) return std::nullopt;
    const Value factors = slice_at(n, exchanged, k, 2);  // [batch, n]
    Value pivot_row = slice_at(n, exchanged, k, 1);      // [batch, 2 n]
    pivot_row = with_axis(divide(n, pivot_row, with_axis(slice_at(n, pivot_row, k, 1), 1)), 1);
    const Value others = subtract(n, exchanged, multiply(n, with_axis(factors, 2), pivot_row));
    return Iteration{{}, {n.call("where", {with_axis(is_current, 1), pivot_row, others})}, {}};
  };
  auto results = loop_function(n, std::move(loop));
  if (!results) return Value::poison();
  return n.call("strided_slice", {results->front()},
                {{"begin", relay::sizes_attribute({size})},
                 {"end", relay::sizes_attribute({size * Dim(2)})},
                 {"axes", relay::AttrList{2}}});
}

Values convert_inverse(Node& n) {
  const Shape given = n.in(0).type.shape;
  if (!n.check(given.size() >= 2, DiagnosticId::shape_mismatch, "X must have at least two axes")) return {};
  Shape square = given;
  square.back() = square[square.size() - 2];
  if (!n.check(n.require_shape(0, square), DiagnosticId::shape_mismatch,
               fmt::format("the matrices of X must be square, found {}", describe(n.in(0).type))))
    return {};
  if (square.back() == Dim(0)) return {n.in(0)};
  const Shape batch(square.begin(), square.end() - 2);
  return {in_float32(n, n.in(0), [&](const Value& x) {
    return n.reshape(inverses(n, n.reshape(x, {product(batch), square.back(), square.back()})), square);
  })};
}

}  // namespace

void add_microsoft_diffusion(Table& table) {
  table.add({
      {"com.microsoft.GroupNorm", 1, "X gamma beta", 3, 3, 1, convert_group_norm, true},
      {"com.microsoft.SkipGroupNorm", 1, "X gamma beta skip bias", 4, 5, 2, convert_skip_group_norm, true},
      {"com.microsoft.Inverse", 1, "X", 1, 1, 1, convert_inverse, true},
  });
}

}  // namespace dlcc::frontends::onnx

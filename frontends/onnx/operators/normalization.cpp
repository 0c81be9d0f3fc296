// BatchNormalization, Softmax, LogSoftmax, Dropout.
#include "frontends/onnx/operators/normalization.h"

#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/random.h"
#include "frontends/onnx/operators/statistics.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// BatchNormalization with spatial = 0 (operator sets 1 to 8): statistics per element, of the data's shape without
// batch.
Value normalize_elements(Node& n, double epsilon) {
  const Value& x = n.in(0);
  Value spread = n.call("sqrt", {n.call("add", {n.in(4), n.scalar(x.type.dtype, epsilon)})});
  Value normal = n.call("divide", {n.call("subtract", {x, n.in(3)}), spread});
  return n.call("add", {n.call("multiply", {normal, n.in(1)}), n.in(2)});
}

// Whether the node is in training mode: before operator set 14, if it has more than one output (operator sets 1 to 6
// also have the attribute is_test); from 14 on, by the attribute training_mode.
bool trains(Node& n) {
  bool statistics = false;
  for (int k = 1; k < n.output_count(); ++k) statistics = statistics || n.wants(k);
  if (n.opset() < 7) return !n.flag("is_test", !statistics);
  if (n.opset() < 14) return statistics;
  const bool trains = n.flag("training_mode", false);
  n.check(trains || !statistics, DiagnosticId::bad_attribute, "there are running statistics in training mode only",
          "set training_mode=1, or remove the outputs");
  return trains;
}

// Normalizes by the statistics of the batch. The further results are the running statistics, and before operator set 14
// also the statistics of the batch. 16-bit floats are computed in float32.
Values train_batch_normalization(Node& n, double epsilon, bool per_channel) {
  const double momentum = n.number("momentum", 0.9f);
  const int rank = n.in(0).rank();
  if (!n.check(rank >= 2, DiagnosticId::shape_mismatch, "X must have axes for batch and channels")) return {};
  std::vector<int64_t> axes = {0};
  for (int64_t k = 2; per_channel && k < rank; ++k) axes.push_back(k);
  auto wide = [&](const Value& v) { return bits(v.type.dtype) == 16 ? n.cast(v, dtype::f32) : v; };
  const Value x = wide(n.in(0));
  const Moments m = moments_over(n, x, axes);
  // A parameter as it is broadcast to the data, in its type.
  auto parameter = [&](int input) {
    const Value v = n.cast(n.in(input), x.type.dtype);
    return per_channel ? along_channels(n, v, rank) : v;
  };
  Value scale = multiply(n, n.call("rsqrt", {plus(n, m.variance, epsilon)}), parameter(1));
  Values results = {n.cast(add(n, multiply(n, m.centered, scale), parameter(2)), n.in(0).type.dtype)};
  const Value batch[] = {n.reshape(m.mean, n.in(3).type.shape), n.reshape(m.variance, n.in(4).type.shape)};
  for (int k = 0; k < 2; ++k) {
    const Value running = n.cast(n.in(3 + k), x.type.dtype);
    const Value mixed = add(n, times(n, running, momentum), times(n, batch[k], 1 - momentum));
    results.push_back(n.cast(mixed, n.in(3 + k).type.dtype));
  }
  for (int k = 0; k < 2; ++k) results.push_back(n.cast(batch[k], n.in(3 + k).type.dtype));
  return results;
}

Values normalize_batch(Node& n) {
  n.ignore("consumed_inputs");
  n.ignore("momentum");
  double epsilon = n.number("epsilon", 1e-5f);
  bool per_channel = n.opset() >= 9 || n.flag("spatial", true);
  if (trains(n)) return train_batch_normalization(n, epsilon, per_channel);
  const Value y = per_channel
                      ? n.call_fields("nn.batch_norm", n.all_inputs(), {{"axis", 1}, {"epsilon", epsilon}}, 1)[0]
                      : normalize_elements(n, epsilon);
  return {y, n.in(3), n.in(4)};
}

// A list is a batch of elements of one channel.
Values convert_batch_normalization(Node& n) {
  const Value x = n.in(0);
  if (x.rank() != 1) return normalize_batch(n);
  Value column = n.reshape(x, {x.type.shape[0], Dim(1)});
  column.role = x.role;
  n.context().inputs[0] = column;
  Values results = normalize_batch(n);
  if (!results.empty()) results[0] = n.reshape(results[0], x.type.shape);
  return results;
}

Converter flattening_softmax(const char* relay_op) {
  return [relay_op](Node& n) -> Values { return {flattened_softmax(n, relay_op, n.in(0))}; };
}

Converter softmax(const char* relay_op) {
  return [relay_op](Node& n) -> Values { return {n.call(relay_op, {n.in(0)}, {{"axis", n.integer("axis", -1)}})}; };
}

// ---- Dropout ------------------------------------------------------------------------------------------------------

// Whether the node may drop elements: with training_mode, an input since operator set 12, and a nonzero ratio.
bool may_drop(Node& n) {
  if (!n.has(2)) return false;
  const Constant* training = n.in(2).constant();
  const Constant* ratio = n.has(1) ? n.in(1).constant() : nullptr;
  if (training && training->count() == 1 && training->integer_at(0) == 0) return false;
  return !(ratio && ratio->count() == 1 && ratio->number_at(0) == 0);
}

// At inference: the data, and a mask of true (before operator set 10, of ones).
Values convert_dropout(Node& n) {
  n.ignore("consumed_inputs");
  n.ignore("is_test");
  n.ignore("ratio");
  n.ignore("seed");
  if (may_drop(n)) return drop_elements(n, n.in(0), n.has(1) ? n.in(1) : n.scalar(dtype::f32, 0.5), n.in(2));
  Values results = {n.in(0)};
  if (n.wants(1)) {
    DType type = n.opset() >= 10 ? dtype::boolean : n.in(0).type.dtype;
    results.push_back(n.call("full", {n.scalar(type, 1)},
                             {{"shape", relay::sizes_attribute(n.in(0).type.shape)}, {"dtype", dtype_attr(type)}}));
  }
  return results;
}

}  // namespace

Value flattened_softmax(Node& n, const char* relay_op, const Value& x, int64_t default_axis) {
  if (x.poisoned) return x;
  auto axis = n.axis_of(n.integer("axis", default_axis), x.rank());
  if (!axis) return Value::poison();
  bool one_axis = true;  // all later axes have size 1
  for (int64_t k = *axis + 1; k < x.rank(); ++k) one_axis = one_axis && x.type.shape[k] == Dim(1);
  if (one_axis) return n.call(relay_op, {x}, {{"axis", *axis}});
  Shape rows(x.type.shape.begin(), x.type.shape.begin() + *axis),
      columns(x.type.shape.begin() + *axis, x.type.shape.end());
  Value matrix = n.reshape(x, {product(rows), product(columns)});
  return n.reshape(n.call(relay_op, {matrix}, {{"axis", 1}}), x.type.shape);
}

void add_normalization(Table& table) {
  table.add({
      {"BatchNormalization", 1, "X scale B mean var", 5, 5, 5, convert_batch_normalization, true},
      {"BatchNormalization", 14, "X scale B input_mean input_var", 5, 5, 3, convert_batch_normalization, true},
      {"Softmax", 1, "input", 1, 1, 1, flattening_softmax("nn.softmax"), true},
      {"Softmax", 13, "input", 1, 1, 1, softmax("nn.softmax"), true},
      {"LogSoftmax", 1, "input", 1, 1, 1, flattening_softmax("nn.log_softmax"), true},
      {"LogSoftmax", 13, "input", 1, 1, 1, softmax("nn.log_softmax"), true},
      {"Dropout", 1, "data", 1, 1, 2, convert_dropout, true},
      {"Dropout", 12, "data ratio training_mode", 1, 3, 2, convert_dropout, true},
  });
}

}  // namespace dlcc::frontends::onnx

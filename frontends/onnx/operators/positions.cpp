// Operators whose results depend on positions: Range, EyeLike, Trilu, OneHot, Hardmax.
#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// The positions along one axis, as int64.
Value positions(Node& n, const Shape& shape, int64_t axis) {
  return n.call("iota", {}, {{"shape", relay::sizes_attribute(shape)}, {"dtype", "int64"}, {"axis", axis}});
}

// The only element of an input, with rank 0.
Value only_element(Node& n, int input) {
  const Value& x = n.in(input);
  n.check(product(x.type.shape) == Dim(1), DiagnosticId::shape_mismatch,
          fmt::format("{} must have one element, found {}", x.role, describe(x.type)));
  return n.failed() ? Value::poison() : n.reshape(x, {});
}

// ---- Range --------------------------------------------------------------------------------------------------------

// max(ceil((limit - start) / delta), 0), as int64. Floats are subtracted in their type and divided as float64. For
// integers beyond 2^61, whose differences may overflow, the length is one that no tensor has.
Value range_length(Node& n, const Value& start, const Value& limit, const Value& delta) {
  Value zero = n.scalar(dtype::i64, 0);
  if (is_float(start.type.dtype)) {
    Value distance = n.cast(subtract(n, limit, start), dtype::f64);
    Value count = n.call("ceil", {divide(n, distance, n.cast(delta, dtype::f64))});
    return n.call("maximum", {n.cast(count, dtype::i64), zero});
  }
  auto wide = [&](const Value& x) { return n.cast(x, dtype::i64); };
  Value quotient = n.call("floor_divide", {subtract(n, wide(start), wide(limit)), wide(delta)});
  Value length = n.call("maximum", {n.call("negative", {quotient}), zero});
  constexpr int64_t largest = int64_t{1} << 61;
  for (const Value& v : {start, limit, delta}) {
    const relay::KnownValue known = n.context().builder.known(v);
    if (bits(v.type.dtype) < 64 || (known && known->elements[0])) continue;
    Value beyond = n.call("logical_or", {n.call("greater", {wide(v), n.scalar(dtype::i64, largest)}),
                                         n.call("less", {wide(v), n.scalar(dtype::i64, -largest)})});
    length = n.call("where", {beyond, n.scalar(dtype::i64, 2 * largest), length});
  }
  return length;
}

bool is_number(const Value& scalar, double number) {
  const Constant* constant = scalar.constant();
  return constant && constant->number_at(0) == number;
}

// start + i delta; 16-bit floats are computed in float32.
Values convert_range(Node& n) {
  n.ignore("stash_type");
  const Value start = only_element(n, 0), limit = only_element(n, 1), delta = only_element(n, 2);
  if (n.failed()) return {};
  n.check(!is_number(delta, 0), DiagnosticId::bad_attribute, "delta must not be 0");
  const DType type = start.type.dtype;
  Value length = n.reshape(range_length(n, start, limit, delta), {1});
  const DType computed = is_float(type) && bits(type) == 16 ? dtype::f32 : type;
  Value range = n.with_declared_sizes(n.call("iota", {length}, {{"dtype", dtype_attr(computed)}}));
  if (!is_number(delta, 1)) range = multiply(n, range, n.cast(delta, computed));
  if (!is_number(start, 0)) range = add(n, range, n.cast(start, computed));
  return {n.cast(range, type)};
}

// ---- diagonals and triangles --------------------------------------------------------------------------------------

Values convert_eye_like(Node& n) {
  const Value& x = n.in(0);
  const auto type = n.element_type("dtype", n.integer("dtype", onnx_number(x.type.dtype)));
  n.check(x.rank() == 2, DiagnosticId::shape_mismatch,
          fmt::format("input must be a matrix, found {}", describe(x.type)));
  if (n.failed()) return {};
  Value column = positions(n, x.type.shape, 1), row = positions(n, x.type.shape, 0);
  Value shift = Value::of(Constant::of<int64_t>(dtype::i64, {}, {n.integer("k", 0)}));
  return {n.cast(n.call("equal", {column, add(n, row, shift)}), *type)};
}

Values convert_trilu(Node& n) {
  const Value& x = n.in(0);
  const bool upper = n.flag("upper", true);
  Value shift = n.has(1) ? only_element(n, 1) : n.scalar(dtype::i64, 0);
  n.check(x.rank() >= 2, DiagnosticId::shape_mismatch,
          fmt::format("input must have at least 2 axes, found {}", describe(x.type)));
  if (n.failed()) return {};
  const auto farthest = static_cast<double>(tensor::max_elements);  // beyond all diagonals; its sum does not wrap
  shift = n.call("clip", {shift}, {{"a_min", -farthest}, {"a_max", farthest}});
  const Shape matrix(x.type.shape.end() - 2, x.type.shape.end());
  Value diagonal = add(n, positions(n, matrix, 0), shift);
  Value kept = n.call(upper ? "greater_equal" : "less_equal", {positions(n, matrix, 1), diagonal});
  return {n.call("where", {kept, x, constant_like(n, x, 0)})};
}

// ---- one-hot vectors ----------------------------------------------------------------------------------------------

// Since operator set 11 negative indices count from the end; an index that is out of range selects nothing.
Values convert_one_hot(Node& n) {
  const Value depth = only_element(n, 1);
  const auto axis = n.axis_of(n.integer("axis", -1), n.in(0).rank() + 1);
  n.check(n.require_shape(2, {Dim(2)}), DiagnosticId::shape_mismatch,
          fmt::format("values must be the two values off and on, found {}", describe(n.in(2).type)));
  if (n.failed()) return {};
  const Value& values = n.in(2);
  const Value count = n.cast(depth, dtype::i64), given = n.cast(n.in(0), dtype::i64);
  Value indices = given;
  if (n.opset() >= 11)
    indices = n.call("where", {n.call("less", {given, n.scalar(dtype::i64, 0)}), add(n, given, count), given});
  indices = n.call("expand_dims", {indices}, {{"axis", *axis}});
  std::optional<Shape> declared;  // of the list of all classes
  if (n.declared_shape() && static_cast<int64_t>(n.declared_shape()->size()) > *axis)
    declared = Shape{(*n.declared_shape())[*axis]};
  Value all = n.with_declared_sizes(n.call("iota", {n.reshape(count, {1})}, {{"dtype", "int64"}}), declared);
  if (all.poisoned) return {};
  Shape along(static_cast<size_t>(n.in(0).rank() - *axis) + 1, Dim(1));
  along[0] = all.type.shape[0];
  auto value = [&](int64_t k) {
    return n.reshape(
        n.call("strided_slice", {values}, {{"begin", relay::AttrList{k}}, {"end", relay::AttrList{k + 1}}}), {});
  };
  return {n.call("where", {n.call("equal", {indices, n.reshape(all, along)}), value(1), value(0)})};
}

// 1 at the first largest element along an axis, else 0. Before operator set 13 the axes from `axis` on are one.
Values convert_hardmax(Node& n) {
  const bool flattens = n.opset() < 13;
  const Value& x = n.in(0);
  const auto axis = n.axis_of(n.integer("axis", flattens ? 1 : -1), x.rank());
  if (!axis) return {};
  const Shape& shape = x.type.shape;
  if (product(shape) == Dim(0)) return {x};  // no element is the largest
  const auto split = shape.begin() + *axis;
  Value data = flattens ? n.reshape(x, {product(Shape(shape.begin(), split)), product(Shape(split, shape.end()))}) : x;
  const int64_t along = flattens ? 1 : *axis;
  Value largest = n.call("argmax", {data}, {{"axis", relay::AttrList{along}}, {"keepdims", true}, {"dtype", "int64"}});
  Shape line(static_cast<size_t>(data.rank()), Dim(1));
  line[along] = data.type.shape[along];
  Value result = n.cast(n.call("equal", {positions(n, line, along), largest}), x.type.dtype);
  return {flattens ? n.reshape(result, shape) : result};
}

}  // namespace

void add_positions(Table& table) {
  table.add({
      {"EyeLike", 9, "input", 1, 1, 1, convert_eye_like, true},
      {"Hardmax", 1, "input", 1, 1, 1, convert_hardmax, true},
      {"OneHot", 9, "indices depth values", 3, 3, 1, convert_one_hot},
      {"Range", 11, "start limit delta", 3, 3, 1, convert_range},
      {"Trilu", 14, "input k", 1, 2, 1, convert_trilu, true},
      {"com.microsoft.Trilu", 1, "X k", 1, 2, 1, convert_trilu, true},
  });
}

}  // namespace dlcc::frontends::onnx

// dyn.nn.pad: the widths are an operand, and the result's shape is declared. A run whose operand leads to another shape
// ends with status shape_mismatch.
#include "relay/op_support/indices.h"
#include "relay/op_support/reductions.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct DynPadAttrs {
  std::vector<Dim> shape;
  std::string pad_mode = "constant";
  std::optional<std::vector<int64_t>> axes;
};

int64_t padded_axes(const DynPadAttrs& a, int rank) { return a.axes ? static_cast<int64_t>(a.axes->size()) : rank; }

// pad_width has a row (before, after) per axis, or is one list of all widths before and then all after.
Failure check_widths(const DynPadAttrs& a, const TensorType& widths, int rank) {
  Dim count = padded_axes(a, rank);
  bool rows = widths.shape.size() == 2 && widths.shape[0] == count && widths.shape[1] == Dim(2);
  bool list = widths.shape.size() == 1 && widths.shape[0] == count * Dim(2);
  if (rows || list) return std::nullopt;
  return shape_error(fmt::format("pad_width must have shape ({}, 2) or ({},), found {}", count.str(),
                                 (count * Dim(2)).str(), str(widths.shape)));
}

TypeResult type_of_dyn_pad(const DynPadAttrs& a, const Operands& in) {
  const Shape& data = in[0].shape;
  int rank = static_cast<int>(data.size());
  if (auto e = first_of({check_type(in[0], "data", types::movable), check_type(in[1], "pad_width", types::index),
                         check_same_type(in[0], "data", in[2], "pad_value"), check_rank(in[2], "pad_value", 0),
                         check_pad_mode(a.pad_mode), check_axes("axes", a.axes.value_or(std::vector<int64_t>{}), rank),
                         check_widths(a, in[1], rank), check_rank({a.shape, in[0].dtype}, "the declared shape", rank)}))
    return *e;
  std::vector<bool> padded = reduced_axes(a.axes, false, rank);
  for (int k = 0; k < rank; ++k) {
    if (!padded[k])
      if (auto e =
              check_equal(a.shape[k], fmt::format("declared size {}", k), data[k], "the data's, which is not padded"))
        return *e;
    if (a.pad_mode != "constant" && data[k] == Dim(0) && !(a.shape[k] == Dim(0)))
      return shape_error(fmt::format("axis {} is empty and cannot be padded with mode \"{}\"", k, a.pad_mode));
  }
  return tensor_result(a.shape, in[0].dtype);
}

TensorFunction define_dyn_pad(const DynPadAttrs& a, const Operands& in) {
  Definition d("dyn.nn.pad");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), widths = d.input("pad_width", in[1].dtype, in[1].shape);
  Tensor value = d.input("pad_value", in[2].dtype, in[2].shape);
  int64_t count = padded_axes(a, x.rank());
  auto width = [&](int64_t row, int64_t side) {
    return cast(dtype::i64, widths.rank() == 2 ? widths(Expr(row), Expr(side)) : widths(Expr(row + side * count)));
  };
  std::vector<int64_t> row(x.rank(), -1);
  for (int64_t k = 0; k < count; ++k) row[a.axes ? wrap_axis((*a.axes)[k], x.rank()) : k] = k;
  for (int k = 0; k < x.rank(); ++k) {
    if (row[k] < 0) continue;
    d.require_next(
        [&, k](Index) { return equal(Expr(x.extent(k)) + width(row[k], 0) + width(row[k], 1), Expr(a.shape[k])); },
        tensor::Status::shape_mismatch);
  }
  bool constant = a.pad_mode == "constant";
  d.result("result", x.type(), a.shape, [&](Index i) {
    std::vector<Expr> at = i;
    for (int k = 0; k < x.rank(); ++k) {
      if (row[k] < 0) continue;
      at[k] = i[k] - width(row[k], 0);
      if (!constant) at[k] = padded_position(a.pad_mode, at[k], x.extent(k), false);
    }
    return constant ? tensor::load(x.buffer(), at, stored(value, {})) : stored(x, at);
  });
  return d.finish();
}

}  // namespace

void dyn_pad(OperatorTable& table) {
  using A = DynPadAttrs;
  table.add<A>({
      .name = "dyn.nn.pad",
      .summary = "pad with the widths as an operand, which must give the declared shape",
      .attributes = {{"shape", &A::shape, "the declared shape of the result", true},
                     {"pad_mode", &A::pad_mode, "\"constant\", \"edge\", \"reflect\" or \"wrap\", as in nn.pad"},
                     {"axes", &A::axes, "the axes that pad_width means; all if None"}},
      .arguments = {"data", "pad_width", "pad_value"},
      .type = type_of_dyn_pad,
      .compute = define_dyn_pad,
  });
}

}  // namespace dlcc::relay::ops

// sequence_mask, matrix_band: replace the elements after the end of sequences, or outside of a diagonal band of
// matrices.
#include "relay/op_support/elements.h"
#include "relay/op_support/gradients.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct SequenceMaskAttrs {
  double mask_value = 0;
  int64_t axis = 0;
};
struct MatrixBandAttrs {
  std::optional<int64_t> lower, upper;
  double mask_value = 0;
};

// The axis that counts the sequences: axis 0, or axis 1 if the sequences run along axis 0.
int batch_axis(int sequence_axis) { return sequence_axis == 0 ? 1 : 0; }

TypeResult type_of_sequence_mask(const SequenceMaskAttrs& a, const Operands& in) {
  const int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of({check_type(in[0], "data", types::number), check_type(in[1], "valid_length", types::index),
                         check_rank(in[1], "valid_length", 1), check_axis("axis", a.axis, rank)}))
    return *e;
  if (rank < 2) return shape_error(fmt::format("data must have at least 2 axes, found {}", rank));
  const int batch = batch_axis(wrap_axis(a.axis, rank));
  if (auto e = check_equal(in[1].shape[0], "the number of lengths", in[0].shape[batch], "that of sequences")) return *e;
  return tensor_result(in[0].shape, in[0].dtype);
}

TensorFunction define_sequence_mask(const SequenceMaskAttrs& a, const Operands& in) {
  Definition d("sequence_mask");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), length = d.input("valid_length", in[1].dtype, in[1].shape);
  const int axis = wrap_axis(a.axis, x.rank()), batch = batch_axis(axis);
  d.result("result", x.type(), x.shape(), [&](Index i) {
    const Expr masked = number(tensor::compute_type(x.type()), a.mask_value);
    return select(i[axis] < cast(dtype::i64, length(i[batch])), x(i), masked);
  });
  return d.finish();
}

TypeResult type_of_matrix_band(const MatrixBandAttrs&, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "data", types::number), check_type(in[1], "offset", types::index)}))
    return *e;
  if (in[0].shape.size() < 2) return shape_error("data must have the two axes of a matrix");
  if (in[1].shape.empty()) return tensor_result(in[0].shape, in[0].dtype);
  if (auto e = check_rank(in[1], "offset", 1)) return *e;
  if (in[0].shape.size() < 3) return shape_error("offsets for several matrices need data with a batch axis");
  if (auto e = check_equal(in[1].shape[0], "the number of offsets", in[0].shape[0], "the batch of the data")) return *e;
  return tensor_result(in[0].shape, in[0].dtype);
}

TensorFunction define_matrix_band(const MatrixBandAttrs& a, const Operands& in) {
  Definition d("matrix_band");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), offset = d.input("offset", in[1].dtype, in[1].shape);
  const size_t row = in[0].shape.size() - 2;
  d.result("result", x.type(), x.shape(), [&](Index i) {
    // Clamped beyond any position, so that the difference does not wrap.
    const Expr shift = cast(dtype::i64, offset.rank() == 0 ? scalar(offset) : offset(i[0])), most(tensor::max_elements);
    const Expr distance = i[row + 1] - i[row] - max(min(shift, most), Expr(0) - most);
    std::vector<Expr> inside;
    if (a.lower) inside.push_back(distance >= Expr(*a.lower));
    if (a.upper) inside.push_back(distance <= Expr(*a.upper));
    return select(all_of(inside), x(i), number(tensor::compute_type(x.type()), a.mask_value));
  });
  return d.finish();
}

// The gradient with zeros outside.
constexpr auto gradient_of_mask = [](const auto&, CallGradient& g) {
  Attrs attrs = g.attrs();
  attrs["mask_value"] = 0.0;
  g.add(0, g.code().call_all(g.op(), {g.gradient(), g.operand(1)}, attrs)[0]);
};

}  // namespace

void masks(OperatorTable& table) {
  table.add<SequenceMaskAttrs>({
      .name = "sequence_mask",
      .summary = "sequences whose elements from their lengths on are replaced by a value",
      .attributes = {{"mask_value", &SequenceMaskAttrs::mask_value, "the value after the end of a sequence"},
                     {"axis", &SequenceMaskAttrs::axis,
                      "the axis along which sequences run; the first one of the others counts them"}},
      .arguments = {"data", "valid_length"},
      .type = type_of_sequence_mask,
      .compute = define_sequence_mask,
      .gradient = gradient_of_mask,
  });
  table.add<MatrixBandAttrs>({
      .name = "matrix_band",
      .summary = "matrices whose elements outside of a band of diagonals are replaced by a value",
      .attributes = {{"lower", &MatrixBandAttrs::lower, "the least column - row - offset of the band; None: no bound"},
                     {"upper", &MatrixBandAttrs::upper,
                      "the largest column - row - offset of the band; None: no bound"},
                     {"mask_value", &MatrixBandAttrs::mask_value, "the value outside of the band"}},
      .arguments = {"data", "offset"},
      .type = type_of_matrix_band,
      .compute = define_matrix_band,
      .gradient = gradient_of_mask,
  });
}

}  // namespace dlcc::relay::ops

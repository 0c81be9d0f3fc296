// reverse_sequence: the first elements of each sequence in reverse order.
#include "relay/op_support/elements.h"
#include "relay/op_support/gradients.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct ReverseSequenceAttrs {
  int64_t seq_axis = 1, batch_axis = 0;
};

TypeResult type_of_reverse_sequence(const ReverseSequenceAttrs& a, const Operands& in) {
  const int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of({check_type(in[0], "data", types::movable), check_type(in[1], "seq_lengths", types::index),
                         check_rank(in[1], "seq_lengths", 1), check_axis("seq_axis", a.seq_axis, rank),
                         check_axis("batch_axis", a.batch_axis, rank)}))
    return *e;
  const int seq = wrap_axis(a.seq_axis, rank), batch = wrap_axis(a.batch_axis, rank);
  if (seq == batch) return attribute_error(fmt::format("seq_axis and batch_axis are both {}", seq));
  if (auto e = check_equal(in[1].shape[0], "the number of lengths", in[0].shape[batch], "that of sequences")) return *e;
  return tensor_result(in[0].shape, in[0].dtype);
}

TensorFunction define_reverse_sequence(const ReverseSequenceAttrs& a, const Operands& in) {
  Definition d("reverse_sequence");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), lengths = d.input("seq_lengths", in[1].dtype, in[1].shape);
  const int seq = wrap_axis(a.seq_axis, x.rank()), batch = wrap_axis(a.batch_axis, x.rank());
  const Expr extent(x.extent(seq));
  auto length = [=](Index i) { return cast(dtype::i64, lengths(i[batch])); };
  d.require_next([=](Index i) { return logical_and(length(i) >= Expr(0), length(i) <= extent); },
                 tensor::Status::index_out_of_range);
  d.result("result", x.type(), x.shape(), [&](Index i) {
    std::vector<Expr> at = i;
    at[seq] = select(i[seq] < length(i), length(i) - Expr(1) - i[seq], i[seq]);
    return stored(x, at);
  });
  return d.finish();
}

}  // namespace

void reverse_sequence(OperatorTable& table) {
  table.add<ReverseSequenceAttrs>({
      .name = "reverse_sequence",
      .summary = "each sequence with its first elements, as many as its length says, in reverse order",
      .attributes = {{"seq_axis", &ReverseSequenceAttrs::seq_axis, "the axis along which sequences run"},
                     {"batch_axis", &ReverseSequenceAttrs::batch_axis, "the axis that counts the sequences"}},
      .arguments = {"data", "seq_lengths"},
      .type = type_of_reverse_sequence,
      .compute = define_reverse_sequence,
      .gradient = gradient_of_involution,
  });
}

}  // namespace dlcc::relay::ops

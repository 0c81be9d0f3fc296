// broadcast_to: repeats the data along axes of size 1 and along new leading axes, up to a given shape.
#include "relay/op_support/broadcasting.h"
#include "relay/op_support/gradients.h"
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct BroadcastToAttrs {
  std::vector<Dim> shape;
  std::optional<DType> dtype;
};

// The size of an axis of the data that is broadcast to an unknown size.
Dim size_for_unknown(const Dim& data) { return provably_lt(1, data) ? data : unknown_dim(); }

TypeResult type_of_broadcast_to(const BroadcastToAttrs& a, const Operands& in) {
  if (auto e = check_type(in[0], "data", types::movable)) return *e;
  Checked<PartialList> sizes = list_value(in, 1, a.shape, "shape");
  if (auto* e = std::get_if<TypeError>(&sizes)) return *e;
  PartialList list = std::get<PartialList>(sizes);
  const Shape& data = in[0].shape;
  if (list.size() < data.size()) list.insert(list.begin(), data.size() - list.size(), Dim(1));
  const size_t lead = list.size() - data.size();
  Shape target;
  for (size_t k = 0; k < list.size(); ++k) {
    const Dim from = k < lead ? Dim(1) : data[k - lead];
    target.push_back(list[k] ? *list[k] : size_for_unknown(from));
  }
  Checked<Shape> shape = broadcast(data, target);
  if (std::get_if<TypeError>(&shape))
    return shape_error(fmt::format("shape {} cannot be broadcast to {}", str(data), str(target)),
                       "aligned at the last dimension, each size must be equal or 1");
  for (size_t k = 0; k < list.size(); ++k)
    if (!list[k]) std::get<Shape>(shape)[k] = target[k];
  return tensor_result(std::get<Shape>(shape), in[0].dtype);
}

// The condition that broadcasting the data to the operand's sizes gives the shape `result`. A given size of 1 keeps the
// data's size.
Expr broadcasts(const Tensor& sizes, const Shape& data, const Shape& result) {
  std::vector<Expr> fits;
  const int64_t count = sizes.extent(0).value(), rank = static_cast<int64_t>(result.size());
  const int64_t data_rank = static_cast<int64_t>(data.size());
  for (int64_t k = 0; k < rank; ++k) {
    const int64_t in_sizes = k - (rank - count), in_data = k - (rank - data_rank);
    const Expr keeps_data =
        in_data < 0 ? tensor::literal(dtype::boolean, int64_t{0}) : equal(Expr(data[in_data]), Expr(result[k]));
    if (in_sizes < 0) {
      fits.push_back(keeps_data);
      continue;
    }
    const Expr size = integer_at(sizes, in_sizes);
    fits.push_back(logical_or(equal(size, Expr(result[k])), logical_and(equal(size, Expr(1)), keeps_data)));
  }
  return all_of(fits);
}

TensorFunction define_broadcast_to(const BroadcastToAttrs& a, const Operands& in, const Shape& result) {
  Definition d("broadcast_to");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  if (in.size() > 1) {
    Tensor sizes = d.input("shape", in[1].dtype, in[1].shape);
    d.require_next([=](Index) { return broadcasts(sizes, x.shape(), result); }, tensor::Status::shape_mismatch);
  } else {
    require_broadcast_next(d, a.shape, result);
  }
  require_broadcast_next(d, x.shape(), result);
  d.result("result", x.type(), result, [&](Index i) { return stored(x, broadcast_index(x.shape(), result, i)); });
  return d.finish();
}

// A given size of 1 keeps the data's size. Any other given size is the result's; the definition requires that the data
// can be broadcast to it.
std::vector<Expr> sizes_of_broadcast_to(const BroadcastToAttrs&, const Operands& in, const std::vector<Tensor>& values,
                                        Definition&) {
  std::vector<Expr> sizes = elements_of(values[0]);
  const Shape& data = in[0].shape;
  while (sizes.size() < data.size()) sizes.insert(sizes.begin(), Expr(1));
  for (size_t k = 0; k < data.size(); ++k) {
    Expr& size = sizes[k + sizes.size() - data.size()];
    size = select(equal(size, Expr(1)), Expr(data[k]), size);
  }
  return sizes;
}

}  // namespace

void broadcast_to(OperatorTable& table) {
  table.add<BroadcastToAttrs>({
      .name = "broadcast_to",
      .summary = "repeats elements along axes of size 1 and new leading axes",
      .attributes = {{"shape", &BroadcastToAttrs::shape, "the sizes to repeat to; 1 keeps the data's size", true},
                     {"dtype", &BroadcastToAttrs::dtype, "without meaning: the element type is the data's"}},
      .arguments = {"data"},
      .values = {"shape"},
      .type = type_of_broadcast_to,
      .compute_as = define_broadcast_to,
      .sizes = sizes_of_broadcast_to,
      .sizes_suffice = true,
      .gradient = gradient_of_identity,
  });
}

}  // namespace dlcc::relay::ops

// gather, gather_nd: elements that tensors of indices select. Negative indices count from the end; others outside stop
// with index_out_of_range.
#include "relay/op_support/gradients.h"
#include "relay/op_support/indices.h"
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct GatherAttrs {
  int64_t axis = 0;
};
struct GatherNdAttrs {
  int64_t batch_dims = 0;
  std::optional<int64_t> index_rank;
};

// Requires of the next stage that `index` at a point is in [-extent, extent).
void require_inside_next(Definition& d, const tensor::Point& index, Expr extent) {
  d.require_next(
      [=](Index i) {
        Expr at = index(i);
        return logical_and(at >= Expr(0) - extent, at < extent);
      },
      tensor::Status::index_out_of_range);
}

// ---- gather -------------------------------------------------------------------------------------------------------

TypeResult type_of_gather(const GatherAttrs& a, const Operands& in) {
  const Shape &data = in[0].shape, &indices = in[1].shape;
  const int rank = static_cast<int>(data.size());
  if (auto e = first_of({check_type(in[0], "data", types::movable), check_type(in[1], "indices", types::index),
                         check_axis("axis", a.axis, rank), check_rank(in[1], "indices", rank)}))
    return *e;
  const int axis = wrap_axis(a.axis, rank);
  for (int k = 0; k < rank; ++k)
    if (k != axis && provably_lt(data[k], indices[k]))
      return shape_error(
          fmt::format("indices have size {} along axis {}, the data has only {}", indices[k].str(), k, data[k].str()));
  if (data[axis] == Dim(0) && provably_lt(0, product(indices))) return empty_error("gather", data);
  return tensor_result(indices, in[0].dtype);
}

TensorFunction define_gather(const GatherAttrs& a, const Operands& in) {
  Definition d("gather");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), indices = d.input("indices", in[1].dtype, in[1].shape);
  const int axis = wrap_axis(a.axis, x.rank());
  const Expr extent(x.extent(axis));
  auto index = [=](Index i) { return cast(dtype::i64, indices(i)); };
  for (int k = 0; k < x.rank(); ++k)
    if (k != axis && !provably_le(indices.extent(k), x.extent(k)))
      d.require_next([=](Index) { return Expr(indices.extent(k)) <= Expr(x.extent(k)); },
                     tensor::Status::shape_mismatch);
  require_inside_next(d, index, extent);
  d.result("result", x.type(), indices.shape(), [&](Index i) {
    std::vector<Expr> at = i;
    at[axis] = from_start(index(i), extent);
    return stored(x, at);
  });
  return d.finish();
}

// ---- gather_nd ----------------------------------------------------------------------------------------------------

// The length of an index tuple, which is the number of data axes that it indexes: the first extent of the indices.
int index_depth(const Operands& in) { return static_cast<int>(in[1].shape[0].value()); }

Shape gathered_shape(const GatherNdAttrs& a, const Operands& in) {
  const Shape &data = in[0].shape, &indices = in[1].shape;
  Shape shape(indices.begin() + 1, indices.end());
  shape.insert(shape.end(), data.begin() + a.batch_dims + index_depth(in), data.end());
  return shape;
}

TypeResult type_of_gather_nd(const GatherNdAttrs& a, const Operands& in) {
  const Shape &data = in[0].shape, &indices = in[1].shape;
  const auto rank = static_cast<int64_t>(data.size());
  if (auto e = first_of({check_type(in[0], "data", types::movable), check_type(in[1], "indices", types::index)}))
    return *e;
  if (indices.empty() || !indices[0].is_constant())
    return TypeError{DiagnosticId::dynamic_shape, "the number of axes that indices name must be known at compile time",
                     "it is the first size of the indices"};
  const int64_t depth = indices[0].value();
  if (a.index_rank && *a.index_rank != depth)
    return attribute_error(fmt::format("index_rank is {}, but index tuples have {} numbers", *a.index_rank, depth));
  if (a.batch_dims < 0 || a.batch_dims >= static_cast<int64_t>(indices.size()))
    return attribute_error(fmt::format("batch_dims must be in [0, {}], found {}", indices.size() - 1, a.batch_dims));
  if (depth + a.batch_dims > rank)
    return shape_error(fmt::format("indices name {} axes after {} batch axes, but the data has only {} axes", depth,
                                   a.batch_dims, rank));
  for (int64_t k = 0; k < a.batch_dims; ++k)
    if (auto e = check_equal(indices[k + 1], fmt::format("batch axis {} of the indices", k), data[k],
                             fmt::format("axis {} of the data", k)))
      return *e;
  return tensor_result(gathered_shape(a, in), in[0].dtype);
}

TensorFunction define_gather_nd(const GatherNdAttrs& a, const Operands& in) {
  Definition d("gather_nd");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), indices = d.input("indices", in[1].dtype, in[1].shape);
  const auto batch = static_cast<ptrdiff_t>(a.batch_dims);
  auto component = [=](Index i, int m) {  // of the index tuple
    std::vector<Expr> at = {Expr(m)};
    at.insert(at.end(), i.begin(), i.begin() + indices.rank() - 1);
    return cast(dtype::i64, indices(at));
  };
  for (int m = 0; m < index_depth(in); ++m)
    require_inside_next(
        d, [=](Index i) { return component(i, m); }, Expr(x.extent(static_cast<int>(batch) + m)));
  d.result("result", x.type(), gathered_shape(a, in), [&](Index i) {
    std::vector<Expr> at(i.begin(), i.begin() + batch);
    for (int m = 0; m < index_depth(in); ++m)
      at.push_back(from_start(component(i, m), Expr(x.extent(static_cast<int>(batch) + m))));
    at.insert(at.end(), i.begin() + indices.rank() - 1, i.end());
    return stored(x, at);
  });
  return d.finish();
}

}  // namespace

void gather(OperatorTable& table) {
  table.add<GatherAttrs>({
      .name = "gather",
      .summary = "for each index the element at its position, with the index along one axis",
      .attributes = {{"axis", &GatherAttrs::axis, "the axis that indices count along"}},
      .arguments = {"data", "indices"},
      .type = type_of_gather,
      .compute = define_gather,
      .gradient =
          [](const GatherAttrs& a, CallGradient& g) {
            const TensorType& x = g.operands()[0].type;
            g.add(0, sum_at_positions(x, g.operand(1), g.gradient(), a.axis));
          },
  });
  table.add<GatherNdAttrs>({
      .name = "gather_nd",
      .summary = "slices of the data, selected by tuples of indices along the first axis of `indices`",
      .attributes = {{"batch_dims", &GatherNdAttrs::batch_dims, "leading axes that data and index tuples share"},
                     {"index_rank", &GatherNdAttrs::index_rank,
                      "the length of index tuples; that of the indices if None"}},
      .arguments = {"data", "indices"},
      .type = type_of_gather_nd,
      .compute = define_gather_nd,
      .gradient = gradient_of_movement,
  });
}

}  // namespace dlcc::relay::ops

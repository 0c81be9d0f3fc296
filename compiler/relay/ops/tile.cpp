// tile: repeats a tensor along its axes.
#include "relay/op_support/gradients.h"
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct TileAttrs {
  std::vector<Dim> reps;
};

// Pads the shorter of two lists, shape and repetitions, with leading ones.
template <class List>
List aligned(List list, size_t rank) {
  if (list.size() < rank) list.insert(list.begin(), rank - list.size(), Dim(1));
  return list;
}

TypeResult type_of_tile(const TileAttrs& a, const Operands& in) {
  if (auto e = check_type(in[0], "data", types::movable)) return *e;
  Checked<PartialList> list = list_value(in, 1, a.reps, "reps");
  if (auto* e = std::get_if<TypeError>(&list)) return *e;
  const size_t rank = std::max(std::get<PartialList>(list).size(), in[0].shape.size());
  const PartialList reps = aligned(std::get<PartialList>(list), rank);
  const Shape data = aligned(in[0].shape, rank);
  Shape shape;
  for (size_t k = 0; k < rank; ++k) {
    if (reps[k] && reps[k]->is_constant() && reps[k]->value() < 0)
      return out_of_range_error(fmt::format("axis {} cannot be repeated {} times", k, reps[k]->value()));
    shape.push_back(data[k] == Dim(0) ? Dim(0) : reps[k] ? data[k] * *reps[k] : unknown_dim());
  }
  return tensor_result(shape, in[0].dtype);
}

// The operand gives the sizes of the result.
Expr repeats_to(const Tensor& reps, const Shape& data, const Shape& result) {
  std::vector<Expr> fits;
  const size_t lead = result.size() - static_cast<size_t>(reps.extent(0).value());
  for (size_t k = 0; k < result.size(); ++k) {
    Expr times = k < lead ? Expr(1) : integer_at(reps, static_cast<int64_t>(k - lead));
    fits.push_back(equal(times * Expr(data[k]), Expr(result[k])));
  }
  return all_of(fits);
}

TensorFunction define_tile(const TileAttrs&, const Operands& in, const Shape& result) {
  Definition d("tile");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  const Shape data = aligned(x.shape(), result.size());
  if (in.size() > 1) {
    Tensor reps = d.input("reps", in[1].dtype, in[1].shape);
    d.require_next([=](Index) { return repeats_to(reps, data, result); }, tensor::Status::shape_mismatch);
  }
  const size_t lead = result.size() - x.shape().size();
  d.result("result", x.type(), result, [&](Index i) {
    std::vector<Expr> at;
    for (size_t k = lead; k < result.size(); ++k) {
      const Dim& size = data[k];
      at.push_back(size == result[k] ? i[k] : size == Dim(1) ? Expr(0) : floor_mod(i[k], Expr(size)));
    }
    return stored(x, at);
  });
  return d.finish();
}

// Repetitions are clamped to the largest number of elements of a tensor: larger ones are invalid in any case.
std::vector<Expr> sizes_of_tile(const TileAttrs&, const Operands& in, const std::vector<Tensor>& values, Definition&) {
  const Tensor& reps = values[0];
  const size_t count = static_cast<size_t>(reps.extent(0).value()), rank = std::max(count, in[0].shape.size());
  const Shape data = aligned(in[0].shape, rank);
  std::vector<Expr> sizes;
  for (size_t k = 0; k < rank; ++k) {
    const Expr size(data[k]), most = floor_div(Expr(tensor::max_elements), max(size, Expr(1))) + Expr(1);
    const bool is_given = k + count >= rank;
    const Expr times = is_given ? integer_at(reps, static_cast<int64_t>(k + count - rank)) : Expr(1);
    sizes.push_back(size * max(min(times, most), Expr(-1)));
  }
  return sizes;
}

}  // namespace

void tile(OperatorTable& table) {
  table.add<TileAttrs>({
      .name = "tile",
      .summary = "the data several times along its axes and along new leading axes",
      .attributes = {{"reps", &TileAttrs::reps, "the number of repetitions of each axis, aligned at the last", true}},
      .arguments = {"data"},
      .values = {"reps"},
      .type = type_of_tile,
      .compute_as = define_tile,
      .sizes = sizes_of_tile,
      .sizes_suffice = true,
      .gradient =
          [](const TileAttrs&, CallGradient& g) {
            // Each axis as its repetitions and the data's axis; an axis that the data does not have is all repetitions.
            const Shape x = g.operands()[0].type.shape, y = g.result().shape();
            const size_t lead = y.size() - x.size();
            Shape split;
            std::vector<int64_t> repetitions;
            for (size_t k = 0; k < y.size(); ++k) {
              const Dim size = k < lead ? Dim(1) : x[k - lead];
              if (size == Dim(0)) return;
              repetitions.push_back(static_cast<int64_t>(split.size()));
              split.push_back(floor_div(y[k], size));
              split.push_back(size);
            }
            if (!(product(split) == product(y))) return gradient_by_positions(g, {0});
            g.add(0, g.gradient().reshaped(split).sum_over(repetitions).reshaped(x));
          },
  });
}

}  // namespace dlcc::relay::ops

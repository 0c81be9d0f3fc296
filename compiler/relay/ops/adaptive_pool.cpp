// nn.adaptive_max_pool1d ... 3d, nn.adaptive_avg_pool1d ... 3d: poolings to a given size. Window i of an axis of
// `in` elements and `out` windows begins at floor(i * in / out) and ends before ceil((i + 1) * in / out).
#include "relay/op_support/axis_order.h"
#include "relay/op_support/composition.h"

namespace dlcc::relay::ops {

namespace {

struct AdaptivePoolAttrs {
  std::vector<int64_t> output_size;
  std::string layout, out_layout;
};

// One pooled axis.
struct PooledAxis {
  int64_t in, out;

  Expr begin(const Expr& window) const { return floor_div(window * Expr(in), Expr(out)); }
  Expr end(const Expr& window) const { return floor_div((window + Expr(1)) * Expr(in) + Expr(out - 1), Expr(out)); }
  bool is_uniform() const { return in % out == 0; }
  int64_t most() const { return is_uniform() ? in / out : (in - 1) / out + 2; }  // elements of a window
};

// The windows of all elements, of equal sizes or not, with the channels as axis 1.
Value pooled(Composition& c, const Value& x, const std::vector<PooledAxis>& axes, bool average) {
  Shape shape = {x.shape()[0], x.shape()[1]}, extents;
  for (const PooledAxis& axis : axes) {
    shape.emplace_back(axis.out);
    extents.emplace_back(std::min(axis.most(), axis.in));
  }
  const DType type = tensor::compute_type(x.dtype());
  auto inside = [axes](Index i, Index r) {
    std::vector<Expr> conditions;
    for (size_t k = 0; k < axes.size(); ++k)
      if (!axes[k].is_uniform()) conditions.push_back(axes[k].begin(i[k + 2]) + r[k] < axes[k].end(i[k + 2]));
    return conditions;
  };
  const Expr outside = average ? number(type, 0) : tensor::lowest(type);
  const tensor::Reducer reducer = average ? tensor::sum_of(type) : tensor::max_of(type);
  const Value total = c.reduce(
      average ? type : x.dtype(), shape, reducer, extents, {x}, [=](const std::vector<Tensor>& args, Index i, Index r) {
        std::vector<Expr> at = {i[0], i[1]};
        for (size_t k = 0; k < axes.size(); ++k)
          at.push_back(min(axes[k].begin(i[k + 2]) + r[k], Expr(axes[k].in - 1)));
        const std::vector<Expr> conditions = inside(i, r);
        return conditions.empty() ? args[0](at) : select(all_of(conditions), args[0](at), outside);
      });
  if (!average) return total;
  return c.compute(x.dtype(), shape, {total}, [=](const std::vector<Tensor>& args, Index i) {
    Expr count(1);
    for (size_t k = 0; k < axes.size(); ++k)
      count = count * (axes[k].is_uniform() ? Expr(axes[k].most()) : axes[k].end(i[k + 2]) - axes[k].begin(i[k + 2]));
    return args[0](i) / cast(type, count);
  });
}

Value adaptive_pool(const AdaptivePoolAttrs& a, Composition& c, int rank, bool average) {
  Value x = c.operand(0);
  c.require(first_of({check_type(x.type, "data", types::real), check_rank(x.type, "data", rank + 2),
                      check_positive("output_size", a.output_size)}));
  const std::string own = channels_first[rank - 1], &out_layout = a.out_layout.empty() ? a.layout : a.out_layout;
  c.require(first_of({check_axis_order("layout", a.layout, own), check_axis_order("out_layout", out_layout, own)}));
  if (a.output_size.size() > 1 && a.output_size.size() != static_cast<size_t>(rank))
    c.fail(attribute_error(fmt::format("output_size must have {} numbers, found {}", rank, a.output_size.size())));
  const AxisOrder data(a.layout, own), result(out_layout, own);
  if (!data.is_own()) x = c.transpose(x, data.axes());
  auto ordered = [&](const Value& v) { return result.is_own() ? v : c.transpose(v, result.inverse()); };
  if (a.output_size.empty()) return ordered(x);
  std::vector<PooledAxis> axes;
  std::vector<int64_t> pixels;
  bool to_one = true;
  for (int k = 0; k < rank; ++k) {
    const Dim in = x.shape()[k + 2];
    const int64_t out = a.output_size[a.output_size.size() == 1 ? 0 : k];
    to_one = to_one && out == 1;
    pixels.push_back(k + 2);
    if (provably_lt(in, 1)) c.fail(shape_error(fmt::format("spatial axis {} has no element", k)));
    axes.push_back({in.is_constant() ? in.value() : 0, out});
  }
  if (to_one) return ordered(c.call(average ? "mean" : "max", {x}, {{"axis", pixels}, {"keepdims", true}}));
  for (const PooledAxis& axis : axes)
    if (axis.in == 0)
      c.fail({DiagnosticId::dynamic_shape, fmt::format("the pooled sizes of shape {} must be known", str(x.shape())),
              "give the sizes with --dim NAME=VALUE"});
  return ordered(pooled(c, x, axes, average));
}

void add(OperatorTable& table, int rank, bool average) {
  using A = AdaptivePoolAttrs;
  A defaults;
  defaults.layout = channels_first[rank - 1];
  table.add(composed<A>(
      {.name = fmt::format("nn.adaptive_{}_pool{}d", average ? "avg" : "max", rank),
       .summary = average ? "the means of windows that cover the data, as many as given"
                          : "the largest elements of windows that cover the data, as many as given",
       .defaults = defaults,
       .attributes = {{"output_size", &A::output_size, "windows per spatial axis; as many as elements if empty"},
                      {"layout", &A::layout, "order of the data's axes"},
                      {"out_layout", &A::out_layout, "order of the result's axes; the data's if empty"}},
       .arguments = {"data"}},
      [rank, average](const A& a, Composition& c) { return adaptive_pool(a, c, rank, average); }));
}

}  // namespace

void adaptive_pool(OperatorTable& table) {
  for (int rank : {1, 2, 3})
    for (bool average : {false, true}) add(table, rank, average);
}

}  // namespace dlcc::relay::ops

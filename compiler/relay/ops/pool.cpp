// nn.max_pool1d ... nn.max_pool3d, nn.avg_pool1d ... nn.avg_pool3d, nn.sum_pool1d ... nn.sum_pool3d, and
// nn.max_pool_indices, which gives the positions of the maxima. Padding is a predicated read; an average divides by the
// number of taps. The functions below are about the order NCHW of the axes; a layout that stores them in another order
// only changes how a tensor is read or written.
#include "relay/attr_structs.h"
#include "relay/op_support/gradients.h"
#include "relay/op_support/indices.h"
#include "relay/op_support/reductions.h"
#include "relay/op_support/windows.h"

namespace dlcc::relay::ops {

namespace {

// For `rank` spatial axes; 0: any number.
PoolAttrs pool_defaults(int rank) {
  PoolAttrs a;
  for (auto* list : {&a.strides, &a.dilation}) list->assign(std::max(rank, 1), 1);
  a.padding.assign(std::max(rank, 1), 0);
  if (rank > 0) a.layout = channels_first[rank - 1];
  return a;
}

const std::string& result_layout(const PoolAttrs& a) { return a.out_layout.empty() ? a.layout : a.out_layout; }

// The order of the axes in a layout of pooling attributes. nn.max_pool_indices has none.
AxisOrder axis_order(const std::string& layout, size_t axes) {
  const std::string own = channels_first[axes - 3];
  return {layout.empty() ? own : layout, own};
}

// The windows of a pooling and their result.
struct Pooling {
  std::vector<Window> windows;
  Shape data, shape;  // of the data and the result: batch, channels, spatial axes
  AxisOrder data_order, result_order;
  bool inside = true;  // all taps read inside the data

  Shape stored_shape() const { return result_order.from_own(shape); }
};

Checked<Pooling> analyse(const PoolAttrs& a, const Shape& stored) {
  const AxisOrder data_order = axis_order(a.layout, stored.size());
  const Shape data = data_order.to_own(stored);
  int rank = static_cast<int>(data.size()) - 2;
  std::vector<int64_t> size = a.pool_size;
  if (size.size() == 1) size.assign(rank, size[0]);
  if (static_cast<int>(size.size()) != rank)
    return attribute_error(
        fmt::format("pool_size must have {} numbers, one per spatial axis, found {}", rank, size.size()));
  auto windows = make_windows(size, a.strides, a.dilation, a.padding);
  if (auto* e = std::get_if<TypeError>(&windows)) return *e;
  Pooling p{std::get<0>(windows), data, {data[0], data[1]}, data_order, axis_order(result_layout(a), data.size())};
  for (int k = 0; k < rank; ++k) {
    auto count = window_count(data[k + 2], p.windows[k], a.ceil_mode, k);
    if (auto* e = std::get_if<TypeError>(&count)) return *e;
    p.shape.push_back(std::get<Dim>(count));
    p.inside = p.inside && always_inside(data[k + 2], p.shape.back(), p.windows[k], a.ceil_mode);
  }
  return p;
}

// The type of a pooling over `rank` spatial axes (0: one to three).
Checked<Shape> pooled_shape(const PoolAttrs& a, const Operands& in, int rank) {
  int found = static_cast<int>(in[0].shape.size());
  if (auto e = check_type(in[0], "data", types::number)) return *e;
  if (rank > 0) {
    if (auto e = first_of({check_rank(in[0], "data", rank + 2),
                           check_axis_order("layout", a.layout, channels_first[rank - 1]),
                           check_axis_order("out_layout", result_layout(a), channels_first[rank - 1])}))
      return *e;
  } else if (found < 3 || found > 5) {
    return shape_error(fmt::format("data must have 3 to 5 dimensions, found {}", found));
  }
  auto pooling = analyse(a, in[0].shape);
  if (auto* e = std::get_if<TypeError>(&pooling)) return *e;
  return std::get<Pooling>(pooling).stored_shape();
}

TypeResult type_of_pool(const PoolAttrs& a, const Operands& in, int rank, DType type) {
  auto shape = pooled_shape(a, in, rank);
  if (auto* e = std::get_if<TypeError>(&shape)) return *e;
  return tensor_result(std::get<Shape>(shape), type);
}

Shape window_counts(const PoolAttrs& a, const Operands& in) {
  const Shape shape = std::get<Pooling>(analyse(a, in[0].shape)).shape;
  return {shape.begin() + 2, shape.end()};
}

Shape taps_of(const Pooling& p) {
  Shape taps;
  for (const Window& w : p.windows) taps.push_back(w.size);
  return taps;
}

// The element that tap r reads of the window of the result's element `index`, or `outside` in the padding.
Expr tap_value(const Tensor& x, const Pooling& p, Index index, Index r, Expr outside) {
  const std::vector<Expr> i = p.result_order.to_own(index);
  std::vector<Expr> at = {i[0], i[1]};
  for (size_t k = 0; k < p.windows.size(); ++k) at.push_back(p.windows[k].position(i[k + 2], r[k]));
  at = p.data_order.from_own(at);
  return p.inside ? x(at) : x.at_or(at, outside);
}

TensorFunction define_max_pool(const PoolAttrs& a, const Operands& in, const std::string& name) {
  Definition d(name);
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  Pooling p = std::get<Pooling>(analyse(a, x.shape()));
  DType type = tensor::compute_type(x.type());
  d.reduce_result("result", x.type(), p.stored_shape(), tensor::max_of(type), taps_of(p),
                  [&](Index i, Index r) { return tap_value(x, p, i, r, tensor::lowest(type)); });
  return d.finish();
}

TensorFunction define_sum_pool(const PoolAttrs& a, const Operands& in, const std::string& name) {
  Definition d(name);
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  Pooling p = std::get<Pooling>(analyse(a, x.shape()));
  DType type = tensor::compute_type(x.type());
  d.reduce_result("result", x.type(), p.stored_shape(), tensor::sum_of(type), taps_of(p),
                  [&](Index i, Index r) { return tap_value(x, p, i, r, number(type, 0)); });
  return d.finish();
}

// The number of taps by which element i of an average divides.
Expr divisor(const PoolAttrs& a, const Pooling& p, Index i) {
  const bool all = p.inside || (a.count_include_pad && !a.ceil_mode);
  if (!all) return counted_taps(p.windows, p.data, a.count_include_pad, p.result_order.to_own(i));
  int64_t taps = 1;
  for (const Window& w : p.windows) taps *= w.size;
  return Expr(taps);
}

TensorFunction define_avg_pool(const PoolAttrs& a, const Operands& in, const std::string& name) {
  Definition d(name);
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  Pooling p = std::get<Pooling>(analyse(a, x.shape()));
  DType type = mean_type(x.type());
  Expr zero = number(tensor::compute_type(x.type()), 0);
  Tensor total = d.reduce("total", p.stored_shape(), tensor::sum_of(type), taps_of(p),
                          [&](Index i, Index r) { return cast(type, tap_value(x, p, i, r, zero)); });
  d.result("result", x.type(), p.stored_shape(), [&](Index i) {
    Expr count = divisor(a, p, i);
    auto known = tensor::constant_integer(count);
    return total(i) / (known ? tensor::literal(type, *known) : cast(type, count));
  });
  return d.finish();
}

// Row-major position in the whole tensor of the first maximum of each window. Taps in the padding are moved to the
// nearest tap of their window in the data, so that they are never the maximum and do not change which one is first.
TensorFunction define_max_pool_indices(const PoolAttrs& a, const Operands& in) {
  Definition d("nn.max_pool_indices");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  Pooling p = std::get<Pooling>(analyse(a, x.shape()));
  DType type = tensor::compute_type(x.type());
  auto reducer = tensor::arg_max_of(type, dtype::i64);
  auto found = d.reduce_tuple({"largest", "position"}, p.shape, reducer, taps_of(p), [&](Index i, Index r) {
    std::vector<Expr> at = {i[0], i[1]};
    for (size_t k = 0; k < p.windows.size(); ++k) {
      TapRange range = taps_between(p.windows[k], i[k + 2], Expr(0), Expr(x.extent(static_cast<int>(k) + 2)));
      at.push_back(p.windows[k].position(i[k + 2], p.inside ? r[k] : max(min(r[k], range.last), range.first)));
    }
    Expr value = p.inside ? x(at) : x.at_or(at, tensor::lowest(type));
    return std::vector{value, flatten_index(x.shape(), at)};
  });
  if (a.storage_order == 0) {
    d.mark_result(found[1]);
    return d.finish();
  }
  d.result("column_major", dtype::i64, p.shape, [&](Index i) {
    std::vector<Expr> at = unflatten_index(x.shape(), found[1](i));
    Shape extents = x.shape();
    std::reverse(at.begin() + 2, at.end());
    std::reverse(extents.begin() + 2, extents.end());
    return flatten_index(extents, at);
  });
  return d.finish();
}

std::vector<Field<PoolAttrs>> common_fields() {
  return {
      {"pool_size", &PoolAttrs::pool_size, "taps of a window, per spatial axis", true},
      {"strides", &PoolAttrs::strides, "step between windows"},
      {"dilation", &PoolAttrs::dilation, "step between the taps of a window"},
      {"padding", &PoolAttrs::padding, "around the data: one number, one per axis, or all before and then all after"},
      {"layout", &PoolAttrs::layout, "order of the data's axes"},
      {"out_layout", &PoolAttrs::out_layout, "order of the result's axes; the data's if empty"},
      {"ceil_mode", &PoolAttrs::ceil_mode,
       "also count windows that reach beyond the padding, if they begin before it"}};
}

// ---- gradients

// The element that the result has gets the gradient of each window: the first of the largest ones.
void gradient_of_max_pool(const PoolAttrs& a, CallGradient& g) {
  const TensorType type = g.operands()[0].type;
  const Pooling p = std::get<Pooling>(analyse(a, type.shape));
  const Term x = to_own(p.data_order, g.operand(0)), gradient = to_own(p.result_order, g.gradient());
  Attrs attrs = {{"pool_size", a.pool_size},
                 {"strides", a.strides},
                 {"dilation", a.dilation},
                 {"padding", a.padding},
                 {"ceil_mode", a.ceil_mode}};
  if (p.windows.size() == 2)
    return g.add(0, from_own(p.data_order, g.code().call("nn.max_pool2d_grad", {gradient, x}, attrs)));
  const Shape elements = {product(x.shape())}, windows = {product(p.shape)};
  const Term largest = x.map("nn.max_pool_indices", attrs).reshaped(windows);
  const Term sums = sum_at_positions({elements, type.dtype}, largest, gradient.reshaped(windows), 0);
  g.add(0, from_own(p.data_order, sums.reshaped(x.shape())));
}

// Each element gets the gradients of its windows, those of averages divided by the number of elements of the window.
// They are spread over an image with all positions that windows have, of which the data is a part.
void gradient_of_sums(const PoolAttrs& a, CallGradient& g, bool average) {
  const TensorType type = g.operands()[0].type;
  const Pooling p = std::get<Pooling>(analyse(a, type.shape));
  GradientCode& code = g.code();
  Term gradient = to_own(p.result_order, g.gradient());
  const std::string rank = fmt::format("{}d", p.windows.size());
  if (average) {
    Attrs attrs = g.attrs();
    const DType wide = tensor::compute_type(type.dtype);  // a window may have more elements than float16 can count
    const Term ones = code.full(type.shape, wide, 1), mean = ones.map("nn.avg_pool" + rank, attrs);
    attrs.erase("count_include_pad");
    const Term count = to_own(p.result_order, ones.map("nn.sum_pool" + rank, attrs));
    gradient = gradient * where(count > 0, to_own(p.result_order, mean) / count, 0).cast_to(type.dtype);
  }
  if (!p.data[1].is_constant())
    g.refuse("the number of channels is not known", "give the size of the axis: --dim NAME=NUMBER");
  Shape covered = {p.data[0], p.data[1]}, taps = {p.data[1], 1};
  std::vector<Window> windows = p.windows;
  for (size_t k = 0; k < windows.size(); ++k) {
    Window& w = windows[k];
    w.before = w.after = 0;
    covered.push_back((p.shape[k + 2] - Dim(1)) * Dim(w.stride) + Dim(w.dilated_size()));
    taps.emplace_back(w.size);
  }
  Term image = spread_windows(gradient, code.full(taps, type.dtype, 1), windows, p.data[1].value(), covered);
  for (size_t k = 0; k < windows.size(); ++k) {
    const auto axis = static_cast<int64_t>(k) + 2;
    const Dim before = p.windows[k].before, size = p.data[k + 2], end = covered[k + 2];
    image = image.padded(axis, 0, max(before + size - end, 0)).sliced(axis, before, size);
  }
  g.add(0, from_own(p.data_order, image));
}

void add_pools(OperatorTable& table, int rank) {
  auto type = [rank](const PoolAttrs& a, const Operands& in) { return type_of_pool(a, in, rank, in[0].dtype); };
  std::string max_name = fmt::format("nn.max_pool{}d", rank), avg_name = fmt::format("nn.avg_pool{}d", rank);
  table.add<PoolAttrs>({
      .name = max_name,
      .summary = "the largest element of each window; NaN if one is NaN",
      .defaults = pool_defaults(rank),
      .attributes = common_fields(),
      .arguments = {"data"},
      .type = type,
      .compute = [max_name](const PoolAttrs& a, const Operands& in) { return define_max_pool(a, in, max_name); },
      .positive_sizes = window_counts,
      .gradient = gradient_of_max_pool,
  });
  std::string sum_name = fmt::format("nn.sum_pool{}d", rank);
  table.add<PoolAttrs>({
      .name = sum_name,
      .summary = "the sum of each window's elements",
      .defaults = pool_defaults(rank),
      .attributes = common_fields(),
      .arguments = {"data"},
      .type = type,
      .compute = [sum_name](const PoolAttrs& a, const Operands& in) { return define_sum_pool(a, in, sum_name); },
      .positive_sizes = window_counts,
      .gradient = [](const PoolAttrs& a, CallGradient& g) { gradient_of_sums(a, g, false); },
  });
  auto fields = common_fields();
  fields.push_back(
      {"count_include_pad", &PoolAttrs::count_include_pad, "divide by the number of taps in data and padding"});
  table.add<PoolAttrs>({
      .name = avg_name,
      .summary = "the mean of each window's elements",
      .defaults = pool_defaults(rank),
      .attributes = fields,
      .arguments = {"data"},
      .type = type,
      .compute = [avg_name](const PoolAttrs& a, const Operands& in) { return define_avg_pool(a, in, avg_name); },
      .positive_sizes = window_counts,
      .gradient = [](const PoolAttrs& a, CallGradient& g) { gradient_of_sums(a, g, true); },
  });
}

void add_max_pool_indices(OperatorTable& table) {
  auto fields = common_fields();
  std::erase_if(fields, [](const Field<PoolAttrs>& f) {
    return f.name == std::string_view("layout") || f.name == std::string_view("out_layout");
  });
  fields.push_back({"storage_order", &PoolAttrs::storage_order,
                    "0: positions count the last axis fastest, 1: the first spatial axis"});
  table.add<PoolAttrs>({
      .name = "nn.max_pool_indices",
      .summary = "the position of the first largest element of each window in the whole tensor",
      .defaults = pool_defaults(0),
      .attributes = fields,
      .arguments = {"data"},
      .type = [](const PoolAttrs& a, const Operands& in) -> TypeResult {
        if (a.storage_order != 0 && a.storage_order != 1)
          return attribute_error(fmt::format("storage_order must be 0 or 1, found {}", a.storage_order));
        return type_of_pool(a, in, 0, dtype::i64);
      },
      .compute = [](const PoolAttrs& a, const Operands& in) { return define_max_pool_indices(a, in); },
      .positive_sizes = window_counts,
  });
}

}  // namespace

void pool(OperatorTable& table) {
  for (int rank : {1, 2, 3}) add_pools(table, rank);
  add_max_pool_indices(table);
}

}  // namespace dlcc::relay::ops

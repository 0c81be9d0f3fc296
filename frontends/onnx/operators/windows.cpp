// Operators with sliding windows: convolution and pooling.
#include "frontends/onnx/operators/windows.h"

#include <cmath>
#include <limits>

#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/statistics.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// The attributes that convolution and pooling share, over `rank` spatial axes.
struct Windows {
  std::vector<int64_t> size, strides, dilations, padding;  // padding: before each axis, then after each axis
  // In place of `padding` where it depends on symbolic sizes. Negative numbers crop elements that no window reads.
  Shape symbolic_padding = {};
};

// Pads so that there are ceil(extent / stride) windows. The odd element is after the data for SAME_UPPER, else before.
void pad_to_same(Node& n, const Value& data, Windows& w, bool upper) {
  const size_t rank = w.size.size();
  Shape padding(2 * rank);
  for (size_t k = 0; k < rank; ++k) {
    const Dim& extent = data.type.shape[k + 2];
    Dim windows = floor_div(extent + Dim(w.strides[k] - 1), w.strides[k]);
    Dim needed =
        (windows - Dim(1)) * Dim(w.strides[k]) + (Dim(w.size[k]) - Dim(1)) * Dim(w.dilations[k]) + Dim(1) - extent;
    if (!n.check(!needed.is_overflow(), DiagnosticId::too_large, "the windows extend beyond the address space")) return;
    if (provably_le(needed, 0)) continue;
    const Dim half = floor_div(needed, 2);
    padding[k] = max(upper ? half : needed - half, 0);
    padding[k + rank] = needed - padding[k];
  }
  if (is_static(padding))
    w.padding = static_shape(padding);
  else
    w.symbolic_padding = padding;
}

// The data with symbolic padding, if there is any.
Value padded(Node& n, const Value& data, const Windows& w, double fill) {
  if (w.symbolic_padding.empty()) return data;
  const size_t rank = w.size.size();
  relay::AttrList widths(2, relay::AttrList{0, 0});
  for (size_t k = 0; k < rank; ++k)
    widths.push_back(relay::sizes_attribute({w.symbolic_padding[k], w.symbolic_padding[k + rank]}));
  return n.call("nn.pad", {data, n.scalar(data.type.dtype, fill)}, {{"pad_width", widths}});
}

void check_numbers(Node& n, const char* attribute, const std::vector<int64_t>& numbers, int64_t least) {
  for (int64_t v : numbers)
    n.check(v >= least, DiagnosticId::bad_attribute,
            fmt::format("attribute '{}' must be at least {}, found {}", attribute, least, v));
}

Windows read_windows(Node& n, const Value& data, std::vector<int64_t> size) {
  size_t rank = size.size();
  Windows w{std::move(size), n.integers("strides", rank, 1), n.integers("dilations", rank, 1),
            n.integers("pads", 2 * rank, 0)};
  check_numbers(n, "kernel_shape", w.size, 1);
  check_numbers(n, "strides", w.strides, 1);
  check_numbers(n, "dilations", w.dilations, 1);
  check_numbers(n, "pads", w.padding, 0);
  std::string mode = n.text("auto_pad", "NOTSET");
  if (n.failed() || mode == "NOTSET" || mode.empty()) return w;
  w.padding.assign(2 * rank, 0);
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER")
    pad_to_same(n, data, w, mode == "SAME_UPPER");
  else
    n.check(mode == "VALID", DiagnosticId::bad_attribute, fmt::format("auto_pad is '{}'", mode),
            "it is NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  return w;
}

// The number of spatial axes, 1 to 3; reports others.
std::optional<size_t> spatial_rank(Node& n, const Value& data) {
  if (!n.check(data.rank() >= 3 && data.rank() <= 5, DiagnosticId::shape_mismatch,
               fmt::format("{} must have 1 to 3 spatial axes after batch and channels, found {} axes", data.role,
                           data.rank())))
    return std::nullopt;
  return static_cast<size_t>(data.rank() - 2);
}

}  // namespace

void check_kernel_shape(Node& n, const Value& weight, const std::vector<int64_t>& sizes) {
  const auto declared = n.integers("kernel_shape");
  n.check(!declared || *declared == sizes, DiagnosticId::shape_mismatch,
          fmt::format("kernel_shape is [{}], but {} has kernels of [{}]",
                      fmt::join(declared.value_or(std::vector<int64_t>()), ", "), weight.role, fmt::join(sizes, ", ")),
          "the attribute can be omitted");
}

Value convolution(Node& n, const Value& data, const Value& weight) {
  if (data.poisoned || weight.poisoned) return Value::poison();
  auto rank = spatial_rank(n, data);
  if (!rank) return Value::poison();
  const Shape taps = weight.rank() < 2 ? Shape{} : Shape(weight.type.shape.begin() + 2, weight.type.shape.end());
  if (!n.check(weight.rank() == data.rank() && is_static(taps), DiagnosticId::shape_mismatch,
               fmt::format("{} must have as many axes as {}, and a kernel of known size", weight.role, data.role)))
    return Value::poison();
  const std::vector<int64_t> size = static_shape(taps);
  check_kernel_shape(n, weight, size);
  int64_t groups = n.integer("group", 1);
  n.check(groups >= 1, DiagnosticId::bad_attribute,
          fmt::format("attribute 'group' must be at least 1, found {}", groups));
  Windows w = read_windows(n, data, size);
  relay::Attrs attrs = {{"strides", w.strides},
                        {"padding", w.padding},
                        {"dilation", w.dilations},
                        {"groups", groups},
                        {"kernel_size", w.size}};
  if (const auto channels = weight.type.shape[0].constant()) attrs["channels"] = *channels;
  return n.call(fmt::format("nn.conv{}d", *rank), {padded(n, data, w, 0), weight}, attrs);
}

namespace {

Values convert_conv(Node& n) {
  Value result = convolution(n, n.in(0), n.in(1));
  if (n.has(2)) result = n.call("nn.bias_add", {result, n.in(2)}, {{"axis", 1}});
  return {result};
}

// The number of spatial axes, and the attributes of nn.*_pool.
struct Pooling {
  size_t rank;
  Windows windows;
  relay::Attrs attrs;
};

std::optional<Pooling> read_pooling(Node& n, const Value& data) {
  if (data.poisoned) return std::nullopt;
  auto rank = spatial_rank(n, data);
  if (!rank) return std::nullopt;
  n.check(n.has_attr("kernel_shape"), DiagnosticId::bad_attribute, "attribute 'kernel_shape' is missing");
  Windows w = read_windows(n, data, n.integers("kernel_shape", *rank, 1));
  return Pooling{*rank,
                 w,
                 {{"pool_size", w.size},
                  {"strides", w.strides},
                  {"dilation", w.dilations},
                  {"padding", w.padding},
                  {"ceil_mode", n.flag("ceil_mode", false)}}};
}

// The positions of maxima in the data x, from their positions in the data with symbolic padding. A position is an index
// of the flat tensor; of the spatial axes, the last one is contiguous, or in column-major order the first.
Value positions_without_padding(Node& n, const Value& positions, const Value& x, const Value& padded, const Windows& w,
                                bool column_major) {
  const size_t rank = w.size.size();
  const Shape before(w.symbolic_padding.begin(), w.symbolic_padding.begin() + static_cast<std::ptrdiff_t>(rank));
  const Value corner = n.call("full", {n.scalar(dtype::boolean, 0)}, {{"shape", relay::sizes_attribute(before)}});
  const Value sizes = sizes_of(n, x), padded_sizes = sizes_of(n, padded), offsets = sizes_of(n, corner);
  auto element = [&](const Value& list, size_t k) {
    return n.call("take", {list, n.scalar(dtype::i64, static_cast<double>(k))}, {{"axis", 0}});
  };
  Value position = positions;
  std::vector<Value> coordinates(rank);
  for (size_t j = 0; j < rank; ++j) {  // from the contiguous axis on
    const size_t k = column_major ? j : rank - 1 - j;
    const Value size = element(padded_sizes, k + 2);
    coordinates[k] = n.call("subtract", {n.call("floor_mod", {position, size}), element(offsets, k)});
    position = n.call("floor_divide", {position, size});
  }
  for (size_t j = 0; j < rank; ++j) {
    const size_t k = column_major ? rank - 1 - j : j;
    position = n.call("add", {n.call("multiply", {position, element(sizes, k + 2)}), coordinates[k]});
  }
  return position;
}

Values convert_max_pool(Node& n) {
  auto pool = read_pooling(n, n.in(0));
  int64_t order = n.flag("storage_order", false);
  if (!pool) return {};
  const DType type = n.in(0).type.dtype;
  const double least = is_float(type)    ? -std::numeric_limits<double>::infinity()
                       : is_signed(type) ? -std::ldexp(1, bits(type) - 1)
                                         : 0;
  const Value x = padded(n, n.in(0), pool->windows, least);
  Values results = {n.call(fmt::format("nn.max_pool{}d", pool->rank), {x}, pool->attrs)};
  if (n.wants(1)) {
    pool->attrs["storage_order"] = order;
    results.push_back(n.call("nn.max_pool_indices", {x}, pool->attrs));
    if (!pool->windows.symbolic_padding.empty())
      results[1] = positions_without_padding(n, results[1], n.in(0), x, pool->windows, order != 0);
  }
  return results;
}

Values convert_average_pool(Node& n) { return {average_pooling(n, n.in(0))}; }

// (sum of |x|^p)^(1/p) over each window
Values convert_lp_pool(Node& n) {
  const double p = order_of_norm(n);
  auto pool = read_pooling(n, n.in(0));
  if (!pool) return {};
  return {in_float32(n, n.in(0), [&](const Value& x) {
    const Value powers = padded(n, power_of_magnitude(n, x, p), pool->windows, 0);
    Value sum = n.call(fmt::format("nn.sum_pool{}d", pool->rank), {powers}, pool->attrs);
    return root_of_order(n, sum, p);
  })};
}

// Pooling over all spatial axes: the Relay operator for images, a reduction for other ranks.
Converter global_pool(const char* image_op, const char* reduction) {
  return [=](Node& n) -> Values {
    const Value& data = n.in(0);
    n.check(data.rank() >= 2, DiagnosticId::shape_mismatch, "X must have axes for batch and channels");
    if (data.rank() == 4) return {n.call(image_op, {data})};
    std::vector<int64_t> axes;
    for (int64_t k = 2; k < data.rank(); ++k) axes.push_back(k);
    if (axes.empty()) return {data};
    return {n.call(reduction, {data}, {{"axis", axes}, {"keepdims", true}})};
  };
}

}  // namespace

Value average_pooling(Node& n, const Value& x) {
  auto pool = read_pooling(n, x);
  bool count_padding = n.flag("count_include_pad", false);
  if (!pool) return Value::poison();
  const std::string mean = fmt::format("nn.avg_pool{}d", pool->rank), sum = fmt::format("nn.sum_pool{}d", pool->rank);
  if (!pool->windows.symbolic_padding.empty() && !count_padding) {  // divides by the number of elements in the data
    Shape image = x.type.shape;
    image[0] = image[1] = 1;
    return in_float32(n, x, [&](const Value& v) {
      const Value ones = n.call("full", {n.scalar(v.type.dtype, 1)}, {{"shape", relay::sizes_attribute(image)}});
      const Value total = n.call(sum, {padded(n, v, pool->windows, 0)}, pool->attrs);
      return n.call("divide", {total, n.call(sum, {padded(n, ones, pool->windows, 0)}, pool->attrs)});
    });
  }
  pool->attrs["count_include_pad"] = count_padding;
  return n.call(mean, {padded(n, x, pool->windows, 0)}, pool->attrs);
}

void add_windows(Table& table) {
  table.add({
      {"Conv", 1, "X W B", 2, 3, 1, convert_conv},
      {"MaxPool", 1, "X", 1, 1, 1, convert_max_pool},
      {"MaxPool", 8, "X", 1, 1, 2, convert_max_pool},
      {"LpPool", 1, "X", 1, 1, 1, convert_lp_pool},
      {"AveragePool", 1, "X", 1, 1, 1, convert_average_pool},
      {"GlobalAveragePool", 1, "X", 1, 1, 1, global_pool("nn.global_avg_pool2d", "mean")},
      {"GlobalMaxPool", 1, "X", 1, 1, 1, global_pool("nn.global_max_pool2d", "max")},
  });
  table.only_if("Conv", condition_of_convolution);
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) table.only_if(op, "there are one to three spatial axes");
}

}  // namespace dlcc::frontends::onnx

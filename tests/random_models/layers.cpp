// Products, convolutions, pools and normalisations.
#include <algorithm>
#include <cmath>

#include "graph.h"

namespace dlcc::random_models {

Value sum_of_products(const Value& x, const Value& y, double n) {
  Value r{"", x.type};
  r.bound = std::max(1., n * x.bound * y.bound);
  if (x.exact() && y.exact() && holds(x.type, r.bound, x.grain * y.grain))
    r.grain = x.grain * y.grain;
  else
    r.error = 2 * n * (x.error * y.bound + y.error * x.bound) + (n + 4) * epsilon(x.type) * r.bound;
  return r;
}

namespace {

bool add_matrix_product(Graph& g) {
  auto x = g.any([](const Value& v) {
    return (is_small_float(v) || ((v.type == dtype::i32 || v.type == dtype::i64) && v.bound < 100)) && v.rank() >= 1 &&
           v.shape.back().symbol.empty();
  });
  if (!x) return false;
  const int64_t k = x->shape.back().number, columns = 1 + g.draw(9);
  const bool vector = g.chance(15);
  std::vector<int64_t> shape = {k};
  if (!vector) shape.push_back(columns);
  const Value y = g.random_constant(x->type, shape, 1);
  Value r = sum_of_products(*x, y, static_cast<double>(std::max<int64_t>(k, 1)));
  if (!is_float(x->type) && !r.exact()) return false;
  r.shape = x->shape;
  r.shape.pop_back();
  if (!vector) r.shape.push_back({columns, ""});
  g.add("MatMul", {*x, y}, r);
  return true;
}

bool add_batched_product(Graph& g) {
  auto x = g.any([](const Value& v) { return is_small_float(v) && v.rank() >= 2; });
  if (!x) return false;
  std::vector<int64_t> order;
  for (int64_t k = 0; k < x->rank(); ++k) order.push_back(k);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  Value turned = x->renamed(g.fresh_name());
  std::swap(turned.shape[turned.shape.size() - 1], turned.shape[turned.shape.size() - 2]);
  g.add("Transpose", {*x}, turned).integers("perm", order);
  Value r = sum_of_products(*x, turned, static_cast<double>(std::max<int64_t>(1, x->shape.back().number)));
  r.shape = x->shape;
  r.shape.back() = x->shape[x->shape.size() - 2];
  g.add("MatMul", {*x, turned}, r);
  return true;
}

bool add_gemm(Graph& g) {
  auto x = g.any([](const Value& v) { return is_small_float(v) && v.rank() == 2 && !v.is_symbolic(); });
  if (!x) return false;
  const bool turn_x = g.chance(30), turn_y = g.chance(50);
  const int64_t k = x->shape[turn_x ? 0 : 1].number, columns = 1 + g.draw(6);
  const Value y = g.random_constant(x->type, turn_y ? std::vector{columns, k} : std::vector{k, columns}, 1);
  const Value bias = g.random_constant(x->type, g.one_of<std::vector<int64_t>>({{}, {1}, {columns}, {1, columns}}));
  Value r = sum_of_products(*x, y, static_cast<double>(std::max<int64_t>(k, 1)));
  r.shape = {x->shape[turn_x ? 1 : 0], {columns, ""}};
  r.bound = r.bound / 2 + bias.bound;
  r.error += 4 * epsilon(r.type) * r.bound;
  r.grain = 0;
  g.add("Gemm", {*x, y, bias}, r)
      .number("alpha", 0.5)
      .number("beta", 1)
      .integer("transA", turn_x)
      .integer("transB", turn_y);
  return true;
}

struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads;
};

// A window that fits into the image x; empty if there is none. Sets the sizes of the result.
std::optional<Window> random_window(Graph& g, const Value& x, Value& r, bool dilated) {
  Window w;
  const size_t rank = x.shape.size() - 2;
  w.pads.resize(2 * rank);
  for (size_t k = 0; k < rank; ++k) {
    const int64_t n = x.shape[k + 2].number, kernel = 1 + g.draw(3), stride = 1 + g.draw(2),
                  dilation = dilated && g.chance(20) ? 2 : 1;
    w.kernel.push_back(kernel), w.strides.push_back(stride), w.dilations.push_back(dilation);
    w.pads[k] = g.draw(static_cast<int>(kernel)), w.pads[k + rank] = g.draw(static_cast<int>(kernel));
    const int64_t free = n + w.pads[k] + w.pads[k + rank] - (kernel - 1) * dilation - 1;
    if (n == 0 || free < 0) return std::nullopt;
    r.shape[k + 2].number = free / stride + 1;
  }
  return w;
}

bool has_channels_and_pixels(const Value& v) {
  if (v.rank() < 3 || v.rank() > 5 || v.shape[1].number == 0) return false;
  return std::ranges::all_of(v.shape.begin() + 1, v.shape.end(), [](const Size& s) { return s.symbol.empty(); });
}

bool is_image(const Value& v) { return is_float(v.type) && has_channels_and_pixels(v); }

bool add_convolution(Graph& g) {
  auto x = g.any([](const Value& v) { return is_image(v) && is_small_float(v) && v.type != dtype::bf16; });
  if (!x) return false;
  const int64_t channels = x->shape[1].number, groups = g.chance(30) ? channels : 1, results = groups * (1 + g.draw(4));
  Value r = x->renamed("");
  auto w = random_window(g, *x, r, true);
  if (!w) return false;
  std::vector<int64_t> shape = {results, channels / groups};
  shape.insert(shape.end(), w->kernel.begin(), w->kernel.end());
  const Value weights = g.random_constant(x->type, shape, 1);
  double n = 1;
  for (size_t k = 1; k < shape.size(); ++k) n *= static_cast<double>(shape[k]);
  const std::vector<Size> result_shape = r.shape;
  r = sum_of_products(*x, weights, n);
  r.shape = result_shape;
  r.shape[1] = {results, ""};
  r.grain = 0;  // a transform of the image may round
  r.error = std::max(r.error, 2 * n * x->error) + 16 * (n + 4) * epsilon(x->type) * r.bound;
  std::vector<Value> operands = {*x, weights};
  if (g.chance(50)) operands.push_back(g.random_constant(x->type, {results})), r.bound += 2;
  g.add("Conv", operands, r)
      .integers("strides", w->strides)
      .integers("dilations", w->dilations)
      .integers("pads", w->pads)
      .integer("group", groups);
  return true;
}

bool add_transposed_convolution(Graph& g) {
  auto x = g.any([](const Value& v) { return is_image(v) && is_small_float(v) && v.type != dtype::bf16; });
  if (!x || x->count() == 0) return false;
  const int64_t channels = x->shape[1].number, groups = g.chance(30) ? channels : 1, results = 1 + g.draw(3);
  std::vector<int64_t> shape = {channels, results}, strides, dilations, pads(2 * (x->shape.size() - 2)), more;
  std::vector<Size> sizes = {x->shape[0], {results * groups, ""}};
  const size_t rank = x->shape.size() - 2;
  double n = static_cast<double>(channels / groups);
  for (size_t k = 0; k < rank; ++k) {
    const int64_t kernel = 1 + g.draw(3), stride = 1 + g.draw(3), dilation = g.chance(20) ? 2 : 1;
    shape.push_back(kernel), strides.push_back(stride), dilations.push_back(dilation);
    more.push_back(g.chance(30) ? g.draw(static_cast<int>(stride)) : 0);
    pads[k] = g.draw(static_cast<int>(kernel)), pads[k + rank] = g.draw(static_cast<int>(kernel));
    n *= static_cast<double>(kernel);
    sizes.push_back(
        {stride * (x->shape[k + 2].number - 1) + (kernel - 1) * dilation + 1 + more[k] - pads[k] - pads[k + rank], ""});
    if (sizes.back().number < 1) return false;
  }
  const Value weights = g.random_constant(x->type, shape, 1);
  Value r = sum_of_products(*x, weights, n);
  r.shape = sizes;
  r.grain = 0, r.error = std::max(r.error, 2 * n * x->error) + 4 * (n + 4) * epsilon(x->type) * r.bound;
  std::vector<Value> operands = {*x, weights};
  if (g.chance(50)) operands.push_back(g.random_constant(x->type, {results * groups})), r.bound += 2;
  g.add("ConvTranspose", operands, r)
      .integers("strides", strides)
      .integers("dilations", dilations)
      .integers("pads", pads)
      .integers("output_padding", more)
      .integer("group", groups);
  return true;
}

// The axes of y have labels of x and new ones; the axes of the result have some of the labels of both.
bool add_einsum(Graph& g) {
  auto x = g.any([](const Value& v) {
    return v.rank() > 0 && v.rank() < 5 && v.count() > 0 && (v.type == dtype::f32 || v.type == dtype::f64) &&
           v.bound <= 16;
  });
  if (!x) return false;
  std::string of_x, of_y, of_result;
  std::vector<Size> sizes = x->shape;  // by label
  for (int64_t k = 0; k < x->rank(); ++k) of_x += static_cast<char>('a' + k);
  std::vector<int64_t> shape;
  for (size_t k : {0, 1, 2}) {
    if (k >= x->shape.size() || !x->shape[k].symbol.empty() || g.chance(40)) continue;
    of_y.insert(of_y.begin() + g.draw(static_cast<int>(of_y.size()) + 1), of_x[k]);
  }
  if (g.chance(60)) of_y += static_cast<char>('a' + sizes.size()), sizes.push_back({1 + g.draw(5), ""});
  for (char label : of_y) shape.push_back(sizes[static_cast<size_t>(label - 'a')].number);
  double n = 1;
  std::vector<Size> result;
  for (int64_t k : g.permutation(static_cast<int64_t>(sizes.size()))) {
    const Size& size = sizes[static_cast<size_t>(k)];
    if (g.chance(60))
      of_result += static_cast<char>('a' + k), result.push_back(size);
    else
      n *= static_cast<double>(size.number);
  }
  const Value y = g.random_constant(x->type, shape, 1);
  Value r = sum_of_products(*x, y, n);
  r.shape = result;
  g.add("Einsum", {*x, y}, r).text("equation", (of_x + "," + of_y + "->" + of_result).c_str());
  return true;
}

bool add_pool(Graph& g) {
  auto x = g.any([](const Value& v) { return is_image(v) && v.type != dtype::bf16; });
  if (!x) return false;
  const bool average = g.chance(50);
  Value r = x->renamed("");
  auto w = random_window(g, *x, r, false);
  if (!w) return false;
  if (average) r.grain = 0, r.error = x->error + 32 * epsilon(x->type) * std::max(1., x->bound);
  Node node = g.add(average ? "AveragePool" : "MaxPool", {*x}, r);
  node.integers("kernel_shape", w->kernel).integers("strides", w->strides).integers("pads", w->pads);
  if (average) node.integer("count_include_pad", g.draw(2));
  return true;
}

// A convolution or pool with auto_pad of an image of symbolic height and width. Windows are not smaller than strides,
// where onnxruntime pads as the standard says.
bool add_window_of_symbolic_image(Graph& g) {
  if (!g.has_symbols()) return false;
  const int64_t channels = 1 + g.draw(9), results = 1 + g.draw(9);
  const Value x = g.input(dtype::f32, {{1 + g.draw(2), ""}, {channels, ""}, g.symbol(), g.symbol()});
  std::vector<int64_t> strides, kernel, shape = {results, channels};
  Value r = x.renamed("");
  for (size_t k = 0; k < 2; ++k) {
    strides.push_back(1 + g.draw(3));
    kernel.push_back(strides[k] + g.draw(3));
    if (strides[k] > 1) r.shape[k + 2] = g.counted((x.shape[k + 2].number + strides[k] - 1) / strides[k]);
  }
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  const char* op = g.one_of({"Conv", "Conv", "MaxPool", "AveragePool"});
  std::vector<Value> operands = {x};
  const std::vector<Size> sizes = r.shape;
  const double taps = static_cast<double>(channels * kernel[0] * kernel[1]);
  if (op == std::string("Conv")) {
    operands.push_back(g.random_constant(dtype::f32, shape, 1));
    r = sum_of_products(x, operands[1], taps);
    r.shape = sizes;
    r.shape[1] = {results, ""};
    r.grain = 0, r.error = std::max(r.error, 16 * (taps + 4) * epsilon(dtype::f32) * r.bound);
  } else if (op == std::string("AveragePool")) {
    r.grain = 0, r.error = 32 * epsilon(dtype::f32) * std::max(1., x.bound);
  }
  Node node = g.add(op, operands, r);
  node.integers("kernel_shape", kernel).integers("strides", strides);
  node.text("auto_pad", g.one_of({"SAME_UPPER", "SAME_LOWER"}));
  if (op == std::string("AveragePool")) node.integer("count_include_pad", g.draw(2));
  return true;
}

bool add_global_pool(Graph& g) {
  auto x = g.any([](const Value& v) { return is_image(v) && v.count() > 0 && v.type != dtype::bf16; });
  if (!x) return false;
  Value r = x->renamed("");
  for (size_t k = 2; k < r.shape.size(); ++k) r.shape[k] = {};
  const bool average = g.chance(60);
  if (average)
    r.grain = 0, r.error = x->error + (8 + static_cast<double>(x->count())) * epsilon(x->type) * std::max(1., x->bound);
  g.add(average ? "GlobalAveragePool" : "GlobalMaxPool", {*x}, r);
  return true;
}

bool add_softmax(Graph& g) {
  auto x = g.any([](const Value& v) { return is_small_float(v) && v.rank() > 0 && v.count() > 0; });
  if (!x) return false;
  const bool logarithm = g.chance(30);
  Value r{"", x->type, x->shape, logarithm ? 2 * x->bound + 8 : 1, 0};
  r.error = 4 * x->error + 32 * epsilon(x->type) * std::max(r.bound, x->bound);
  g.add(logarithm ? "LogSoftmax" : "Softmax", {*x}, r)
      .integer("axis", g.draw(static_cast<int>(x->rank())) - (g.chance(30) ? x->rank() : 0));
  return true;
}

bool add_layer_normalization(Graph& g) {
  auto x = g.any([](const Value& v) {
    return is_small_float(v) && v.rank() > 0 && v.count() > 0 && v.shape.back().symbol.empty();
  });
  if (!x || g.opset() < 17) return false;
  const int64_t n = x->shape.back().number;
  const Value scale = g.random_constant(x->type, {n}), bias = g.random_constant(x->type, {n});
  Value r{"", x->type, x->shape, 2 * std::sqrt(static_cast<double>(n)) + 2};
  r.error = 32 * x->error * std::max(1., x->bound) + 64 * epsilon(x->type) * std::max(1., x->bound * x->bound);
  g.add("LayerNormalization", {*x, scale, bias}, r).number("epsilon", 0.5);
  return true;
}

bool add_batch_normalization(Graph& g) {
  auto x = g.any([&](const Value& v) {
    return is_small_float(v) && v.rank() >= 2 && v.shape[1].symbol.empty() &&
           (v.type != dtype::bf16 || g.opset() >= 14);
  });
  if (!x) return false;
  const int64_t n = x->shape[1].number;
  const Value scale = g.random_constant(x->type, {n}), bias = g.random_constant(x->type, {n}),
              mean = g.random_constant(x->type, {n}),
              variance = g.constant(x->type, {n}, std::vector<double>(static_cast<size_t>(n), 1.25));
  Value r{"", x->type, x->shape, 2 * (x->bound + 2) + 2};
  r.error = 2 * x->error + 16 * epsilon(x->type) * r.bound;
  g.add("BatchNormalization", {*x, scale, bias, mean, variance}, r).number("epsilon", 0.25);
  return true;
}

bool add_resize(Graph& g) {
  auto x =
      g.any([](const Value& v) { return v.rank() == 4 && !v.is_symbolic() && v.count() > 0 && v.type == dtype::f32; });
  if (!x) return false;
  Value r = x->renamed("");
  const int64_t factor = 1 + g.draw(3);
  r.shape[2].number *= factor, r.shape[3].number *= 2;
  const bool linear = g.chance(50);
  if (linear) r.grain = 0, r.error = x->error + 64 * epsilon(r.type) * std::max(1., r.bound);
  const Value scales = g.constant(dtype::f32, {4}, {1, 1, static_cast<double>(factor), 2});
  g.add("Resize", {*x, Value{}, scales}, r)
      .text("mode", linear ? "linear" : "nearest")
      .text("coordinate_transformation_mode",
            linear ? g.one_of({"half_pixel", "align_corners", "asymmetric"}) : "asymmetric")
      .text("nearest_mode", "floor");
  return true;
}

// Exact floats to bytes and back: the scale is a power of two.
bool add_quantization(Graph& g) {
  auto x = g.any([](const Value& v) { return v.type == dtype::f32 && v.exact() && v.bound <= 100; });
  if (!x) return false;
  const DType t = g.one_of({dtype::u8, dtype::i8});
  const Value scale = g.constant(dtype::f32, {}, {0.5}), zero = g.constant(t, {}, {t == dtype::u8 ? 100. : 3.});
  Value q{g.fresh_name(), t, x->shape, t == dtype::u8 ? 255. : 128., 1};
  g.add("QuantizeLinear", {*x, scale, zero}, q);
  g.add("DequantizeLinear", {q, scale, zero}, Value{"", dtype::f32, x->shape, 128, 0.5});
  return true;
}

bool is_bytes(const Value& v) { return v.type == dtype::u8 || v.type == dtype::i8; }

// Constant weights of bytes and their zero point. Minus the zero point they may exceed the range of signed bytes.
struct ByteWeights {
  Value weights, zero;
  double bound;
};
ByteWeights random_byte_weights(Graph& g, const std::vector<int64_t>& shape) {
  const DType type = g.one_of({dtype::u8, dtype::i8});
  const double bound = type == dtype::u8 ? 250 : 60;
  const double zero = g.chance(50) ? 0 : type == dtype::u8 ? g.one_of({128, 117, 3}) : g.one_of({5, -90});
  return {g.random_constant(type, shape, bound), g.constant(type, {}, {zero}), bound + std::abs(zero)};
}

bool add_integer_product(Graph& g) {
  auto x = g.any([](const Value& v) { return is_bytes(v) && v.rank() >= 2 && v.shape.back().symbol.empty(); });
  if (!x) return false;
  const int64_t k = x->shape.back().number, columns = 1 + g.draw(9);
  const ByteWeights w = random_byte_weights(g, {k, columns});
  const Value zero = g.constant(x->type, {}, {3});
  Value r{"", dtype::i32, x->shape, (x->bound + 3) * w.bound * static_cast<double>(k) + 1, 1};
  r.shape.back() = {columns, ""};
  g.add("MatMulInteger", {*x, w.weights, zero, w.zero}, r);
  return true;
}

bool add_integer_convolution(Graph& g) {
  auto x = g.any([](const Value& v) { return has_channels_and_pixels(v) && is_bytes(v); });
  if (!x) return false;
  const int64_t channels = x->shape[1].number, results = 1 + g.draw(6);
  Value image = x->renamed("");
  const auto window = random_window(g, *x, image, true);
  if (!window) return false;
  std::vector<int64_t> shape = {results, channels};
  shape.insert(shape.end(), window->kernel.begin(), window->kernel.end());
  const ByteWeights w = random_byte_weights(g, shape);
  double n = 1;
  for (size_t k = 1; k < shape.size(); ++k) n *= static_cast<double>(shape[k]);
  Value r{"", dtype::i32, image.shape, (x->bound + 3) * w.bound * n + 1, 1};
  r.shape[1] = {results, ""};
  g.add("ConvInteger", {*x, w.weights, g.constant(x->type, {}, {3}), w.zero}, r)
      .integers("strides", window->strides)
      .integers("dilations", window->dilations)
      .integers("pads", window->pads);
  return true;
}

}  // namespace

const std::vector<Operator>& layer_operators() {
  static const std::vector<Operator> rows = {add_matrix_product,
                                             add_batched_product,
                                             add_gemm,
                                             add_convolution,
                                             add_transposed_convolution,
                                             add_einsum,
                                             add_pool,
                                             add_global_pool,
                                             add_softmax,
                                             add_layer_normalization,
                                             add_batch_normalization,
                                             add_resize,
                                             add_quantization,
                                             add_integer_product,
                                             add_integer_convolution,
                                             add_window_of_symbolic_image};
  return rows;
}

}  // namespace dlcc::random_models

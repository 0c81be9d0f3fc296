// Operators of com.microsoft but attention: activations, products, normalizations, quantized operators.
#include <algorithm>
#include <cmath>

#include "graph.h"

namespace dlcc::random_models {
namespace {

bool is_f32(const Value& v) { return v.type == dtype::f32; }

bool add_activation(Graph& g) {
  auto x = g.any([](const Value& v) {
    return is_f32(v) && v.bound <= 8 && v.rank() > 0 && v.shape.back().symbol.empty() && v.shape.back().number > 0;
  });
  if (!x) return false;
  const char* op =
      g.one_of({"com.microsoft.Gelu", "com.microsoft.QuickGelu", "com.microsoft.FastGelu", "com.microsoft.BiasGelu"});
  const bool biased = op[14] == 'B' || (op[14] == 'F' && g.chance(50));
  Value r{"", x->type, x->shape, x->bound + 2, 0, 4 * x->error + 32 * epsilon(x->type) * std::max(1., x->bound + 2)};
  std::vector<Value> operands = {*x};
  if (biased) operands.push_back(g.random_constant(x->type, {x->shape.back().number}, 2));
  g.add(op, operands, r);
  return true;
}

bool add_fused_matmul(Graph& g) {
  auto x = g.any([](const Value& v) { return is_f32(v) && is_small_float(v) && v.rank() >= 2 && !v.is_symbolic(); });
  if (!x || x->count() == 0) return false;
  const bool turn_x = g.chance(40), turn_y = g.chance(40);
  std::vector<Size> shape = x->shape;
  if (turn_x) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  const int64_t k = shape.back().number, columns = 1 + g.draw(6);
  const Value y = g.random_constant(x->type, turn_y ? std::vector{columns, k} : std::vector{k, columns}, 1);
  Value r = sum_of_products(*x, y, static_cast<double>(k));
  r.shape = shape;
  r.shape.back() = {columns, ""};
  r.grain = 0, r.error = std::max(r.error, 8 * epsilon(r.type) * r.bound);
  g.add("com.microsoft.FusedMatMul", {*x, y}, r)
      .number("alpha", 0.5)
      .integer("transA", turn_x)
      .integer("transB", turn_y);
  return true;
}

bool add_skip_normalization(Graph& g) {
  auto x = g.any([](const Value& v) {
    return is_f32(v) && is_small_float(v) && v.rank() == 3 && v.count() > 0 && v.shape.back().symbol.empty();
  });
  if (!x) return false;
  const int64_t n = x->shape.back().number;
  auto row = [&] { return g.random_constant(x->type, {n}); };
  const bool simple = g.chance(50);
  std::vector<Value> operands = {*x, *x, row()};
  if (!simple) operands.push_back(row());
  operands.push_back(row());
  Value r{"", x->type, x->shape, 2 * std::sqrt(static_cast<double>(n)) + 2};
  const double largest = 2 * x->bound + 2;
  r.error = 64 * x->error * largest + 64 * epsilon(x->type) * largest * largest;
  g.add(simple ? "com.microsoft.SkipSimplifiedLayerNormalization" : "com.microsoft.SkipLayerNormalization", operands, r)
      .number("epsilon", 0.5);
  return true;
}

// Scales are powers of two, and that of the result the least: nothing is rounded.
bool add_quantized_arithmetic(Graph& g) {
  auto x = g.any([](const Value& v) { return (v.type == dtype::u8 || v.type == dtype::i8) && v.exact(); });
  if (!x) return false;
  const Value y = g.partner(*x), zero = g.constant(x->type, {}, {3});
  auto scale = [&](double s) { return g.constant(dtype::f32, {}, {s}); };
  Value r{"", x->type, *g.broadcast(x->shape, y.shape), is_signed(x->type) ? 128. : 255., 1};
  const bool product = g.chance(50);
  g.add(product ? "com.microsoft.QLinearMul" : "com.microsoft.QLinearAdd",
        {*x, scale(0.5), zero, y, scale(0.25), zero, scale(product ? 0.125 : 0.25), zero}, r);
  return true;
}

// Weights of 2, 4 or 8 bits in blocks of 16.
bool add_matmul_nbits(Graph& g) {
  auto x = g.any([](const Value& v) {
    return is_f32(v) && v.bound <= 8 && v.rank() >= 2 && v.count() > 0 && v.shape.back().symbol.empty();
  });
  if (!x) return false;
  const int64_t depth = x->shape.back().number, columns = 1 + g.draw(6), width = g.one_of({2, 4, 8}),
                blocks = (depth + 15) / 16;
  const Value packed = g.random_constant(dtype::u8, {columns, blocks, 2 * width}, 255),
              scales = g.constant(dtype::f32, {columns, blocks},
                                  std::vector<double>(static_cast<size_t>(columns * blocks), 0.0625));
  std::vector<Value> operands = {*x, packed, scales};
  if (g.chance(50)) operands.push_back(g.random_constant(dtype::u8, {columns, (blocks * width + 7) / 8}, 255));
  Value weight{"", dtype::f32};
  weight.bound = std::ldexp(0.0625, static_cast<int>(width)), weight.grain = 0.0625;
  Value r = sum_of_products(*x, weight, static_cast<double>(depth));
  r.shape = x->shape;
  r.shape.back() = {columns, ""};
  g.add("com.microsoft.MatMulNBits", operands, r)
      .integer("N", columns)
      .integer("K", depth)
      .integer("bits", width)
      .integer("block_size", 16);
  return true;
}

// The scale of x is rounded, so an element may be wrong by one step of it.
bool add_dynamic_quantization(Graph& g) {
  auto x = g.any([](const Value& v) {
    return is_f32(v) && v.bound <= 8 && v.rank() >= 2 && v.count() > 0 && v.shape.back().symbol.empty();
  });
  if (!x) return false;
  const int64_t depth = x->shape.back().number, columns = 1 + g.draw(6);
  const Value y = g.random_constant(g.one_of({dtype::u8, dtype::i8}), {depth, columns}, 100),
              scale = g.constant(dtype::f32, {}, {0.0625}), zero = g.constant(y.type, {}, {3});
  Value r{"", dtype::f32, x->shape};
  r.shape.back() = {columns, ""};
  const double largest = 103 * 0.0625, step = 2 * x->bound / 255, n = static_cast<double>(depth);
  r.bound = n * largest * (x->bound + step);
  r.error = n * largest * (2 * step + 4 * x->error) + 8 * epsilon(r.type) * r.bound;
  g.add("com.microsoft.DynamicQuantizeMatMul", {*x, y, scale, zero}, r);
  return true;
}

}  // namespace

const std::vector<Operator>& microsoft_operators() {
  static const std::vector<Operator> rows = {add_activation,           add_fused_matmul, add_skip_normalization,
                                             add_quantized_arithmetic, add_matmul_nbits, add_dynamic_quantization};
  return rows;
}

}  // namespace dlcc::random_models

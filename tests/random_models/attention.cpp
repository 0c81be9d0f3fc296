// Attention, of the standard and of com.microsoft, and rotary embeddings.
#include <algorithm>
#include <cmath>

#include "graph.h"

namespace dlcc::random_models {
namespace {

// The result of attention over `keys` keys in heads of `size` elements: weighted means of the values. The softmax of
// scores that are wrong by e has a relative error of 2 e.
Value weighted_mean(const Value& query, const Value& key, const Value& value, double size, double keys, double scale) {
  const double product = size * query.bound * key.bound * scale;
  const double of_scores = 2 * size * scale * (query.error * key.bound + key.error * query.bound) +
                           (size + 8) * epsilon(query.type) * std::max(1., product);
  Value r{"", query.type, query.shape, value.bound};
  r.error = value.error + (2 * of_scores + (keys + 16) * epsilon(query.type)) * std::max(1., value.bound);
  return r;
}

bool is_query(const Value& v) {
  return is_float(v.type) && v.type != dtype::bf16 && v.bound <= 4 && v.count() > 0 && v.shape.back().symbol.empty();
}

// A constant as key or value; or the query itself.
Value memory(Graph& g, const Value& x, const std::vector<int64_t>& shape) {
  return x.is_symbolic() || g.chance(20) ? x : g.random_constant(x.type, shape, 1);
}

std::vector<int64_t> numbers_of(const Value& x) {
  std::vector<int64_t> shape;
  for (const Size& s : x.shape) shape.push_back(s.number);
  return shape;
}

// A mask whose first column keeps every query's first key.
Value random_mask(Graph& g, DType type, int64_t rows, int64_t columns) {
  if (!is_bool(type)) return g.random_constant(type, {rows, columns}, 1);
  std::vector<double> keep(static_cast<size_t>(rows * columns));
  for (size_t k = 0; k < keep.size(); ++k) keep[k] = static_cast<int64_t>(k) % columns == 0 || g.chance(60);
  return g.constant(type, {rows, columns}, keep);
}

// [batch, heads, length, size], or [batch, length, heads * size].
bool add_attention(Graph& g) {
  if (g.opset() < 23) return false;
  auto x = g.any([](const Value& v) { return (v.rank() == 3 || v.rank() == 4) && is_query(v); });
  if (!x) return false;
  const bool apart = x->rank() == 4;
  std::vector<int64_t> shape = numbers_of(*x);
  const auto length = static_cast<size_t>(apart ? 2 : 1);
  const int64_t rows = shape[length], columns = shape.back(), heads = apart || columns % 2 || g.chance(30) ? 1 : 2;
  if (!x->is_symbolic()) shape[length] = 1 + g.draw(5);
  const Value key = memory(g, *x, shape);
  if (key.name == x->name) shape = numbers_of(*x);
  const Value value = key.name == x->name ? *x : g.random_constant(x->type, shape, 1);
  const int64_t keys = shape[length], size = columns / heads;
  const double scale = g.chance(40) ? 0.5 : 1 / std::sqrt(static_cast<double>(size));
  std::vector<Value> operands = {*x, key, value};
  if (!x->is_symbolic() && g.chance(40))
    operands.push_back(random_mask(g, g.chance(50) ? dtype::boolean : x->type, rows, keys));
  Node node = g.add("Attention", operands,
                    weighted_mean(*x, key, value, static_cast<double>(size), static_cast<double>(keys), scale));
  if (scale == 0.5) node.number("scale", scale);
  if (g.chance(30)) node.integer("is_causal", 1);
  if (g.chance(20)) node.number("softcap", 2);
  if (!apart) node.integer("q_num_heads", heads).integer("kv_num_heads", heads);
  return true;
}

bool add_multi_head_attention(Graph& g) {
  auto x = g.any([](const Value& v) { return v.rank() == 3 && is_query(v) && v.type == dtype::f32; });
  if (!x) return false;
  std::vector<int64_t> shape = numbers_of(*x);
  const int64_t rows = shape[1], columns = shape[2], heads = columns % 2 || g.chance(30) ? 1 : 2;
  if (!x->is_symbolic()) shape[1] = g.chance(50) ? rows : 1 + g.draw(5);
  const Value key = memory(g, *x, shape);
  const Value value = key.name == x->name ? *x : g.random_constant(x->type, shape, 1);
  const int64_t keys = key.shape[1].number, size = columns / heads;
  std::vector<Value> operands = {*x, key, value};
  const Value absent;
  if (!x->is_symbolic() && g.chance(40)) {
    std::vector<double> keep(static_cast<size_t>(shape[0] * keys));
    for (size_t k = 0; k < keep.size(); ++k) keep[k] = static_cast<int64_t>(k) % keys == 0 || g.chance(60);
    operands.insert(operands.end(), {absent, g.constant(dtype::i32, {shape[0], keys}, keep)});
  }
  Value r = weighted_mean(*x, key, value, static_cast<double>(size), static_cast<double>(keys),
                          1 / std::sqrt(static_cast<double>(size)));
  Node node = g.add("com.microsoft.MultiHeadAttention", operands, r);
  node.integer("num_heads", heads);
  if (operands.size() == 3 && rows == keys && g.chance(30)) node.integer("unidirectional", 1);
  return true;
}

// Query, key and value from one product.
bool add_packed_attention(Graph& g) {
  auto x = g.any([](const Value& v) { return v.rank() == 3 && is_query(v) && v.type == dtype::f32 && v.bound <= 2; });
  if (!x) return false;
  const int64_t depth = x->shape[2].number, heads = 1 + g.draw(2), width = heads * (1 + g.draw(4));
  const Value weights = g.random_constant(x->type, {depth, 3 * width}, 0.5),
              bias = g.random_constant(x->type, {3 * width}, 1);
  Value projected = sum_of_products(*x, weights, static_cast<double>(depth));
  projected.grain = 0, projected.bound += 1, projected.shape = x->shape;
  projected.error = 2 * static_cast<double>(depth) * x->error + 4 * epsilon(x->type) * projected.bound;
  if (projected.bound > 8) return false;
  Value r = weighted_mean(projected, projected, projected, static_cast<double>(width / heads),
                          static_cast<double>(x->shape[1].number), 0.5);
  r.shape[2] = {width, ""};
  g.add("com.microsoft.Attention", {*x, weights, bias}, r)
      .integer("num_heads", heads)
      .number("scale", 0.5)
      .integer("unidirectional", g.draw(2));
  return true;
}

// Keys of earlier runs for sequences of different lengths.
bool add_group_query_attention(Graph& g) {
  const int64_t batch = 1 + g.draw(2), groups = 1 + g.draw(2), size = g.one_of({8, 16}), past = g.one_of({0, 3});
  const int64_t rows = past ? 1 : 1 + g.draw(4);
  const Value query = g.input(dtype::f32, {{batch, ""}, {rows, ""}, {2 * groups * size, ""}}), absent;
  auto constant = [&](std::vector<int64_t> shape) { return g.random_constant(dtype::f32, shape, 1); };
  const Value key = constant({batch, rows, groups * size}), value = constant({batch, rows, groups * size});
  std::vector<double> last(static_cast<size_t>(batch), static_cast<double>(past + rows - 1));
  if (past)
    for (double& n : last) n -= g.draw(static_cast<int>(past));
  std::vector<Value> operands = {query, key, value};
  for (int k = 0; k < 2; ++k) operands.push_back(past ? constant({batch, groups, past, size}) : absent);
  operands.push_back(g.constant(dtype::i32, {batch}, last));
  operands.push_back(g.constant(dtype::i32, {1}, {static_cast<double>(past + rows)}));
  const Value all{"", dtype::f32, {}, 1};  // keys and values, also of earlier runs
  const Value r = weighted_mean(query, all, all, static_cast<double>(size), static_cast<double>(past + rows),
                                1 / std::sqrt(static_cast<double>(size)));
  Value present{"", dtype::f32};  // with rows that nothing decides; onnxruntime computes nothing right without it
  present.hidden = true;
  Node node = g.add("com.microsoft.GroupQueryAttention", operands, {r, present, present});
  node.integer("num_heads", 2 * groups).integer("kv_num_heads", groups);
  if (g.chance(20)) node.integer("local_window_size", 2);
  if (g.chance(20)) node.integer("smooth_softmax", 1);
  return true;
}

// In the standard's order of inputs, or in that of com.microsoft.
bool add_rotary_embedding(Graph& g) {
  const bool standard = g.opset() >= 23 && g.chance(50);
  auto x = g.any([&](const Value& v) {
    return v.rank() == 4 && !v.is_symbolic() && v.count() > 0 && v.bound <= 8 && v.shape[3].number % 2 == 0 &&
           (v.type == dtype::f32 || (standard && v.type == dtype::f16));
  });
  if (!x) return false;
  const int64_t half = x->shape[3].number / 2, length = x->shape[2].number, batch = x->shape[0].number;
  const Value cosine = g.random_constant(x->type, {length + 2, half}, 1),
              sine = g.random_constant(x->type, {length + 2, half}, 1);
  std::vector<double> at(static_cast<size_t>(batch * length));
  for (double& k : at) k = g.draw(static_cast<int>(length) + 2);
  const Value positions = g.constant(dtype::i64, {batch, length}, at);
  Value r{"", x->type, x->shape, 2 * x->bound, 0, 2 * x->error + 8 * epsilon(x->type) * std::max(1., x->bound)};
  const bool interleaved = g.chance(50);
  Node node = standard ? g.add("RotaryEmbedding", {*x, cosine, sine, positions}, r)
                       : g.add("com.microsoft.RotaryEmbedding", {*x, positions, cosine, sine}, r);
  node.integer("interleaved", interleaved);
  return true;
}

}  // namespace

const std::vector<Operator>& attention_operators() {
  static const std::vector<Operator> rows = {
      add_attention,       add_attention, add_multi_head_attention, add_packed_attention, add_group_query_attention,
      add_rotary_embedding};
  return rows;
}

}  // namespace dlcc::random_models

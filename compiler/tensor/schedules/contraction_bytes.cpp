// Products of bytes in a register tile: dot products of neighbouring K indices (tensor/byte_products.h), data that is
// widened a chunk at a time, and inner products of words (schedules/inner_products.h).
#include "support/integers.h"
#include "tensor/byte_products.h"
#include "tensor/schedules/contraction_tile.h"
#include "tensor/schedules/loops.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"
#include "tensor/word_products.h"

namespace dlcc::tensor {

// The sum of `product` over the K indices of a dot product, in the form of the intrinsics of tensor/byte_products.h.
Expr ContractionTile::neighbouring_products(const Expr& product) const {
  const Var& k = k_loops_.innermost_axis().var;
  Expr sum;
  for (int64_t j = 0; j < plan_.k_interleave; ++j) {
    Expr other = substitute(product, {{k, Expr(k) + Expr(j)}});
    sum = sum ? sum + other : other;
  }
  return sum;
}

// Whether the tile's data is widened to 16 bits, a chunk at a time, before it is multiplied: once for all dot
// products of the chunk and all vectors of N.
bool ContractionTile::widens_data() const {
  return plan_.byte_products && multiplies_widened_data(machine_.byte_products) && !multiplies_words_;
}

// A chunk of the data of each pixel: its even bytes, then its odd bytes.
Buffer ContractionTile::widened(const Tile& t) const {
  static_assert(widened_bytes == max_chunk);
  return make_buffer("widened", dtype::u16, {t.tall, t.wide, 2, widened_half}, Scope::local, storage_alignment);
}

// Stores the chunk of the data that begins with the K index.
Stmt ContractionTile::widen_data(const Buffer& to, const Tile& t, const Vars& vars, const Substitution& pixels) const {
  const Var& k = k_loops_.innermost_axis().var;
  Var lane = make_var("lane");
  const Expr bytes = as<Cast>(data_value())->a;
  const Expr byte = substitute(substitute(bytes, {{k, Expr(k) + Expr(lane)}}), pixels);
  const std::vector<Expr> in_words = {vars.y, vars.x, floor_mod(lane, Expr(2)), floor_div(lane, Expr(2))};
  Stmt chunk = for_loop(lane, widened_bytes, LoopKind::vector, store(to, in_words, cast(dtype::u16, byte)));
  return each_pixel(t, vars.y, vars.x, LoopKind::unrolled, chunk);
}

// The sum of products of widened data and weights over the K indices of a dot product, in the form of the intrinsics of
// tensor/byte_products.h.
Expr ContractionTile::widened_products(const Buffer& data, const Vars& vars, const Expr& weights,
                                       const Var& k_in_chunk) const {
  const Var& k = k_loops_.innermost_axis().var;
  Expr sum;
  for (int64_t j = 0; j < plan_.k_interleave; ++j) {
    const Expr number = floor_div(Expr(k_in_chunk), Expr(2)) + Expr(j / 2);
    const Expr product = cast(dtype::i32, load(data, {vars.y, vars.x, Expr(j % 2), number})) *
                         substitute(weights, {{k, Expr(k) + Expr(j)}});
    sum = sum ? sum + product : product;
  }
  return sum;
}

// ---- inner products of words

int64_t ContractionTile::bytes_of_weight_words() const {
  return k_loops_.k_in({Expr(0), 1, false}) * n() * bits(dtype::i16) / 8;
}

WeightWords ContractionTile::weight_words(const TilePosition& at, const KRange& range) const {
  Shape shape = {Dim(range.blocks)};
  for (const Axis& a : stage_.reduction->axes)
    if (a.var != k_loops_.innermost_axis().var) shape.push_back(a.extent);
  for (int64_t extent : {k_loops_.block_size() / plan_.k_interleave, at.vectors, int64_t{2}, 2 * lanes_})
    shape.push_back(Dim(extent));
  return {.words = make_buffer("weight_words", dtype::i16, shape, Scope::local, storage_alignment),
          .column_products =
              make_buffer("column_products", dtype::i32, {at.vectors, lanes_}, Scope::local, storage_alignment),
          .first_block = range.first};
}

// The index of a word of the weights, for the reduced axes' variables.
std::vector<Expr> ContractionTile::in_weight_words(const WeightWords& w, const Expr& v, const Expr& odd,
                                                   const Expr& word) const {
  const Expr k = k_loops_.innermost_axis().var, size = Expr(k_loops_.block_size());
  std::vector<Expr> index = {floor_div(k, size) - w.first_block};
  for (const Axis& a : stage_.reduction->axes)
    if (a.var != k_loops_.innermost_axis().var) index.push_back(a.var);
  index.insert(index.end(), {floor_div(floor_mod(k, size), Expr(plan_.k_interleave)), v, odd, word});
  return index;
}

Stmt ContractionTile::widen_weights(const TilePosition& at, const KRange& range, const WeightWords& w) const {
  Var v = make_var("v"), byte = make_var("byte"), lane = make_var("lane");
  const Expr in_k = floor_mod(byte, Expr(plan_.k_interleave)), of_lane = floor_div(byte, Expr(plan_.k_interleave));
  const Var& k = k_loops_.innermost_axis().var;
  const Expr n = at.panel_base + Expr(at.offset) + Expr(v) * Expr(lanes_) + of_lane;
  const Expr weights = substitute(as<Cast>(weights_value())->a, {{n_, n}, {k, Expr(k) + in_k}});
  Stmt widen = for_loop(byte, lanes_ * plan_.k_interleave, LoopKind::vector,
                        store(w.words, in_weight_words(w, v, floor_mod(byte, Expr(2)), floor_div(byte, Expr(2))),
                              cast(dtype::i16, weights)));
  auto word = [&](int64_t odd, int64_t j) {
    return load(w.words, in_weight_words(w, v, Expr(odd), Expr(lane) * Expr(2) + Expr(j)));
  };
  Buffer sums = make_buffer("sums", dtype::i32, {at.vectors, lanes_}, Scope::reg);
  const std::vector<Expr> column = {v, lane};
  auto each_lane = [&](const Buffer& to, const Expr& value) {
    return for_loop(lane, lanes_, LoopKind::vector, store(to, column, value));
  };
  auto each_vector = [&](const Stmt& body) { return for_loop(v, at.vectors, LoopKind::unrolled, body); };
  Stmt add = each_lane(sums, load(sums, column) + products_of_neighbouring_words(word));
  return allocate(
      sums,
      sequence({each_vector(each_lane(sums, literal(sums->type, int64_t{0}))),
                k_loops_.plain_loops(each_vector(sequence({widen, add})), range, plan_.k_interleave),
                each_vector(each_lane(w.column_products, load(w.column_products, column) + load(sums, column)))}));
}

Stmt ContractionTile::widen_data() const {
  StorageLoops loops = storage_loops(plan_.words_layout, plan_.data_words->shape);
  const auto axis = static_cast<size_t>(plan_.words_layout.parts.back().axis);
  const size_t outer = loops.vars.size() - 2;  // without the loops over 2 and over widened_half
  Var lane = make_var("lane");
  std::vector<Expr> to = loops.index;
  to[axis] = simplify(substitute(to[axis], {{loops.vars[outer], Expr(0)}, {loops.vars[outer + 1], Expr(0)}})) + lane;
  std::vector<Expr> from = to;
  for (size_t d = 0; d < from.size(); ++d) from[d] = from[d] * Expr(plan_.data_strides[d]);
  const Buffer& words = plan_.data_words;
  Stmt widen = for_loop(lane, widened_bytes, LoopKind::vector,
                        store(words, to, cast(words->type, load(plan_.contraction.data.buffer, from))));
  const Expr fill = plan_.fill ? cast(words->type, plan_.fill) : literal(words->type, int64_t{0});
  return sequence({fill_halo(words, plan_.words_layout, fill), loops.wrap(widen, 0, outer)});
}

Stmt ContractionTile::store_row_products() const {
  constexpr int64_t lanes = widened_half / 2;
  Buffer in_registers = make_buffer("acc", dtype::i32, {lanes}, Scope::reg);
  Buffer sums = make_buffer("sums", dtype::i32, {lanes}, Scope::local, storage_alignment);
  Var lane = make_var("lane");
  const Var& k = k_loops_.innermost_axis().var;
  const Expr data = as<Cast>(data_value())->a;
  auto word = [&](int64_t odd, int64_t j) {
    return substitute(data, {{k, Expr(k) + Expr(lane) * Expr(4) + Expr(2 * j + odd)}});
  };
  auto each_lane = [&](const Buffer& to, const Expr& value) {
    return for_loop(lane, lanes, LoopKind::vector, store(to, {lane}, value));
  };
  Stmt add = each_lane(in_registers, load(in_registers, {lane}) + products_of_neighbouring_words(word));
  Expr all;
  for (int64_t l = 0; l < lanes; ++l) all = all ? all + load(sums, {Expr(l)}) : load(sums, {Expr(l)});
  Stmt body = allocate(in_registers, sequence({each_lane(in_registers, literal(sums->type, int64_t{0})),
                                               k_loops_.plain_loops(add, k_loops_.all(), widened_bytes),
                                               each_lane(sums, load(in_registers, {lane}))}));
  body = allocate(sums, sequence({body, store(plan_.row_products, pixel_index({}), all)}));
  for (const std::vector<int>* axes : {&plan_.m_axes, &plan_.batch_axes})
    for (size_t a = axes->size(); a-- > 0;)
      body = for_loop(axis((*axes)[a]).var, Expr(axis((*axes)[a]).extent), LoopKind::parallel, body);
  return body;
}

// The index of a pixel in the row products: its batch and M axes.
std::vector<Expr> ContractionTile::pixel_index(const Substitution& pixels) const {
  std::vector<Expr> index;
  for (const std::vector<int>* axes : {&plan_.batch_axes, &plan_.m_axes})
    for (int a : *axes) index.push_back(substitute(Expr(axis(a).var), pixels));
  return index;
}

// The inner product of four K indices, in the form of the intrinsics of tensor/word_products.h.
Expr ContractionTile::inner_products(const WeightWords& w, const Vars& vars, const Substitution& pixels) const {
  const Var& k = k_loops_.innermost_axis().var;
  const Expr data = substitute(as<Cast>(data_value())->a, pixels);
  auto word_of_data = [&](int64_t odd, int64_t j) { return substitute(data, {{k, Expr(k) + Expr(2 * j + odd)}}); };
  auto word_of_weights = [&](int64_t odd, int64_t j) {
    return load(w.words, in_weight_words(w, vars.v, Expr(odd), Expr(vars.lane) * Expr(2) + Expr(j)));
  };
  return inner_product_of_words(word_of_data, word_of_weights);
}

Expr ContractionTile::without_products_of_neighbours(const Expr& sum, const WeightWords& w,
                                                     const std::vector<Expr>& element,
                                                     const Substitution& pixels) const {
  return sum - load(plan_.row_products, pixel_index(pixels)) - load(w.column_products, {element[2], element[3]});
}

}  // namespace dlcc::tensor

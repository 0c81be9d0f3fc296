// One register tile of a contraction: its sums over K, what is prefetched meanwhile, and the store of its results.
//
//   acc[y, x, v, lane] = 0                                         # registers
//   for k:                                                         # contraction_k_loops.h
//     prefetch the tile's share of the next panel, the next K block's data, the next tile's epilogue operands
//     acc[y, x, v, lane] += data[pixel(y, x), k] * panels[panel, k, offset + v * lanes + lane]
//   result[pixel(y, x), n(v, lane)] = epilogue(acc[y, x, v, lane])
//
// With few elements in a tile, each multiply-add would wait for the one before it. Such a tile has two or four
// accumulators for each element, partial[y, x, v, k % count, lane], and adds them up after the loop over K.
#pragma once

#include <functional>
#include <vector>

#include "tensor/schedules/contraction.h"
#include "tensor/schedules/contraction_k_loops.h"
#include "tensor/schedules/epilogue.h"
#include "tensor/schedules/inner_products.h"
#include "tensor/schedules/row_tiles.h"
#include "tensor/schedules/tap_axes.h"

namespace dlcc::tensor {

// The N indices of a tile: some vectors of a packed panel.
struct TilePosition {
  Expr panel_base;  // first N index of the panel
  int64_t offset;   // of the tile's first N index in the panel
  int64_t vectors;
  int64_t n;  // N indices that exist; the last vector may have fewer than its lanes
};

// Emits register tiles of one contraction for one machine. The plan, the machine and the configuration must outlive it.
class ContractionTile {
 public:
  // `in_line_buffer`: the results are stored in a line buffer, which is never prefetched.
  ContractionTile(const ContractionPlan&, const Machine&, const TuningConfig&, bool in_line_buffer);

  int64_t rows() const { return size_.rows; }
  // N indices of a tile: a multiple of the panel width, or a divisor of it.
  int64_t n() const { return size_.vectors * n_per_vector_; }
  int64_t n_per_vector() const { return n_per_vector_; }
  const KLoops& k_loops() const { return k_loops_; }
  // Positions of the image's axes, the last two M axes. A single M axis is x of an image of one row. -1: there is none.
  int y_axis() const { return plan_.m_axes.size() > 1 ? plan_.m_axes[plan_.m_axes.size() - 2] : -1; }
  int x_axis() const { return plan_.m_axes.empty() ? -1 : plan_.m_axes.back(); }
  // The share of K that a tile multiplies, without the taps that it leaves out; null if it leaves out none.
  ShareOfK share_of_k() const;
  // The buffer that the products read: the data, its copy, or its words.
  const Buffer& data_read() const {
    const Buffer& copy = data_copy();
    return copy ? copy : plan_.contraction.data.buffer;
  }

  // Whether both factors are widened before they are multiplied (schedules/inner_products.h). Then the functions below
  // need the weights of their range of K in words.
  bool multiplies_words() const { return multiplies_words_; }
  int64_t bytes_of_weight_words() const;  // of one K block
  WeightWords weight_words(const TilePosition&, const KRange&) const;
  // Stores the words of a range of K, and adds to the column products.
  Stmt widen_weights(const TilePosition&, const KRange&, const WeightWords&) const;
  // Stores the data's words and the row products, for all pixels.
  Stmt widen_data() const;
  Stmt store_row_products() const;

  // The whole tile: sums over all of K in registers, then their store through the epilogue.
  Stmt in_registers(const TilePosition&, const Tile&, const WeightWords* = nullptr) const;

  // The buffer of the sums of an area's pixels: [tall, wide, vectors * lanes].
  Buffer totals(const TilePosition&, int64_t tall, int64_t wide) const;
  // Adds the tile's sums over a range of K to `total`.
  Stmt add_partial_sums(const TilePosition&, const Tile&, const KRange&, const Buffer& total,
                        const WeightWords* = nullptr) const;

  // Stores the tile whose first pixel has its sums at (top, left) of `total`.
  Stmt store_tile(const TilePosition&, const Tile&, const Buffer& total, const Expr& top, const Expr& left,
                  const WeightWords* = nullptr) const;

 private:
  // The loops over the elements of a tile.
  struct Vars {
    Var y = make_var("y"), x = make_var("x"), v = make_var("v"), lane = make_var("lane");
    std::vector<Expr> element() const { return {y, x, v, lane}; }
  };
  Dim pixels() const;
  bool may_span_panels() const;
  int64_t accumulators_of_element() const;
  const Axis& axis(int k) const { return stage_.axes[static_cast<size_t>(k)]; }
  const Stage& last_stage() const { return plan_.function.stages.back(); }
  int64_t line_bits() const { return machine_.cache_line_bytes * 8; }

  Substitution pixels_in(const TilePosition&, const Tile&, const Vars&) const;
  Substitution elements_in(const TilePosition&, const Tile&, const Vars&, int64_t n_per_vector) const;
  std::vector<Expr> result_index(const TilePosition&, const Tile&, const Vars&) const;
  Stmt each_element(const TilePosition&, const Tile&, const Vars&, const Stmt& body) const;
  Buffer accumulators(const TilePosition&, const Tile&) const;
  std::vector<Expr> in_total(const Vars&, const Expr& top, const Expr& left) const;
  Stmt sums(const TilePosition&, const Tile&, const KRange&, const Buffer& acc,
            const std::function<Stmt(const KChunk&)>& before_chunk, const WeightWords*) const;
  void find_padding();
  double share_left_out(size_t tap_axis, int64_t tall, int64_t wide) const;
  bool has_padding(size_t reduced_axis) const;
  Expr tap_condition(size_t reduced_axis, const Tile&) const;
  Expr neighbouring_products(const Expr& product) const;
  bool widens_data() const;
  Buffer widened(const Tile&) const;
  Stmt widen_data(const Buffer& to, const Tile&, const Vars&, const Substitution& pixels) const;
  Expr widened_products(const Buffer& data, const Vars&, const Expr& weights, const Var& k_in_chunk) const;
  std::vector<Expr> pixel_index(const Substitution& pixels) const;
  std::vector<Expr> in_weight_words(const WeightWords&, const Expr& v, const Expr& odd, const Expr& word) const;
  Expr inner_products(const WeightWords&, const Vars&, const Substitution& pixels) const;
  Expr without_products_of_neighbours(const Expr& sum, const WeightWords&, const std::vector<Expr>& element,
                                      const Substitution& pixels) const;
  const Buffer& data_copy() const { return multiplies_words_ ? plan_.data_words : plan_.data_copy; }
  Expr data_value() const;
  Expr weights_value() const;
  std::vector<Expr> in_copy(std::vector<Expr> index) const;
  Stmt prefetch_next_data(const TilePosition&, const Substitution& pixels) const;
  Stmt prefetch_next_weights(const TilePosition&, const Tile&, const KRange&, const KChunk&,
                             const Expr& unrolled_block) const;
  Stmt prefetch_next_results(const TilePosition&, const Tile&, const KChunk&) const;
  std::vector<Buffer> streamed_operands() const;
  Stmt store_tile(const TilePosition&, const Tile&, const std::function<Expr(const std::vector<Expr>&)>& sum,
                  const WeightWords*) const;

  const ContractionPlan& plan_;
  const Machine& machine_;
  const Stage& stage_;
  Epilogue epilogue_;
  Var n_;
  Expr data_factor_, weights_factor_;
  std::vector<TapAxis> tap_axes_;
  // For each of them, the shares of the taps that tiles of 1, 2, .. pixels along its axis leave out: those that read
  // padding for all of the pixels; 0 if they are fewer than Machine::min_share_of_padding.
  std::vector<std::vector<double>> shares_left_out_;
  int64_t lanes_ = 1, n_per_vector_ = 1;
  RegisterTile size_;
  int64_t accumulators_of_element_ = 1;
  KLoops k_loops_;
  bool in_line_buffer_, multiplies_words_ = false;
};

// Loops over the pixels of a tile.
inline Stmt each_pixel(const Tile& t, const Var& y, const Var& x, LoopKind kind, const Stmt& body) {
  return for_loop(y, t.tall, kind, for_loop(x, t.wide, kind, body));
}

}  // namespace dlcc::tensor

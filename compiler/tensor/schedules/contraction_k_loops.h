// The loops over K of a contraction:
//
//   for block < K blocks:             # blocks of channels, as the data is stored; outermost
//     for tap:                        # the other reduced axes, in order
//       for chunk:                    # up to 16 neighbouring channels of the block
//         prefetch                    # KLoopHooks::before_chunk
//         for unrolled block < chunk / k_unroll:
//           prefetch                  # KLoopHooks::before_unrolled_block
//           unrolled k < k_unroll: body
//   the same loops over the rest of K, which fills no block
//
// A tap that reads padding only, for all pixels of a tile, may be left out by a condition (KLoopHooks::tap_condition).
// The loops with such conditions are the outermost ones within a block.
//
// If the data is not stored in blocks of channels, the last reduced axis takes the place of the block's channels.
#pragma once

#include <functional>

#include "tensor/schedules/contraction.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

// K indices of a chunk, at most: those of one channel block.
inline constexpr int64_t max_chunk = channel_block;

// A range of K: blocks [first, first + blocks), and the rest of K after all blocks when `with_rest`.
struct KRange {
  Expr first;
  int64_t blocks = 0;
  bool with_rest = true;
};

// The chunk `number` of the `count` chunks of a range; it has `unrolled_blocks` unrolled blocks.
struct KChunk {
  Expr number;
  int64_t count = 0;
  int64_t unrolled_blocks = 1;
};

// The numbers of the cache lines that tile `tile` of `tiles` prefetches in a chunk; each tile takes an equal,
// contiguous share of `lines`. Few lines are prefetched before the chunk, and many are spread over its unrolled blocks:
// the result is empty in the first case if `unrolled_block` is a number of an unrolled block, in the second if
// `unrolled_block` is null.
std::vector<Expr> prefetched_lines(int64_t lines, const Expr& tile, int64_t tiles, const KChunk&,
                                   const Expr& unrolled_block, const Machine&);

// Statements to insert before each chunk, and before each unrolled block of a chunk with several blocks. Both functions
// may return null.
struct KLoopHooks {
  std::function<Stmt(const KChunk&)> before_chunk;
  std::function<Stmt(const KChunk&, const Expr& unrolled_block)> before_unrolled_block;
  // The variable that numbers the K indices of an unrolled block in the body. It is 0 in the rest of K, which is not
  // unrolled. Null: the body has no such variable.
  Var k_in_block = {};
  // The body within whole chunks, of max_chunk K indices, in place of the other one; `k_in_chunk` numbers their K
  // indices. Null: there is no difference.
  Stmt chunk_body = nullptr;
  Var k_in_chunk = {};
  // Whether the loop over the reduced axis of this position is outside of those for which it is false, instead of in
  // the order of the axes.
  std::function<bool(size_t axis)> is_outer = [](size_t) { return false; };
  // For the position of a reduced axis that is a loop over taps, the condition under which the body changes something;
  // it may use the axis. Null: it always may.
  std::function<Expr(size_t axis)> tap_condition = [](size_t) { return Expr(); };
};

// The loops over K of one contraction on one machine. The plan, the machine and the configuration must outlive them.
class KLoops {
 public:
  KLoops(const ContractionPlan&, const Machine&, const TuningConfig&);

  KRange all() const { return {Expr(0), blocks_, true}; }
  int64_t blocks() const { return blocks_; }
  int64_t block_size() const { return block_size_; }  // K indices of a block, without the taps
  bool is_whole(const KChunk& chunk) const { return chunk.unrolled_blocks * k_unroll_ == max_chunk; }
  // The reduced axis along which neighbouring elements of the data are stored next to each other.
  const Axis& innermost_axis() const { return axes()[innermost_]; }
  bool has_rest() const { return rest_ > 0; }

  // Number of K blocks accumulated before the partial sums are added up, when `tiles` register tiles read a panel; 0:
  // all of K in one accumulator. K is blocked for accuracy (ContractionPlan::k_per_accumulator), and if a large panel
  // would leave no room for prefetched lines in the first-level cache.
  int64_t blocks_per_partial_sum(int64_t tiles) const;

  int64_t k_in(const KRange&) const;  // number of K indices

  // The weights that are prefetched while a range of K is multiplied.
  struct NextWeights {
    bool in_next_panel;
    Substitution begin;  // first index of each reduced axis
  };
  NextWeights next_weights(const KRange&) const;

  // The loops over a range of K around `body`. The body multiplies one K index, or k_interleave K indices that begin
  // with it.
  Stmt loops(const Stmt& body, const KRange&, const KLoopHooks&) const;
  // The same loops without chunks and hooks; the body is for `step` K indices, which divide block_size().
  Stmt plain_loops(const Stmt& body, const KRange&, int64_t step) const;

 private:
  const std::vector<Axis>& axes() const { return plan_.function.stages[0].reduction->axes; }
  int64_t panel_bytes(int64_t k) const;  // bytes of `k` K indices of a panel
  int64_t unrolled_blocks_per_chunk() const { return max_chunk / k_unroll_; }
  int64_t unrolled_blocks_in(int64_t k) const;
  int64_t chunks_in(int64_t k) const;
  Stmt chunk(const Stmt& body, const Expr& base, int64_t count, const KChunk& first, const KLoopHooks&) const;

  const ContractionPlan& plan_;
  const Machine& machine_;
  const TuningConfig& config_;
  size_t innermost_ = 0;                             // position of innermost_axis()
  int64_t block_size_ = 1, blocks_ = 0, rest_ = 0;   // of the innermost axis
  int64_t outer_k_ = 1;                              // product of the other reduced axes
  int64_t k_unroll_ = 1;                             // Machine::k_unroll, or that of byte products without vectors
  bool unrolls_all_ = false, unrolls_rest_ = false;  // the loops over all of a short K; the rest behind unrolled blocks
};

}  // namespace dlcc::tensor

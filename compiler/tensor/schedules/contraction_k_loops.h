// The loops over K of a contraction:
//
//   for block < K blocks:             # blocks of channels, as the data is stored; outermost
//     for tap:                        # the other reduced axes, in order
//       chunk:                        # up to 16 neighbouring channels of the block
//         prefetch                    # hook before_chunk
//         for step < chunk / k_unroll:
//           prefetch                  # hook before_unrolled_block
//           unrolled k < k_unroll: body
//   the rest of K that fills no block
//
// Data that is not stored in blocks of channels has the last reduced axis in place of the block's channels.
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

// The chunk `number` of the `count` chunks of a range; it has `steps` unrolled blocks.
struct KChunk {
  Expr number;
  int64_t count = 0;
  int64_t steps = 1;
};

// The cache lines that tile `tile` of `tiles` prefetches in a chunk: each tile takes an equal, contiguous share of
// `lines`. The lines of unrolled block `step`, or, when `step` is null, those of the chunk as a whole: empty for one of
// the two.
std::vector<Expr> prefetched_lines(int64_t lines, const Expr& tile, int64_t tiles, const KChunk&, const Expr& step,
                                   const Machine&);

// Statements before each chunk, and before each unrolled block of a chunk that has several.
struct KLoopHooks {
  std::function<Stmt(const KChunk&)> before_chunk;
  std::function<Stmt(const KChunk&, const Expr& step)> before_unrolled_block;
  // A variable of the body: the number of the K index in its unrolled block; 0 for the rest, which is not unrolled.
  // Null: the body has none.
  Var k_in_block = {};
};

class KLoops {
 public:
  KLoops(const ContractionPlan&, const Machine&, const TuningConfig&);

  KRange all() const { return {Expr(0), blocks_, true}; }
  int64_t blocks() const { return blocks_; }
  // The reduced axis whose neighbours the data stores next to each other.
  const Axis& innermost_axis() const { return axes()[innermost_]; }
  bool has_rest() const { return rest_ > 0; }

  // Number of K blocks accumulated before the partial sums are added up, when `tiles` register tiles read a panel; 0:
  // all of K in one accumulator. K is blocked for accuracy (ContractionPlan::k_per_accumulator), and where a large
  // panel would leave the first-level cache no room for prefetched lines.
  int64_t blocks_per_partial_sum(int64_t tiles) const;

  int64_t k_in(const KRange&) const;  // number of K indices

  // The weights that are prefetched while a range of K is multiplied.
  struct NextWeights {
    bool in_next_panel;
    Substitution begin;  // first index of each reduced axis
  };
  NextWeights next_weights(const KRange&) const;

  // The loops over a range of K around `body`, which multiplies one K index, or k_interleave of them from it on.
  Stmt loops(const Stmt& body, const KRange&, const KLoopHooks&) const;

 private:
  const std::vector<Axis>& axes() const { return plan_.function.stages[0].reduction->axes; }
  int64_t panel_bytes(int64_t k) const;  // of k indices
  int64_t unrolled_blocks_per_chunk() const { return max_chunk / machine_.k_unroll; }
  int64_t unrolled_blocks_in(int64_t k) const;
  int64_t chunks_in(int64_t k) const;
  Stmt chunk(const Stmt& body, const Expr& base, int64_t count, const KChunk& first, const KLoopHooks&) const;

  const ContractionPlan& plan_;
  const Machine& machine_;
  const TuningConfig& config_;
  size_t innermost_ = 0;                            // reduced axis whose neighbours the data stores next to each other
  int64_t block_size_ = 1, blocks_ = 0, rest_ = 0;  // of the innermost axis
  int64_t outer_k_ = 1;                             // product of the other reduced axes
};

}  // namespace dlcc::tensor

// The loops over the terms of a contraction's sums.
#pragma once

#include <functional>

#include "tensor/schedules/contraction.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

// A step is the terms between which there is no branch (Machine::k_unroll); a run of several steps is what lies in
// one block of the data.
inline constexpr int64_t run_terms = channel_block;

// A part of the sums: some blocks of terms, perhaps with the terms that are left behind all blocks.
struct KRange {
  Expr first;
  int64_t blocks = 0;
  bool with_rest = true;
};

// Neighbouring terms, before or between whose steps lines are prefetched: the how-manieth run of a part, of how many.
struct KRun {
  Expr number;
  int64_t count = 0;
  int64_t steps = 1;
};

// The lines, of `lines` behind each other, that a run of the how-manieth tile, of how many, prefetches: before a step,
// or before the whole run, when `step` is null. Every tile takes a contiguous share.
std::vector<Expr> lines_to_fetch(int64_t lines, const Expr& tile, int64_t tiles, const KRun&, const Expr& step,
                                 const Machine&);

// What is done beside the terms.
struct KLoopHooks {
  std::function<Stmt(const KRun&)> before_run;
  std::function<Stmt(const KRun&, const Expr& step)> before_step;  // of a run that has several
};

// Innermost runs the axis whose terms are neighbours in the data's storage: the elements of a block, if the axis is
// stored in blocks, which are then the outermost loop; else the last axis.
class KLoops {
 public:
  KLoops(const ContractionPlan&, const Machine&, const TuningConfig&);

  KRange all() const { return {Expr(0), blocks_, true}; }
  int64_t blocks() const { return blocks_; }
  bool has_rest() const { return rest_ > 0; }

  // Into parts of so many blocks the sums of so many tiles are to be cut, or not: 0. Long sums lose accuracy with every
  // term, where that matters; and a large panel that several tiles read leaves the cache little room for what is
  // fetched beside it, which is the more the fewer they are.
  int64_t blocks_per_part(int64_t tiles) const;

  int64_t terms_in(const KRange&) const;
  // The part of the weights that is fetched while a part of a panel is multiplied.
  struct Ahead {
    bool in_next_panel;
    Substitution begin;  // values of the reduced axes
  };
  Ahead ahead_of(const KRange&) const;

  // `body` for every term of the part, or the first of those that are interleaved, a few of them without a branch in
  // between.
  Stmt loops(const Stmt& body, const KRange&, const KLoopHooks&) const;

 private:
  const std::vector<Axis>& axes() const { return plan_.function.stages[0].reduction->axes; }
  int64_t bytes_of(int64_t terms) const;  // of a panel
  int64_t steps_per_run() const { return run_terms / machine_.k_unroll; }
  int64_t steps_of(int64_t terms) const;
  int64_t runs_of(int64_t terms) const;
  Stmt neighbours(const Stmt& body, const Expr& base, int64_t count, const KRun& first, const KLoopHooks&) const;

  const ContractionPlan& plan_;
  const Machine& machine_;
  const TuningConfig& config_;
  size_t innermost_ = 0;
  int64_t size_ = 1, blocks_ = 0, rest_ = 0;  // the innermost axis: terms of a block; whole blocks; terms behind them
  int64_t others_ = 1;                        // product of the other axes
};

}  // namespace dlcc::tensor

#include "tensor/schedules/contraction_k_loops.h"

#include <algorithm>

#include "tensor/schedules/loops.h"

namespace dlcc::tensor {

// Lines on their way from memory occupy what other loads need as well, so many are not asked for at once, but some of
// them before each step. Hardware fetches ahead of them, but only so far: ahead of two places at half the pace more is
// under way.
std::vector<Expr> lines_to_fetch(int64_t lines, const Expr& tile, int64_t tiles, const KRun& run, const Expr& step,
                                 const Machine& machine) {
  const int64_t places = machine.prefetch_streams;
  int64_t of_run = ceil_div(lines, tiles * run.count);
  bool many = run.steps % places == 0 && of_run >= run.steps;
  std::vector<Expr> found;
  if (many != static_cast<bool>(step)) return found;
  Expr share = tile * Expr(ceil_div(lines, tiles));
  if (!many) {
    for (int64_t k = 0; k < of_run; ++k) found.push_back(share + run.number * Expr(of_run) + Expr(k));
    return found;
  }
  int64_t of_step = ceil_div(of_run, run.steps), of_place = of_step * run.steps / places;
  for (int64_t k = 0; k < of_step; ++k) {
    Expr in_run = step * Expr(of_step) + Expr(k), place = floor_mod(in_run, Expr(places));
    Expr number = run.number * Expr(of_place) + floor_div(in_run, Expr(places));
    found.push_back(share + place * Expr(run.count * of_place) + number);
  }
  return found;
}

KLoops::KLoops(const ContractionPlan& plan, const Machine& machine, const TuningConfig& config)
    : plan_(plan), machine_(machine), config_(config) {
  innermost_ = plan.blocked_k >= 0 ? static_cast<size_t>(plan.blocked_k) : axes().size() - 1;
  for (size_t k = 0; k < axes().size(); ++k)
    if (k != innermost_) others_ *= axes()[k].extent.value();
  int64_t extent = axes()[innermost_].extent.value();
  size_ = std::max<int64_t>(extent, 1);
  if (plan.blocked_k >= 0)
    size_ = plan.k_block;
  else if (axes().size() == 1 && extent >= run_terms)
    size_ = run_terms;
  else if (plan.k_per_accumulator > 0)
    size_ = std::min(size_, plan.k_per_accumulator);
  blocks_ = extent / size_, rest_ = extent % size_;
}

int64_t KLoops::terms_in(const KRange& p) const { return others_ * (p.blocks * size_ + (p.with_rest ? rest_ : 0)); }

int64_t KLoops::bytes_of(int64_t terms) const {
  return terms * plan_.panel * bits(plan_.contraction.weights.buffer->type) / 8;
}

int64_t KLoops::blocks_per_part(int64_t tiles) const {
  DType type = plan_.function.stages[0].results[0]->type;
  int64_t terms = terms_in(all()), limit = terms, of_block = size_ * others_;
  if (plan_.k_per_accumulator > 0 && is_float(type)) limit = std::min(limit, plan_.k_per_accumulator);
  bool early = tiles <= machine_.max_tiles_of_early_k_blocking;
  int64_t large = machine_.l2_reuse_limit() / (early ? 2 : 1);
  bool pays = config_.k_blocking.value_or(bytes_of(terms) >= large);
  // Whole blocks that fill the first-level cache best.
  int64_t near = (machine_.l1_bytes / bytes_of(1) + of_block / 2) / of_block * of_block;
  if (tiles > 1 && plan_.panels && pays) limit = std::min(limit, near);
  return limit < terms && blocks_ > 0 ? std::max<int64_t>(limit / of_block, 1) : 0;
}

// The next part; of an only panel the same part of what lies behind it, as it was itself fetched before.
KLoops::Ahead KLoops::ahead_of(const KRange& p) const {
  const Axis& column = plan_.function.stages[0].axes[static_cast<size_t>(plan_.n_axis)];
  bool only = column.extent.value() <= plan_.panel;
  Ahead ahead{only || p.with_rest, {}};
  for (const Axis& a : axes()) ahead.begin[a.var] = Expr(0);
  Expr block = only ? p.first : p.first + Expr(p.blocks);
  if (only || !p.with_rest) ahead.begin[axes()[innermost_].var] = block * Expr(size_);
  return ahead;
}

// Few terms, such as the taps of a row or the channels of a picture, are a plain loop.
int64_t KLoops::steps_of(int64_t terms) const {
  bool plain = plan_.blocked_k < 0 && terms < 4 * machine_.k_unroll;
  return plain ? 0 : terms / machine_.k_unroll;
}

// The steps of a block make one run; where the terms lie in no blocks, each step is one.
int64_t KLoops::runs_of(int64_t terms) const {
  int64_t steps = steps_of(terms);
  return steps <= steps_per_run() ? std::min<int64_t>(steps, 1) : steps;
}

Stmt KLoops::loops(const Stmt& body, const KRange& part, const KLoopHooks& hooks) const {
  int64_t runs_per_block = others_ * runs_of(size_);
  int64_t runs = part.blocks * runs_per_block + (part.with_rest ? others_ * runs_of(rest_) : 0);
  auto one_block = [&](const Expr& block, int64_t count, const Expr& runs_before) {
    Expr own(0);
    for (size_t k = 0; k < axes().size(); ++k)
      if (k != innermost_) own = own * Expr(axes()[k].extent.value()) + Expr(axes()[k].var);
    Expr number = runs_before + own * Expr(runs_of(count));  // of the block's first run here
    Stmt nest = neighbours(body, block * Expr(size_), count, {number, runs}, hooks);
    for (size_t k = axes().size(); k-- > 0;)
      if (k != innermost_) nest = for_loop(axes()[k].var, axes()[k].extent.value(), LoopKind::serial, nest);
    return nest;
  };
  std::vector<Stmt> parts;
  Var block = make_var("block");
  if (part.blocks > 0)
    parts.push_back(for_loop(block, part.blocks, LoopKind::serial,
                             one_block(part.first + Expr(block), size_, Expr(block) * Expr(runs_per_block))));
  if (part.with_rest && rest_ > 0) parts.push_back(one_block(Expr(blocks_), rest_, Expr(part.blocks * runs_per_block)));
  return sequence(std::move(parts));
}

// `count` terms of the innermost axis from `base` on.
Stmt KLoops::neighbours(const Stmt& body, const Expr& base, int64_t count, const KRun& first,
                        const KLoopHooks& hooks) const {
  const Var& axis = axes()[innermost_].var;
  int64_t steps = steps_of(count), step_terms = machine_.k_unroll, rest = count - steps * step_terms;
  int64_t together = plan_.interleave;
  Var step = make_var("step"), term = make_var("term"), last = make_var("term");
  std::vector<Stmt> parts;
  if (steps > 0) {
    Stmt whole = substitute(body, {{axis, base + Expr(step) * Expr(step_terms) + Expr(term) * Expr(together)}});
    whole = for_loop(term, step_terms / together, LoopKind::unrolled, whole);
    if (steps <= steps_per_run()) {
      KRun run{first.number, first.count, steps};
      parts.push_back(substitute(hooks.before_run(run), {{axis, base}}));
      whole = sequence({hooks.before_step(run, step), whole});
    } else {
      whole = sequence({hooks.before_run({first.number + Expr(step), first.count}), whole});
    }
    parts.push_back(for_loop(step, steps, LoopKind::serial, whole));
  }
  bool few = steps > 0 || plan_.blocked_k >= 0;
  Stmt more = substitute(body, {{axis, base + Expr(steps * step_terms) + Expr(last) * Expr(together)}});
  if (rest > 0) parts.push_back(for_loop(last, rest / together, few ? LoopKind::unrolled : LoopKind::serial, more));
  return sequence(std::move(parts));
}

}  // namespace dlcc::tensor

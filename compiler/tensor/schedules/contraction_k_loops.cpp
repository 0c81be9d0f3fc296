#include "tensor/schedules/contraction_k_loops.h"

#include <algorithm>

#include "support/integers.h"
#include "tensor/byte_products.h"

namespace dlcc::tensor {

// Cache lines in flight occupy line fill buffers, which other cache misses need as well. A chunk that prefetches many
// lines therefore spreads them over its unrolled blocks and takes them in turn from several streams
// (Machine::prefetch_streams).
std::vector<Expr> prefetched_lines(int64_t lines, const Expr& tile, int64_t tiles, const KChunk& chunk,
                                   const Expr& unrolled_block, const Machine& machine) {
  const int64_t streams = machine.prefetch_streams;
  if (streams == 0) return {};
  int64_t of_chunk = ceil_div(lines, tiles * chunk.count);
  bool many = chunk.unrolled_blocks % streams == 0 && of_chunk >= chunk.unrolled_blocks;
  std::vector<Expr> found;
  if (many != static_cast<bool>(unrolled_block)) return found;
  Expr share = tile * Expr(ceil_div(lines, tiles));
  if (!many) {
    for (int64_t k = 0; k < of_chunk; ++k) found.push_back(share + chunk.number * Expr(of_chunk) + Expr(k));
    return found;
  }
  int64_t per_block = ceil_div(of_chunk, chunk.unrolled_blocks),
          of_stream = per_block * chunk.unrolled_blocks / streams;
  for (int64_t k = 0; k < per_block; ++k) {
    Expr in_chunk = unrolled_block * Expr(per_block) + Expr(k), stream = floor_mod(in_chunk, Expr(streams));
    Expr number = chunk.number * Expr(of_stream) + floor_div(in_chunk, Expr(streams));
    found.push_back(share + stream * Expr(chunk.count * of_stream) + number);
  }
  return found;
}

KLoops::KLoops(const ContractionPlan& plan, const Machine& machine, const TuningConfig& config)
    : plan_(plan), machine_(machine), config_(config) {
  innermost_ = plan.blocked_k >= 0 ? static_cast<size_t>(plan.blocked_k) : axes().size() - 1;
  for (size_t k = 0; k < axes().size(); ++k)
    if (k != innermost_) outer_k_ *= axes()[k].extent.value();
  int64_t extent = axes()[innermost_].extent.value();
  block_size_ = std::max<int64_t>(extent, 1);
  const bool has_scalar_sums = plan.byte_products && is_scalar(machine.byte_products);
  if (plan.blocked_k >= 0)
    block_size_ = plan.k_block;
  else if (has_scalar_sums)
    block_size_ = std::max<int64_t>(extent, 1);
  else if (axes().size() == 1 && extent >= max_chunk)
    block_size_ = max_chunk;
  else if (plan.k_per_accumulator > 0)
    block_size_ = std::min(block_size_, plan.k_per_accumulator);
  blocks_ = extent / block_size_, rest_ = extent % block_size_;
  const int64_t unrolled_products = machine.scalar_k_unroll * plan.k_interleave;
  unrolls_all_ = has_scalar_sums && outer_k_ * block_size_ <= 2 * unrolled_products;
  unrolls_rest_ = has_scalar_sums || plan.blocked_k >= 0;
  k_unroll_ = has_scalar_sums ? unrolled_products : machine.k_unroll;
}

int64_t KLoops::k_in(const KRange& k) const { return outer_k_ * (k.blocks * block_size_ + (k.with_rest ? rest_ : 0)); }

int64_t KLoops::panel_bytes(int64_t k) const {
  return k * plan_.panel_width * bits(plan_.contraction.weights.buffer->type) / 8;
}

int64_t KLoops::blocks_per_partial_sum(int64_t tiles) const {
  DType type = plan_.function.stages[0].results[0]->type;
  int64_t all_k = k_in(all()), limit = all_k, of_block = block_size_ * outer_k_;
  if (plan_.k_per_accumulator > 0 && is_float(type)) limit = std::min(limit, plan_.k_per_accumulator);
  bool early = tiles <= machine_.max_tiles_of_early_k_blocking;
  int64_t large = machine_.l2_reuse_limit() / (early ? 2 : 1);
  bool is_blocked = config_.k_blocking.value_or(panel_bytes(all_k) >= large);
  // The number of whole K blocks whose part of the panel is closest to the size of the first-level cache.
  int64_t in_l1 = (machine_.l1_bytes / panel_bytes(1) + of_block / 2) / of_block * of_block;
  if (tiles > 1 && plan_.panels && is_blocked) limit = std::min(limit, in_l1);
  return limit < all_k && blocks_ > 0 ? std::max<int64_t>(limit / of_block, 1) : 0;
}

// The next range of K in the panel; after the last range, the first range of the next panel. If there is a single
// panel, the next range is in the cache already. Then the memory after the panel is prefetched, which the next kernel
// may read.
KLoops::NextWeights KLoops::next_weights(const KRange& k) const {
  const Axis& n = plan_.function.stages[0].axes[static_cast<size_t>(plan_.n_axis)];
  bool only = n.extent.value() <= plan_.panel_width;
  NextWeights next{only || k.with_rest, {}};
  for (const Axis& a : axes()) next.begin[a.var] = Expr(0);
  Expr block = only ? k.first : k.first + Expr(k.blocks);
  if (only || !k.with_rest) next.begin[axes()[innermost_].var] = block * Expr(block_size_);
  return next;
}

// The number of unrolled blocks in `k` K indices. 0 for few K indices, such as the taps of a row or the channels of the
// input image: their loop is not unrolled.
int64_t KLoops::unrolled_blocks_in(int64_t k) const {
  bool plain = plan_.blocked_k < 0 && k < machine_.min_unrolled_blocks * machine_.k_unroll;
  return plain ? 0 : k / k_unroll_;
}

// The number of chunks in `k` K indices. A block of at most max_chunk channels is one chunk; in a longer block each
// unrolled block is a chunk.
int64_t KLoops::chunks_in(int64_t k) const {
  int64_t unrolled_blocks = unrolled_blocks_in(k);
  return unrolled_blocks <= unrolled_blocks_per_chunk() ? std::min<int64_t>(unrolled_blocks, 1) : unrolled_blocks;
}

Stmt KLoops::loops(const Stmt& body, const KRange& range, const KLoopHooks& hooks) const {
  int64_t chunks_per_block = outer_k_ * chunks_in(block_size_);
  int64_t chunks = range.blocks * chunks_per_block + (range.with_rest ? outer_k_ * chunks_in(rest_) : 0);
  const LoopKind kind = unrolls_all_ ? LoopKind::unrolled : LoopKind::serial;
  auto one_block = [&](const Expr& block, int64_t count, const Expr& chunks_before) {
    Expr tap(0);
    for (size_t k = 0; k < axes().size(); ++k)
      if (k != innermost_) tap = tap * Expr(axes()[k].extent.value()) + Expr(axes()[k].var);
    Expr number = chunks_before + tap * Expr(chunks_in(count));  // of the tap's first chunk in this block
    Stmt nest = chunk(body, block * Expr(block_size_), count, {number, chunks}, hooks);
    for (const bool is_outer : {false, true})
      for (size_t k = axes().size(); k-- > 0;) {
        if (k == innermost_ || hooks.is_outer(k) != is_outer) continue;
        if (const Expr condition = hooks.tap_condition(k); condition && !unrolls_all_) nest = if_then(condition, nest);
        nest = for_loop(axes()[k].var, axes()[k].extent.value(), kind, nest);
      }
    return nest;
  };
  std::vector<Stmt> all;
  Var block = make_var("block");
  if (range.blocks > 0)
    all.push_back(for_loop(block, range.blocks, LoopKind::serial,
                           one_block(range.first + Expr(block), block_size_, Expr(block) * Expr(chunks_per_block))));
  if (range.with_rest && rest_ > 0)
    all.push_back(one_block(Expr(blocks_), rest_, Expr(range.blocks * chunks_per_block)));
  return sequence(std::move(all));
}

Stmt KLoops::plain_loops(const Stmt& body, const KRange& range, int64_t step) const {
  Var block = make_var("block"), in_block = make_var("k");
  const Expr k = (range.first + Expr(block)) * Expr(block_size_) + Expr(in_block) * Expr(step);
  Stmt nest = for_loop(in_block, block_size_ / step, LoopKind::serial, substitute(body, {{axes()[innermost_].var, k}}));
  for (size_t a = axes().size(); a-- > 0;)
    if (a != innermost_) nest = for_loop(axes()[a].var, axes()[a].extent.value(), LoopKind::serial, nest);
  return for_loop(block, range.blocks, LoopKind::serial, nest);
}

// The chunks of the K indices [base, base + count) of the innermost axis.
Stmt KLoops::chunk(const Stmt& body, const Expr& base, int64_t count, const KChunk& first,
                   const KLoopHooks& hooks) const {
  const Var& axis = axes()[innermost_].var;
  int64_t unrolled_blocks = unrolled_blocks_in(count), k_unroll = k_unroll_, rest = count - unrolled_blocks * k_unroll;
  int64_t together = plan_.k_interleave;
  Var unrolled_block = make_var("unrolled_block"), k = make_var("k"), last = make_var("k");
  auto at = [&](const Expr& in_chunk, const Expr& in_block, bool is_whole) {
    Substitution s = {{axis, base + in_chunk}};
    if (hooks.k_in_block) s[hooks.k_in_block] = in_block;
    if (hooks.k_in_chunk) s[hooks.k_in_chunk] = in_chunk;
    return substitute(is_whole && hooks.chunk_body ? hooks.chunk_body : body, s);
  };
  std::vector<Stmt> all;
  if (unrolled_blocks > 0) {
    Stmt unrolled = at(Expr(unrolled_block) * Expr(k_unroll) + Expr(k) * Expr(together), k,
                       is_whole({first.number, first.count, unrolled_blocks}));
    unrolled = for_loop(k, k_unroll / together, LoopKind::unrolled, unrolled);
    if (unrolled_blocks <= unrolled_blocks_per_chunk()) {
      KChunk whole{first.number, first.count, unrolled_blocks};
      all.push_back(substitute(hooks.before_chunk(whole), {{axis, base}}));
      unrolled = sequence({hooks.before_unrolled_block(whole, unrolled_block), unrolled});
    } else {
      unrolled = sequence({hooks.before_chunk({first.number + Expr(unrolled_block), first.count}), unrolled});
    }
    all.push_back(for_loop(unrolled_block, unrolled_blocks, LoopKind::serial, unrolled));
  }
  bool few = unrolled_blocks > 0 || unrolls_rest_;
  Stmt more = at(Expr(unrolled_blocks * k_unroll) + Expr(last) * Expr(together), Expr(0), false);
  if (rest > 0) all.push_back(for_loop(last, rest / together, few ? LoopKind::unrolled : LoopKind::serial, more));
  return sequence(std::move(all));
}

}  // namespace dlcc::tensor

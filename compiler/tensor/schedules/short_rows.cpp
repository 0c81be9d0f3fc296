#include "tensor/schedules/short_rows.h"

#include <algorithm>

#include "tensor/analysis.h"
#include "tensor/passes/merge_axes.h"
#include "tensor/schedules/block_loops.h"
#include "tensor/schedules/sizes.h"
#include "tensor/slices.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// Rows of a block. A stage reads what the stage before has stored in vectors that begin elsewhere, which waits for the
// stores if they are recent: with 16 rows a LogSoftmax of 1000 x 5 takes 1.9 times as long. 128 short rows stay in the
// first-level cache.
constexpr int64_t rows_per_block = 128;

bool keeps_more_than(const ScheduledFunction& f, int64_t bytes) {
  return std::ranges::any_of(f.variants.back().params, [&](const Parameter& p) {
    return p.access == Access::scratch && bytes_of(p.buffer) > bytes;
  });
}

// Whether some stage reduces rows shorter than a vector, and the stages may be cut into blocks of rows: no requirement
// must be checked even if there are no rows.
bool has_short_rows(const TensorFunction& f, int64_t lanes) {
  auto is_short = [&](const Stage& s) {
    return s.reduction && !s.reduction->axes.empty() && provably_lt(s.reduction->axes.back().extent, lanes);
  };
  return !has_body(f) && f.results[0]->rank() > 0 && std::ranges::any_of(f.stages, is_short) &&
         std::ranges::all_of(f.stages, [](const Stage& s) { return s.requirements.empty(); });
}

// The scratch of a block as a local buffer: of the largest size.
Buffer local_of(const Buffer& b) {
  Shape shape = b->shape;
  for (Dim& d : shape) d = d.upper_bound().value_or(0);
  return make_buffer(b->name, b->type, shape, Scope::local, b->alignment);
}

// The number of rows of the last block, fewer than a block has: a constant, or a symbol of its own, so that index
// arithmetic within the block is as simple as in a whole function.
Dim rows_left(const TensorFunction& f, const Dim& count) {
  if (count.is_constant()) return count.value() % rows_per_block;
  Symbol left{"rows_left", 0, rows_per_block - 1};
  while (std::ranges::count(symbols_of(f), left)) left.name += "_";
  return Dim::symbol(left);
}

// Makes the scratch of the kernels local.
void make_scratch_local(ScheduledFunction& f) {
  for (Kernel& kernel : f.variants)
    std::erase_if(kernel.params, [&](const Parameter& p) {
      if (p.access != Access::scratch) return false;
      const Buffer local = local_of(p.buffer);
      kernel.body = allocate(local, rewrite_accesses(kernel.body, [&](Buffer& accessed, std::vector<Expr>&) {
                               if (accessed == p.buffer) accessed = local;
                             }));
      return true;
    });
}

}  // namespace

std::optional<ScheduledFunction> schedule_short_rows(const ScheduleRequest& r, const ScheduledFunction& whole) {
  const Machine& machine = storage_machine(r.machines);
  if (!keeps_more_than(whole, machine.max_row_scratch())) return std::nullopt;
  if (!has_short_rows(r.function, machine.lanes(32))) return std::nullopt;
  if (std::ranges::any_of(r.layouts, [](const Layout& l) { return !l.is_dense(); })) return std::nullopt;
  ScheduleRequest rows = r;
  merge_axes(rows.function, rows.layouts);
  const Dim& count = rows.function.results[0]->shape[0];
  if (provably_le(count, rows_per_block)) return std::nullopt;
  std::vector<RowBlock> blocks;
  std::optional<Slices> slices;
  for (const Dim& n : {Dim(rows_per_block), rows_left(r.function, count)}) {
    if (n == Dim(0)) continue;
    auto block = find_row_blocks(rows.function, n);
    if (!block) return std::nullopt;
    for (size_t k = 0; k < r.constant.size(); ++k)
      if (r.constant[k] && block->sliced[k]) return std::nullopt;
    ScheduleRequest of_block = rows;
    of_block.function = block->slice;
    ScheduledFunction scheduled = schedule(std::move(of_block));
    if (keeps_more_than(scheduled, machine.max_row_scratch())) return std::nullopt;
    make_scratch_local(scheduled);
    blocks.push_back({n, std::move(scheduled)});
    if (!slices) slices = std::move(block);
  }
  return join_row_blocks(r.function, *slices, blocks);
}

}  // namespace dlcc::tensor

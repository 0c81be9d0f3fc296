#include "tensor/schedules/row_blocks.h"

#include <algorithm>
#include <map>

#include "tensor/analysis.h"
#include "tensor/passes/merge_axes.h"
#include "tensor/schedules/contraction.h"
#include "tensor/schedules/sizes.h"
#include "tensor/slices.h"
#include "tensor/verify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// The schedule of a block of `rows` rows.
struct Block {
  int64_t rows;
  ScheduledFunction scheduled;
};

// Joins the kernels of blocks of all sizes to one kernel over all rows.
class BlockLoops {
 public:
  BlockLoops(const Slices& slices, const std::vector<Block>& blocks, std::vector<Var> scalars)
      : slices_(slices), blocks_(blocks), scalars_(std::move(scalars)) {}

  // The kernel for machine `m`. Empty if blocks of different sizes do not share operands.
  std::optional<Kernel> joined(size_t m) {
    const Kernel& first = blocks_[0].scheduled.variants[m];
    result_ = {first.name, {}, nullptr, scalars_};
    for (size_t k = 0; k < slices_.sliced.size(); ++k) {
      Parameter p = first.params[k];
      if (slices_.sliced[k]) p.buffer = all_rows(p.buffer);
      result_.params.push_back(std::move(p));
    }
    std::vector<Stmt> body;
    Dim done = 0;
    for (size_t k = 0; k < blocks_.size(); ++k) {
      if (!share_parameters(blocks_[k], m)) return std::nullopt;
      body.push_back(loop(k, m, done));
    }
    result_.body = with_unique_names(sequence(std::move(body)));
    verify_after("schedule_row_blocks", result_);
    return result_;
  }

 private:
  Buffer all_rows(const Buffer& block) const {
    BufferNode node = *block;
    node.shape[0] = slices_.count;
    return std::make_shared<const BufferNode>(std::move(node));
  }

  // Maps the parameters of a block's kernel to those of the joined kernel. Blocks share scratch buffers of equal shape.
  bool share_parameters(const Block& block, size_t m) {
    buffers_.clear();
    const Kernel& kernel = block.scheduled.variants[m];
    for (size_t k = 0; k < kernel.params.size(); ++k) {
      const Parameter& p = kernel.params[k];
      if (k < slices_.sliced.size()) {
        const Buffer& whole = result_.params[k].buffer;
        Shape expected = whole->shape;
        if (slices_.sliced[k]) expected[0] = block.rows;
        if (p.buffer->shape != expected) return false;
        buffers_[p.buffer] = whole;
        continue;
      }
      auto same = std::ranges::find_if(result_.params, [&](const Parameter& other) {
        return other.access == Access::scratch && other.buffer->type == p.buffer->type &&
               other.buffer->shape == p.buffer->shape;
      });
      buffers_[p.buffer] = same != result_.params.end() ? same->buffer : result_.params.emplace_back(p).buffer;
    }
    return true;
  }

  // The loop over the blocks of one size, of which as many as fit begin after the first `done` rows. Adds their rows to
  // `done`.
  Stmt loop(size_t k, size_t m, Dim& done) const {
    const int64_t rows = blocks_[k].rows;
    const Dim count = floor_div(slices_.count - done, rows);
    Var b = make_var("block");
    const Expr first = Expr(done) + Expr(b) * Expr(rows);
    done = done + count * Dim(rows);
    Stmt body = rewrite_accesses(blocks_[k].scheduled.variants[m].body, [&](Buffer& buffer, std::vector<Expr>& at) {
      auto it = buffers_.find(buffer);
      if (it == buffers_.end()) return;
      for (size_t p = 0; p < slices_.sliced.size(); ++p)
        if (slices_.sliced[p] && result_.params[p].buffer == it->second) at[0] = first + at[0];
      buffer = it->second;
    });
    const bool has_scratch =
        std::ranges::any_of(result_.params, [](const Parameter& p) { return p.access == Access::scratch; });
    return for_loop(b, Expr(count), k == 0 && !has_scratch ? LoopKind::parallel : LoopKind::serial, body);
  }

  const Slices& slices_;
  const std::vector<Block>& blocks_;
  std::vector<Var> scalars_;
  Kernel result_;
  std::map<Buffer, Buffer> buffers_;  // of the result, by those of the kernel of a block
};

// Whether the function is a contraction with two axes, M and N, of which M occurs in the data only.
bool is_product_of_rows(const Slices& slices, const std::vector<bool>& constant) {
  const TensorFunction& f = slices.slice;
  auto contraction = slices.axes == 1 ? find_contraction(f, constant) : std::nullopt;
  if (!contraction || f.stages[0].axes.size() != 2) return false;
  auto is_sliced = [&](const Load& l) {
    return slices.sliced[static_cast<size_t>(std::ranges::find(f.params, l.buffer) - f.params.begin())];
  };
  return is_sliced(contraction->data) && !is_sliced(contraction->weights);
}

// The configuration for blocks of all sizes: the panel width that the largest blocks would choose, if they have panels.
TuningConfig shared_config(const ScheduleRequest& r) {
  TuningConfig config = r.config;
  if (auto plan =
          plan_contraction(r.function, r.layouts, r.constant, r.options, storage_machine(r.machines), false, r.config))
    config.panel_width = plan->panel_width;
  return config;
}

}  // namespace

std::optional<ScheduledFunction> schedule_row_blocks(const ScheduleRequest& r) {
  if (symbols_of(r.function).empty() || has_body(r.function)) return std::nullopt;
  ScheduleRequest whole = r;
  for (size_t k = 0; k < r.constant.size(); ++k)
    if (r.constant[k]) whole.layouts[k] = {};
  if (std::ranges::any_of(whole.layouts, [](const Layout& l) { return !l.is_dense(); })) return std::nullopt;
  merge_axes(whole.function, whole.layouts);
  std::vector<Block> blocks;
  std::optional<Slices> slices;
  for (int64_t rows : storage_machine(r.machines).row_block_sizes) {
    auto block = find_slices(whole.function, rows);
    if (!block || !is_product_of_rows(*block, r.constant)) return std::nullopt;
    ScheduleRequest of_block = whole;
    of_block.function = block->slice;
    if (!slices) {
      whole.config = of_block.config = shared_config(of_block);
      slices = block;
    }
    blocks.push_back({rows, schedule(std::move(of_block))});
  }
  BlockLoops loops(*slices, blocks, scalars_of_kernel(r.function));
  ScheduledFunction result = blocks[0].scheduled;
  for (size_t m = 0; m < result.variants.size(); ++m) {
    auto kernel = loops.joined(m);
    if (!kernel) return std::nullopt;
    result.variants[m] = std::move(*kernel);
  }
  for (size_t k = 0; k < r.function.params.size(); ++k)
    if (slices->sliced[k]) result.packing[k] = nullptr;
  return result;
}

}  // namespace dlcc::tensor

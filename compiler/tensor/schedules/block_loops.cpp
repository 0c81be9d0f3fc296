#include "tensor/schedules/block_loops.h"

#include <algorithm>
#include <map>

#include "tensor/schedules/sizes.h"
#include "tensor/verify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class BlockLoops {
 public:
  BlockLoops(const Slices& slices, const std::vector<RowBlock>& blocks, std::vector<Var> scalars)
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
    verify_after("join_row_blocks", result_);
    return result_;
  }

 private:
  Buffer all_rows(const Buffer& block) const {
    BufferNode node = *block;
    node.shape[0] = slices_.count;
    return std::make_shared<const BufferNode>(std::move(node));
  }

  // Maps the parameters of a block's kernel to those of the joined kernel. Blocks share scratch buffers of equal shape.
  bool share_parameters(const RowBlock& block, size_t m) {
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

  // The blocks of one size, of which as many as fit begin after the first `done` rows. Adds their rows to `done`.
  Stmt loop(size_t k, size_t m, Dim& done) const {
    const Dim rows = blocks_[k].rows, left = slices_.count - done;
    Var b = make_var("block");
    const Expr first = rows.is_constant() ? Expr(done) + Expr(b) * Expr(rows) : Expr(done);
    Stmt body = rewrite_accesses(blocks_[k].scheduled.variants[m].body, [&](Buffer& buffer, std::vector<Expr>& at) {
      auto it = buffers_.find(buffer);
      if (it == buffers_.end()) return;
      for (size_t p = 0; p < slices_.sliced.size(); ++p)
        if (slices_.sliced[p] && result_.params[p].buffer == it->second) at[0] = first + at[0];
      buffer = it->second;
    });
    if (!rows.is_constant()) return let(scalar_of(rows.symbols().front()), Expr(left), body);
    const Dim count = floor_div(left, rows);
    done = done + count * rows;
    const bool has_scratch =
        std::ranges::any_of(result_.params, [](const Parameter& p) { return p.access == Access::scratch; });
    return for_loop(b, Expr(count), k == 0 && !has_scratch ? LoopKind::parallel : LoopKind::serial, body);
  }

  const Slices& slices_;
  const std::vector<RowBlock>& blocks_;
  std::vector<Var> scalars_;
  Kernel result_;
  std::map<Buffer, Buffer> buffers_;  // of the result, by those of the kernel of a block
};

}  // namespace

std::optional<ScheduledFunction> join_row_blocks(const TensorFunction& f, const Slices& slices,
                                                 const std::vector<RowBlock>& blocks) {
  BlockLoops loops(slices, blocks, scalars_of_kernel(f));
  ScheduledFunction result = blocks[0].scheduled;
  for (size_t m = 0; m < result.variants.size(); ++m) {
    auto kernel = loops.joined(m);
    if (!kernel) return std::nullopt;
    result.variants[m] = std::move(*kernel);
  }
  for (size_t k = 0; k < f.params.size(); ++k)
    if (slices.sliced[k]) result.packing[k] = nullptr;
  return result;
}

}  // namespace dlcc::tensor

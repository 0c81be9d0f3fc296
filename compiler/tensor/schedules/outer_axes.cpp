#include "tensor/schedules/outer_axes.h"

#include <algorithm>

#include "tensor/analysis.h"
#include "tensor/schedules/sizes.h"
#include "tensor/slices.h"
#include "tensor/verify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// Puts the loop over slices around a kernel for one slice.
class SliceLoop {
 public:
  SliceLoop(const Slices& slices, std::vector<Var> scalars, int threads)
      : slices_(slices), scalars_(std::move(scalars)), threads_(threads) {}

  Kernel around(const Kernel& slice) {
    buffers_.clear();
    Kernel result{slice.name, slice.params, nullptr, scalars_};
    bool has_scratch = false;
    for (size_t k = 0; k < result.params.size(); ++k) {
      Parameter& p = result.params[k];
      has_scratch |= p.access == Access::scratch;
      if (k < slices_.sliced.size() && slices_.sliced[k]) p.buffer = whole(p.buffer);
    }
    Stmt serial = loop(slice.body, LoopKind::serial);
    result.body = serial;
    if (threads_ > 1 && !has_scratch)
      result.body = if_then(Expr(threads_) <= Expr(slices_.count),
                            with_unique_names(loop(slice.body, LoopKind::parallel)), with_unique_names(serial));
    verify_after("schedule_outer_axes", result);
    return result;
  }

 private:
  // The buffer of all slices.
  Buffer whole(const Buffer& slice) {
    BufferNode node = *slice;
    node.shape.insert(node.shape.begin(), slices_.count);
    return buffers_[slice] = std::make_shared<const BufferNode>(std::move(node));
  }

  Stmt loop(const Stmt& body, LoopKind kind) {
    Var b = make_var("slice");
    Stmt indexed = rewrite_accesses(body, [&](Buffer& buffer, std::vector<Expr>& indices) {
      auto it = buffers_.find(buffer);
      if (it == buffers_.end()) return;
      buffer = it->second;
      indices.insert(indices.begin(), b);
    });
    return for_loop(b, Expr(slices_.count), kind, indexed);
  }

  const Slices& slices_;
  std::vector<Var> scalars_;
  int threads_;
  std::map<Buffer, Buffer> buffers_;  // of all slices, by the slice's
};

// Whether each result reads elements of its own: neighbours along the last reduced axis, or one element that is the
// same for the whole row. So each axis of the result is an index of the load, unlike in a factor of a contraction,
// which several results share, and no index is a sum of axes, unlike in a window.
bool reads_row(const Load& l, const Stage& stage) {
  auto is_index = [&](const Axis& a) {
    return std::ranges::any_of(l.indices, [&](const Expr& index) { return is_var(index, a.var); });
  };
  for (const Axis& a : stage.axes)
    if (a.extent != Dim(1) && !is_index(a)) return false;
  const Axis& last = stage.reduction->axes.back();
  bool along_last = false, along_any = false;
  for (size_t d = 0; d < l.indices.size(); ++d) {
    if (!as<VarRef>(l.indices[d]) && !constant_integer(l.indices[d])) return false;
    along_last |= is_var(l.indices[d], last.var) && is_innermost(*l.buffer, d);
  }
  for (const Axis& a : stage.reduction->axes) along_any |= is_index(a);
  return along_last || !along_any;
}

// Whether the stage reduces rows, as the stages of a softmax along the innermost axis do.
bool reduces_rows(const Stage& stage) {
  return stage.reduction && !stage.reduction->axes.empty() && std::ranges::all_of(stage.values, [&](const Expr& value) {
           return std::ranges::all_of(loads_of(value), [&](const Load& l) { return reads_row(l, stage); });
         });
}

// Whether the schedule of one slice suits the function. Reductions of rows are better scheduled with all slices: the
// slices are the lanes if a row is shorter than a vector, and else what is kept of one row is a local variable.
bool suits_slices(const ScheduleRequest& r) {
  const auto is_dense = [](const Layout& l) { return l.is_dense(); };
  const auto reduces_other = [](const Stage& s) { return s.reduction && !reduces_rows(s); };
  return std::ranges::any_of(r.function.stages, [](const Stage& s) { return s.reduction.has_value(); }) &&
         (!std::ranges::all_of(r.layouts, is_dense) || std::ranges::any_of(r.function.stages, reduces_other));
}

}  // namespace

std::optional<ScheduledFunction> schedule_outer_axes(const ScheduleRequest& r) {
  if (!suits_slices(r)) return std::nullopt;
  auto slices = find_slices(r.function);
  if (!slices) return std::nullopt;
  ScheduleRequest one = r;
  one.function = slices->slice;
  for (size_t k = 0; k < one.layouts.size(); ++k) {
    if (!slices->sliced[k]) continue;
    auto layout = layout_of_slice(one.layouts[k], slices->axes);
    if (!layout || (k < r.constant.size() && r.constant[k])) return std::nullopt;
    one.layouts[k] = std::move(*layout);
  }
  ScheduledFunction result = schedule(std::move(one));
  SliceLoop loop(*slices, scalars_of_kernel(r.function), r.options.threads);
  for (Kernel& kernel : result.variants) kernel = loop.around(kernel);
  for (size_t k = 0; k < r.function.params.size(); ++k)
    if (slices->sliced[k]) result.packing[k] = nullptr;
  return result;
}

}  // namespace dlcc::tensor

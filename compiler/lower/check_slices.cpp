#include "lower/check_slices.h"

#include <algorithm>
#include <optional>

#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::lower {
namespace {

// The expression with the scalars that steps of this region compute replaced by their definitions.
tensor::Expr with_definitions(const Region& region, tensor::Expr e) {
  for (auto step = region.steps.rbegin(); step != region.steps.rend(); ++step)
    if (const auto* compute = std::get_if<Compute>(&*step))
      e = tensor::substitute(e, {{compute->result, compute->value}});
  return e;
}

// The counter's value in the last iteration. Empty unless it counts from 0 by 1 up to a constant and nothing else ends
// the loop.
std::optional<int64_t> last_count(const Loop& loop, const Loop::Carried& counter) {
  const auto* less = tensor::as<tensor::Binary>(with_definitions(loop.test, loop.condition));
  if (!less || less->op != tensor::BinaryOp::lt || tensor::constant_integer(counter.initial) != 0) return {};
  const tensor::Expr i = counter.var, next = with_definitions(loop.body, counter.next);
  const std::optional<int64_t> limit = tensor::constant_integer(less->b);
  const bool counts = tensor::structurally_equal(less->a, i) && limit > 0 && limit < INT64_MAX &&
                      tensor::constant_integer(tensor::simplify(next - i)) == 1;
  return counts ? std::optional(*limit - 1) : std::nullopt;
}

}  // namespace

std::vector<ValueId> written_by_slices(const Program& program, const Function& function, const Loop& loop) {
  std::vector<ValueId> found;
  for (const Loop::Carried& counter : loop.carried) {
    const std::optional<int64_t> last = last_count(loop, counter);
    if (!last) continue;
    auto consider = [&](ValueId v) {
      if (v < 0 || v >= static_cast<ValueId>(function.values.size()) || !function.values[v].begin) return;
      const Value& view = function.values[v];
      const std::optional<int64_t> bytes = function.values[view.base].bytes.constant(), slice = view.bytes.constant();
      const bool tiles = bytes && slice && *slice > 0 && view.base_offset == 0 && view.stride == *slice &&
                         *bytes % *slice == 0 && *bytes / *slice == *last + 1;
      const tensor::Expr at = with_definitions(loop.body, view.begin);
      const tensor::Expr forward = tensor::simplify(at - tensor::Expr(counter.var));
      const tensor::Expr backward = tensor::simplify(at + tensor::Expr(counter.var));
      if (tiles && (tensor::constant_integer(forward) == 0 || tensor::constant_integer(backward) == *last))
        found.push_back(view.base);
    };
    for (const Step& step : loop.body.steps) {
      if (const auto* copy = std::get_if<Copy>(&step)) consider(copy->to);
      const auto* call = std::get_if<Invoke>(&step);
      if (!call || call->kernel < 0 || call->kernel >= static_cast<int>(program.kernels.size())) continue;
      for (const tensor::Kernel& kernel : program.kernels[static_cast<size_t>(call->kernel)].variants)
        for (size_t k = 0; k < std::min(call->operands.size(), kernel.params.size()); ++k)
          if (kernel.params[k].access == tensor::Access::write) consider(call->operands[k]);
    }
  }
  return found;
}

}  // namespace dlcc::lower

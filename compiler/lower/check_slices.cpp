#include "lower/check_slices.h"

#include <algorithm>
#include <map>
#include <optional>

#include "lower/walk.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::lower {
namespace {

// The definitions of the scalars that steps of a function compute.
class Definitions {
 public:
  explicit Definitions(const Function& f) {
    for_each_step(f.body, [&](const Step& step) {
      if (const auto* compute = std::get_if<Compute>(&step)) values_.emplace(compute->result, compute->value);
    });
  }

  // The expression with the definitions inserted, and their definitions in turn.
  tensor::Expr insert(const tensor::Expr& e) const {
    return tensor::rewrite(e, [&](const tensor::Expr& part) {
      const auto* scalar = tensor::as<tensor::VarRef>(part);
      const auto found = scalar ? values_.find(scalar->var) : values_.end();
      return found == values_.end() ? part : insert(found->second);
    });
  }

 private:
  std::map<tensor::Var, tensor::Expr> values_;
};

// The counter's value in the last iteration. Empty unless it counts from 0 by 1 up to a constant and nothing else ends
// the loop.
std::optional<int64_t> last_count(const Loop& loop, const Loop::Carried& counter, const Definitions& definitions) {
  const auto* less = tensor::as<tensor::Binary>(definitions.insert(loop.condition));
  if (!less || less->op != tensor::BinaryOp::lt || tensor::constant_integer(counter.initial) != 0) return {};
  const tensor::Expr i = counter.var, next = definitions.insert(counter.next);
  const std::optional<int64_t> limit = tensor::constant_integer(less->b);
  const bool counts = tensor::structurally_equal(less->a, i) && limit > 0 && limit < INT64_MAX &&
                      tensor::constant_integer(tensor::simplify(next - i)) == 1;
  return counts ? std::optional(*limit - 1) : std::nullopt;
}

}  // namespace

std::vector<ValueId> written_by_slices(const Program& program, const Function& function, const Loop& loop) {
  std::vector<ValueId> found;
  const Definitions definitions(function);
  for (const Loop::Carried& counter : loop.carried) {
    const std::optional<int64_t> last = last_count(loop, counter, definitions);
    if (!last) continue;
    auto consider = [&](ValueId v) {
      if (v < 0 || v >= static_cast<ValueId>(function.values.size()) || !function.values[v].begin) return;
      const Value& view = function.values[v];
      const std::optional<int64_t> bytes = function.values[view.base].bytes.constant(), slice = view.bytes.constant();
      const bool tiles =
          bytes && slice && *slice > 0 && view.base_offset == 0 && *bytes % *slice == 0 && *bytes / *slice == *last + 1;
      if (!tiles) return;
      const tensor::Expr at = definitions.insert(view.begin) * tensor::Expr(view.stride);
      const tensor::Expr ith = tensor::Expr(counter.var) * tensor::Expr(*slice);
      const auto forward = tensor::constant_integer(tensor::simplify(at - ith));
      const auto backward = tensor::constant_integer(tensor::simplify(at + ith));
      if (forward == 0 || backward == *last * *slice) found.push_back(view.base);
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

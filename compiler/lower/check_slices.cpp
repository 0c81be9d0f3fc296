#include "lower/check_slices.h"

#include <algorithm>
#include <functional>
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

// Whether the carried scalar counts the iterations: it begins at 0, and each iteration adds 1. It does not wrap: the
// loop would have to run 2^63 times.
bool counts_iterations(const Loop::Carried& counter, const Definitions& definitions) {
  const tensor::Expr more = tensor::simplify(definitions.insert(counter.next) - tensor::Expr(counter.var));
  return counter.var->type == dtype::i64 && tensor::constant_integer(counter.initial) == 0 &&
         tensor::constant_integer(more) == 1;
}

// The counter's value in the last iteration. Empty unless it counts up to a constant and nothing else ends the loop.
std::optional<int64_t> last_count(const Loop& loop, const Loop::Carried& counter, const Definitions& definitions) {
  const auto* less = tensor::as<tensor::Binary>(definitions.insert(loop.condition));
  if (!less || less->op != tensor::BinaryOp::lt || !counts_iterations(counter, definitions)) return {};
  const std::optional<int64_t> limit = tensor::constant_integer(less->b);
  const bool is_limited =
      tensor::structurally_equal(less->a, tensor::Expr(counter.var)) && limit > 0 && limit < INT64_MAX;
  return is_limited ? std::optional(*limit - 1) : std::nullopt;
}

// Calls `visit` with each view at a scalar that a step of the loop's body writes, and with the step's position there.
// Steps in arms and in loops within the body may not be executed.
void for_each_written_slice(const Program& program, const Function& function, const Loop& loop,
                            const std::function<void(const Value& view, size_t step)>& visit) {
  auto consider = [&](ValueId v, size_t step) {
    const bool is_value = v >= 0 && v < static_cast<ValueId>(function.values.size());
    if (is_value && function.values[static_cast<size_t>(v)].begin) visit(function.values[static_cast<size_t>(v)], step);
  };
  for (size_t k = 0; k < loop.body.steps.size(); ++k) {
    if (const auto* copy = std::get_if<Copy>(&loop.body.steps[k])) consider(copy->to, k);
    const auto* call = std::get_if<Invoke>(&loop.body.steps[k]);
    if (!call || call->kernel < 0 || call->kernel >= static_cast<int>(program.kernels.size())) continue;
    for (const tensor::Kernel& kernel : program.kernels[static_cast<size_t>(call->kernel)].variants)
      for (size_t p = 0; p < std::min(call->operands.size(), kernel.params.size()); ++p)
        if (kernel.params[p].access == tensor::Access::write) consider(call->operands[p], k);
  }
}

// The offset of the view in its base, in bytes, less and plus the offset of slice `counter`; empty where the counter
// does not cancel. The first is 0 if the view is slice `counter`. The second is the offset of the last slice if the
// view is the slice at this distance from the last one.
struct SliceOffset {
  std::optional<int64_t> less_counter, plus_counter;
};
SliceOffset offset_of(const Value& view, int64_t slice_bytes, const tensor::Var& counter,
                      const Definitions& definitions) {
  const tensor::Expr at = definitions.insert(view.begin) * tensor::Expr(view.stride);
  const tensor::Expr ith = tensor::Expr(counter) * tensor::Expr(slice_bytes);
  return {tensor::constant_integer(tensor::simplify(at - ith)), tensor::constant_integer(tensor::simplify(at + ith))};
}

// Whether the condition implies that the counter, which is not negative, is smaller than `limit`. A comparison states
// that a difference is at least 0; the distance of the counter from the largest index is at least this difference.
bool implies_below(const tensor::Expr& condition, const tensor::Var& counter, int64_t limit) {
  const auto* x = tensor::as<tensor::Binary>(condition);
  if (!x) return false;
  if (x->op == tensor::BinaryOp::logical_and)
    return implies_below(x->a, counter, limit) || implies_below(x->b, counter, limit);
  const bool is_less = x->op == tensor::BinaryOp::lt, is_at_most = x->op == tensor::BinaryOp::le;
  if ((!is_less && !is_at_most) || x->a.type() != dtype::i64) return false;
  const tensor::Ranges ranges = {{counter, {0, INT64_MAX}}};
  const tensor::Expr difference = x->b - x->a - tensor::Expr(is_less ? 1 : 0);
  const tensor::Expr distance = tensor::Expr(limit - 1) - tensor::Expr(counter);
  const auto more = tensor::range_of(tensor::simplify(distance - difference, ranges), ranges);
  return more && more->low >= 0;
}

// Whether the loop's condition, or a requirement of the body before the step, ensures that the counter is smaller than
// `limit` when the step is executed.
bool is_below(const Loop& loop, size_t step, const tensor::Var& counter, int64_t limit,
              const Definitions& definitions) {
  if (implies_below(definitions.insert(loop.condition), counter, limit)) return true;
  return std::any_of(loop.body.steps.begin(), loop.body.steps.begin() + static_cast<std::ptrdiff_t>(step),
                     [&](const Step& s) {
                       const auto* require = std::get_if<Require>(&s);
                       return require && implies_below(definitions.insert(require->condition), counter, limit);
                     });
}

// The value of the sizes that steps define as the counter. Several such sizes are equal in every run; a sample in which
// they differ is interpreted at the largest.
std::optional<int64_t> size_of_count(std::span<const Step> steps, const tensor::Var& counter,
                                     const Definitions& definitions, const Sizes& sizes) {
  std::optional<int64_t> count;
  for (const Step& step : steps) {
    const auto* compute = std::get_if<Compute>(&step);
    if (!compute || !tensor::is_symbol_var(compute->result)) continue;
    const auto size = sizes.find(compute->result->name);
    const bool is_count = tensor::structurally_equal(definitions.insert(compute->value), tensor::Expr(counter));
    if (is_count && size != sizes.end()) count = std::max(count.value_or(0), size->second);
  }
  return count;
}

}  // namespace

std::vector<ValueId> written_by_slices(const Program& program, const Function& function, const Loop& loop) {
  std::vector<ValueId> found;
  const Definitions definitions(function);
  for (const Loop::Carried& counter : loop.carried) {
    const std::optional<int64_t> last = last_count(loop, counter, definitions);
    if (!last) continue;
    for_each_written_slice(program, function, loop, [&](const Value& view, size_t) {
      const std::optional<int64_t> bytes = function.values[view.base].bytes.constant(), slice = view.bytes.constant();
      const bool tiles =
          bytes && slice && *slice > 0 && view.base_offset == 0 && *bytes % *slice == 0 && *bytes / *slice == *last + 1;
      if (!tiles) return;
      const SliceOffset offset = offset_of(view, *slice, counter.var, definitions);
      if (offset.less_counter == 0 || offset.plus_counter == *last * *slice) found.push_back(view.base);
    });
  }
  return found;
}

std::vector<CountedSlices> counted_slices(const Program& program, const Function& function, const Loop& loop,
                                          std::span<const Step> after, const Sizes& sizes,
                                          const std::function<int64_t(ValueId)>& memory_of) {
  std::vector<CountedSlices> found;
  const Definitions definitions(function);
  for (const Loop::Carried& counter : loop.carried) {
    if (!counts_iterations(counter, definitions)) continue;
    const auto count = size_of_count(after, counter.var, definitions, sizes);
    if (!count) continue;
    for_each_written_slice(program, function, loop, [&](const Value& view, size_t step) {
      const auto slice = view.bytes.constant(), all = function.values[view.base].bytes.constant();
      if (slice && *slice > 0 && all && *count <= *all / *slice && view.base_offset == 0 &&
          offset_of(view, *slice, counter.var, definitions).less_counter == 0 &&
          is_below(loop, step, counter.var, memory_of(view.base) / *slice, definitions))
        found.push_back({view.base, *count * *slice});
    });
  }
  return found;
}

}  // namespace dlcc::lower

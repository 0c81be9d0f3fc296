#include "lower/loop_slices.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "lower/largest_size.h"
#include "lower/walk.h"
#include "tensor/analysis.h"
#include "tensor/dim_of.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::lower {
namespace {

const Value& value_of(const Function& f, ValueId v) { return f.values[static_cast<size_t>(v)]; }

ValueId base_of(const Function& f, ValueId v) {
  return value_of(f, v).storage == Storage::view ? value_of(f, v).base : v;
}

const std::vector<tensor::Parameter>& parameters(const Program& program, const Invoke& call) {
  return program.kernels[static_cast<size_t>(call.kernel)].variants[0].params;
}

// Calls `visit` with the values that the step writes. A step with regions has none.
void for_each_written(const Program& program, const Step& step, const std::function<void(ValueId)>& visit) {
  if (const auto* copy = std::get_if<Copy>(&step)) visit(copy->to);
  if (const auto* call = std::get_if<Invoke>(&step))
    for (size_t k = 0; k < call->operands.size(); ++k)
      if (parameters(program, *call)[k].access == tensor::Access::write) visit(call->operands[k]);
}

// Calls `visit` with the values that the step only reads. A step with regions has none.
void for_each_read(const Program& program, const Step& step, const std::function<void(ValueId)>& visit) {
  if (const auto* copy = std::get_if<Copy>(&step)) visit(copy->from);
  if (const auto* read = std::get_if<Read>(&step)) visit(read->from);
  if (const auto* call = std::get_if<Call>(&step))
    for (ValueId v : call->operands) visit(v);
  if (const auto* call = std::get_if<Invoke>(&step))
    for (size_t k = 0; k < call->operands.size(); ++k)
      if (parameters(program, *call)[k].access == tensor::Access::read) visit(call->operands[k]);
}

// Stores the slices that the loops of one function write.
class SliceStorer {
 public:
  SliceStorer(const Program& program, Function& function) : program_(program), function_(function) {}

  void run() { visit(function_.body); }

 private:
  void visit(Region& region) {
    for (size_t at = 0; at < region.steps.size(); ++at) {
      if (const auto* branch = std::get_if<std::shared_ptr<Branch>>(&region.steps[at])) {
        visit((*branch)->then_region);
        visit((*branch)->else_region);
      }
      if (const auto* loop = std::get_if<std::shared_ptr<Loop>>(&region.steps[at])) {
        visit((*loop)->test);
        visit((*loop)->body);
        at = store_slices(region, at, **loop);
      }
    }
  }

  // `at`: the position of the loop in the region. Returns its position afterwards.
  size_t store_slices(Region& region, size_t at, const Loop& loop) {
    std::set<ValueId> sliced;
    for (const Step& step : loop.body.steps)
      for_each_written(program_, step, [&](ValueId v) {
        if (value_of(function_, v).begin) sliced.insert(base_of(function_, v));
      });
    for (const ValueId v : sliced)
      for (const Loop::Carried& counter : loop.carried)
        if (const auto bytes = slice_bytes(loop, counter, v);
            bytes && reads_only_written(region, at, counter.var, v, *bytes)) {
          const auto before = region.steps.begin() + static_cast<std::ptrdiff_t>(at);
          const auto kept = std::remove_if(region.steps.begin(), before,
                                           [&](const Step& step) { return only_writes(program_, step, v); });
          at = static_cast<size_t>(kept - region.steps.begin());
          region.steps.erase(kept, before);
          if (&region == &function_.body) store_in_output(at, v);
          break;
        }
    return at;
  }

  // The bytes of a slice of the temporary, if the loop counts from 0 by 1 and writes the slice at the counter.
  std::optional<Dim> slice_bytes(const Loop& loop, const Loop::Carried& counter, ValueId v) const {
    if (value_of(function_, v).storage != Storage::temporary) return std::nullopt;
    const ValueId slice = written_slice(program_, function_, loop, v);
    if (slice < 0 || tensor::constant_integer(counter.initial) != 0 || !counts_by_one(loop, counter.var))
      return std::nullopt;
    const Dim count = Dim::symbol(count_);
    const auto begin = dim_of(value_of(function_, slice).begin, counter.var);
    const Dim bytes = value_of(function_, slice).bytes;
    const bool is_at_counter = begin && *begin * Dim(value_of(function_, slice).stride) == count * bytes;
    return is_at_counter && is_in_memory(loop, counter.var, slice) ? std::optional(bytes) : std::nullopt;
  }

  // The expression as a dim over the sizes that are known before the run and the counter.
  std::optional<Dim> dim_of(const tensor::Expr& e, const tensor::Var& counter) const {
    const std::vector<Symbol> symbols = entry_symbols(program_);
    return tensor::dim_of(e, [&](const tensor::Var& x) {
      return x == counter ? std::optional(Dim::symbol(count_)) : as_dim(x, symbols);
    });
  }

  // Whether the condition implies that the counter is smaller than `limit`.
  bool implies_below(const tensor::Expr& condition, const tensor::Var& counter, const Dim& limit) const {
    const auto* x = tensor::as<tensor::Binary>(condition);
    if (!x) return false;
    if (x->op == tensor::BinaryOp::logical_and)
      return implies_below(x->a, counter, limit) || implies_below(x->b, counter, limit);
    if (x->op != tensor::BinaryOp::lt && x->op != tensor::BinaryOp::le) return false;
    const auto a = dim_of(x->a, counter), b = dim_of(x->b, counter);
    const Dim is_less = x->op == tensor::BinaryOp::lt ? 1 : 0;
    return a && b && provably_le(*b - *a - is_less, limit - Dim(1) - Dim::symbol(count_));
  }

  // Whether the loop's condition or a requirement before the write of the slice ensures that the slice is in the memory
  // of its base. The checker of storage plans requires this.
  bool is_in_memory(const Loop& loop, const tensor::Var& counter, ValueId slice) const {
    tensor::Substitution definitions;
    for (const Region* region : {&loop.test, &loop.body})
      for (const Step& step : region->steps)
        if (const auto* compute = std::get_if<Compute>(&step)) definitions.emplace(compute->result, compute->value);
    const Value& view = value_of(function_, slice);
    const Dim limit = floor_div(value_of(function_, view.base).bytes, view.bytes);
    auto implies = [&](const tensor::Expr& condition) {
      return implies_below(tensor::substitute(condition, definitions), counter, limit);
    };
    if (implies(loop.condition)) return true;
    for (const Step& step : loop.body.steps) {
      bool is_write = false;
      for_each_written(program_, step, [&](ValueId v) { is_write |= v == slice; });
      const auto* require = std::get_if<Require>(&step);
      if (is_write || (require && implies(require->condition))) return !is_write;
    }
    return false;
  }

  // Whether all uses of the value but the loop's are steps of the region: before the loop, steps that only write the
  // value, and after it, steps that read the first slices, as many as the counter says.
  bool reads_only_written(const Region& region, size_t at, const tensor::Var& counter, ValueId v,
                          const Dim& slice_bytes) const {
    int64_t uses = 0, known = 1;  // the loop has one
    for_each_step(function_.body, [&](const Step& step) { uses += count_uses(step, v); });
    for (size_t k = 0; k < at; ++k)
      if (only_writes(program_, region.steps[k], v)) known += count_uses(region.steps[k], v);
    std::vector<Dim> written;  // sizes of the written slices, in bytes
    for (size_t k = at + 1; k < region.steps.size(); ++k) {
      const auto* compute = std::get_if<Compute>(&region.steps[k]);
      const auto* ref = compute ? tensor::as<tensor::VarRef>(compute->value) : nullptr;
      if (ref && ref->var == counter && tensor::is_symbol_var(compute->result))
        written.push_back(Dim::symbol({compute->result->name}) * slice_bytes);
      for_each_step({{region.steps[k]}}, [&](const Step& step) {
        for_each_read(program_, step, [&](ValueId read) {
          const Value& view = value_of(function_, read);
          known += view.storage == Storage::view && view.base == v && !view.begin && view.base_offset == Dim(0) &&
                   std::ranges::count(written, view.bytes) > 0;
        });
      });
    }
    return uses == known;
  }

  int64_t count_uses(const Step& step, ValueId value) const {
    int64_t count = 0;
    for_each_value(step, [&](ValueId v) { count += base_of(function_, v) == value; });
    return count;
  }

  // Makes the views of the value views of an output to which a step after the loop copies the slices.
  void store_in_output(size_t at, ValueId v) {
    std::vector<Step>& steps = function_.body.steps;
    for (size_t k = at + 1; k < steps.size(); ++k) {
      const auto* copy = std::get_if<Copy>(&steps[k]);
      if (!copy || base_of(function_, copy->from) != v) continue;
      const ValueId to = copy->to;
      const Value& output = value_of(function_, to);
      int64_t uses = 0;
      for_each_step(function_.body, [&](const Step& step) { uses += count_uses(step, to); });
      const bool has_memory = provably_le(value_of(function_, v).bytes, largest_size(program_, output.bytes));
      if (output.storage != Storage::output || uses != 1 || !has_memory) continue;
      for (Value& view : function_.values)
        if (view.storage == Storage::view && view.base == v) view.base = to;
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(k));
      return;
    }
  }

  const Program& program_;
  Function& function_;
  const Symbol count_{"the counter", 0};  // no size has a name with a space
};

}  // namespace

ValueId written_slice(const Program& program, const Function& function, const Loop& loop, ValueId value) {
  std::vector<ValueId> uses;
  auto note = [&](const Step& step) {
    for_each_value(step, [&](ValueId v) {
      if (base_of(function, v) == value) uses.push_back(v);
    });
  };
  for_each_step(loop.test, note);
  for_each_step(loop.body, note);
  if (uses.size() != 1 || !value_of(function, uses[0]).begin || value_of(function, uses[0]).base_offset != 0) return -1;
  bool is_written = false;
  for (const Step& step : loop.body.steps)
    for_each_written(program, step, [&](ValueId v) { is_written |= v == uses[0]; });
  return is_written ? uses[0] : -1;
}

bool only_writes(const Program& program, const Step& step, ValueId value) {
  if (const auto* copy = std::get_if<Copy>(&step)) return copy->to == value;
  const auto* call = std::get_if<Invoke>(&step);
  if (!call || tensor::can_fail(program.kernels[static_cast<size_t>(call->kernel)].variants[0])) return false;
  bool others = false, writes = false;
  for_each_written(program, step, [&](ValueId v) { (v == value ? writes : others) = true; });
  return writes && !others;
}

void store_counted_slices(Program& program) {
  for_each_function(program, [&](Function& f) { SliceStorer(program, f).run(); });
}

}  // namespace dlcc::lower

#include "lower/memory_sizes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lower/walk.h"

namespace dlcc::lower {
namespace {

using Dims = std::vector<Dim>;

bool contains(const Dims& list, const Dim& d) { return std::ranges::count(list, d) > 0; }

// Collects, for each value that is not a view, the sizes that are checked before each use of it and of its views.
class ChecksBeforeUses {
 public:
  explicit ChecksBeforeUses(const Function& function) : function_(function), checks_(function.values.size()) {}

  std::vector<std::optional<Dims>> run(const Dims& checked_by_callers) {
    checked_ = checked_by_callers;
    visit(function_.body);
    return std::move(checks_);
  }

 private:
  // A check holds in the rest of its region, and in the regions within.
  void visit(const Region& region) {
    const size_t outside = checked_.size();
    for (const Step& step : region.steps) {
      if (const auto* check = std::get_if<CheckSize>(&step)) {
        checked_.push_back(check->size);
      } else if (const auto* branch = std::get_if<std::shared_ptr<Branch>>(&step)) {
        visit((*branch)->then_region);
        visit((*branch)->else_region);
      } else if (const auto* loop = std::get_if<std::shared_ptr<Loop>>(&step)) {
        visit((*loop)->test);
        visit((*loop)->body);
      } else {
        for_each_value(step, [&](ValueId v) { use(v); });
      }
    }
    checked_.resize(outside);
  }

  void use(ValueId v) {
    const Value& value = function_.values[static_cast<size_t>(v)];
    std::optional<Dims>& checks = checks_[static_cast<size_t>(value.storage == Storage::view ? value.base : v)];
    if (!checks)
      checks = checked_;
    else
      std::erase_if(*checks, [&](const Dim& d) { return !contains(checked_, d); });
  }

  const Function& function_;
  Dims checked_;                             // before the current step
  std::vector<std::optional<Dims>> checks_;  // by value; empty for values that no step uses
};

bool share_a_symbol(const Dim& a, const Dim& b) {
  const std::vector<Symbol> symbols = a.symbols();
  return std::ranges::any_of(b.symbols(), [&](const Symbol& s) { return std::ranges::count(symbols, s) > 0; });
}

// 1 if the size is at least 0, else 0.
Dim is_natural(const Dim& size) { return min(max(size + Dim(1), 0), 1); }

}  // namespace

MemorySizes::MemorySizes(const Program& program, const Function& function)
    : function_(function), largest_(program), checked_before_uses_(function.values.size()) {
  for (const Dim& d : program.checked_sizes) checked_.assume_le(0, d);
  const bool is_program = &function == static_cast<const Function*>(&program);
  const auto checks = ChecksBeforeUses(function).run(is_program ? Dims() : function.checked_sizes);
  for (size_t v = 0; v < checks.size(); ++v) {
    if (!checks[v]) continue;
    for (const Dim& d : *checks[v])
      if (may_be_negative(d) && !contains(checked_before_uses_[v], d)) checked_before_uses_[v].push_back(d);
  }
}

bool MemorySizes::may_be_negative(const Dim& d) const { return !provably_le(0, d) && !checked_.provably_le(0, d); }

Shape MemorySizes::shape(ValueId v) const {
  const Value& value = function_.values[static_cast<size_t>(v)];
  Shape shape = value.shape;
  const ValueId base = value.storage == Storage::view ? value.base : v;
  for (Dim& d : shape) {
    if (!may_be_negative(d)) continue;
    const Dim whole = std::exchange(d, max(d, 0));
    for (const Dim& checked : checked_before_uses_[static_cast<size_t>(base)])
      if (!(checked == whole) && share_a_symbol(checked, whole)) d = d * is_natural(largest_(checked));
  }
  return shape;
}

Dim MemorySizes::bytes(ValueId v) const {
  const Value& value = function_.values[static_cast<size_t>(v)];
  const Shape in_memory = shape(v);
  return largest_(in_memory == value.shape ? value.bytes : bytes_of(value.type, in_memory));
}

bool may_be_negative(const Program& program, const Shape& shape) {
  Facts checked;
  for (const Dim& d : program.checked_sizes) checked.assume_le(0, d);
  return std::ranges::any_of(shape, [&](const Dim& d) { return !provably_le(0, d) && !checked.provably_le(0, d); });
}

}  // namespace dlcc::lower

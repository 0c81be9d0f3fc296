#include "lower/memory_sizes.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "lower/compared_sizes.h"
#include "lower/size_conditions.h"
#include "lower/walk.h"

namespace dlcc::lower {
namespace {

using Dims = std::vector<Dim>;

bool contains(const Dims& list, const Dim& d) { return std::ranges::count(list, d) > 0; }

// Whether b - a is a number of at least 0. A general proof that a is at most b would take long, and there are many
// pairs of checks.
bool is_at_most(const Dim& a, const Dim& b) {
  const auto difference = (b - a).constant();
  return difference && *difference >= 0;
}

// The sizes that the program checks before the run, as facts.
Facts checked_before_run(const Program& program) {
  Facts facts;
  for (const Dim& d : program.checked_sizes) facts.assume_le(0, d);
  return facts;
}

// Whether the size is not negative in any run.
bool is_natural(const Dim& d, const Facts& checked) { return provably_le(0, d) || checked.provably_le(0, d); }

// The sizes that are checked before each of several steps; empty if there is no step yet.
class ChecksBeforeAll {
 public:
  void add_step(const Dims& checked) {
    if (!checks_)
      checks_ = checked;
    else
      std::erase_if(*checks_, [&](const Dim& d) { return !contains(checked, d); });
  }
  const std::optional<Dims>& checks() const { return checks_; }

 private:
  std::optional<Dims> checks_;
};

// Collects the sizes that are checked before each use of a value or of its views, and before each call of a function.
class ChecksBeforeSteps {
 public:
  // `wanted`: whether a check is collected. `calls`: by function of the program.
  ChecksBeforeSteps(const Program& program, const Function& function, const std::function<bool(const Dim&)>& wanted,
                    std::vector<ChecksBeforeAll>& calls)
      : function_(function),
        wanted_(wanted),
        compared_(entry_symbols(program)),
        uses_(function.values.size()),
        calls_(calls) {}

  // The checks before the uses of each value. `checked_by_callers`: before each call of the function itself.
  std::vector<ChecksBeforeAll> run(const Dims& checked_by_callers) {
    for (const Dim& d : checked_by_callers) add(d);
    for (const Dim& d : function_.checked_sizes) add(d);
    visit(function_.body);
    return std::move(uses_);
  }

 private:
  void add(const Dim& d) {
    if (!contains(checked_, d) && wanted_(d)) checked_.push_back(d);
  }

  // Afterwards `checked_` has the checks of the region, too.
  void visit(const Region& region) {
    for (const Step& step : region.steps) {
      if (const auto* check = std::get_if<CheckSize>(&step)) {
        add(check->size);
      } else if (const auto* branch = std::get_if<std::shared_ptr<Branch>>(&step)) {
        const Dims then_checks = checked_within((*branch)->then_region, sizes_in_arm(**branch, true));
        const Dims else_checks = checked_within((*branch)->else_region, sizes_in_arm(**branch, false));
        for (const Dim& d : then_checks)
          if (contains(else_checks, d)) add(d);
      } else if (const auto* loop = std::get_if<std::shared_ptr<Loop>>(&step)) {
        visit((*loop)->test);  // at least once, and before the body
        checked_within((*loop)->body, {});
      } else {
        if (const auto* compute = std::get_if<Compute>(&step)) compared_.define(*compute);
        if (const auto* call = std::get_if<Call>(&step)) calls_[static_cast<size_t>(call->function)].add_step(checked_);
        for_each_value(step, [&](ValueId v) { use(v); });
      }
    }
  }

  // Sizes that the program does not check before the arm, because it does not take the arm where they are negative.
  Dims sizes_in_arm(const Branch& branch, bool condition) const {
    return compared_.natural_where(branch.condition, condition);
  }

  // The checks at the end of the region, some of which may not be made. `at_begin`: further ones before its steps.
  Dims checked_within(const Region& region, const Dims& at_begin) {
    const Dims before = checked_;
    for (const Dim& d : at_begin) add(d);
    visit(region);
    return std::exchange(checked_, before);
  }

  void use(ValueId v) {
    const Value& value = function_.values[static_cast<size_t>(v)];
    if (value.storage == Storage::view) use(value.base);
    uses_[static_cast<size_t>(v)].add_step(checked_);
  }

  const Function& function_;
  const std::function<bool(const Dim&)>& wanted_;
  ComparedSizes compared_;
  Dims checked_;  // before the current step
  std::vector<ChecksBeforeAll> uses_;
  std::vector<ChecksBeforeAll>& calls_;
};

// The checks before the uses of each value of `function`, which is the program or one of its functions.
std::vector<ChecksBeforeAll> checks_before_uses(const Program& program, const Function& function,
                                                const std::function<bool(const Dim&)>& wanted) {
  std::vector<ChecksBeforeAll> calls(program.functions.size());
  std::vector<ChecksBeforeAll> uses = ChecksBeforeSteps(program, program, wanted, calls).run({});
  if (&function == static_cast<const Function*>(&program)) return uses;
  for (size_t k = program.functions.size(); k-- > 0;) {  // callers before their callees
    uses = ChecksBeforeSteps(program, program.functions[k], wanted, calls).run(calls[k].checks().value_or(Dims()));
    if (&function == &program.functions[k]) return uses;
  }
  DLCC_CHECK(false, "{} is no function of the program", function.name);
}

// Removes the sizes that are at least as large as another one.
void remove_implied(Dims& checks) {
  Dims smallest;
  for (const Dim& d : checks) {
    if (std::ranges::any_of(smallest, [&](const Dim& s) { return is_at_most(s, d); })) continue;
    std::erase_if(smallest, [&](const Dim& s) { return is_at_most(d, s); });
    smallest.push_back(d);
  }
  checks = std::move(smallest);
}

}  // namespace

std::optional<int64_t> MemorySize::upper_bound() const {
  if (std::ranges::any_of(checks, [](const Dim& d) { return provably_lt(d, 0); })) return 0;
  auto bound = bytes.upper_bound();
  if (bound)  // by the caller's bounds; it may be lower where the checks succeed
    bound = std::min(*bound, bytes.substitute(narrowed_symbols(checks)).upper_bound().value_or(*bound));
  return bound ? std::optional(std::max<int64_t>(*bound, 0)) : std::nullopt;
}

std::optional<int64_t> MemorySize::at(const std::map<std::string, int64_t>& sizes) const {
  for (const Dim& d : checks)
    if (d.evaluate(sizes).value_or(0) < 0) return 0;
  const auto number = bytes.evaluate(sizes);
  return number ? std::optional(std::max<int64_t>(*number, 0)) : std::nullopt;
}

tensor::Expr MemorySize::is_used() const {
  tensor::Expr all = tensor::literal(dtype::boolean, int64_t{1});
  for (const Dim& d : checks) {
    tensor::Expr is_negative = tensor::Expr(d) < tensor::Expr(0);  // unless its computation wraps
    for (const tensor::Expr& condition : conditions_without_wrapping(d))
      is_negative = tensor::logical_and(condition, is_negative);
    all = tensor::logical_and(all, tensor::logical_not(is_negative));
  }
  return all;
}

tensor::Expr MemorySize::expr() const {
  const tensor::Expr natural = dlcc::provably_le(0, bytes) ? tensor::Expr(bytes) : tensor::Expr(max(bytes, 0));
  return checks.empty() ? natural : tensor::select(is_used(), natural, tensor::Expr(0));
}

bool provably_le(const MemorySize& a, const MemorySize& b) {
  const bool is_used_with = std::ranges::all_of(b.checks, [&](const Dim& needed) {
    return std::ranges::any_of(a.checks, [&](const Dim& d) { return is_at_most(d, needed); });
  });
  return (is_used_with && (a.bytes == b.bytes || provably_le(a.bytes, b.bytes))) || a.upper_bound() == 0;
}

MemorySizes::MemorySizes(const Program& program, const Function& function)
    : function_(function), largest_(program), checked_(checked_before_run(program)), checks_(function.values.size()) {
  const auto uses = checks_before_uses(program, function, [&](const Dim& d) { return !is_natural(d, checked_); });
  for (size_t v = 0; v < uses.size(); ++v) {
    checks_[v] = uses[v].checks().value_or(Dims());
    remove_implied(checks_[v]);
  }
}

bool MemorySizes::is_used(ValueId v, const std::map<std::string, int64_t>& symbols) const {
  auto is_natural = [&](const Dim& d) { return d.evaluate(symbols).value_or(0) >= 0; };
  return std::ranges::all_of(function_.values[static_cast<size_t>(v)].shape, is_natural) &&
         std::ranges::all_of(checks_[static_cast<size_t>(v)], is_natural);
}

MemorySize MemorySizes::operator()(ValueId v) const {
  const Value& value = function_.values[static_cast<size_t>(v)];
  Dims checks = checks_[static_cast<size_t>(v)];
  for (const Dim& d : value.shape)
    if (!is_natural(d, checked_) && std::ranges::none_of(checks, [&](const Dim& c) { return is_at_most(c, d); }))
      checks.push_back(d);
  for (Dim& d : checks) d = largest_(d);
  return {largest_(value.bytes), std::move(checks)};
}

bool may_be_negative(const Program& program, const Shape& shape) {
  const Facts checked = checked_before_run(program);
  return !std::ranges::all_of(shape, [&](const Dim& d) { return is_natural(d, checked); });
}

}  // namespace dlcc::lower

#include "frontends/onnx/operators/iteration_bound.h"

#include <algorithm>
#include <array>
#include <utility>

namespace dlcc::frontends::onnx {
namespace {

// An integer of iteration i, from 0 on: first + step * i.
struct Counter {
  Dim first;
  int64_t step = 0;
};

// No step of a counter is larger, so that sums and products of a few do not overflow.
constexpr int64_t largest_step = int64_t{1} << 20;
constexpr bool is_small_step(int64_t step) { return step >= -largest_step && step <= largest_step; }

class ConditionBound {
 public:
  ConditionBound(const BlockBuilder& builder, const LoopValues& loop) : builder_(builder), loop_(loop) {}

  // The number of iterations, from the first on, after which the condition is `expected`, if it is so after no later
  // ones.
  std::optional<Dim> count(const relay::Atom& condition, bool expected) {
    const relay::Call* call = builder_.call_of(condition);
    if (!call) return std::nullopt;
    const std::string& name = std::get<relay::OperatorRef>(call->callee).op->name;
    if (is_view(name)) return count(call->args[0], expected);
    if (name == "logical_not") return count(call->args[0], !expected);
    if (name == (expected ? "logical_and" : "logical_or")) {
      const auto a = count(call->args[0], expected), b = count(call->args[1], expected);
      return a && b ? std::optional(min(*a, *b)) : a ? a : b;
    }
    struct Comparison {
      const char *name, *negated;
      bool swaps, allows_equal;  // b < a in place of a < b
    };
    static constexpr std::array<Comparison, 4> comparisons = {{{"less", "greater_equal", false, false},
                                                               {"less_equal", "greater", false, true},
                                                               {"greater", "less_equal", true, false},
                                                               {"greater_equal", "less", true, true}}};
    for (const Comparison& c : comparisons)
      if (name == (expected ? c.name : c.negated))
        return count_below(call->args[c.swaps ? 1 : 0], call->args[c.swaps ? 0 : 1], c.allows_equal);
    return std::nullopt;
  }

 private:
  // first + step * i < 0 for floor((-1 - first) / step) + 1 numbers i, if step >= 1.
  std::optional<Dim> count_below(const relay::Atom& a, const relay::Atom& b, bool allows_equal) {
    const std::optional<Counter> x = value(a), y = x ? value(b) : std::nullopt;
    if (!y || x->step <= y->step) return std::nullopt;
    const Dim first = x->first - y->first - Dim(allows_equal ? 1 : 0);
    const Dim count = max(floor_div(Dim(-1) - first, x->step - y->step) + Dim(1), 0);
    return count.is_overflow() ? std::nullopt : std::optional(count);
  }

  std::optional<Counter> value(const relay::Atom& atom) {
    if (const auto* var = std::get_if<relay::Var>(&atom)) {
      if (*var == std::get<relay::Var>(loop_.counter.atom)) return Counter{0, 1};
      for (size_t k = 0; k < loop_.carried.size() && k < loop_.initial.size(); ++k)
        if (*var == std::get<relay::Var>(loop_.carried[k].atom)) return carried(k);
    }
    if (const auto size = size_before_loop(atom)) return Counter{*size};
    const relay::Call* call = builder_.call_of(atom);
    if (!call) return std::nullopt;
    const std::string& name = std::get<relay::OperatorRef>(call->callee).op->name;
    if (is_view(name)) return value(call->args[0]);
    const bool is_sum = name == "add";
    if (!is_sum && name != "subtract") return std::nullopt;
    const auto a = value(call->args[0]), b = a ? value(call->args[1]) : std::nullopt;
    if (!b || !is_small_step(a->step) || !is_small_step(b->step)) return std::nullopt;
    return is_sum ? Counter{a->first + b->first, a->step + b->step} : Counter{a->first - b->first, a->step - b->step};
  }

  // A carried integer to which each iteration adds the same number.
  std::optional<Counter> carried(size_t k) {
    if (k >= loop_.next.size() || is_followed_) return std::nullopt;
    const auto first = size_before_loop(loop_.initial[k].atom);
    is_followed_ = true;  // a carried value that depends on another one is no counter
    const auto step = first ? increment(loop_.next[k].atom, loop_.carried[k].atom) : std::nullopt;
    is_followed_ = false;
    if (!step || !is_small_step(*step)) return std::nullopt;
    return Counter{*first, *step};
  }

  // What an iteration adds to the carried value.
  std::optional<int64_t> increment(const relay::Atom& next, const relay::Atom& carried) {
    const auto* var = std::get_if<relay::Var>(&next);
    if (var && *var == std::get<relay::Var>(carried)) return 0;
    const relay::Call* call = builder_.call_of(next);
    if (!call) return std::nullopt;
    const std::string& name = std::get<relay::OperatorRef>(call->callee).op->name;
    if (is_view(name)) return increment(call->args[0], carried);
    if (name != "add" && name != "subtract") return std::nullopt;
    for (const size_t other : {size_t{1}, size_t{0}}) {
      const auto size = size_before_loop(call->args[other]);
      const auto number = size ? size->constant() : std::nullopt;
      const auto rest = number ? increment(call->args[1 - other], carried) : std::nullopt;
      if (!rest || !is_small_step(*rest) || !is_small_step(*number)) continue;
      if (name == "add") return *rest + *number;
      if (other == 1) return *rest - *number;
    }
    return std::nullopt;
  }

  // An integer that is an expression of sizes from before the loop.
  std::optional<Dim> size_before_loop(const relay::Atom& atom) const {
    const relay::KnownValue known = builder_.known({atom, {}});
    if (!known || known->elements.size() != 1 || !known->elements[0]) return std::nullopt;
    return builder_.has_new_symbol(*known->elements[0], loop_.first_symbol) ? std::nullopt : known->elements[0];
  }

  // Whether the operator returns its first operand, if that is one integer or bool. An integer that does not fit the
  // type of a cast becomes another one, so that there may be more iterations than the bound: a run checks their number.
  static bool is_view(const std::string& name) {
    return name == "cast" || name == "reshape" || name == "squeeze" || name == "expand_dims";
  }

  const BlockBuilder& builder_;
  const LoopValues& loop_;
  bool is_followed_ = false;
};

}  // namespace

std::optional<Dim> most_iterations(const BlockBuilder& builder, const LoopValues& loop, const Value& again) {
  const auto goes_on = ConditionBound(builder, loop).count(again.atom, true);
  return goes_on ? std::optional(*goes_on + Dim(1)) : std::nullopt;
}

}  // namespace dlcc::frontends::onnx

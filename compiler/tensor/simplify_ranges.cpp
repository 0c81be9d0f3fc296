// Ranges of expressions, derived from those of variables and from assumed conditions.
#include <algorithm>

#include "tensor/simplifier.h"

namespace dlcc::tensor {
namespace {

// The range of an integer type narrower than 64 bits.
std::optional<Range> type_range(DType type) {
  if (is_bool(type)) return Range{0, 1};
  if (!is_integer(type) || bits(type) == 64) return std::nullopt;
  return is_signed(type) ? Range{-(int64_t{1} << (bits(type) - 1)), (int64_t{1} << (bits(type) - 1)) - 1}
                         : Range{0, (int64_t{1} << bits(type)) - 1};
}

}  // namespace

std::optional<Range> Simplifier::range(const Expr& e) {
  if (auto it = memo_.range.find(e.get()); it != memo_.range.end()) return it->second.second;
  std::optional<Range> r = compute_range(e);
  memo_.range.emplace(e.get(), std::pair(e, r));
  return r;
}

std::optional<Range> Simplifier::range(const Linear& l) {
  Wide low = l.constant, high = l.constant;
  for (const auto& [atom, c] : l.terms) {
    auto r = range(atom);
    if (!r) return std::nullopt;
    Wide a = Wide{r->low} * c, b = Wide{r->high} * c;
    low += std::min(a, b), high += std::max(a, b);
  }
  for (const Fact& f : facts_) {
    if (same_terms(l, f.form, 1, order_)) {
      low = std::max(low, f.low + l.constant), high = std::min(high, f.high + l.constant);
    } else if (same_terms(l, f.form, -1, order_)) {
      low = std::max(low, l.constant - f.high), high = std::min(high, l.constant - f.low);
    }
  }
  return narrowed(low, high);
}

std::optional<Range> Simplifier::compute_range(const Expr& e) {
  if (is_float(e.type())) return std::nullopt;
  auto bounds = type_range(e.type());
  return std::visit(overloaded{
                        [&](const Literal& x) -> std::optional<Range> {
                          if (e.type() == dtype::u64 && x.integer < 0) return std::nullopt;
                          return Range{x.integer, x.integer};
                        },
                        [&](const VarRef& x) {
                          auto it = ranges_.find(x.var);
                          return it != ranges_.end() ? std::optional(it->second) : bounds;
                        },
                        [&](const Unary& x) {
                          if (e.type() != dtype::i64) return bounds;
                          if (x.op == UnaryOp::negate) return range(linear_form(e, order_));
                          return std::optional<Range>();
                        },
                        [&](const Binary& x) { return e.type() == dtype::i64 ? range_of_binary(x) : bounds; },
                        [&](const Fma&) { return bounds; },
                        [&](const Select& x) {
                          auto a = range(x.a), b = range(x.b);
                          if (!a || !b) return bounds;
                          return std::optional(Range{std::min(a->low, b->low), std::max(a->high, b->high)});
                        },
                        [&](const Cast& x) {
                          if (is_float(x.a.type())) return bounds;
                          auto a = range(x.a);
                          if (!a) return bounds;
                          if (!bounds) return e.type() == dtype::u64 && a->low < 0 ? std::nullopt : a;
                          if (is_bool(e.type())) return bounds;
                          return a->low >= bounds->low && a->high <= bounds->high ? a : bounds;
                        },
                        [&](const Bitcast&) { return bounds; },
                        [&](const Load&) { return bounds; },
                    },
                    e->v);
}

// One bound of a minimum or maximum. An operand without bounds, as in max(min(x, 9), 0), leaves those of the others: a
// minimum is at most each operand, a maximum at least.
std::optional<int64_t> Simplifier::bound_of_extremum(const Binary& x, bool upper) {
  auto bound_of = [&](const Expr& e) -> std::optional<int64_t> {
    const Binary* inner = as<Binary>(e);
    if (inner && (inner->op == BinaryOp::min || inner->op == BinaryOp::max)) return bound_of_extremum(*inner, upper);
    const auto r = range(e);
    return r ? std::optional(upper ? r->high : r->low) : std::nullopt;
  };
  const auto a = bound_of(x.a), b = bound_of(x.b);
  const bool is_min = x.op == BinaryOp::min;
  if (a && b) return is_min ? std::min(*a, *b) : std::max(*a, *b);
  if (is_min != upper) return std::nullopt;
  return a ? a : b;
}

std::optional<Range> Simplifier::range_of_binary(const Binary& x) {
  switch (x.op) {
    case BinaryOp::add:
    case BinaryOp::sub: {
      Linear l = add(linear_form(x.a, order_), linear_form(x.b, order_), x.op == BinaryOp::add ? 1 : -1, order_);
      return range(l);
    }
    case BinaryOp::mul: {
      auto a = range(x.a), b = range(x.b);
      if (!a || !b) return std::nullopt;
      Wide corners[] = {Wide{a->low} * b->low, Wide{a->low} * b->high, Wide{a->high} * b->low, Wide{a->high} * b->high};
      return narrowed(std::min({corners[0], corners[1], corners[2], corners[3]}),
                      std::max({corners[0], corners[1], corners[2], corners[3]}));
    }
    case BinaryOp::floor_div: {
      auto a = range(x.a), b = range(x.b);
      if (!a || !b || b->low <= 0) return std::nullopt;
      return Range{std::min(floor_quotient(a->low, b->low), floor_quotient(a->low, b->high)),
                   std::max(floor_quotient(a->high, b->low), floor_quotient(a->high, b->high))};
    }
    case BinaryOp::floor_mod: {
      auto a = range(x.a), b = range(x.b);
      if (!b || b->low <= 0) return std::nullopt;
      if (a && a->low >= 0 && a->high < b->low) return a;
      if (a && b->low == b->high && floor_quotient(a->low, b->low) == floor_quotient(a->high, b->low))
        return Range{floor_remainder(a->low, b->low), floor_remainder(a->high, b->low)};
      return Range{0, a && a->low >= 0 ? std::min(a->high, b->high - 1) : b->high - 1};
    }
    case BinaryOp::div: {
      auto a = range(x.a), b = range(x.b);
      if (!a || !b || b->low <= 0) return std::nullopt;
      return Range{std::min(a->low / b->low, a->low / b->high), std::max(a->high / b->low, a->high / b->high)};
    }
    case BinaryOp::rem: {
      auto a = range(x.a), b = range(x.b);
      if (!b || b->low <= 0) return std::nullopt;
      Range r{a && a->low >= 0 ? 0 : 1 - b->high, a && a->high <= 0 ? 0 : b->high - 1};
      if (a) r = {std::max(r.low, std::min<int64_t>(a->low, 0)), std::min(r.high, std::max<int64_t>(a->high, 0))};
      return r;
    }
    case BinaryOp::min:
    case BinaryOp::max: {
      const auto low = bound_of_extremum(x, false), high = bound_of_extremum(x, true);
      if (!low || !high) return std::nullopt;
      return Range{*low, *high};
    }
    case BinaryOp::bit_and: {
      auto a = range(x.a), b = range(x.b);
      if (b && b->low >= 0) return Range{0, a && a->low >= 0 ? std::min(a->high, b->high) : b->high};
      if (a && a->low >= 0) return Range{0, a->high};
      return std::nullopt;
    }
    case BinaryOp::shr: {
      auto a = range(x.a);
      auto b = constant_integer(x.b);
      if (!a || !b || *b < 0 || *b > 63) return std::nullopt;
      return Range{a->low >> *b, a->high >> *b};
    }
    default:
      return std::nullopt;
  }
}

// ---- assumed conditions ---------------------------------------------------------------------------------------------

// Records the bounds that follow from the condition (or from its negation, if `holds` is false). False if there are
// none.
bool Simplifier::assume(const Expr& condition, bool holds) {
  if (const Unary* x = as<Unary>(condition); x && x->op == UnaryOp::logical_not) return assume(x->a, !holds);
  const Binary* x = as<Binary>(condition);
  if (!x) return false;
  if (x->op == (holds ? BinaryOp::logical_and : BinaryOp::logical_or)) {
    bool a = assume(x->a, holds), b = assume(x->b, holds);
    return a || b;
  }
  if (!is_comparison(x->op) || x->a.type() != dtype::i64 || !range(x->a) || !range(x->b)) return false;
  Linear d = add(linear_form(x->a, order_), linear_form(x->b, order_), -1, order_);
  if (d.is_constant()) return false;
  constexpr Wide limit = Wide{1} << 70;
  Wide low = -limit, high = limit, at = -Wide{d.constant};  // bounds of d without its constant
  switch (holds ? x->op : negated(x->op)) {
    case BinaryOp::lt:
      high = at - 1;
      break;
    case BinaryOp::le:
      high = at;
      break;
    case BinaryOp::gt:
      low = at + 1;
      break;
    case BinaryOp::ge:
      low = at;
      break;
    case BinaryOp::eq:
      low = high = at;
      break;
    default:
      return false;
  }
  if (d.terms.size() == 1) {
    const VarRef* ref = as<VarRef>(d.terms[0].first);
    int64_t c = d.terms[0].second;
    if (ref && (c == 1 || c == -1) && ranges_.count(ref->var)) {
      Range& r = ranges_[ref->var];
      Wide l = std::max(Wide{r.low}, c == 1 ? low : -high), h = std::min(Wide{r.high}, c == 1 ? high : -low);
      if (l <= h) r = {static_cast<int64_t>(l), static_cast<int64_t>(h)};
    }
  }
  d.constant = 0;
  facts_.push_back({std::move(d), low, high});
  return true;
}

// Assumes a condition until leave(); empty if no bounds follow from it. As the memo starts empty, the number of nested
// contexts is limited.
std::optional<Simplifier::Context> Simplifier::enter(const Expr& condition, bool holds) {
  if (contexts_ >= 4) return std::nullopt;
  Context before{{}, facts_.size(), ranges_};
  if (!assume(condition, holds)) return std::nullopt;
  before.memo = std::exchange(memo_, {});
  ++contexts_;
  return before;
}

void Simplifier::leave(Context c) {
  memo_ = std::move(c.memo);
  facts_.resize(c.facts);
  ranges_ = std::move(c.ranges);
  --contexts_;
}

}  // namespace dlcc::tensor

// Lower bounds of polynomials: interval arithmetic, improved by a search. One step of the search replaces an atom, or a
// part of a term, by a bound of it: c * floor_div(a, c) <= a, floor_mod(a, b) <= b - 1 and <= a, min(a, b) <= a, or one
// that follows from the assumptions. So n - 2 * floor_div(n, 2) >= 0 although the interval of the difference is
// unbounded. The number of steps is limited. Products are bounded by distances from least values, too: for h = 3 + x
// and n = 1 + y, h * n - 2 * n is 1 + x + y + x * y.
#include "shape/dim_bounds.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "shape/bound_cache.h"
#include "shape/independent_parts.h"
#include "shape/monomials.h"
#include "support/integers.h"

namespace dlcc {

namespace {

using Term = Dim::Term;
using Atom = std::shared_ptr<const DimAtom>;

constexpr int64_t unbounded_low = INT64_MIN, unbounded_high = INT64_MAX;
// Replacements that follow each other, and replacements that a search tries in all: they limit its time.
constexpr int search_depth = 3;
constexpr int search_steps = 200;

// Inclusive bounds. `low` is never unbounded_high, and `high` is never unbounded_low.
struct Interval {
  int64_t low = unbounded_low, high = unbounded_high;
};

Interval exactly(int64_t value) { return {std::min(value, unbounded_high - 1), std::max(value, unbounded_low + 1)}; }

bool is_infinite(int64_t end) { return end == unbounded_low || end == unbounded_high; }

int64_t times(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  int64_t product;
  const bool infinite = is_infinite(a) || is_infinite(b) || __builtin_mul_overflow(a, b, &product);
  return !infinite ? product : (a < 0) == (b < 0) ? unbounded_high : unbounded_low;
}

Interval operator*(const Interval& a, const Interval& b) {
  auto [low, high] =
      std::minmax({times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)});
  return {std::min(low, unbounded_high - 1), std::max(high, unbounded_low + 1)};
}

Interval operator+(const Interval& a, const Interval& b) {
  Interval sum;
  if (is_infinite(a.low) || is_infinite(b.low) || __builtin_add_overflow(a.low, b.low, &sum.low))
    sum.low = unbounded_low;
  if (is_infinite(a.high) || is_infinite(b.high) || __builtin_add_overflow(a.high, b.high, &sum.high))
    sum.high = unbounded_high;
  return sum;
}

// A bound of an interval divided by a positive divisor. Either may be infinite.
int64_t quotient(int64_t end, int64_t divisor) {
  if (is_infinite(end)) return end;
  if (divisor == unbounded_high) return end < 0 ? -1 : 0;
  return floor_quotient(end, divisor);
}

// A dim d <= scale * D, where D is the dim whose lower bound is searched: ceil(lower bound of d / scale) is a lower
// bound of D.
struct Relaxed {
  Dim d;
  int64_t scale = 1;
};

class Search {
 public:
  // A search for the bound of a dim ends as soon as the bound is `sufficient`.
  Search(const std::vector<Dim>& nonnegative, int64_t sufficient)
      : nonnegative_(nonnegative), sufficient_(sufficient) {}

  int64_t lower(const Dim& d, int depth) {
    if (d.is_overflow()) return unbounded_low;
    if (d.is_constant()) return exactly(d.value()).low;
    int64_t best = interval_of(d, depth).low;
    if (best < sufficient_) best = std::max(best, by_distances(d));
    if (depth == 0) return best;
    auto is_done = [&] { return depth == search_depth && best >= sufficient_; };
    for (const Dim& fact : nonnegative_)
      if (!is_done()) by_assumption(d, fact, depth, best);
    for (const Term& t : d.terms())
      for (size_t k = 0; k < t.atoms.size(); ++k)
        if (t.atoms[k]->kind != DimAtom::Kind::symbol && !is_done()) by_atom(d, t, k, depth, best);
    return best;
  }

 private:
  Interval interval_of(const Dim& d, int depth) {
    Interval sum{0, 0};
    for (const Term& t : d.terms()) sum = sum + interval_of(t, depth);
    return sum;
  }

  Interval interval_of(const Term& t, int depth) {
    Interval product = exactly(t.coefficient);
    for (const Atom& atom : t.atoms) product = product * interval_of(*atom, depth);
    return product;
  }

  // The lower end of the interval of `d` as a polynomial in the distances of its atoms from their least values.
  int64_t by_distances(const Dim& d) {
    constexpr size_t most_atoms = 5;  // a product of k atoms is a sum of 2^k products of distances
    struct Shifted {
      int64_t least = 0;
      Interval distance;
    };
    std::map<const DimAtom*, Shifted> shifted;
    size_t longest = 0;
    for (const Term& t : d.terms()) {
      longest = std::max(longest, t.atoms.size());
      for (const Atom& atom : t.atoms) {
        const Interval range = interval_of(*atom, 0);
        shifted[atom.get()] = is_infinite(range.low)
                                  ? Shifted{0, range}
                                  : Shifted{range.low, {0, (range + exactly(times(range.low, -1))).high}};
      }
    }
    if (longest < 2 || longest > most_atoms) return unbounded_low;
    std::vector<Term> products;
    for (const Term& t : d.terms())
      for (unsigned distances = 0; distances < 1u << t.atoms.size(); ++distances) {  // the other factors are numbers
        Term product{{}, t.coefficient};
        for (size_t k = 0; k < t.atoms.size(); ++k)
          if ((distances >> k & 1) != 0)
            product.atoms.push_back(t.atoms[k]);
          else if (__builtin_mul_overflow(product.coefficient, shifted[t.atoms[k].get()].least, &product.coefficient))
            return unbounded_low;
        products.push_back(std::move(product));
      }
    const Dim in_distances = Dim::sum_of(std::move(products));
    Interval sum{0, 0};
    for (const Term& t : in_distances.terms()) {
      Interval product = exactly(t.coefficient);
      for (const Atom& atom : t.atoms) product = product * shifted[atom.get()].distance;
      sum = sum + product;
    }
    return in_distances.is_overflow() ? unbounded_low : sum.low;
  }

  Interval interval_of(const DimAtom& atom, int depth) {
    if (atom.kind == DimAtom::Kind::symbol) return {atom.symbol.low, atom.symbol.high};
    auto range = [&](const Dim& d) {
      if (depth <= 1) return interval_of(d, 0);  // linear in the size of nested dims
      return Interval{lower(d, depth - 1), times(lower(Dim(0) - d, depth - 1), -1)};
    };
    const Interval a = range(atom.args[0]), b = range(atom.args[1]);
    switch (atom.kind) {
      case DimAtom::Kind::floor_div:
        return quotient_of(a, b);
      case DimAtom::Kind::floor_mod:
        if (b.low < 0) return {};
        return {0, std::max<int64_t>(0, std::min(b.high == unbounded_high ? b.high : b.high - 1,
                                                 a.low >= 0 ? a.high : unbounded_high))};
      case DimAtom::Kind::min:
        return {std::min(a.low, b.low), std::min(a.high, b.high)};
      default:
        return {std::max(a.low, b.low), std::max(a.high, b.high)};
    }
  }

  static Interval quotient_of(const Interval& a, const Interval& b) {
    if (b.low < 0) return {};
    const int64_t least = std::max<int64_t>(b.low, 1), most = std::max<int64_t>(b.high, 1);
    Interval q{quotient(a.low, a.low < 0 ? least : most), quotient(a.high, a.high < 0 ? most : least)};
    if (b.low == 0) q = {std::min<int64_t>(q.low, 0), std::max<int64_t>(q.high, 0)};  // a division by zero gives 0
    return q;
  }

  // The sign of a term if it is the same for all values: 1 (or 0), -1; 0 if it is not known.
  int sign_of(const Term& t) {
    const Interval range = interval_of(t, 1);
    return range.low >= 0 ? 1 : range.high <= 0 ? -1 : 0;
  }

  int64_t lower_of(const Relaxed& r, int depth) {
    if (--steps_ < 0) return unbounded_low;
    const int64_t low = lower(r.d, depth - 1);
    return low == unbounded_low ? low : -floor_quotient(-std::max(low, unbounded_low + 1), r.scale);
  }

  // d >= d - m * fact for a monomial m >= 0 that makes a term of `fact` cancel one of `d`.
  void by_assumption(const Dim& d, const Dim& fact, int depth, int64_t& best) {
    for (const Term& t : d.terms()) {
      for (const Term& s : fact.terms()) {
        if (s.atoms.empty()) continue;
        auto factor = exact_quotient(t, s);
        if (factor && sign_of(*factor) == 1)
          best = std::max(best, lower_of({d - Dim::sum_of({*factor}) * fact}, depth));
      }
    }
  }

  static Term without_atom(Term t, size_t k) {
    t.atoms.erase(t.atoms.begin() + static_cast<std::ptrdiff_t>(k));
    return t;
  }

  // Replaces atom k of the term `t` of `d` by its own bounds.
  void by_atom(const Dim& d, const Term& t, size_t k, int depth, int64_t& best) {
    const DimAtom& atom = *t.atoms[k];
    const Dim &a = atom.args[0], &b = atom.args[1];
    const Term rest = without_atom(t, k);
    const int sign = sign_of(rest);
    if (sign == 0) return;
    const Dim cofactor = Dim::sum_of({rest}), others = d - Dim::sum_of({t});
    auto try_bound = [&](const Dim& bound) { best = std::max(best, lower_of({others + cofactor * bound}, depth)); };
    const bool is_min = atom.kind == DimAtom::Kind::min, is_max = atom.kind == DimAtom::Kind::max;
    if ((is_min && sign < 0) || (is_max && sign > 0)) {
      try_bound(a);
      try_bound(b);
    } else if (is_min || is_max) {  // the value is that of a or of b: both must satisfy the bound
      const int64_t one = lower_of({others + cofactor * a}, depth);
      if (one > best) best = std::max(best, std::min(one, lower_of({others + cofactor * b}, depth)));
    } else if (lower(b, 0) >= 1) {
      const int64_t least = lower(a, 0);
      // floor_mod(a, b) = floor_mod(a - k * b, b) <= a - k * b if a >= k * b
      const bool subtracts = atom.kind == DimAtom::Kind::floor_mod && b.is_constant();
      if (sign < 0 && least >= 0) try_bound(subtracts ? a - Dim(least / b.value()) * b : a);
      if (atom.kind == DimAtom::Kind::floor_mod && sign < 0) try_bound(b - Dim(1));
      if (atom.kind == DimAtom::Kind::floor_div) by_quotient(others, rest, a, b, sign, depth, best);
    }
  }

  // rest * floor_div(a, b): b * floor_div(a, b) is in [a - b + 1, a]. A constant `b` scales the whole dim.
  void by_quotient(const Dim& others, const Term& rest, const Dim& a, const Dim& b, int sign, int depth,
                   int64_t& best) {
    const Dim bound = sign < 0 ? a : a - b + Dim(1);
    if (b.is_constant())
      best = std::max(best, lower_of({others * b + Dim::sum_of({rest}) * bound, b.value()}, depth));
    else if (auto factor = b.terms().size() == 1 ? exact_quotient(rest, b.terms()[0]) : std::nullopt)
      best = std::max(best, lower_of({others + Dim::sum_of({*factor}) * bound}, depth));
  }

  const std::vector<Dim>& nonnegative_;
  int64_t sufficient_;
  int steps_ = search_steps;
};

// A lower bound of the dim. The search ends as soon as the bound is `sufficient`. Independent parts of the dim are
// bounded one by one: there are fewer replacements to try.
int64_t searched(const Dim& d, const std::vector<Dim>& nonnegative, int64_t sufficient) {
  if (d.is_overflow() || d.terms().size() < 3) return Search(nonnegative, sufficient).lower(d, search_depth);
  const std::vector<Dim> parts = independent_parts(d, nonnegative);
  if (parts.size() == 1) return Search(nonnegative, sufficient).lower(d, search_depth);
  std::vector<Interval> bounds;
  for (const Dim& part : parts) bounds.push_back({Search(nonnegative, unbounded_high).lower(part, 0), unbounded_high});
  auto improve = [&](size_t k) {
    Interval others{0, 0};
    for (size_t j = 0; j < parts.size(); ++j)
      if (j != k) others = others + bounds[j];
    int64_t needed = unbounded_high;
    if (!is_infinite(others.low) && !is_infinite(sufficient) && __builtin_sub_overflow(sufficient, others.low, &needed))
      needed = unbounded_high;
    if (bounds[k].low < needed)
      bounds[k].low = std::max(bounds[k].low, Search(nonnegative, needed).lower(parts[k], search_depth));
  };
  for (size_t k = 0; k < parts.size(); ++k) {
    if (bounds[k].low != unbounded_low) continue;
    improve(k);
    if (bounds[k].low == unbounded_low) return unbounded_low;
  }
  for (size_t k = 0; k < parts.size(); ++k) improve(k);
  return std::accumulate(bounds.begin(), bounds.end(), Interval{0, 0}).low;
}

int64_t lower(const Dim& d, const std::vector<Dim>& nonnegative, int64_t sufficient) {
  auto search = [&] { return searched(d, nonnegative, sufficient); };
  if (d.is_constant() || d.is_overflow() || !nonnegative.empty()) return search();
  thread_local BoundCache cache;
  return cache.find_or(d, sufficient, search);
}

}  // namespace

std::optional<int64_t> lower_bound(const Dim& d, const std::vector<Dim>& nonnegative) {
  const int64_t low = lower(d, nonnegative, unbounded_high);
  return low == unbounded_low ? std::nullopt : std::optional(low);
}

bool is_at_least(const Dim& d, int64_t bound, const std::vector<Dim>& nonnegative) {
  if (d.is_constant()) return d.value() >= bound;
  const int64_t low = lower(d, nonnegative, bound);
  return low != unbounded_low && low >= bound;
}

std::optional<int64_t> Dim::lower_bound() const { return is_constant() ? value() : dlcc::lower_bound(*this, {}); }

std::optional<int64_t> Dim::upper_bound() const {
  if (is_constant()) return value();
  auto low = (Dim(0) - *this).lower_bound();
  return low ? std::optional(-*low) : std::nullopt;
}

bool provably_le(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return a.value() <= b.value();
  return is_at_least(b - a, 0, {});
}

bool provably_lt(const Dim& a, const Dim& b) { return provably_le(a + Dim(1), b); }

bool provably_different(const Dim& a, const Dim& b) { return provably_lt(a, b) || provably_lt(b, a); }

bool may_be_equal(const Shape& a, const Shape& b) {
  return std::ranges::equal(a, b, [](const Dim& x, const Dim& y) { return !provably_different(x, y); });
}

}  // namespace dlcc

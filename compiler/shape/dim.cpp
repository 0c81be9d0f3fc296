#include "shape/dim.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/diagnostics.h"
#include "support/integers.h"

namespace dlcc {

Dim::Dim(int64_t value) {
  if (value != 0) terms_.push_back({{}, value});
}

Dim Dim::of_atom(DimAtom atom) {
  Dim d;
  d.terms_.push_back({{std::make_shared<const DimAtom>(std::move(atom))}, 1});
  return d;
}

Dim Dim::symbol(Symbol s) { return of_atom({DimAtom::Kind::symbol, std::move(s), {}}); }

Dim Dim::overflow() {
  Dim d;
  d.overflow_ = true;
  return d;
}

bool Dim::is_constant() const {
  return !overflow_ && (terms_.empty() || (terms_.size() == 1 && terms_[0].atoms.empty()));
}

int64_t Dim::value() const {
  DLCC_CHECK(is_constant(), "dimension {} is not constant", str());
  return terms_.empty() ? 0 : terms_[0].coefficient;
}

// ---- canonical order ------------------------------------------------------------------------------------------------

int Dim::compare(const Term& a, const Term& b) {
  if (a.atoms.size() != b.atoms.size()) return a.atoms.size() > b.atoms.size() ? -1 : 1;  // higher degree first
  for (size_t i = 0; i < a.atoms.size(); ++i) {
    const DimAtom &x = *a.atoms[i], &y = *b.atoms[i];
    if (x.kind != y.kind) return x.kind < y.kind ? -1 : 1;
    if (int c = x.symbol.name.compare(y.symbol.name)) return c;
    for (size_t k = 0; k < x.args.size(); ++k)
      if (int c = compare(x.args[k], y.args[k])) return c;
  }
  return 0;
}

int Dim::compare(const Dim& a, const Dim& b) {
  for (size_t i = 0; i < std::min(a.terms_.size(), b.terms_.size()); ++i) {
    if (int c = compare(a.terms_[i], b.terms_[i])) return c;
    if (a.terms_[i].coefficient != b.terms_[i].coefficient)
      return a.terms_[i].coefficient < b.terms_[i].coefficient ? -1 : 1;
  }
  if (a.terms_.size() != b.terms_.size()) return a.terms_.size() < b.terms_.size() ? -1 : 1;
  return 0;
}

bool operator==(const Dim& a, const Dim& b) { return !a.overflow_ && !b.overflow_ && Dim::compare(a, b) == 0; }

Dim Dim::from_terms(std::vector<Term> terms) {
  std::ranges::sort(terms, [](const Term& a, const Term& b) { return compare(a, b) < 0; });
  Dim result;
  for (Term& t : terms) {
    if (!result.terms_.empty() && compare(result.terms_.back(), t) == 0) {
      int64_t& sum = result.terms_.back().coefficient;
      if (__builtin_add_overflow(sum, t.coefficient, &sum)) return overflow();
    } else {
      result.terms_.push_back(std::move(t));
    }
  }
  std::erase_if(result.terms_, [](const Term& t) { return t.coefficient == 0; });
  return result;
}

// ---- arithmetic

Dim operator+(const Dim& a, const Dim& b) {
  if (a.overflow_ || b.overflow_) return Dim::overflow();
  std::vector<Dim::Term> terms = a.terms_;
  terms.insert(terms.end(), b.terms_.begin(), b.terms_.end());
  return Dim::from_terms(std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.overflow_ || b.overflow_) return Dim::overflow();
  auto before = [](const std::shared_ptr<const DimAtom>& x, const std::shared_ptr<const DimAtom>& y) {
    return Dim::compare(Dim::Term{{x}, 1}, Dim::Term{{y}, 1}) < 0;
  };
  std::vector<Dim::Term> terms;
  for (const Dim::Term& x : a.terms_) {
    for (const Dim::Term& y : b.terms_) {
      Dim::Term t{x.atoms, 0};
      if (__builtin_mul_overflow(x.coefficient, y.coefficient, &t.coefficient)) return Dim::overflow();
      t.atoms.insert(t.atoms.end(), y.atoms.begin(), y.atoms.end());
      std::ranges::sort(t.atoms, before);
      terms.push_back(std::move(t));
    }
  }
  return Dim::from_terms(std::move(terms));
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (a.overflow_ || b.overflow_) return Dim::overflow();
  if (auto divisor = b.constant()) {
    if (*divisor == 0) return 0;
    if (*divisor == 1) return a;
    if (auto value = a.constant()) return floor_quotient(*value, *divisor);
    // Terms that are multiples of the divisor are divided: floor_div(4 n + m, 2) = 2 n + floor_div(m, 2).
    std::vector<Dim::Term> whole, rest;
    for (const Dim::Term& t : a.terms_) {
      if (t.coefficient % *divisor == 0)
        whole.push_back({t.atoms, t.coefficient / *divisor});
      else
        rest.push_back(t);
    }
    if (rest.empty()) return Dim::from_terms(std::move(whole));
    if (!whole.empty()) return Dim::from_terms(std::move(whole)) + floor_div(Dim::from_terms(std::move(rest)), b);
  }
  if (a == b) return 1;
  return Dim::of_atom({DimAtom::Kind::floor_div, {}, {a, b}});
}

Dim floor_mod(const Dim& a, const Dim& b) {
  if (a.overflow_ || b.overflow_) return Dim::overflow();
  if (b == Dim(0)) return 0;
  Dim quotient = floor_div(a, b);
  Dim rest = a - quotient * b;
  bool resolved = rest.is_constant() || quotient.terms_.empty();
  return resolved ? rest : Dim::of_atom({DimAtom::Kind::floor_mod, {}, {a, b}});
}

Dim min(const Dim& a, const Dim& b) {
  if (a.overflow_ || b.overflow_) return Dim::overflow();
  if (provably_le(a, b)) return a;
  if (provably_le(b, a)) return b;
  return Dim::of_atom({DimAtom::Kind::min, {}, Dim::compare(a, b) < 0 ? std::vector{a, b} : std::vector{b, a}});
}

Dim max(const Dim& a, const Dim& b) {
  if (a.overflow_ || b.overflow_) return Dim::overflow();
  if (provably_le(a, b)) return b;
  if (provably_le(b, a)) return a;
  return Dim::of_atom({DimAtom::Kind::max, {}, Dim::compare(a, b) < 0 ? std::vector{a, b} : std::vector{b, a}});
}

// ---- bounds

namespace {

// Bounds of a value; an empty one means unbounded.
struct Interval {
  std::optional<int64_t> low, high;
};

std::optional<int64_t> bound_of_symbol_high(const Symbol& s) {
  return s.high == INT64_MAX ? std::nullopt : std::optional(s.high);
}

std::optional<int64_t> checked_mul(std::optional<int64_t> a, std::optional<int64_t> b) {
  int64_t r;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &r)) return std::nullopt;
  return r;
}

std::optional<int64_t> checked_add(std::optional<int64_t> a, std::optional<int64_t> b) {
  int64_t r;
  if (!a || !b || __builtin_add_overflow(*a, *b, &r)) return std::nullopt;
  return r;
}

Interval bounds(const DimAtom& atom) {
  auto lower = [&](int i) { return atom.args[i].lower_bound(); };
  auto upper = [&](int i) { return atom.args[i].upper_bound(); };
  switch (atom.kind) {
    case DimAtom::Kind::symbol:
      return {atom.symbol.low, bound_of_symbol_high(atom.symbol)};
    case DimAtom::Kind::floor_div: {
      auto divisor = atom.args[1].constant();
      if (!divisor || *divisor <= 0) return {};
      auto divided = [&](std::optional<int64_t> v) { return v ? std::optional(floor_quotient(*v, *divisor)) : v; };
      return {divided(lower(0)), divided(upper(0))};
    }
    case DimAtom::Kind::floor_mod: {
      auto divisor = atom.args[1].constant();
      if (!divisor || *divisor <= 0) return {};
      return {0, *divisor - 1};
    }
    case DimAtom::Kind::min: {
      Interval r;
      if (lower(0) && lower(1)) r.low = std::min(*lower(0), *lower(1));
      r.high = !upper(0) ? upper(1) : !upper(1) ? upper(0) : std::optional(std::min(*upper(0), *upper(1)));
      return r;
    }
    case DimAtom::Kind::max: {
      Interval r;
      if (upper(0) && upper(1)) r.high = std::max(*upper(0), *upper(1));
      r.low = !lower(0) ? lower(1) : !lower(1) ? lower(0) : std::optional(std::max(*lower(0), *lower(1)));
      return r;
    }
  }
  return {};
}

// Bounds of a product, if neither factor is negative; unbounded else, as sizes are never negative.
Interval multiply(const Interval& a, const Interval& b) {
  if (!a.low || !b.low || *a.low < 0 || *b.low < 0) return {};
  return {checked_mul(a.low, b.low), checked_mul(a.high, b.high)};
}

}  // namespace

static Interval scaled(const Interval& r, int64_t factor) {
  Interval s{checked_mul(r.low, factor), checked_mul(r.high, factor)};
  if (factor < 0) std::swap(s.low, s.high);
  return s;
}

std::optional<int64_t> Dim::lower_bound() const {
  if (overflow_) return std::nullopt;
  std::optional<int64_t> sum = 0;
  for (const Term& t : terms_) {
    Interval r{1, 1};
    for (const auto& atom : t.atoms) r = multiply(r, bounds(*atom));
    if (t.atoms.size() == 1) r = bounds(*t.atoms[0]);
    sum = checked_add(sum, scaled(r, t.coefficient).low);
  }
  return sum;
}

std::optional<int64_t> Dim::upper_bound() const {
  if (overflow_) return std::nullopt;
  std::optional<int64_t> low = (*this * Dim(-1)).lower_bound();
  return checked_mul(low, -1);
}

bool provably_le(const Dim& a, const Dim& b) {
  auto low = (b - a).lower_bound();
  return low && *low >= 0;
}

// ---- symbols and text

std::vector<Symbol> Dim::symbols() const {
  std::map<std::string, Symbol> found;
  for (const Term& t : terms_) {
    for (const auto& atom : t.atoms) {
      if (atom->kind == DimAtom::Kind::symbol) found.emplace(atom->symbol.name, atom->symbol);
      for (const Dim& arg : atom->args)
        for (Symbol& s : arg.symbols()) found.emplace(s.name, s);
    }
  }
  std::vector<Symbol> list;
  for (auto& [name, symbol] : found) list.push_back(symbol);
  return list;
}

Dim Dim::substitute(const std::map<std::string, Dim>& values) const {
  if (overflow_) return *this;
  Dim sum;
  for (const Term& t : terms_) {
    Dim product(t.coefficient);
    for (const auto& atom : t.atoms) {
      Dim factor = of_atom(*atom);
      auto arg = [&](int i) { return atom->args[i].substitute(values); };
      switch (atom->kind) {
        case DimAtom::Kind::symbol:
          if (auto it = values.find(atom->symbol.name); it != values.end()) factor = it->second;
          break;
        case DimAtom::Kind::floor_div:
          factor = floor_div(arg(0), arg(1));
          break;
        case DimAtom::Kind::floor_mod:
          factor = floor_mod(arg(0), arg(1));
          break;
        case DimAtom::Kind::min:
          factor = min(arg(0), arg(1));
          break;
        case DimAtom::Kind::max:
          factor = max(arg(0), arg(1));
          break;
      }
      product = product * factor;
    }
    sum = sum + product;
  }
  return sum;
}

std::string Dim::str() const {
  if (overflow_) return "overflow";
  if (terms_.empty()) return "0";
  std::string text;
  for (const Term& t : terms_) {
    bool negative = t.coefficient < 0;
    // The magnitude as unsigned: the smallest int64 has no positive counterpart.
    uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(t.coefficient) : static_cast<uint64_t>(t.coefficient);
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    std::string factors;
    for (const auto& atom : t.atoms) {
      static constexpr const char* names[] = {"", "floor_div", "floor_mod", "min", "max"};
      std::string name = names[static_cast<int>(atom->kind)];
      if (!factors.empty()) factors += " * ";
      factors += atom->kind == DimAtom::Kind::symbol
                     ? atom->symbol.name
                     : fmt::format("{}({}, {})", name, atom->args[0].str(), atom->args[1].str());
    }
    if (factors.empty())
      text += fmt::format("{}", magnitude);
    else
      text += (magnitude == 1 ? "" : fmt::format("{} * ", magnitude)) + factors;
  }
  return text;
}

// ---- shapes

Dim product(const Shape& shape) {
  Dim count = 1;
  bool zero = std::ranges::any_of(shape, [](const Dim& d) { return d == Dim(0); });
  if (zero) return 0;
  for (const Dim& d : shape) count = count * d;
  return count;
}

bool is_static(const Shape& shape) {
  return std::ranges::all_of(shape, [](const Dim& d) { return d.is_constant(); });
}

std::vector<int64_t> static_shape(const Shape& shape) {
  std::vector<int64_t> values;
  for (const Dim& d : shape) values.push_back(d.value());
  return values;
}

Shape shape_of(const std::vector<int64_t>& values) { return Shape(values.begin(), values.end()); }

std::string str(const Shape& shape) {
  std::string text;
  for (const Dim& d : shape) text += (text.empty() ? "" : ", ") + d.str();
  return "(" + text + ")";
}

}  // namespace dlcc

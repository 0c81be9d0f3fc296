#include "shape/dim.h"

#include <fmt/format.h>

#include <algorithm>

#include "shape/dim_identities.h"
#include "support/diagnostics.h"

namespace dlcc {

// ---- construction ---------------------------------------------------------------------------------------------------

Dim::Dim(int64_t value) {
  if (value != 0) terms_.push_back({{}, value});
}

Dim Dim::of_atom(std::shared_ptr<const DimAtom> atom) {
  Dim d;
  d.terms_.push_back({{std::move(atom)}, 1});
  return d;
}

Dim Dim::symbol(Symbol s) {
  return of_atom(std::make_shared<const DimAtom>(DimAtom{DimAtom::Kind::symbol, std::move(s), {}}));
}

static bool is_inferred(const std::string& symbol) { return symbol.starts_with('?'); }

Dim size_symbol(const std::string& name) { return Dim::symbol({.name = name, .low = is_inferred(name) ? 0 : 1}); }

bool is_data_dependent(const Dim& d) {
  return std::ranges::any_of(d.symbols(), [](const Symbol& s) { return is_inferred(s.name); });
}

Dim Dim::overflow() {
  Dim d;
  d.overflow_ = true;
  return d;
}

int64_t Dim::value() const {
  DLCC_CHECK(is_constant(), "dimension {} is not constant", str());
  return terms_.empty() ? 0 : terms_[0].coefficient;
}

// ---- canonical order ------------------------------------------------------------------------------------------------

namespace {

int compare_terms(const Dim::Term& a, const Dim::Term& b) {
  if (a.atoms.size() != b.atoms.size()) return a.atoms.size() > b.atoms.size() ? -1 : 1;  // higher degree first
  for (size_t i = 0; i < a.atoms.size(); ++i)
    if (int c = Dim::compare(*a.atoms[i], *b.atoms[i])) return c;
  return 0;
}

}  // namespace

int Dim::compare(const DimAtom& a, const DimAtom& b) {
  if (&a == &b) return 0;
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (int c = a.symbol.name.compare(b.symbol.name)) return c;
  for (size_t k = 0; k < a.args.size(); ++k)
    if (int c = compare(a.args[k], b.args[k])) return c;
  return 0;
}

int Dim::compare(const Dim& a, const Dim& b) {
  for (size_t i = 0; i < std::min(a.terms_.size(), b.terms_.size()); ++i) {
    if (int c = compare_terms(a.terms_[i], b.terms_[i])) return c;
    if (a.terms_[i].coefficient != b.terms_[i].coefficient)
      return a.terms_[i].coefficient < b.terms_[i].coefficient ? -1 : 1;
  }
  if (a.terms_.size() != b.terms_.size()) return a.terms_.size() < b.terms_.size() ? -1 : 1;
  return 0;
}

bool operator==(const Dim& a, const Dim& b) { return !a.overflow_ && !b.overflow_ && Dim::compare(a, b) == 0; }

Dim Dim::sum_of(std::vector<Term> terms) {
  std::ranges::sort(terms, [](const Term& a, const Term& b) { return compare_terms(a, b) < 0; });
  Dim result;
  for (Term& t : terms) {
    if (!result.terms_.empty() && compare_terms(result.terms_.back(), t) == 0) {
      int64_t& sum = result.terms_.back().coefficient;
      if (__builtin_add_overflow(sum, t.coefficient, &sum)) return overflow();
    } else {
      result.terms_.push_back(std::move(t));
    }
  }
  std::erase_if(result.terms_, [](const Term& t) { return t.coefficient == 0; });
  return result;
}

// ---- sums and products ----------------------------------------------------------------------------------------------

Dim operator+(const Dim& a, const Dim& b) {
  if (a.overflow_ || b.overflow_) return Dim::overflow();
  if (b.terms_.empty()) return a;
  if (a.terms_.empty()) return b;
  if (a.is_constant() && b.is_constant()) {
    int64_t sum;
    return __builtin_add_overflow(a.value(), b.value(), &sum) ? Dim::overflow() : Dim(sum);
  }
  std::vector<Dim::Term> terms = a.terms_;
  terms.insert(terms.end(), b.terms_.begin(), b.terms_.end());
  return with_identities(Dim::sum_of(std::move(terms)));
}

Dim sum(const std::vector<Dim>& summands) {
  std::vector<Dim::Term> terms;
  for (const Dim& d : summands) {
    if (d.overflow_) return Dim::overflow();
    terms.insert(terms.end(), d.terms_.begin(), d.terms_.end());
  }
  return with_identities(Dim::sum_of(std::move(terms)));
}

Dim operator-(const Dim& a, const Dim& b) { return b.terms_.empty() && !b.overflow_ ? a : a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.overflow_ || b.overflow_) return Dim::overflow();
  if (b.is_constant()) {  // the terms stay in order
    if (b.value() == 0) return 0;
    Dim product = a;
    for (Dim::Term& t : product.terms_)
      if (__builtin_mul_overflow(t.coefficient, b.value(), &t.coefficient)) return Dim::overflow();
    return product;
  }
  if (a.is_constant()) return b * a;
  auto before = [](const std::shared_ptr<const DimAtom>& x, const std::shared_ptr<const DimAtom>& y) {
    return Dim::compare(*x, *y) < 0;
  };
  std::vector<Dim::Term> terms;
  if (static_cast<int64_t>(a.terms_.size() * b.terms_.size()) > Dim::max_atoms) return Dim::overflow();
  for (const Dim::Term& x : a.terms_) {
    for (const Dim::Term& y : b.terms_) {
      Dim::Term t{x.atoms, 0};
      if (__builtin_mul_overflow(x.coefficient, y.coefficient, &t.coefficient)) return Dim::overflow();
      t.atoms.insert(t.atoms.end(), y.atoms.begin(), y.atoms.end());
      std::ranges::sort(t.atoms, before);
      const Dim product = product_of(std::move(t));
      if (product.overflow_) return Dim::overflow();
      terms.insert(terms.end(), product.terms_.begin(), product.terms_.end());
    }
  }
  return Dim::sum_of(std::move(terms));
}

// ---- symbols, values, text ------------------------------------------------------------------------------------------

int64_t Dim::atom_count() const {
  int64_t count = 0;
  for (const Term& t : terms_)
    for (const auto& atom : t.atoms) count += atom->count;
  return count;
}

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

namespace {

std::optional<int64_t> value_of(const DimAtom& atom, const std::map<std::string, int64_t>& values) {
  if (atom.kind == DimAtom::Kind::symbol) {
    auto it = values.find(atom.symbol.name);
    return it == values.end() ? std::nullopt : std::optional(it->second);
  }
  std::optional<int64_t> a = atom.args[0].evaluate(values), b = atom.args[1].evaluate(values);
  if (!a || !b) return std::nullopt;
  return apply(atom.kind, *a, *b).constant();
}

}  // namespace

Dim Dim::substitute(const std::map<std::string, Dim>& values) const {
  if (overflow_ || is_constant()) return *this;
  Dim sum;
  for (const Term& t : terms_) {
    Dim product(t.coefficient);
    for (const auto& atom : t.atoms) {
      if (atom->kind == DimAtom::Kind::symbol) {
        auto it = values.find(atom->symbol.name);
        product = product * (it == values.end() ? of_atom(atom) : it->second);
        continue;
      }
      product = product * apply(atom->kind, atom->args[0].substitute(values), atom->args[1].substitute(values));
    }
    sum = sum + product;
  }
  return sum;
}

std::optional<int64_t> Dim::evaluate(const std::map<std::string, int64_t>& values) const {
  if (overflow_) return std::nullopt;
  __int128 sum = 0;
  for (const Term& t : terms_) {
    bool is_zero = false, fits = true;
    int64_t product = t.coefficient;
    for (const auto& atom : t.atoms) {
      const std::optional<int64_t> factor = value_of(*atom, values);
      is_zero |= factor == 0;
      fits = fits && factor && !__builtin_mul_overflow(product, *factor, &product);
    }
    if (is_zero) continue;  // whatever the other factors are
    if (!fits) return std::nullopt;
    sum += product;
  }
  auto value = static_cast<int64_t>(sum);
  return value == sum ? std::optional(value) : std::nullopt;
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

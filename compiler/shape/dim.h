// Symbolic dimensions (Relax): integer expressions over named symbols, kept in a canonical form so that equality is
// structural and simple inequalities can be proved.
//
// A Dim is a polynomial with int64 coefficients over atoms; an atom is a symbol, floor_div(dim, dim), floor_mod(dim,
// dim), min(dim, dim) or max(dim, dim). Canonical: monomials sorted, like terms merged, constant sub-expressions
// evaluated. Arithmetic that would overflow int64 yields the value `overflow()`, which equals nothing and is never
// constant.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dlcc {

// A named size, unknown at compile time. Two symbols are equal when their names are. Bounds are inclusive.
struct Symbol {
  std::string name;
  int64_t low = 0;
  int64_t high = INT64_MAX;
  bool operator==(const Symbol& other) const { return name == other.name; }
};

struct DimAtom;

class Dim {
 public:
  Dim(int64_t value = 0);  // NOLINT: integers are dimensions
  static Dim symbol(Symbol);
  static Dim overflow();

  bool is_constant() const;
  int64_t value() const;  // is_constant() must hold
  std::optional<int64_t> constant() const { return is_constant() ? std::optional(value()) : std::nullopt; }
  bool is_overflow() const { return overflow_; }

  friend Dim operator+(const Dim&, const Dim&);
  friend Dim operator-(const Dim&, const Dim&);
  friend Dim operator*(const Dim&, const Dim&);
  friend Dim floor_div(const Dim&, const Dim&);
  friend Dim floor_mod(const Dim&, const Dim&);
  friend Dim min(const Dim&, const Dim&);
  friend Dim max(const Dim&, const Dim&);

  // Canonical forms are equal. False means "not proved equal".
  friend bool operator==(const Dim&, const Dim&);

  // Bounds over all values that the symbols may take; empty when nothing is known.
  std::optional<int64_t> lower_bound() const;
  std::optional<int64_t> upper_bound() const;

  std::vector<Symbol> symbols() const;  // each once, sorted by name
  Dim substitute(const std::map<std::string, Dim>& values) const;
  std::string str() const;  // "n", "2 * n + 1", "floor_div(n, 2)"

 private:
  struct Term {
    std::vector<std::shared_ptr<const DimAtom>> atoms;  // sorted; empty for the constant term
    int64_t coefficient;
  };
  static Dim of_atom(DimAtom);
  static int compare(const Dim&, const Dim&);
  static int compare(const Term&, const Term&);
  static Dim from_terms(std::vector<Term>);

  std::vector<Term> terms_;  // sorted, no zero coefficients; empty is 0
  bool overflow_ = false;
};

// a <= b for all values of the symbols? False means "not proved".
bool provably_le(const Dim& a, const Dim& b);

using Shape = std::vector<Dim>;

Dim product(const Shape&);  // number of elements
bool is_static(const Shape&);
std::vector<int64_t> static_shape(const Shape&);  // is_static() must hold
Shape shape_of(const std::vector<int64_t>&);
std::string str(const Shape&);  // "(1, 3, n)"

}  // namespace dlcc

// Symbolic dimensions: integer expressions over named symbols, as in Relax (Lai et al., ASPLOS 2025). They are kept in
// a canonical form, so that equality is structural and simple inequalities can be proved.
//
// A Dim is a polynomial with int64 coefficients over atoms. An atom is a symbol, or floor_div, floor_mod, min or max of
// two dims. In the canonical form terms are sorted, terms with equal atoms are merged, and constant sub-expressions are
// evaluated. Its value is that of exact integer arithmetic: nothing wraps. Division by zero gives 0. If a coefficient
// overflows int64, or an expression has more than Dim::max_atoms atoms, the result is overflow(), which is not
// constant and equals no dim, not even itself.
//
// Every simplification holds for all values of the symbols within their bounds: n / n is 1 only if n >= 1.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dlcc {

// A named size that is unknown at compile time, in [low, high]. A symbol is identified by its name. A module has at
// most one symbol of a name, with the same bounds wherever it occurs. A tensor function has symbols of its own, which
// calls replace. A name needs no symbol table, prints as itself and has a deterministic order. A pass that introduces a
// symbol chooses an unused name.
struct Symbol {
  std::string name;
  int64_t low = 0;
  int64_t high = INT64_MAX;  // unbounded
  bool operator==(const Symbol& other) const { return name == other.name; }
};

struct DimAtom;

class Dim {
 public:
  // A monomial: the product of `coefficient`, which is not zero, and of atoms.
  struct Term {
    std::vector<std::shared_ptr<const DimAtom>> atoms;  // sorted; empty for the constant term
    int64_t coefficient;
  };

  Dim(int64_t value = 0);  // NOLINT: integers are dimensions
  static Dim symbol(Symbol);
  static Dim of_atom(std::shared_ptr<const DimAtom>);
  static Dim sum_of(std::vector<Term>);  // in any order; coefficients may be zero
  static Dim overflow();

  bool is_constant() const { return !overflow_ && (terms_.empty() || (terms_.size() == 1 && terms_[0].atoms.empty())); }
  int64_t value() const;  // is_constant() must hold
  std::optional<int64_t> constant() const { return is_constant() ? std::optional(value()) : std::nullopt; }
  bool is_overflow() const { return overflow_; }

  friend Dim operator+(const Dim&, const Dim&);
  friend Dim operator-(const Dim&, const Dim&);
  friend Dim operator*(const Dim&, const Dim&);
  friend Dim sum(const std::vector<Dim>&);  // as by operator+, but faster for many summands

  // Whether the canonical forms are equal. False does not prove that the dims differ.
  friend bool operator==(const Dim&, const Dim&);
  // The canonical order: negative, zero or positive. Constants come first.
  static int compare(const Dim&, const Dim&);
  static int compare(const DimAtom&, const DimAtom&);

  // Bounds for all values of the symbols; empty if unknown (dim_bounds.cpp).
  std::optional<int64_t> lower_bound() const;
  std::optional<int64_t> upper_bound() const;

  static constexpr int64_t max_atoms = 4096;
  int64_t atom_count() const;  // of the expression as text, nested ones included

  const std::vector<Term>& terms() const { return terms_; }  // of the canonical form, the constant last; empty for 0
  std::vector<Symbol> symbols() const;                       // each once, sorted by name
  Dim substitute(const std::map<std::string, Dim>& values) const;
  // The value for these values of the symbols; empty if it depends on a symbol that has none, or does not fit int64.
  std::optional<int64_t> evaluate(const std::map<std::string, int64_t>& values) const;
  std::string str() const;  // "n", "2 * n + 1", "floor_div(n, 2)"

 private:
  std::vector<Term> terms_;  // sorted, no zero coefficients; empty is 0
  bool overflow_ = false;
};

// A factor of a term.
struct DimAtom {
  enum class Kind : uint8_t { symbol, floor_div, floor_mod, min, max } kind;
  Symbol symbol;          // kind symbol
  std::vector<Dim> args;  // two, for the other kinds
  int64_t count = 1;      // of atoms, this one and the nested ones
};

// Quotient rounded toward minus infinity and its remainder (dim_division.cpp). A divisor that is proved positive
// cancels common factors: floor_div(b * s * 768, b * s) is 768 for b, s >= 1.
Dim floor_div(const Dim&, const Dim&);
Dim floor_mod(const Dim&, const Dim&);
Dim min(const Dim&, const Dim&);
Dim max(const Dim&, const Dim&);
Dim apply(DimAtom::Kind, const Dim& a, const Dim& b);  // the one of these four operations that has this kind

// Whether the inequality is proved for all values of the symbols. Assumptions are in shape/facts.h.
bool provably_le(const Dim& a, const Dim& b);
bool provably_lt(const Dim& a, const Dim& b);
bool provably_different(const Dim& a, const Dim& b);

// The symbol with this name as a dim. Its lower bound is 1, or 0 for the data-dependent sizes that inference names
// "?k".
Dim size_symbol(const std::string& name);
bool is_data_dependent(const Dim&);  // whether one of its symbols is "?k"

using Shape = std::vector<Dim>;

// Whether the shapes have the same rank and no two of their sizes are proved different.
bool may_be_equal(const Shape&, const Shape&);

Dim product(const Shape&);  // the number of elements
bool is_static(const Shape&);
std::vector<int64_t> static_shape(const Shape&);  // is_static() must hold
Shape shape_of(const std::vector<int64_t>&);
std::string str(const Shape&);  // "(1, 3, n)"

}  // namespace dlcc

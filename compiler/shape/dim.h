// Symbolic dimensions: integer expressions over named symbols, as in Relax (Lai et al., ASPLOS 2025). They are kept in
// a canonical form, so that equality is structural and simple inequalities can be proved.
//
// A Dim is a polynomial with int64 coefficients over atoms. An atom is a symbol, or floor_div, floor_mod, min or max of
// two dims. In the canonical form terms are sorted, terms with equal atoms are merged, and constant sub-expressions are
// evaluated. Division by zero gives 0. Arithmetic that overflows int64 gives overflow(), which equals no dim, not even
// itself, and is not constant.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dlcc {

// A named size that is unknown at compile time, in [low, high]. Two symbols are equal if their names are.
struct Symbol {
  std::string name;
  int64_t low = 0;
  int64_t high = INT64_MAX;
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

  // Whether the canonical forms are equal. False does not prove that the dims differ.
  friend bool operator==(const Dim&, const Dim&);

  // Bounds for all values of the symbols; empty if unknown.
  std::optional<int64_t> lower_bound() const;
  std::optional<int64_t> upper_bound() const;

  const std::vector<Term>& terms() const { return terms_; }  // of the canonical form, the constant last; empty for 0
  std::vector<Symbol> symbols() const;                       // each once, sorted by name
  Dim substitute(const std::map<std::string, Dim>& values) const;
  std::string str() const;  // "n", "2 * n + 1", "floor_div(n, 2)"

 private:
  static Dim of_atom(DimAtom);
  static int compare(const Dim&, const Dim&);
  static int compare(const Term&, const Term&);
  static Dim from_terms(std::vector<Term>);

  std::vector<Term> terms_;  // sorted, no zero coefficients; empty is 0
  bool overflow_ = false;
};

// A factor of a term.
struct DimAtom {
  enum class Kind : uint8_t { symbol, floor_div, floor_mod, min, max } kind;
  Symbol symbol;          // kind symbol
  std::vector<Dim> args;  // two, for the other kinds
};

// Whether a <= b is proved for all values of the symbols.
bool provably_le(const Dim& a, const Dim& b);

using Shape = std::vector<Dim>;

Dim product(const Shape&);  // the number of elements
bool is_static(const Shape&);
std::vector<int64_t> static_shape(const Shape&);  // is_static() must hold
Shape shape_of(const std::vector<int64_t>&);
std::string str(const Shape&);  // "(1, 3, n)"

}  // namespace dlcc

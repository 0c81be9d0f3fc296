// Facts about symbols in addition to their bounds: conditions that a run has checked, and ranges of loop variables. An
// equality replaces a symbol by a dim. Inequalities are kept as assumptions of proofs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shape/dim.h"

namespace dlcc {

class Facts {
 public:
  // The functions below return false, and assume nothing, if the assumption is proved to be wrong.

  // a = b. A symbol that the equation determines is replaced from now on, "?k" before named ones.
  bool assume_equal(const Dim& a, const Dim& b);
  bool assume_le(const Dim& a, const Dim& b);
  // a <= b, which may follow from what is known already: a lemma that makes longer proofs possible.
  void add_lemma(const Dim& a, const Dim& b) { nonnegative_.push_back(apply(b) - apply(a)); }

  // The dim with symbols replaced according to the facts.
  Dim apply(const Dim& d) const { return replaced_.empty() ? d : d.substitute(replaced_); }

  bool provably_le(const Dim& a, const Dim& b) const;
  std::optional<int64_t> lower_bound(const Dim&) const;  // empty if none is known
  bool provably_lt(const Dim& a, const Dim& b) const { return provably_le(a + Dim(1), b); }

  struct Division {
    Dim quotient, remainder;
  };
  // The quotient and the remainder of a / b for b >= 1, without the terms of `a` that are multiples of `b`: those of
  // (i + w * j) / w are j and i if 0 <= i < w. Empty if that does not simplify the division.
  std::optional<Division> divide(const Dim& a, const Dim& b) const;

 private:
  void replace(const Symbol&, const Dim& by);

  std::map<std::string, Dim> replaced_;  // no value contains a replaced symbol
  std::vector<Dim> nonnegative_;         // without replaced symbols
};

}  // namespace dlcc

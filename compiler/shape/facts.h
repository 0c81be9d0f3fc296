// What is known of symbols beyond their bounds: the conditions that a run has checked, or the range of a loop. An
// equality replaces a symbol by a dim; so does a multiple, which makes h into 32 * h'. Inequalities are assumptions of
// proofs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "shape/dim.h"

namespace dlcc {

class Facts {
 public:
  // Each returns false if the assumption is proved to be wrong; then nothing is assumed.

  // a = b. A symbol that the equation determines is replaced from now on, "?k" before named ones.
  bool assume_equal(const Dim& a, const Dim& b);
  bool assume_le(const Dim& a, const Dim& b);
  // `d` is a multiple of `factor`, which is positive. If `d` is c * h, the symbol h becomes factor / gcd(c, factor) *
  // h_by_FACTOR; other dims leave no trace.
  bool assume_multiple(const Dim& d, int64_t factor);

  // The dim with the replaced symbols replaced.
  Dim apply(const Dim& d) const { return replaced_.empty() ? d : d.substitute(replaced_); }

  bool provably_le(const Dim& a, const Dim& b) const;
  std::optional<int64_t> lower_bound(const Dim&) const;  // empty if none is known
  bool provably_lt(const Dim& a, const Dim& b) const { return provably_le(a + Dim(1), b); }
  bool provably_equal(const Dim& a, const Dim& b) const { return apply(a) == apply(b); }

 private:
  void replace(const Symbol&, const Dim& by);

  std::map<std::string, Dim> replaced_;  // no value contains a replaced symbol
  std::vector<Dim> nonnegative_;         // without replaced symbols
};

}  // namespace dlcc

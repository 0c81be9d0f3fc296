// The memory that the values of a function take in its arena.
//
// A size such as h - 4, of the result of a window of 5 rows, may be negative, and the product of two such sizes
// positive. The program checks such a size before it uses a value with it: before the run, or in the arm of a branch
// that needs it. So a value takes memory only at sizes at which the checks before all of its uses succeed: a reshaped
// (h - 4) * (w - 4) takes none at h = 1, w = 1.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lower/largest_size.h"
#include "lower/program.h"
#include "shape/facts.h"

namespace dlcc::lower {

// A number of bytes that depends on the sizes that are known before the run: `bytes` where none of `checks` is
// negative, else 0.
struct MemorySize {
  Dim bytes = 0;
  std::vector<Dim> checks = {};

  std::optional<int64_t> upper_bound() const;  // empty if there is none
  // Empty if it does not fit int64.
  std::optional<int64_t> at(const std::map<std::string, int64_t>& sizes) const;
  // True where none of `checks` is negative.
  tensor::Expr is_used() const;
  tensor::Expr expr() const;
  bool operator==(const MemorySize&) const = default;
};

// Whether the first is proved to be at most the second at all sizes.
bool provably_le(const MemorySize&, const MemorySize&);

class MemorySizes {
 public:
  // `function`: the program or one of its functions. Both must outlive this object, and the values must not change.
  MemorySizes(const Program&, const Function&);

  // The memory of the value, for the largest data-dependent sizes. Its `checks` are the sizes that may be negative
  // among those that are checked before all uses of the value, and among the value's own sizes.
  MemorySize operator()(ValueId) const;
  // Whether the value may be used at these values of all symbols.
  bool is_used(ValueId, const std::map<std::string, int64_t>& symbols) const;

 private:
  const Function& function_;
  LargestSizes largest_;
  Facts checked_;                         // the sizes that the program checks before the run
  std::vector<std::vector<Dim>> checks_;  // by value
};

// Whether a run of the program may reach steps where one of the sizes is negative.
bool may_be_negative(const Program&, const Shape&);

}  // namespace dlcc::lower

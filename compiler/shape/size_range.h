// The values that the option --dim allows for a size of the inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "shape/input_dim.h"

namespace dlcc {

// The multiples of `multiple` in [low, high]; both bounds are among them, unless `high` is INT64_MAX: no bound.
struct SizeRange {
  int64_t low = 1, high = INT64_MAX;
  int64_t multiple = 1;  // positive
  int64_t typical = 0;   // the size that estimates assume; 0: none is given

  SizeRange() = default;
  SizeRange(int64_t number) : low(number), high(number) {}  // NOLINT: a number is the range of one size

  bool is_number() const { return low == high; }
  bool operator==(const SizeRange&) const = default;
  std::string str() const;  // as in the option --dim
};

// Parses "8", "1..64" or "1.." (no upper bound), optionally followed by ":8" for multiples of 8 and then by "@16" for
// the typical size. The bounds are rounded inwards to multiples. If the text is malformed or allows no size, the result
// is empty and `problem` has the reason.
std::optional<SizeRange> parse_size_range(std::string_view text, std::string& problem);

// The size `name` with this range, which must not be a single number. The name of its symbol is an identifier: `name` if
// that is one, else letters, digits and underscores for it; name_by_MULTIPLE if the range has a multiple. Underscores
// follow if the symbol is not `name` and would be in `taken`.
InputDim input_dim(const std::string& name, const SizeRange&, const std::set<std::string>& taken);

}  // namespace dlcc

// The run-time values of the symbols in types.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "relay/ir.h"

namespace dlcc::relay {

// The values of the symbols in one activation of a function, and in the enclosing activation.
class ActualSizes {
 public:
  explicit ActualSizes(const ActualSizes* outer = nullptr) : outer_(outer) {}

  // Matches a type with the shape of a value. A symbol without a value gets one if the size of some axis is linear in
  // this symbol alone. dimension_out_of_range if an axis gives a symbol no value within its bounds, shape_mismatch if
  // the shape disagrees with the type otherwise.
  tensor::Status match(const TensorType& declared, const std::vector<int64_t>& shape);

  // Gives the symbol a value. False if it is out of the symbol's bounds.
  bool define(const Symbol&, int64_t value);

  // Empty if a symbol of the dim has no value.
  std::optional<int64_t> value_of(const Dim&) const;

  // The attributes, with a number in place of each symbolic dimension whose symbols all have values.
  Attrs apply(const Attrs&) const;

 private:
  std::map<std::string, int64_t> all() const;

  const ActualSizes* outer_;
  std::map<std::string, int64_t> sizes_;
};

bool has_symbols(const Attrs&);

}  // namespace dlcc::relay

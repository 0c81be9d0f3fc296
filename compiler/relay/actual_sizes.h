// The values that the symbols of types have in a run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "relay/ir.h"

namespace dlcc::relay {

// The sizes of one activation of a function, and of the activation around it.
class ActualSizes {
 public:
  explicit ActualSizes(const ActualSizes* outer = nullptr) : outer_(outer) {}

  // A value of type `declared` has this shape: a symbol that has no value yet gets one if an axis is linear in it
  // alone. False if the shape disagrees with the type, or with the bounds of a symbol.
  bool match(const TensorType& declared, const std::vector<int64_t>& shape);

  // Gives the symbol a value. False if it is out of the symbol's bounds.
  bool define(const Symbol&, int64_t value);

  // Empty if a symbol of the dim has no value.
  std::optional<int64_t> value_of(const Dim&) const;

  // The attributes with numbers for symbolic dimensions, as far as their symbols have values.
  Attrs apply(const Attrs&) const;

 private:
  std::map<std::string, int64_t> all() const;

  const ActualSizes* outer_;
  std::map<std::string, int64_t> sizes_;
};

bool has_symbols(const Attrs&);

}  // namespace dlcc::relay

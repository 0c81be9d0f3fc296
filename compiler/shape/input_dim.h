// A size that the caller of a compiled model gives with every run.
#pragma once

#include <cstdint>
#include <string>

#include "shape/dim.h"

namespace dlcc {

// The size is `multiple` times the symbol, so that shapes are polynomials without division. With --dim h=32..1024:32
// the size `h` is 32 * h_by_32, and the symbol h_by_32 is in [1, 32].
struct InputDim {
  std::string name;      // the name in the model and in --dim
  Symbol symbol;         // the symbol in shapes; its bounds are in units of `multiple`
  int64_t multiple = 1;  // positive
  int64_t typical = 0;   // the size that estimates assume, in the caller's units; 0: none is given

  int64_t low() const { return symbol.low * multiple; }
  bool is_bounded() const { return symbol.high != INT64_MAX; }
  int64_t high() const { return is_bounded() ? symbol.high * multiple : INT64_MAX; }
  Dim size() const { return Dim(multiple) * Dim::symbol(symbol); }  // in the caller's units
};

}  // namespace dlcc

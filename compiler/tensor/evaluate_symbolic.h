// Evaluates definitions of small integer tensors over symbolic dimensions, element by element: shape arithmetic such as
// concatenate((take(shape_of(x), 0), [768])) has the value [n, 768]. Every operator takes part through its definition.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "support/constant.h"
#include "tensor/ir.h"

namespace dlcc::tensor {

// The elements of an integer or bool tensor that are known at compile time.
//
// Elements are exact integers. Constants wrap as in their type. A symbolic element of type int32 or int64 is assumed to
// fit its type. Sizes are checked when a run begins: an axis whose size is computed in int32 and exceeds 2^31 - 1 is
// rejected. In narrower and unsigned types an element is known only if its bounds prove that it fits.
struct SymbolicTensor {
  static constexpr int64_t max_elements = 64;

  std::vector<int64_t> shape;
  std::vector<std::optional<Dim>> elements;  // row-major; 0 or 1 for bool
  bool conditional = false;                  // the elements are valid only if requirements hold that are not proved

  bool is_constant() const;  // all elements are constants, and not conditional
};
using KnownValue = std::shared_ptr<const SymbolicTensor>;  // null: nothing is known

// The value of a constant; null if its elements are neither integers nor bool, or too many.
KnownValue value_of(const Constant&);

// The constant with a value's elements, if is_constant().
Constant constant_of(DType, const SymbolicTensor&);

// The known values of the function's results, given the values `args` of its parameters and if the function's
// requirements hold.
std::vector<KnownValue> evaluate_symbolic(const TensorFunction&, std::span<const KnownValue> args);

// Whether all requirements of the function are proved to hold.
bool requirements_hold(const TensorFunction&, std::span<const KnownValue> args);

}  // namespace dlcc::tensor

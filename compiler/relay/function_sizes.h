// Sizes of function values. A size that occurs in the parameters of one function type of a signature, and nowhere else
// in the signature, is a size of that function: it is another one at each call of the function.
//
//   def @both(%f: fn (Tensor[(k), float32]) -> Tensor[(2 * k), float32],      // k is any size
//             %x: Tensor[(n), float32], %y: Tensor[(m), float32]) { (%f(%x), %f(%y)) }
//   def @maker(%s: float32) -> fn (Tensor[(k), float32]) -> Tensor[(k), float32] { ... }
//   def @apply(%f: fn (Tensor[(n), float32]) -> float32, %x: Tensor[(n), float32])     // n is the size of %x
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "relay/type.h"

namespace dlcc::relay {

// The names of these sizes in the types of a signature: of the parameters and the result. Types may be null.
std::set<std::string> sizes_of_function_values(const std::vector<Type>&);

// The type with `map` applied to the function types in it that are no parts of functions, data or references.
Type map_function_values(const Type&, const std::function<Type(const Type&)>& map);

}  // namespace dlcc::relay

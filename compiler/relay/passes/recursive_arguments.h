// Functions as arguments of recursive local functions, which a recursive call only passes on.
#pragma once

#include <optional>
#include <vector>

#include "relay/ir.h"

namespace dlcc::relay {

bool has_function(const Type&);  // whether it is a function type, or a tuple type with one

// The parameters of the local function that are functions or tuples with functions, by index. Empty if the function
// does not call itself, is a value somewhere in its own body, is generic or returns functions, or if some call passes
// another value than the parameter itself.
std::vector<size_t> passed_on_functions(const Function&, const Var& self);

// Removes the elements with these indices, which ascend.
template <class Element>
void erase_at(std::vector<Element>& list, const std::vector<size_t>& indices) {
  for (size_t k = indices.size(); k-- > 0;) list.erase(list.begin() + static_cast<std::ptrdiff_t>(indices[k]));
}

// Removes these arguments from all calls of the variable in the block.
void erase_arguments(Block&, const Var& callee, const std::vector<size_t>& indices);

}  // namespace dlcc::relay

// The call graph of a module's global functions.
#pragma once

#include <string>
#include <vector>

#include "relay/ir.h"

namespace dlcc::relay {

// The names of global functions that the block refers to, nested blocks included. A name appears once per reference.
std::vector<std::string> globals_in(const Block&);

// The names of all functions; each comes after the functions that it refers to, except in recursion.
std::vector<std::string> callees_first(const Module&);

}  // namespace dlcc::relay

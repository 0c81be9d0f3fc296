// Selects the calls of global functions that become calls of the program's functions (relay/shared_calls.h).
#pragma once

#include <string>
#include <vector>

#include "relay/ir.h"
#include "relay/shared_calls.h"

namespace dlcc::lower {

// Functions are inlined if they define sizes, have parameters or results that are no tensors, or have no results.
relay::SharedCalls shared_functions(const relay::Module&);

// The specialization of a function that a call with these operands needs.
relay::Specialization specialization_of(const std::string& function, const std::vector<relay::Atom>& args);

}  // namespace dlcc::lower

// Which calls of a module's global functions are calls of functions in the program (relay/shared_calls.h).
#pragma once

#include <string>
#include <vector>

#include "relay/ir.h"
#include "relay/shared_calls.h"

namespace dlcc::lower {

// Functions that define sizes, or that have parameters or results which are no tensors, or no results, are inlined.
relay::SharedCalls shared_functions(const relay::Module&);

// The way to call a function with these operands.
relay::CallWay call_way(const std::string& function, const std::vector<relay::Atom>& args);

}  // namespace dlcc::lower

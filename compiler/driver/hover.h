// What an editor shows about a word of Relay text.
#pragma once

#include <string>
#include <string_view>

#include "relay/ir.h"

namespace dlcc::driver {

// The description of the operator, or the type of the variable or function, whose name is at an offset of the text; ""
// if nothing is known. `module`: the typed module of the text, which was imported as file `file`; null if the text has
// errors. Variables of one name in a function have a line for each of their types.
std::string describe_word(std::string_view text, size_t offset, const std::string& file, const relay::Module* module);

}  // namespace dlcc::driver

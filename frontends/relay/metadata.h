// Reads the metadata section of Relay text: a JSON graph of objects, with tensors as base64 text of TVM's NDArray
// format.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "support/constant.h"
#include "support/diagnostics.h"

namespace dlcc::frontends::relay_text {

// The constants of the key relay.Constant, none if the key is missing. `location`: of the section.
std::optional<std::vector<Constant>> parse_metadata(std::string_view json, const SourceLocation& location,
                                                    Diagnostics&);

}  // namespace dlcc::frontends::relay_text

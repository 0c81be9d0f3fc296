// Reads the metadata section of Relay text: a JSON graph of objects whose tensors are base64 of TVM's NDArray records.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "support/constant.h"
#include "support/diagnostics.h"

namespace dlcc::frontends::relay_text {

// The list behind the key relay.Constant; empty when there is none. `place` is the section's.
std::optional<std::vector<Constant>> parse_metadata(std::string_view json, const SourceLocation& location,
                                                    Diagnostics&);

}  // namespace dlcc::frontends::relay_text

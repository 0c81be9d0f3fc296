// The canonical layout of Relay text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "support/diagnostics.h"

namespace dlcc::frontends {

// The text in its canonical layout, with all its tokens and comments in their order; empty, with diagnostics, when the
// text cannot be read. The layout of a formatted text is itself.
//
//   * Lines have up to 100 columns where tokens allow it; a block is indented by two spaces.
//   * A function, `if` or arm with one expression that fits is one line. Else each statement, arm and constructor has a
//     line; a match and a type with several always do.
//   * A list that does not fit has an item on each line.
//   * Definitions other than types have a blank line between them; of blank lines within a block one is kept.
//   * Comments keep their place: at the end of their line, or on lines before what follows. Embedded tensor functions
//     and the metadata section stay as they are.
std::optional<std::string> format_relay(std::string_view text, const std::string& file, Diagnostics&);

}  // namespace dlcc::frontends

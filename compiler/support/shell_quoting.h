// Quotes text for commands of a shell.
#pragma once

#include <string>

namespace dlcc {

// The text in single quotes, as one word of a command for a shell. The characters of `escaped` get a backslash: fish
// interprets backslashes in quotes.
std::string shell_quoted(const std::string& text, const std::string& escaped = "");

}  // namespace dlcc

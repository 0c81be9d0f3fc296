// Reading and writing whole files. Written files appear complete or not at all.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"

namespace dlcc {

// The bytes of a file, or of standard input for "-". Empty, with a diagnostic, when it cannot be read.
std::optional<std::vector<std::byte>> read_file(const std::string& path, Diagnostics&);

// Writes to a temporary file beside `path` and renames it; "-" is standard output. False, with a diagnostic, on
// failure; then nothing is left behind.
bool write_file(const std::string& path, std::span<const std::byte> bytes, Diagnostics&);
bool write_file(const std::string& path, std::string_view text, Diagnostics&);

}  // namespace dlcc

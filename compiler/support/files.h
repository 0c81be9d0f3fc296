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

// A path and what is to be written there, one piece behind the other.
struct OutputFile {
  std::string path;
  std::vector<std::span<const std::byte>> pieces;
};

// Writes every file to a temporary one beside it, and renames them when all are complete; "-" is standard output, and a
// link stays one. False, with a diagnostic, on failure, or when two are to go to the same path; then nothing is left
// behind.
bool write_files(const std::vector<OutputFile>& files, Diagnostics&);

// Whether a file could be written to each path now; false with a diagnostic. For what is asked before long work.
bool can_write(const std::vector<std::string>& paths, Diagnostics&);

// The same for one file.
bool write_file(const std::string& path, std::span<const std::byte> bytes, Diagnostics&);
bool write_file(const std::string& path, std::string_view text, Diagnostics&);

}  // namespace dlcc

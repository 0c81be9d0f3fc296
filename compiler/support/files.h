// Reads and writes whole files. Writes are atomic: a file is complete, or as it was before.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"

namespace dlcc {

// The contents of a file, or of standard input for "-". Empty, with a diagnostic, if it cannot be read.
std::optional<std::vector<std::byte>> read_file(const std::string& path, Diagnostics&);

// A path, and the contents of the file as the concatenation of `pieces`.
struct OutputFile {
  std::string path;
  std::vector<std::span<const std::byte>> pieces;
};

// Writes each file to a temporary file in the same folder, and renames all when all are complete. "-" is standard
// output; it, devices and pipes are written last. A symbolic link is kept; its target is replaced. Signals that end the
// process (INT, TERM, HUP, QUIT) wait until no temporary file is left. On failure, or if two paths name one file:
// false, with a diagnostic, and the temporary files are removed; but if a device or pipe fails, the files are written.
bool write_files(const std::vector<OutputFile>& files, Diagnostics&);

// Whether each path can be written and no two name one file; otherwise false, with a diagnostic. Called before long
// work.
bool can_write(const std::vector<std::string>& paths, Diagnostics&);

// Whether no output is one of the inputs; reports each output that is.
bool differ_from_inputs(const std::vector<std::string>& outputs, const std::set<std::string>& inputs, Diagnostics&);

// write_files() for one file.
bool write_file(const std::string& path, std::span<const std::byte> bytes, Diagnostics&);
bool write_file(const std::string& path, std::string_view text, Diagnostics&);

}  // namespace dlcc

// dlcc fmt FILE...: the canonical layout of Relay text.
#include <iostream>

#include "driver/commands.h"
#include "driver/options.h"
#include "frontends/relay/format.h"
#include "support/files.h"

namespace dlcc::driver {
namespace {

struct FormatOptions {
  std::vector<std::string> files;
  bool in_place = false;
  bool check = false;
};

// False when the file was not read or written, or is not formatted and should be.
bool format_file(const std::string& path, const FormatOptions& options, Diagnostics& diagnostics) {
  const auto bytes = read_file(path, diagnostics);
  if (!bytes) return false;
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  const auto formatted = frontends::format_relay(text, path == "-" ? "<stdin>" : path, diagnostics);
  if (!formatted) return false;
  if (options.check) {
    if (*formatted != text) std::cout << path << "\n";
    return *formatted == text;
  }
  if (!options.in_place || path == "-") {
    std::cout << *formatted;
    return true;
  }
  return *formatted == text || write_file(path, *formatted, diagnostics);
}

}  // namespace

int fmt_command(CommandLine& line) {
  FormatOptions options;
  line.describe(
      "Prints Relay text in its canonical layout. Comments keep their places. Text that cannot be read is not "
      "changed.");
  line.add(Positional{"FILE", "A file with Relay text; - is standard input", append_to(options.files), true});
  line.add({.name = "--in-place",
            .help = "Rewrite the files instead",
            .store = store_true(options.in_place),
            .other_name = "-i"});
  line.add(
      {"--check", "", "Print the names of files whose layout is another, with status 1", store_true(options.check)});
  add_common_options(line, false);
  if (auto status = line.parse()) return *status;
  Diagnostics diagnostics;
  bool good = true;
  for (const std::string& file : options.files) good &= format_file(file, options, diagnostics);
  const int status = report(diagnostics, line.reporting());
  return status == 0 && !good ? 1 : status;
}

}  // namespace dlcc::driver

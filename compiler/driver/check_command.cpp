// dlcc check MODEL: reports all problems of a model and writes nothing.
#include "driver/command_compiler.h"
#include "driver/commands.h"
#include "driver/options.h"
#include "frontends/frontend.h"

namespace dlcc::driver {
namespace {

enum class Part : uint8_t { all, syntax, what_needs_no_metadata };

// Checks a part of Relay text, or imports an ONNX model.
void check_part(Part part, CompileOptions options, Diagnostics& diagnostics) {
  options.model_bytes = read_model(options.model, diagnostics);
  if (!options.model_bytes) return;
  const std::vector<std::byte>& bytes = *options.model_bytes;
  if (bytes.empty() || !frontends::is_text(bytes)) {
    CommandCompiler(options, diagnostics).import();
    return;
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string file = options.model == "-" ? "<stdin>" : options.model;
  if (part == Part::syntax)
    frontends::check_syntax(text, file, diagnostics);
  else
    frontends::check_without_metadata(text, {.dims = options.dims, .file = file}, diagnostics);
}

}  // namespace

int check_command(CommandLine& line) {
  CompileOptions options;
  Part part = Part::all;
  line.describe("Reports all problems that prevent a model from being compiled.");
  add_compile_options(line, options);
  add_input_option(line, options);
  line.add({"--syntax-only", "", "Read Relay text and stop before its types; of an ONNX model, stop after the import",
            store_by([&part](const std::string&) { part = Part::syntax; })});
  line.add({.name = "--missing-meta",
            .placeholder = "error|opaque",
            .help =
                "What an object meta[KEY][N] that the metadata section of Relay text lacks is: an error, or a value of "
                "which nothing is known; then only problems that do not depend on it are reported",
            .store = store_by([&part](const std::string& choice) {
              if (choice == "opaque") part = Part::what_needs_no_metadata;
            }),
            .choices = {"error", "opaque"}});
  if (auto status = line.parse()) return *status;
  Diagnostics diagnostics;
  if (part != Part::all)
    check_part(part, options, diagnostics);
  else
    CommandCompiler(options, diagnostics).compile();
  return report(diagnostics, line.reporting());
}

}  // namespace dlcc::driver

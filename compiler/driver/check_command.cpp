// dlcc check MODEL: reports all problems of a model and writes nothing.
#include "driver/command_compiler.h"
#include "driver/commands.h"
#include "driver/options.h"
#include "frontends/frontend.h"

namespace dlcc::driver {
namespace {

// Reads Relay text without its types, or imports an ONNX model.
void check_syntax(CompileOptions options, Diagnostics& diagnostics) {
  options.model_bytes = read_model(options.model, diagnostics);
  if (!options.model_bytes) return;
  const std::vector<std::byte>& bytes = *options.model_bytes;
  if (!bytes.empty() && frontends::is_text(bytes))
    frontends::check_syntax({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                            options.model == "-" ? "<stdin>" : options.model, diagnostics);
  else
    CommandCompiler(options, diagnostics).import();
}

}  // namespace

int check_command(CommandLine& line) {
  CompileOptions options;
  bool syntax_only = false;
  line.describe("Reports all problems that prevent a model from being compiled.");
  add_compile_options(line, options);
  add_input_option(line, options);
  line.add({"--syntax-only", "", "Read Relay text and stop before its types; of an ONNX model, stop after the import",
            store_true(syntax_only)});
  if (auto status = line.parse()) return *status;
  Diagnostics diagnostics;
  if (syntax_only)
    check_syntax(options, diagnostics);
  else
    CommandCompiler(options, diagnostics).compile();
  return report(diagnostics, line.reporting());
}

}  // namespace dlcc::driver

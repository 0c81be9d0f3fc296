// dlcc check MODEL: reports all problems of a model and writes nothing.
#include "driver/command_compiler.h"
#include "driver/commands.h"
#include "driver/options.h"

namespace dlcc::driver {

int check_command(CommandLine& line) {
  CompileOptions options;
  line.describe("Reports all problems that prevent a model from being compiled.");
  add_compile_options(line, options);
  add_input_option(line, options);
  if (auto status = line.parse()) return *status;
  Diagnostics diagnostics;
  CommandCompiler(options, diagnostics).compile();
  return report(diagnostics, line.reporting());
}

}  // namespace dlcc::driver

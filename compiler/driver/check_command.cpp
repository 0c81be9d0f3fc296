// dlcc check MODEL: reports all problems of a model and writes nothing.
#include "driver/commands.h"
#include "driver/options.h"

namespace dlcc::driver {

int check_command(std::vector<std::string> args) {
  CompileOptions options;
  Reporting reporting;
  CLI::App app("Reports all problems that prevent a model from being compiled.", "dlcc check");
  add_compile_options(app, options);
  add_reporting_options(app, reporting);
  if (auto status = parse(app, args)) return *status;
  Diagnostics diagnostics;
  Compiler(options, diagnostics).compile();
  return report(diagnostics, reporting);
}

}  // namespace dlcc::driver

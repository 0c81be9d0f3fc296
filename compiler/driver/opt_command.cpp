// dlcc opt MODEL --passes=a,b: imports a model, runs passes and prints the module.
#include <iostream>

#include "driver/commands.h"
#include "driver/options.h"
#include "relay/passes/passes.h"

namespace dlcc::driver {

int opt_command(std::vector<std::string> args) {
  CompileOptions options;
  Reporting reporting;
  std::vector<std::string> passes;
  CLI::App app("Imports a model, runs passes and prints the module.", "dlcc opt");
  std::string list = "\nPasses:\n";
  for (const relay::PassInfo& p : relay::all_passes()) list += fmt::format("  {:34} {}\n", p.name, p.about);
  app.footer(list);
  add_compile_options(app, options);
  add_reporting_options(app, reporting);
  app.add_option("--passes", passes, "The passes in their order, separated by commas; empty: none")
      ->type_name("LIST")
      ->delimiter(',')
      ->check([](const std::string& name) { return name.empty() ? "" : check_pass(name); });
  std::erase(args, "--passes=");  // CLI11 would take the next argument as its value
  if (auto status = parse(app, args)) return *status;
  if (passes == std::vector<std::string>{""}) passes.clear();
  options.passes.verify_each = true;
  Diagnostics diagnostics;
  Compiler compiler(options, diagnostics);
  auto module = compiler.import();
  auto result = module ? compiler.run_passes(std::move(*module), passes) : std::nullopt;
  if (result) std::cout << relay::print(*result);
  return report(diagnostics, reporting);
}

}  // namespace dlcc::driver

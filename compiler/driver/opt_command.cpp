// dlcc opt MODEL --passes=a,b: imports a model, runs passes and prints the module.
#include <iostream>
#include <sstream>

#include "driver/command_compiler.h"
#include "driver/commands.h"
#include "driver/options.h"
#include "pipeline/compile.h"
#include "relay/passes/passes.h"

namespace dlcc::driver {
namespace {

Problem store_passes(const std::string& list, std::vector<std::string>& passes) {
  std::stringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    if (Problem p = check_pass(name); !p.message.empty()) return p;
    passes.push_back(name);
  }
  return {};
}

}  // namespace

int opt_command(CommandLine& line) {
  CompileOptions options;
  std::vector<std::string> passes;
  bool with_weights = false;
  line.describe("Imports a model, runs passes and prints the module.");
  add_compile_options(line, options);
  add_input_option(line, options);
  line.add({.name = "--passes",
            .placeholder = "LIST",
            .help = "The passes to run, in this order, separated by commas; empty (default): none",
            .store = [&passes](const std::string& list) { return store_passes(list, passes); },
            .examples = pass_names,
            .optional_value = true});
  line.add({"--with-weights", "", "Print the elements of constants, too, so that dlcc can read the module again",
            store_true(with_weights)});
  Section about_passes{"Passes", {}};
  for (const relay::PassInfo& p : relay::all_passes()) about_passes.rows.emplace_back(p.name, p.about);
  line.add(about_passes);
  if (auto status = line.parse()) return *status;
  options.passes.verify_each = true;
  Diagnostics diagnostics;
  CommandCompiler compiler(options, diagnostics);
  auto module = compiler.import();
  auto result = module ? compiler.run_passes(std::move(*module), passes) : std::nullopt;
  if (result) std::cout << relay::print(*result, with_weights);
  return report(diagnostics, line.reporting());
}

}  // namespace dlcc::driver

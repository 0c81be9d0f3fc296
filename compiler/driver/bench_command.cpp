// dlcc bench MODEL: the latency distribution of the object on this machine.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "driver/commands.h"
#include "driver/options.h"
#include "pipeline/tensor_files.h"
#include "targets/llvm/loader.h"

namespace dlcc::driver {

int bench_command(std::vector<std::string> args) {
  CompileOptions options;
  Reporting reporting;
  int runs = 100;
  bool json = false;
  CLI::App app("Measures a compiled model on random inputs.", "dlcc bench");
  add_compile_options(app, options);
  add_reporting_options(app, reporting);
  app.add_option("--runs", runs, "Timed calls")->check(CLI::Range(2, 1000000))->capture_default_str();
  app.add_flag("--json", json, "Print JSON");
  if (auto status = parse(app, std::move(args))) return *status;
  Diagnostics diagnostics;
  Compiler compiler(options, diagnostics);
  auto planned = compiler.compile();
  if (!planned) return report(diagnostics, reporting);
  std::vector<Constant> inputs;
  for (const auto& t : planned->interface.inputs) inputs.push_back(random_tensor(t, inputs.size() + 1));
  auto object = compiler.generate(*planned);
  auto result = targets::run_object(
      {.object = object, .interface = &planned->interface, .inputs = inputs, .repeat = runs}, diagnostics);
  if (!result) return report(diagnostics, reporting);
  std::vector<double> t = result->seconds;
  std::ranges::sort(t);
  auto quantile = [&](double q) { return t[static_cast<size_t>(q * static_cast<double>(t.size() - 1))] * 1e3; };
  double gmacs = static_cast<double>(planned->interface.macs) * 1e-6 / quantile(0.5);
  if (json) {
    nlohmann::json out = {{"runs", runs},
                          {"min_ms", quantile(0)},
                          {"median_ms", quantile(0.5)},
                          {"p95_ms", quantile(0.95)},
                          {"max_ms", quantile(1)},
                          {"macs", planned->interface.macs},
                          {"gflops", 2 * gmacs}};
    std::cout << out.dump(1) << "\n";
    return 0;
  }
  std::cout << fmt::format("{} runs: min {:.3f} ms, median {:.3f} ms, 95 % {:.3f} ms, max {:.3f} ms; {:.1f} GFLOP/s\n",
                           runs, quantile(0), quantile(0.5), quantile(0.95), quantile(1), 2 * gmacs);
  return 0;
}

}  // namespace dlcc::driver

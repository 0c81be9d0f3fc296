#include "driver/commands.h"

namespace dlcc::driver {

const Command compile = {"", "compile a neural network to an object file and a C header", compile_command};

std::span<const Command> commands() {
  static constexpr Command list[] = {
      {"check", "report all problems of a model, write nothing", check_command},
      {"inspect", "show inputs, outputs, kernels and memory", inspect_command},
      {"run", "compile in memory and run once", run_command},
      {"verify", "compare the outputs with expected ones", verify_command},
      {"bench", "measure the latency", bench_command},
      {"opt", "run some passes and print the module", opt_command},
      {"ops", "list the operators", ops_command},
      {"targets", "list the targets and their CPUs", targets_command},
      {"explain", "explain a diagnostic", explain_command},
  };
  return list;
}

std::deque<CommandLine> describe_commands() {
  std::deque<CommandLine> lines;
  auto describe = [&](const Command& c) { c.run(lines.emplace_back(c.name, c.summary, std::nullopt)); };
  describe(compile);
  for (const Command& c : commands()) describe(c);
  return lines;
}

}  // namespace dlcc::driver

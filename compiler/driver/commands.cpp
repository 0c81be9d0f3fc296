#include "driver/commands.h"

#include <algorithm>

#include "support/similar_names.h"

namespace dlcc::driver {
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
  };
  return list;
}

const Command* similar_command(const std::string& word) {
  std::vector<std::string> names;
  for (const Command& c : commands()) names.emplace_back(c.name);
  auto name = nearest_name(word, names);
  auto meant = std::ranges::find_if(commands(), [&](const Command& c) { return c.name == name; });
  return meant != commands().end() ? &*meant : nullptr;
}

}  // namespace dlcc::driver

#include "driver/commands.h"

namespace dlcc::driver {

std::span<const Command> commands() {
  static constexpr Command list[] = {
      {"check", "report every problem of a model; nothing is written", check_command},
      {"inspect", "inputs, outputs, kernels, memory", inspect_command},
      {"run", "compile in memory and run", run_command},
      {"verify", "compare with expected outputs", verify_command},
      {"bench", "measure the latency", bench_command},
      {"opt", "run chosen passes and print the module", opt_command},
      {"ops", "the operators", ops_command},
      {"targets", "the targets and their CPUs", targets_command},
  };
  return list;
}

}  // namespace dlcc::driver

#include "driver/runner_options.h"

#include "targets/target.h"

namespace dlcc::driver {

void RunnerOptions::add_to(CommandLine& line) {
  line.add({"--runner", "COMMAND",
            "Run the model by this command, for a target that is not this machine: qemu-aarch64. It is called with a "
            "program and its arguments, numbers and names of files. qemu-system-arm: on a board with the target's "
            "microcontroller",
            store_text(runner_)});
  line.last_option().examples = [] { return std::vector<std::string>{"qemu-aarch64", "qemu-arm", "qemu-system-arm"}; };
  line.add({"--runner-cc", "COMMAND",
            "With --runner: the C compiler that links programs for the target, default: gcc's name in Debian, as "
            "aarch64-linux-gnu-gcc or arm-none-eabi-gcc",
            store_text(compiler_)});
  line.after_values([this, &line] {
    return line.has("--runner-cc") && !is_given() ? Problem{"--runner-cc needs --runner"} : Problem{};
  });
}

std::unique_ptr<ForeignRunner> RunnerOptions::make_runner(const targets::Target& target) const {
  if (!is_given()) return nullptr;
  return std::make_unique<ForeignRunner>(RunnerCommands{runner_, compiler_}, target);
}

}  // namespace dlcc::driver

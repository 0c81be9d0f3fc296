#include "driver/commands.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "driver/help.h"

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
      {"fmt", "lay out Relay text", fmt_command},
      {"lsp", "serve an editor of Relay text", lsp_command},
      {"ops", "list the operators", ops_command},
      {"targets", "list the targets and their CPUs", targets_command},
      {"explain", "explain a diagnostic", explain_command},
      {"help", "print the help of a command", help_command},
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

std::string commands_with_option(const std::string& name) {
  std::vector<std::string> programs;
  for (const CommandLine& line : describe_commands())
    if (std::ranges::any_of(line.options(),
                            [&](const Option& o) { return !o.hidden && (o.name == name || o.other_name == name); }))
      programs.push_back(line.name().empty() ? usage(line) : line.program());
  return programs.empty() ? "" : fmt::format("it is an option of: {}", fmt::join(programs, ", "));
}

std::string remedy_for_extra_argument(const CommandLine& line, const std::string& argument) {
  if (std::ranges::any_of(commands(), [&](const Command& c) { return argument == c.name; }))
    return fmt::format("the command comes first: dlcc {} MODEL", argument);
  if (argument.ends_with(".onnx") || argument.ends_with(".rly")) return "a command takes one model: run it for each";
  const std::string file = argument.substr(argument.find('=') + 1);
  if (!file.ends_with(".npy") && !file.ends_with(".npz") && !file.ends_with(".pb")) return "";
  const bool takes_data = std::ranges::any_of(line.options(), [](const Option& o) {
    return o.name == "--input" && o.placeholder.find("FILE") != std::string::npos;
  });
  return takes_data ? fmt::format("data of an input is an option: --input {}", argument)
                    : "'dlcc run', 'dlcc bench' and 'dlcc verify' take data";
}

}  // namespace dlcc::driver

// dlcc: chooses the command, reports what could not be done.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "driver/commands.h"
#include "support/diagnostics.h"

int main(int argc, char** argv) {
  using namespace dlcc::driver;
  std::vector<std::string> args(argv + 1, argv + argc);
  auto run = compile_command;
  auto named = std::ranges::find_if(commands(), [&](const Command& c) { return !args.empty() && args[0] == c.name; });
  if (named != commands().end()) {
    run = named->run;
    args.erase(args.begin());
  }
  try {
    return run(std::move(args));
  } catch (const std::exception& e) {
    fmt::print(
        stderr,
        "dlcc: internal error: {}\nThis is a defect of dlcc; please report it with the model and the command line.\n",
        e.what());
    return 70;
  }
}

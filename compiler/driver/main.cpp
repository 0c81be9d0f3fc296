// dlcc: chooses the command, reports what could not be done.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "driver/commands.h"
#include "driver/reproducer.h"
#include "support/diagnostics.h"

int main(int argc, char** argv) {
  using namespace dlcc::driver;
  const std::vector<std::string> command_line(argv + 1, argv + argc);
  std::vector<std::string> args = command_line;
  auto run = compile_command;
  auto named = std::ranges::find_if(commands(), [&](const Command& c) { return !args.empty() && args[0] == c.name; });
  if (named != commands().end()) {
    run = named->run;
    args.erase(args.begin());
  }
  try {
    return run(std::move(args));
  } catch (const std::exception& e) {
    const char* temporary = std::getenv("TMPDIR");
    std::string folder = write_reproducer(temporary ? temporary : "/tmp", command_line, e.what());
    fmt::print(stderr, "dlcc: internal error: {}\nThis is a defect of dlcc; please report it with {}.\n", e.what(),
               folder.empty() ? "the model and the command line" : "the contents of " + folder);
    return 70;
  }
}

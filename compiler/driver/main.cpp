// dlcc: dispatches to a command, reports errors of output, memory and dlcc itself.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>

#include "driver/commands.h"
#include "driver/reproducer.h"
#include "support/diagnostics.h"

// The status, or 1 when standard output could not be written, e.g. to a full disk.
static int after_output(int status) {
  if (std::cout.flush() && std::fflush(stdout) == 0) return status;
  fmt::print(stderr, "dlcc: standard output cannot be written\n");
  return status == 0 ? 1 : status;
}

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
    return after_output(run(std::move(args)));
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "dlcc: not enough memory for this model\n");
    return 1;
  } catch (const std::exception& e) {
    const char* temporary = std::getenv("TMPDIR");
    std::string folder = write_reproducer(temporary ? temporary : "/tmp", command_line, e.what());
    fmt::print(stderr, "dlcc: internal error: {}\nThis is a defect of dlcc; please report it with {}.\n", e.what(),
               folder.empty() ? "the model and the command line" : "the contents of " + folder);
    return 70;
  }
}

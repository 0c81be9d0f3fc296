// dlcc: dispatches to a command, reports errors of output, memory and dlcc itself.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>

#include "driver/commands.h"
#include "driver/options.h"
#include "driver/reporting.h"
#include "driver/reproducer.h"
#include "support/deep_stack.h"
#include "support/diagnostics.h"

// The status, or 1 when standard output could not be written, e.g. to a full disk.
static int after_output(int status, const std::vector<std::string>& command_line) {
  using namespace dlcc;
  if (std::cout.flush() && std::fflush(stdout) == 0) return status;
  Diagnostics diagnostics;
  diagnostics.error(DiagnosticId::cannot_write_file, {.file = "standard output"},
                    fmt::format("cannot write the output: {}", std::strerror(errno)));
  const int failed = driver::report(diagnostics, {.json = driver::asks_for_json(command_line)});
  return status == 0 ? failed : status;
}

// Runs the command that the arguments name, with the other arguments.
static int run(std::vector<std::string> args) {
  using namespace dlcc::driver;
  const size_t at = leading_options(args);
  auto named =
      std::ranges::find_if(commands(), [&](const Command& c) { return at < args.size() && args[at] == c.name; });
  const Command& command = named == commands().end() ? compile : *named;
  if (&command != &compile) args.erase(args.begin() + static_cast<std::ptrdiff_t>(at));
  CommandLine line(command.name, command.summary, std::move(args));
  line.find_options_elsewhere(commands_with_option);
  line.explain_extra_arguments(
      [&line](const std::string& argument) { return remedy_for_extra_argument(line, argument); });
  return command.run(line);
}

int main(int argc, char** argv) {
  using namespace dlcc::driver;
  const std::vector<std::string> command_line(argv + 1, argv + argc);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that exceeds the limit of its size is an error of writing
  try {
    int status = 0;
    dlcc::on_deep_stack([&] { status = after_output(run(command_line), command_line); });
    return status;
  } catch (const std::bad_alloc&) {
    dlcc::Diagnostics diagnostics;
    diagnostics.error(dlcc::DiagnosticId::too_large, {}, "not enough memory for this model");
    return report(diagnostics, {.json = asks_for_json(command_line)});
  } catch (const std::exception& e) {
    const char* temporary = std::getenv("TMPDIR");
    std::string folder = write_reproducer(temporary ? temporary : "/tmp", command_line, e.what());
    print_message(fmt::format("dlcc: internal error: {}\nThis is a defect of dlcc; please report it with {}.\n",
                              e.what(),
                              folder.empty() ? "the model and the command line" : "the contents of " + folder));
    return 70;
  }
}

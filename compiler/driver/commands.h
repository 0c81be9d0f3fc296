// The commands of dlcc. Each adds its options to the command line, parses it, and returns the exit status: 0 success, 1
// an error in the input, 2 an error in the command line.
#pragma once

#include <deque>
#include <span>
#include <string>

#include "driver/command_line.h"

namespace dlcc::driver {

struct Command {
  const char* name;
  const char* summary;
  int (*run)(CommandLine&);
};

// The command that runs when none is named: it compiles a model to an object and a header. Its name is "".
extern const Command compile;

// The commands with a name.
std::span<const Command> commands();

// The command lines of `compile` and of all commands, with their options and without arguments.
std::deque<CommandLine> describe_commands();

// Which commands have an option: "it is an option of: dlcc bench"; "" if there are none.
std::string commands_with_option(const std::string& name);

// A remedy for an argument that a command does not take, such as data of an input or the name of a command; "" if none
// is known.
std::string remedy_for_extra_argument(const CommandLine&, const std::string& argument);

int compile_command(CommandLine&);
int check_command(CommandLine&);
int inspect_command(CommandLine&);
int run_command(CommandLine&);
int verify_command(CommandLine&);
int bench_command(CommandLine&);
int opt_command(CommandLine&);
int fmt_command(CommandLine&);
int lsp_command(CommandLine&);
int ops_command(CommandLine&);
int targets_command(CommandLine&);
int explain_command(CommandLine&);
int help_command(CommandLine&);

}  // namespace dlcc::driver

// The commands of dlcc. Each takes the arguments after its name and returns the exit status: 0 success, 1 an error in
// the input, 2 an error in the command line.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace dlcc::driver {

struct Command {
  const char* name;
  const char* summary;
  int (*run)(std::vector<std::string> args);
};

std::span<const Command> commands();

// The command that `word` probably means; null when no command has a similar name.
const Command* similar_command(const std::string& word);

int compile_command(std::vector<std::string> args);  // runs when the first argument is no command
int check_command(std::vector<std::string> args);
int inspect_command(std::vector<std::string> args);
int run_command(std::vector<std::string> args);
int verify_command(std::vector<std::string> args);
int bench_command(std::vector<std::string> args);
int opt_command(std::vector<std::string> args);
int ops_command(std::vector<std::string> args);
int targets_command(std::vector<std::string> args);

}  // namespace dlcc::driver

// The commands of dlcc. Each takes the arguments behind its name and returns the exit status: 0 done, 1 the input is at
// fault, 2 the command line is at fault.
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

// The command that a user meant who typed `word`: one or two letters differ. Null when there is none.
const Command* similar_command(const std::string& word);

int compile_command(std::vector<std::string> args);  // the one without a name
int check_command(std::vector<std::string> args);
int inspect_command(std::vector<std::string> args);
int run_command(std::vector<std::string> args);
int verify_command(std::vector<std::string> args);
int bench_command(std::vector<std::string> args);
int opt_command(std::vector<std::string> args);
int ops_command(std::vector<std::string> args);
int targets_command(std::vector<std::string> args);

}  // namespace dlcc::driver

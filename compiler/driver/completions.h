// Scripts that complete command lines of dlcc in a shell.
#pragma once

#include <deque>
#include <string>

#include "driver/command_line.h"

namespace dlcc::driver {

// The script for "bash", "zsh" or "fish"; `lines`: as describe_commands() returns them.
std::string completion_script(const std::string& shell, const std::deque<CommandLine>& lines);

}  // namespace dlcc::driver

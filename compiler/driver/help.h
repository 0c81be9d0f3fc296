// The texts that describe a command line to people: --help and manual pages.
#pragma once

#include <string>

#include "driver/command_line.h"

namespace dlcc::driver {

// "dlcc verify MODEL DATA... [options]"
std::string usage(const CommandLine&);

// The separator between an option's name and its value, as in gcc: "=" in -mcpu=CPU, " " in -o OBJECT, nothing in -O2.
std::string separator(const Option&);

// The option as it is typed with its value: "--threads=N", "-o OBJECT", "-O0|1|2|3|s".
std::string with_placeholder(const Option&);

// The text of --help: usage, description, arguments, options by group, further sections.
std::string help_text(const CommandLine&);

// The manual page in roff, with the macros of man(7).
std::string man_page(const CommandLine&);

}  // namespace dlcc::driver

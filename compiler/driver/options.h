// Options that several commands share, and how the command line is read: gcc's spelling where gcc has the option.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/compile.h"
#include "support/diagnostics.h"

namespace dlcc::driver {

// How diagnostics are printed.
struct Reporting {
  bool json = false;
};

// Options of everything that compiles: MODEL, --target, -mcpu=, -O, --dim, ...
void add_compile_options(CLI::App&, CompileOptions&);
void add_reporting_options(CLI::App&, Reporting&);

// The parser's check of a pass's name: the complaint, or nothing.
std::string check_pass(const std::string& name);

// Parses; gives an exit status when the command should not run: help was printed, or the command line is at fault,
// which is told as --diagnostics says.
std::optional<int> parse(CLI::App&, const std::vector<std::string>& args);

// Prints diagnostics to stderr and gives the exit status: 0 when there are none, 2 when all are about the command line,
// else 1.
int report(const Diagnostics&, const Reporting&);

}  // namespace dlcc::driver

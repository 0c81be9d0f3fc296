// Options that several commands share, and the parsing of command lines. Options that gcc has are spelled as gcc does.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "driver/reporting.h"
#include "pipeline/compile.h"

namespace dlcc::driver {

// The options of commands that compile a model: MODEL, --target, -mcpu=, -O, --dim, ...
void add_compile_options(CLI::App&, CompileOptions&);
void add_reporting_options(CLI::App&, Reporting&);

// The parser's check of the name of a pass: an error message, or "".
std::string check_pass(const std::string& name);

// Parses the arguments. Returns an exit status when the command should not run: after --help or --version, or after an
// error, which has been reported in the format of --diagnostics.
std::optional<int> parse(CLI::App&, const std::vector<std::string>& args);

}  // namespace dlcc::driver

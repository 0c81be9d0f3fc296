// Options that several commands share.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/command_line.h"
#include "pipeline/compile_options.h"

namespace dlcc::driver {

// The options of every command: -w, -Werror, --diagnostics. A command that reads no model has no warnings: --help does
// not show the first two there.
void add_common_options(CommandLine&, bool has_warnings = true);

// The options of commands that compile a model, and MODEL itself: --target, -mcpu=, -O, --dim, ... `check_model` checks
// the name MODEL before the model is read.
void add_compile_options(CommandLine&, CompileOptions&,
                         std::function<Problem(const std::string&)> check_model = nullptr);

// Stores NAME=FORM, the form of an input; an input has one form.
Store store_input_form(std::map<std::string, frontends::InputForm>&);

// --input NAME=FORM, for commands that take no data.
void add_input_option(CommandLine&, CompileOptions&);

// Stores NAME=N, where N is a number of at least 0, for an option that may be repeated.
Store store_number(std::map<std::string, int64_t>& numbers);

// --json.
void add_json_option(CommandLine&, bool& json);

// The number of arguments that precede the name of a command: options that every command has, or -v.
size_t leading_options(const std::vector<std::string>& args);

std::vector<std::string> pass_names();
std::vector<std::string> target_names();
Problem check_pass(const std::string& name);

}  // namespace dlcc::driver

// Prints diagnostics, and derives the exit status of a command from them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "support/diagnostics.h"

namespace dlcc::driver {

// How diagnostics are printed.
struct Reporting {
  bool json = false;
  bool warnings_are_errors = false;  // -Werror: a warning makes the command fail
  bool no_warnings = false;          // -w: warnings are not printed
};

// Whether the command fails: there is an error, or a warning that -Werror makes one.
bool is_failure(const Diagnostics&, const Reporting&);

// Prints diagnostics to stderr and returns the exit status: 0 without errors, 2 when all errors are in the command
// line, else 1.
int report(const Diagnostics&, const Reporting&);

// Writes to standard error. A text that cannot be written there, e.g. because the stream is closed, is lost: the status
// still tells how the command ended.
void print_message(const std::string& text);

// JSON as text for standard output, with a line end. Bytes that are not UTF-8, as names may have, are replaced.
std::string printed(const nlohmann::json&);

// Whether standard error is a terminal that obeys control sequences, such as those that clear a line.
bool is_terminal();

// Whether text on standard error has colours: it is such a terminal, and the user did not set NO_COLOR
// (https://no-color.org).
bool shows_colours();

}  // namespace dlcc::driver

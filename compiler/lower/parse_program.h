// Reads the text of a lowered program (lower/program_text.h). For printed text, print(parse_program(text)) == text.
//
// The text lacks the contents of constants, the numbers of multiply-accumulate operations and the keys of tuning
// records: a parsed program has no constants, and the numbers and keys are 0. A kernel without body has only its
// signature, which suffices for the planner and the checkers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lower/plan.h"
#include "lower/program.h"
#include "support/diagnostics.h"

namespace dlcc::lower {

struct ParsedProgram {
  Program program;
  std::optional<StoragePlan> plan;  // if the text has one
};

// Parses and verifies; empty, with diagnostics, on failure. `file` is the file in source locations.
std::optional<ParsedProgram> parse_program(std::string_view text, const std::string& file, Diagnostics&);

}  // namespace dlcc::lower

// Reads the text of a lowered program (lower/program_text.h). For printed text, print(parse_program(text)) == text.
//
// The text has no contents of constants, no numbers of multiply-accumulate operations and no keys of tuning records:
// the constants of a parsed program are missing, the others are 0. A kernel without its body has a signature only,
// which is all that the planner and the checkers need.
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

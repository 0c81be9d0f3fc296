// The files that a compilation writes: object, header, texts of its stages, a dependency file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/command_line.h"
#include "driver/memory_limits.h"
#include "pipeline/compile.h"

namespace dlcc::driver {

struct Outputs {
  std::string object;                              // path; "-": standard output
  std::optional<std::string> emit;                 // kinds, separated by commas; empty: the object and its header
  bool debug_text = false;                         // -g: the scheduled program, too
  bool dependencies = false;                       // -MD
  bool phony_dependencies = false;                 // -MP: an empty rule for each file but the model
  std::string dependency_file, dependency_target;  // empty: derived from `object`
  std::vector<std::string> reports;                // paths, whose suffixes are the reports' forms
  MemoryLimits limits;                             // nothing is written if the model exceeds them
};

// The options of the group "Output", and their checks.
void add_output_options(CommandLine&, Outputs&);

// --report FILE, which may be repeated.
Option report_option(std::vector<std::string>& paths);

// The path without its suffix.
std::string without_suffix(const std::string& path);

// The file name of the scheduled program (-g) for a stem.
std::string scheduled_text_name(const std::string& stem);

// Whether all outputs can be written; reports the folders and files that cannot. To be called before the compilation.
bool can_write_outputs(const Outputs&, const CompileOptions&, Diagnostics&);

// Whether the Relay text of the module is the only output, so that no native code is needed.
bool is_relay_alone(const Outputs&);

// Writes the module as the only output, and the dependency file; false, with diagnostics, on failure.
bool write_relay(const Compiler&, const Outputs&, const relay::Module&, Diagnostics&);

// Generates code and writes all outputs and the tuning records, if any; false, with diagnostics, on failure.
bool write_outputs(Compiler&, const Outputs&, relay::Module, Planned&, const std::optional<TuningRecords>&,
                   Diagnostics&);

}  // namespace dlcc::driver

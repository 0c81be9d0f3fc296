// The compiler that a command runs.
#pragma once

#include "driver/reporting.h"
#include "pipeline/compile.h"

namespace dlcc::driver {

// Prints the times of the stages at the end of the command, if --time-passes asks for them.
class CommandCompiler : public Compiler {
 public:
  using Compiler::Compiler;
  CommandCompiler(const CommandCompiler&) = delete;
  ~CommandCompiler() {
    if (options().time_passes) print_message(timings());
  }
};

}  // namespace dlcc::driver

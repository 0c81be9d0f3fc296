// Runs models on another kind of machine than this one: a C compiler links the object to a program, which a command
// starts there, such as an emulator of the machine. The program is in runtime/runner.
#pragma once

#include <optional>
#include <string>

#include "pipeline/runner_machine.h"
#include "support/temporary_folder.h"
#include "targets/llvm/loader.h"

namespace dlcc {

// Keeps its files in a folder of its own while it lives.
class ForeignRunner {
 public:
  // Throws std::runtime_error if there is no folder for temporary files.
  ForeignRunner(RunnerCommands, targets::Target);

  // Runs the model as targets::run_object() does, but on one thread and without a profile of its steps: its `profile`
  // is ignored. Empty, with a diagnostic, if there is no such machine with the target's CPU, or if the program cannot
  // be linked, or does not give results in time.
  std::optional<targets::RunResult> run(const targets::RunRequest&, Diagnostics&);

 private:
  bool compile_program(Diagnostics&);
  bool link(const targets::RunRequest&, Diagnostics&);
  bool execute(const std::string& command, const std::string& problem, const std::string& help, Diagnostics&) const;
  std::optional<targets::RunResult> read_results(const targets::RunRequest&, Diagnostics&) const;
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  RunnerCommands commands_;
  targets::Target target_;
  TemporaryFolder folder_;
  std::optional<RunnerMachine> machine_;  // as soon as its program is compiled
};

}  // namespace dlcc

// Runs models on another kind of machine than this one: a C compiler links the object to a program, which a command
// starts there, such as an emulator of the machine. The program is runtime/runner/run_object.c.
#pragma once

#include <optional>
#include <string>

#include "support/temporary_folder.h"
#include "targets/llvm/loader.h"

namespace dlcc {

// Two commands as a shell reads them.
struct RunnerCommands {
  // Is called with a program for Linux and its arguments, names of files and a number: "qemu-aarch64 -cpu max".
  std::string runner;
  std::string compiler;  // a C compiler with gcc's options that links such programs: "aarch64-linux-gnu-gcc"
};

// Keeps its files in a folder of its own while it lives.
class ForeignRunner {
 public:
  // Throws std::runtime_error if there is no folder for temporary files.
  explicit ForeignRunner(RunnerCommands);

  // Runs the model as targets::run_object() does, but on one thread and without a profile of its steps: its `profile`
  // is ignored. Empty, with a diagnostic, if the program cannot be linked, or does not give results in time.
  std::optional<targets::RunResult> run(const targets::RunRequest&, Diagnostics&);

 private:
  bool compile_program(Diagnostics&);
  bool link(const targets::RunRequest&, Diagnostics&);
  bool execute(const std::string& command, const std::string& problem, const std::string& help, Diagnostics&) const;
  std::optional<targets::RunResult> read_results(const targets::RunRequest&, Diagnostics&) const;
  std::string path(const char* name) const { return (folder_.path() / name).string(); }

  RunnerCommands commands_;
  TemporaryFolder folder_;
  bool is_compiled_ = false;
};

}  // namespace dlcc

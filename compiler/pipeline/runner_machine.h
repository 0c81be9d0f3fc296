// The kinds of machines on which a ForeignRunner runs models: Linux, and boards with a microcontroller that QEMU
// emulates.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/diagnostics.h"
#include "targets/target.h"

namespace dlcc {

// Two commands as a shell reads them.
struct RunnerCommands {
  // With "qemu-system-arm" among its words: is called with further options of QEMU, which name a board, an image of its
  // memory and the semihosting arguments. Otherwise: is called with a program for Linux and its arguments, names of
  // files and a number, as "qemu-aarch64 -cpu max".
  std::string runner;
  // A C compiler with gcc's options that links such programs: "aarch64-linux-gnu-gcc". Empty: gcc, by its name in
  // Debian.
  std::string compiler;
};

// How the program that runs a model on another machine is made and started. Options are those of gcc, quoted for a
// shell.
struct RunnerMachine {
  std::string compiler;
  std::vector<std::string> sources;  // names of files of write_runner_sources(): all parts of the program
  std::string compile_options;
  std::string link_options, libraries;  // before and after the objects
  // The command of a shell that runs the file `program` with arguments.
  std::function<std::string(const std::string& program, const std::vector<std::string>& arguments)> start;
};

// `folder` is that of write_runner_sources(). Empty, with a diagnostic, if QEMU has no board with the target's CPU.
std::optional<RunnerMachine> find_runner_machine(const RunnerCommands&, const targets::Target&,
                                                 const std::filesystem::path& folder, Diagnostics&);

// Writes the files of runtime/runner and the header that they include to the folder.
void write_runner_sources(const std::filesystem::path& folder);

}  // namespace dlcc

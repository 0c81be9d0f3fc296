// The object of a model on the CPU of another machine, under an emulator: links it with run_object.c and runs that.
#pragma once

#include <string>
#include <vector>

#include "pipeline/verification.h"
#include "unit/temporary_folder.h"

namespace dlcc {

// A way to run the objects of a target: a cross compiler that links a program for Linux, and the emulator that runs it.
struct Emulation {
  const char *target, *compiler, *emulator;
  const char* prepare = nullptr;  // a command that first changes the object, or null
};

// The emulation of a target, or null. Code for Cortex-M runs on ARMv7-A, which has its instructions.
const Emulation* find_emulation(const std::string& target);

// Runs programs of another machine. Keeps its files in a folder of its own.
class Emulator {
 public:
  // Throws std::runtime_error if run_object.c cannot be compiled. `source` is the folder of dlcc's sources.
  Emulator(const Emulation&, const std::string& source);

  // Whether compiler and emulator are installed.
  static bool is_installed(const Emulation&);

  // An engine that runs the model's object, which must have been compiled with the prefix "m". It may be used until
  // this makes the next one. Throws std::runtime_error if the object cannot be linked.
  Engine engine(Compiler&, Verifiable&);

 private:
  std::optional<std::vector<Constant>> run(const emit::Interface&, const std::vector<Constant>& inputs,
                                           Diagnostics&) const;
  std::string path(const char* name) const { return (folder_.path() / name).string(); }

  const Emulation& emulation_;
  TemporaryFolder folder_;
};

}  // namespace dlcc

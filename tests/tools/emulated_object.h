// The object of a model on the CPU of another machine, under an emulator: links it with run_object.c and runs that.
#pragma once

#include <string>
#include <vector>

#include "pipeline/verification.h"
#include "unit/temporary_folder.h"

namespace dlcc {

// Programs for AArch64, made by the cross compiler of Debian and run by qemu. Keeps its files in a folder of its own.
class Emulator {
 public:
  // Throws std::runtime_error if run_object.c cannot be compiled. `source` is the folder of dlcc's sources.
  explicit Emulator(const std::string& source);

  // Whether compiler and emulator are installed.
  static bool is_installed();

  // An engine that runs the model's object, which must have been compiled with the prefix "m". It may be used until
  // this makes the next one. Throws std::runtime_error if the object cannot be linked.
  Engine engine(Compiler&, Verifiable&);

 private:
  std::optional<std::vector<Constant>> run(const emit::Interface&, const std::vector<Constant>& inputs,
                                           Diagnostics&) const;
  std::string path(const char* name) const { return (folder_.path() / name).string(); }

  TemporaryFolder folder_;
};

}  // namespace dlcc

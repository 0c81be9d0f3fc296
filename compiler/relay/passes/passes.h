// Graph passes: each is one function in the file of its name, listed in passes.def with a line of description. A pass
// takes a module with inferred types and returns one with inferred types.
#pragma once

#include <map>
#include <span>
#include <string>

#include "relay/ir.h"
#include "tensor/schedules/schedule.h"

namespace dlcc::relay {

// Parameters of the target and the command line.
struct PassContext {
  Diagnostics* diagnostics = nullptr;
  int64_t channel_block = 1;  // channels per block in image layouts; 1 keeps the model's own layouts
  tensor::ScheduleOptions schedule = {};
  tensor::Machine machine = {};                // the target's machine for which values are laid out
  std::map<std::string, int64_t> bounds = {};  // upper bounds of data-dependent sizes, by name of the value
};

#define PASS(name, about) Module name(Module, PassContext&);
#include "relay/passes/passes.def"
#undef PASS

struct PassInfo {
  std::string name;  // "fold-constants"
  std::string about;
  Module (*run)(Module, PassContext&);
};
std::span<const PassInfo> all_passes();

// New tensor functions of a module, which a pass adds and does not remove.
class TensorFunctionNames {
 public:
  explicit TensorFunctionNames(Module& module) : module_(module) {}

  // `stem`, or `stem_K` with the smallest K >= 1 that no tensor function has in its name.
  std::string unused(const std::string& stem);
  // Adds the function under such a name; the result calls it.
  CallTensor add(const std::string& stem, tensor::TensorFunction, std::vector<Atom> args);

 private:
  Module& module_;
  std::map<std::string, int> next_;  // by stem: the smallest K that may be unused; 0 is the stem itself
};

}  // namespace dlcc::relay

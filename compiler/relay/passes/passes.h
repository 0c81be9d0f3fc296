// Graph passes: each is one function in the file of its name, listed in passes.def with a line of description. A pass
// takes a module with inferred types and returns one with inferred types.
#pragma once

#include <span>
#include <string>

#include "relay/ir.h"
#include "tensor/schedules/schedule.h"

namespace dlcc::relay {

// What passes may ask: choices of the target and of the command line.
struct PassContext {
  Diagnostics* diagnostics = nullptr;
  int64_t channel_block = 1;  // channels per block in image layouts; 1 keeps the model's own layouts
  tensor::ScheduleOptions schedule = {};
  tensor::Machine machine = {};  // of the target: the one that decides how values are stored
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

// `stem`, or with the smallest number behind it that makes it the name of no tensor function yet.
std::string unused_tensor_function_name(const Module&, const std::string& stem);

}  // namespace dlcc::relay

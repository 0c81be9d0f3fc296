// A C program that runs a compiled model on stored inputs and compares the outputs with stored ones: the proof that the
// object computes the right numbers on its target.
#pragma once

#include <span>
#include <string>

#include "emit/interface.h"
#include "support/constant.h"

namespace dlcc::emit {

struct SelfTestData {
  std::span<const Constant> inputs, outputs;  // in the interface's order
  std::vector<int64_t> sizes;                 // that the caller of a model with symbolic sizes gives
  int64_t arena_bytes = 0;                    // at these sizes
};

// The text of the program. It includes the model's header and needs no other file of dlcc.
std::string make_selftest(const Interface&, const SelfTestData&);

}  // namespace dlcc::emit

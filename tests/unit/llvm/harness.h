// Compiles one kernel to an object and runs it, for tests of code generation.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "support/constant.h"
#include "targets/llvm/codegen.h"
#include "targets/llvm/loader.h"
#include "targets/target.h"
#include "tensor/ir.h"
#include "tensor/passes/bind_sizes.h"

namespace dlcc::test {

struct KernelObject {
  lower::Program program;
  lower::StoragePlan plan;
  emit::Interface interface;
  std::vector<std::byte> object;
};

targets::Target target_named(const std::string& name, const std::string& mcpu);

// A program that calls the kernel once: its read parameters are the model's inputs, its written ones the outputs,
// scratch buffers are in the arena. Symbols of the kernel have the given sizes.
KernelObject wrap(const tensor::Kernel&, const targets::Target&, const std::string& prefix = "net",
                  const tensor::Sizes& = {});
// Changes the Machine of every level, so that tests can vary it.
using ChangeMachine = std::function<void(tensor::Machine&)>;

KernelObject compile(const tensor::Kernel&, const std::string& mcpu, const std::string& prefix = "net", int threads = 1,
                     const ChangeMachine& = {}, const tensor::Sizes& = {});

std::string assembly(const tensor::Kernel&, const std::string& mcpu, const ChangeMachine& = {}, int threads = 1,
                     const tensor::Sizes& = {});

// The CPU levels that this CPU supports.
std::vector<std::string> runnable_levels();

// Runs the kernel on every level that this CPU supports; checks that the results equal each other and the evaluator's.
targets::RunResult run(const tensor::Kernel&, const std::vector<Constant>& inputs, int threads = 1,
                       const ChangeMachine& = {}, const tensor::Sizes& = {});

}  // namespace dlcc::test

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

namespace dlcc::test {

struct CompiledKernel {
  lower::Program program;
  lower::StoragePlan plan;
  emit::Interface interface;
  std::vector<std::byte> object;
};

targets::Target target_named(const std::string& name, const std::string& mcpu);

// A program that calls the kernel once: its read parameters are the model's inputs, its written ones the outputs,
// scratch lies in the arena.
CompiledKernel wrap(const tensor::Kernel&, const targets::Target&, const std::string& prefix = "net");
// What code generation takes the CPUs for, other than their tables say.
using ChangeMachine = std::function<void(tensor::Machine&)>;

CompiledKernel compile(const tensor::Kernel&, const std::string& mcpu, const std::string& prefix = "net",
                       int threads = 1, const ChangeMachine& = {});

std::string assembly(const tensor::Kernel&, const std::string& mcpu, const ChangeMachine& = {}, int threads = 1);

// The CPU levels that this machine can run.
std::vector<std::string> runnable_levels();

// Runs on every level that this machine has; checks that all give the same numbers, and those of the evaluator.
targets::RunResult run(const tensor::Kernel&, const std::vector<Constant>& inputs, int threads = 1,
                       const ChangeMachine& = {});

}  // namespace dlcc::test

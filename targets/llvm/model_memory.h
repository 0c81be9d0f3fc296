// The memory of a model's runs: its tensors, sizes, arena and weights, each between guard pages.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emit/interface.h"
#include "support/constant.h"
#include "targets/llvm/guarded_memory.h"
#include "targets/llvm/loaded_object.h"

namespace dlcc::targets {

using GuardPage = GuardedMemory::GuardPage;

class ModelMemory {
 public:
  // Allocates the memory that P_plan needs. `dims` are the sizes that the caller gives. The other arguments must
  // outlive this object.
  ModelMemory(const emit::Interface&, const std::vector<Constant>& inputs, std::span<const std::byte> weights,
              const std::vector<int64_t>& dims);

  // Adds the memory that P_run needs: outputs with these shapes and the arena.
  void add_results(const std::vector<std::vector<int64_t>>& shapes, int64_t arena_bytes);

  // Fills all blocks with a byte, then copies inputs, sizes and weights.
  void prepare(GuardPage, int garbage);
  void protect_inputs();  // writes to inputs, sizes and weights fault from now on

  // Each returns the status of the model.
  int plan(PlanFunction, GuardPage) const;
  int run(RunFunction, GuardPage, const dlcc_profiler* = nullptr) const;

  // The results of P_plan or P_run: the shapes of the outputs, the size of the arena in bytes, the outputs. The shapes
  // of a model without symbolic sizes are those of its interface.
  std::vector<std::vector<int64_t>> shapes(GuardPage) const;
  uint64_t arena_bytes(GuardPage) const;
  std::vector<Constant> outputs(GuardPage) const;

  // The name of the first block with a byte outside the block, on its pages, that is not `garbage`; "" if there is
  // none.
  std::string overwritten(GuardPage, int garbage) const;
  std::string describe(uintptr_t address, GuardPage guard) const { return memory_.describe(address, guard); }

 private:
  std::vector<const void*> input_pointers(GuardPage) const;
  size_t add(const char* kind, const emit::TensorInterface&, const std::vector<int64_t>& shape);

  const emit::Interface& interface_;
  const std::vector<Constant>& input_values_;
  const std::span<const std::byte> weight_bytes_;
  std::vector<int64_t> dim_values_;
  GuardedMemory memory_;
  size_t block_count_ = 0;
  std::vector<size_t> inputs_, outputs_;
  std::optional<size_t> dims_, shapes_, arena_size_;  // of a model with symbolic sizes
  std::optional<size_t> arena_, weights_;
};

}  // namespace dlcc::targets

// The sizes of one run of a model with symbolic sizes. The function P_sizes computes them from the caller's numbers
// into an array of int64, which the run function of every CPU level reads: the symbols that the caller gives, the
// offsets of a stacked arena's blocks, and the size of the arena. The run function adds the sizes that data decide.
#pragma once

#include "targets/llvm/emit_model.h"

namespace dlcc::targets {

// Positions in the array.
struct SizesArray {
  explicit SizesArray(const ModelParts& parts)
      : symbols(parts.program.dims.size()),
        data_sizes(parts.program.data_sizes.size()),
        blocks(parts.plan.blocks.size()) {}

  size_t symbols, data_sizes, blocks;  // their numbers

  size_t symbol(size_t k) const { return k; }
  size_t data_size(size_t k) const { return symbols + k; }
  size_t block(size_t k) const { return symbols + data_sizes + k; }
  size_t arena_bytes() const { return symbols + data_sizes + blocks; }
  size_t count() const { return arena_bytes() + 1; }

  llvm::Value* load(llvm::IRBuilder<>&, llvm::Value* array, size_t position) const;
  void store(llvm::IRBuilder<>&, llvm::Value* size, llvm::Value* array, size_t position) const;
};

// Defines int32_t P_sizes(const int64_t *given, int64_t *sizes), which returns a status. `debug` is null without -g.
llvm::Function* emit_sizes_function(llvm::Module&, const ModelParts&, const llvm::MCSubtargetInfo& cpu, DebugInfo*);

}  // namespace dlcc::targets

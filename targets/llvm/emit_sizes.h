// The sizes of one run of a model with symbolic sizes. The function P_sizes computes them from the caller's sizes and
// from elements of the inputs. It stores them in an array of int64, which the run function of every CPU level reads:
// the symbols that are known before the run, the offsets of the blocks of stacked arenas (those of functions first),
// and the size of the arena in bytes. The run function adds the data-dependent sizes.
#pragma once

#include "targets/llvm/emit_model.h"

namespace dlcc::targets {

// Positions in the array.
struct SizesArray {
  explicit SizesArray(const ModelParts& parts)
      : symbols(parts.program.dims.size() + parts.program.input_sizes.size()),
        data_sizes(parts.program.data_sizes.size()),
        blocks(parts.plan.blocks.size()) {
    for (const lower::FunctionPlan& f : parts.plan.functions) {
      first_block.push_back(blocks_of_functions);
      blocks_of_functions += f.blocks.size();
    }
    first_block.push_back(blocks_of_functions);
  }

  size_t symbols, data_sizes, blocks;  // the number of each
  size_t blocks_of_functions = 0;
  std::vector<size_t> first_block;  // of each function, then of the program

  size_t symbol(size_t k) const { return k; }
  size_t data_size(size_t k) const { return symbols + k; }
  size_t block(size_t function, size_t k) const { return symbols + data_sizes + first_block[function] + k; }
  size_t arena_bytes() const { return symbols + data_sizes + blocks_of_functions + blocks; }
  size_t count() const { return arena_bytes() + 1; }

  llvm::Value* load(llvm::IRBuilder<>&, llvm::Value* array, size_t position) const;
  void store(llvm::IRBuilder<>&, llvm::Value* size, llvm::Value* array, size_t position) const;
};

// The element of a tensor with this row-major index, as a scalar of the program. `tensor` need not be aligned.
llvm::Value* load_element(llvm::IRBuilder<>&, llvm::Value* tensor, DType, int64_t element);

// Defines int32_t P_sizes(const int64_t *given, const void *const *inputs, int64_t *sizes), which returns a status.
// Inputs whose elements determine sizes must be neither null nor misaligned. `debug` is null without -g.
llvm::Function* emit_sizes_function(llvm::Module&, const ModelParts&, const llvm::MCSubtargetInfo& cpu, DebugInfo*);

// Whether the address is no multiple of `alignment`, a power of two.
llvm::Value* is_misaligned(llvm::IRBuilder<>&, llvm::Value* pointer, int64_t alignment);
int64_t alignment_of(DType);  // of the caller's tensors: their elements' size in bytes

}  // namespace dlcc::targets

// Joins the relocatable ELF objects of one model, as `ld -r` does, and appends the model's constants. So users need no
// linker, and the constants do not pass through LLVM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "targets/llvm/object_file.h"
#include "tensor/machine.h"

namespace dlcc::targets {

struct ConstantSection {
  std::string symbol;  // at the section's first byte
  std::string name;    // of the section
  int64_t bytes = 0;
  int64_t alignment = tensor::storage_alignment;
  std::vector<ConstantPiece> pieces;
};

// `objects` are little-endian relocatable objects for one machine, all of class ELF32 or ELF64. Sections of equal name,
// type, flags and entry size are joined in order. Symbols that `exported` does not list become local. An object for a
// freestanding program does not say whether its stack is executable: linkers warn if some objects do and others do not.
ObjectFile join_objects(const std::vector<std::span<const std::byte>>& objects, const ConstantSection&,
                        const std::vector<std::string>& exported, bool is_freestanding = false);

}  // namespace dlcc::targets

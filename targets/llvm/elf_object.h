// Joins relocatable ELF objects of one model into a single one and appends its constants: what `ld -r` does, without a
// linker on the user's machine and without the constants ever passing through LLVM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "targets/llvm/object_file.h"

namespace dlcc::targets {

struct ConstantSection {
  std::string symbol;  // what code calls its first byte
  std::string name;    // of the section
  int64_t bytes = 0;
  int64_t alignment = 64;
  std::vector<ConstantPiece> pieces;
};

// `objects` are ELF64 little-endian relocatable objects for one machine, with RELA relocations. Sections of equal name
// and kind are joined in order. Symbols outside `exported` become local. The result depends on nothing but the
// arguments.
ObjectFile join_objects(const std::vector<std::span<const std::byte>>& objects, const ConstantSection&,
                        const std::vector<std::string>& exported);

}  // namespace dlcc::targets

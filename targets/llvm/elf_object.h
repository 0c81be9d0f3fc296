// Joins relocatable ELF objects of one model into a single one and appends its constants as raw bytes: what `ld -r`
// does, without a linker on the user's machine and without the constants ever passing through LLVM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dlcc::targets {

// Bytes at an offset of the constant section; gaps are zero.
struct ConstantPiece {
  int64_t offset;
  std::span<const std::byte> bytes;
};

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
std::vector<std::byte> join_objects(const std::vector<std::span<const std::byte>>& objects, const ConstantSection&,
                                    const std::vector<std::string>& exported);

}  // namespace dlcc::targets

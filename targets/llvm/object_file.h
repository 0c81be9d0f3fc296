// A relocatable object in memory. Its constants are the last bytes of the file and are shared with the program, so that
// a large model's weights are in memory once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "support/constant.h"

namespace dlcc::targets {

// A constant and its offset in bytes in the section of constants. Gaps are zero.
struct ConstantPiece {
  int64_t offset;
  Constant value;
};

struct ObjectFile {
  std::vector<std::byte> head;           // the ELF file up to its constants, with all code, symbols and section headers
  std::vector<ConstantPiece> constants;  // in order of their offsets
  int64_t constant_bytes = 0;            // the section's size

  // The file as consecutive pieces, which this object owns.
  std::vector<std::span<const std::byte>> pieces() const;

  // The whole file, copied.
  std::vector<std::byte> bytes() const;
};

}  // namespace dlcc::targets

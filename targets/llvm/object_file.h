// A relocatable object in memory. Its constants are the last bytes of the file and are shared with the program that it
// was made of: a large model's weights are in memory once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "support/constant.h"

namespace dlcc::targets {

// A constant and where it begins, from the first byte of the section of constants. Gaps are zero.
struct ConstantPiece {
  int64_t offset;
  Constant value;
};

struct ObjectFile {
  std::vector<std::byte> head;           // an ELF file up to its constants: all that a reader of code and symbols needs
  std::vector<ConstantPiece> constants;  // the rest, in order
  int64_t constant_bytes = 0;            // of the section, gaps included

  // One behind the other, they are the file; they live as long as this object.
  std::vector<std::span<const std::byte>> pieces() const;

  // The whole file, copied.
  std::vector<std::byte> bytes() const;
};

}  // namespace dlcc::targets

// A relocatable object in memory. Its constants are the last bytes of the file and are shared with lower::Program, so
// that the weights of a large model are in memory only once.
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

// The bytes of an object that a program has in memory.
struct ObjectSizes {
  int64_t code_bytes = 0;  // instructions
  int64_t data_bytes = 0;  // read-only data: the constants, descriptions of the model, unwind tables
};

struct ObjectFile {
  std::vector<std::byte> head;           // the ELF file up to its constants, with all code, symbols and section headers
  std::vector<ConstantPiece> constants;  // in order of their offsets
  int64_t constant_bytes = 0;            // the section's size

  // The file as consecutive pieces. They are valid as long as this object.
  std::vector<std::span<const std::byte>> pieces() const;

  // The whole file, copied.
  std::vector<std::byte> bytes() const;

  // The sizes, from the section headers.
  ObjectSizes sizes() const;
};

}  // namespace dlcc::targets

// The offsets of a program's constants in the weights: a section of the object, or a file of their own (--weights
// external=FILE; runtime/include/dlcc/weights_file.h has the format).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emit/interface.h"
#include "lower/program.h"
#include "support/constant.h"

namespace dlcc::emit {

struct WeightsLayout {
  std::vector<int64_t> offsets;                   // bytes, by constant
  int64_t bytes = 0;                              // the end of the last constant
  int64_t alignment = tensor::storage_alignment;  // bytes
};

// The constants of a section begin at offset 0, those of a file after its header.
enum class WeightsContainer { section, file };
WeightsLayout lay_out_weights(const lower::Program&, WeightsContainer);

// The bytes of the file as a constant of type uint8, header included; padding is zero. Code that is generated for an
// interface with this description reads such a file.
struct WeightsContents {
  Constant bytes;
  WeightsFile description;
};
// Lets the constants of the program refer to the file's bytes, one after the other, so that large weights are in memory
// once.
WeightsContents make_weights_file(lower::Program&);

}  // namespace dlcc::emit

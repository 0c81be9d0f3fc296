// Where the constants of a program lie, one behind the other, in the object's section or in a file of their own
// (--weights external=FILE; the format is in runtime/include/dlcc/weights_file.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emit/interface.h"
#include "lower/program.h"

namespace dlcc::emit {

struct WeightsLayout {
  std::vector<int64_t> offsets;  // of each constant
  int64_t bytes = 0;             // up to the end of the last one
  int64_t alignment = 64;
};

// Of the section, or of the file, whose constants stand behind its head.
enum class WeightsPlace { section, file };
WeightsLayout lay_out_weights(const lower::Program&, WeightsPlace);

// The file's bytes, head included; gaps are zero. Code for an interface that is given this description reads them.
struct WeightsContents {
  std::vector<std::byte> bytes;
  WeightsFile description;
};
WeightsContents make_weights_file(const lower::Program&);

}  // namespace dlcc::emit

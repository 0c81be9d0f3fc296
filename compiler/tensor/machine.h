// What schedules know about a CPU. Part of a target's table; nothing here is read from the host.
#pragma once

#include <cstdint>

namespace dlcc::tensor {

struct Machine {
  int vector_bytes = 16;  // one vector register
  int vector_registers = 16;
  bool has_fma = true;
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 1 << 20;

  int lanes(int element_bits) const { return vector_bytes * 8 / element_bits; }
};

}  // namespace dlcc::tensor

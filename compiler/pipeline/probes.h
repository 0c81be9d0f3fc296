// What the machine can do: models of one kernel that does nothing but multiply and add, or read. They are compiled for
// the same CPU levels as the model beside which they run, so they use the vectors that it uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emit/interface.h"
#include "support/constant.h"
#include "targets/llvm/loader.h"
#include "targets/target.h"

namespace dlcc {

struct ProbeModel {
  emit::Interface interface;
  std::vector<std::byte> object;
  std::vector<Constant> inputs;
  double work = 0;  // of a call: floating operations, or bytes read

  targets::Probe probe() const { return {object, &interface, inputs}; }
};

// As many independent accumulators as registers hold; float32. A call takes some tens of microseconds and reads a few
// kilobytes. Every thread does as much.
ProbeModel arithmetic_probe(const targets::Target&, int threads);

// Adds up a buffer of about `bytes` bytes; every thread an equal part of it, front to back.
ProbeModel reading_probe(const targets::Target&, int64_t bytes, int threads);

}  // namespace dlcc

// Probes of the machine's peak arithmetic rate and reading bandwidth: models of one kernel that only multiplies and
// adds, or only reads. They are compiled for the CPU levels of the profiled model and so use vectors of the same width.
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
  double work = 0;  // of a call: floating-point operations, or bytes read

  targets::Probe probe() const { return {object, &interface, inputs}; }
};

// Multiply-adds in float32 on as many independent accumulators as registers hold. A call takes tens of microseconds and
// reads a few kilobytes. Each thread does the same work.
ProbeModel arithmetic_probe(const targets::Target&, int threads);

// Sums a buffer of about `bytes` bytes in the order of addresses; each thread reads an equal part.
ProbeModel reading_probe(const targets::Target&, int64_t bytes, int threads);

}  // namespace dlcc

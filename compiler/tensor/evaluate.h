// The evaluator: runs kernels, and definitions through the naive schedule. It is the reference that generated code is
// compared with, and what constant folding uses. Kernels are compiled to bytecode over strips of a few hundred
// iterations of their vector loops, so that a network of a few GMACs takes seconds.
#pragma once

#include <span>
#include <vector>

#include "support/constant.h"
#include "tensor/ir.h"

namespace dlcc::tensor {

enum class Precision : uint8_t {
  specified,  // every operation in its own type: what the object computes. Transcendental functions are expanded as in
              // generated code, so that results are equal bit for bit wherever the schedule fixes the order of sums
  float64,    // all floating arithmetic in float64 with the host's libm, whatever the types say: the oracle
};

struct EvaluationResult {
  Status status = Status::ok;
  std::vector<Constant> results;  // in the order of the results; unspecified contents when the status is not ok. In
                                  // float64 mode floating results have type float64
};

// `args` fit the function's parameters (static shapes; in float64 mode floating arguments may be float64).
EvaluationResult evaluate(const TensorFunction&, std::span<const Constant> args, Precision = Precision::specified);

// Runs a kernel. `args` are the contents of its `read` parameters in storage order; results are its `write` parameters.
EvaluationResult evaluate(const Kernel&, std::span<const Constant> args, Precision = Precision::specified);

}  // namespace dlcc::tensor

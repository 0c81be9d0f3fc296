// The evaluator runs kernels, and definitions by way of their naive schedule. It is the reference for generated code,
// and constant folding uses it. Kernels are compiled to bytecode whose instructions process strips of up to 512
// iterations of vector loops, so that a network of a few GMACs takes seconds.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/constant.h"
#include "tensor/ir.h"

namespace dlcc::tensor {

namespace bytecode {
struct Program;
}

enum class Precision : uint8_t {
  specified,  // each operation in its own type, as in the object. Transcendental functions are expanded as in generated
              // code, so that results have the object's bits wherever the kernel fixes the order of sums
  float64,    // all float arithmetic in float64, whatever its type, with the host's libm: the reference for accuracy
};

struct EvaluationResult {
  Status status = Status::ok;
  std::vector<Constant> results;  // one per result; contents are unspecified if the status is not ok. In float64 mode,
                                  // float results have type float64
};

// A kernel or a definition compiled to bytecode once for each set of values of its symbols, for any number of runs.
class CompiledKernel {
 public:
  explicit CompiledKernel(const Kernel&, Precision = Precision::specified);
  explicit CompiledKernel(const TensorFunction&, Precision = Precision::specified);

  // As evaluate() of the kernel or definition. Several threads may run one kernel.
  EvaluationResult run(std::span<const Constant> args) const;

  // An estimate of the number of iterations of all loops in a run with these arguments, at most 2^62: a loop counts with
  // the upper bound of its extent, or as one iteration if there is none, and both branches of a condition count.
  int64_t iterations(std::span<const Constant> args) const;

 private:
  // A parameter in memory.
  struct Place {
    Buffer buffer;
    Access access;
    DType type;  // of the elements in memory
    std::vector<int64_t> shape;
    int64_t elements, stored;  // their number without and with the gaps between strides
  };
  // The bytecode for one set of sizes. Its parameters are static; scalar parameters are among them.
  struct Static {
    std::vector<Place> params;
    size_t arguments, results;  // the numbers of parameters that are read and written
    std::shared_ptr<const bytecode::Program> program;
    int64_t iterations;  // as iterations()
  };
  struct Cache;

  Static compile(Kernel) const;
  const Static& compiled_for(const std::vector<int64_t>& sizes) const;
  // The bytecode for a run. The sizes at the end of `args` are removed from it.
  const Static& compiled_for_run(std::span<const Constant>& args) const;

  Kernel kernel_;
  Precision precision_;
  std::vector<Var> symbols_;  // the last scalar parameters
  std::shared_ptr<Cache> cache_;
  const Static* only_ = nullptr;  // of a kernel without symbols; in the cache
};

// An expression without loads, compiled once.
class CompiledScalar {
 public:
  explicit CompiledScalar(const Expr&);

  const std::vector<Var>& variables() const { return variables_; }  // of the expression, each once

  // Its value, of rank 0, given those of the variables.
  Constant value(std::span<const Constant> values) const { return kernel_.run(values).results[0]; }

 private:
  std::vector<Var> variables_;
  CompiledKernel kernel_;
};

// Runs a definition. `args` have the types and shapes of the parameters, then the types of the scalar parameters, then
// there is an int64 for each symbol, sorted by name; in float64 mode, arguments for float parameters may be float64.
EvaluationResult evaluate(const TensorFunction&, std::span<const Constant> args, Precision = Precision::specified);

// Runs a kernel. `args` are the contents of its `read` parameters in storage order, then the values of its scalar
// parameters, of rank 0, the sizes that are its symbols among them; results are its `write` parameters.
EvaluationResult evaluate(const Kernel&, std::span<const Constant> args, Precision = Precision::specified);

}  // namespace dlcc::tensor

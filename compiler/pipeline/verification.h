// Comparing a model with expected outputs: the three ways to compute it, and what counts as equal.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/compile.h"
#include "support/constant.h"

namespace dlcc {

struct Tolerance {
  double rtol = 1e-3, atol = 1e-7;  // what the ONNX operator tests use
};

// The largest error over a tensor, and whether every element is within atol + rtol * |expected|. Integers and bools
// must be equal; NaN equals NaN, infinities themselves.
struct Comparison {
  bool ok = true;
  double largest = 0;  // |difference|
  std::string what;    // of the first mismatch
};
Comparison compare(const Constant& got, const Constant& expected, const Tolerance&);

// One way to compute a model's outputs. Empty, with a diagnostic, when a status other than ok came back or nothing
// could run.
using Engine = std::function<std::optional<std::vector<Constant>>(const std::vector<Constant>& inputs, Diagnostics&)>;

// "object" runs the generated code, "schedules" the scheduled kernels in the evaluator, "definitions" the fused
// module's definitions in the evaluator. The engine refers to `module` and `planned`.
inline constexpr const char* engine_names[] = {"definitions", "schedules", "object"};
Engine make_engine(const std::string& name, Compiler&, const relay::Module& module, Planned& planned);

// Reads the model and gives its symbolic dimensions the values that a data set's inputs have, as further --dim options.
void bind_dimensions(CompileOptions&, const std::string& data_folder);

// A model compiled up to its plan, with the fused module that the plan was made of.
struct Verifiable {
  relay::Module fused;
  Planned planned;
};
std::optional<Verifiable> prepare_verification(Compiler&);

// Runs a data set; empty when all outputs agree, else a line with what differs or went wrong. `largest` becomes the
// largest error.
std::string verify_data_set(const std::string& folder, const Engine&, const emit::Interface&, const Tolerance&,
                            double& largest);

}  // namespace dlcc

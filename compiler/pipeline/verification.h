// Compares the outputs of a model with expected ones. Three engines can compute them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/compile.h"
#include "pipeline/foreign_runner.h"
#include "support/constant.h"

namespace dlcc {

struct Tolerance {
  double rtol = 1e-3, atol = 1e-7;  // as in the ONNX operator tests
};

// The comparison of two tensors. Floats agree within atol + rtol * |expected|; NaN agrees with NaN, an infinity with
// itself. Integers and bools must be equal.
struct Comparison {
  bool ok = true;
  double largest = 0;  // the largest |got - expected|
  std::string what;    // describes the first mismatch
};
Comparison compare(const Constant& got, const Constant& expected, const Tolerance&);

// Computes the outputs of a model. Empty, with a diagnostic, when the model cannot run or returns a status other than
// ok.
using Engine = std::function<std::optional<std::vector<Constant>>(const std::vector<Constant>& inputs, Diagnostics&)>;

inline constexpr const char* engine_names[] = {"definitions", "schedules", "object"};

// A model prepared for the engines.
struct Verifiable {
  relay::Module fused;
  emit::Interface interface;       // at least the inputs and outputs
  frontends::Arguments arguments;  // the model's arguments that consist of these tensors
  std::optional<Planned> planned;  // `fused`, lowered; not needed by the engine "definitions"
};

// Prepares a model for engines. If "definitions" is the only one, the model may have constructs without native code.
std::optional<Verifiable> prepare_verification(Compiler&, std::span<const std::string> engines);

// "object" runs the generated code, "schedules" evaluates the scheduled kernels, "definitions" evaluates the
// definitions of the fused module. The engine refers to the model and to the runner of the object, if there is one,
// which must outlive it.
Engine make_engine(const std::string& name, Compiler&, Verifiable&, ForeignRunner* = nullptr);

// The comparison of a model's outputs with those of a data set.
struct Verdict {
  bool ok = false;
  bool compared = false;  // whether there are results; if not, `largest` means nothing
  double largest = 0;     // the largest error of an output
  std::string what;       // unless ok: a line about the first difference, or about why nothing was compared
};

// Runs the engine on a data set: a folder or an archive, as for read_data_set(). Reports errors that prevent a
// comparison.
Verdict verify_data_set(const std::string& path, const Engine&, const Verifiable&, const Tolerance&, Diagnostics&);

}  // namespace dlcc

// The C interface of a compiled model, as data: the header declares it, the object defines it, `dlcc inspect` prints
// it. docs/ABI.md describes it to users.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lower/program.h"
#include "shape/input_dim.h"
#include "support/dtype.h"

namespace dlcc::emit {

struct TensorInterface {
  std::string name;        // in the model
  std::string identifier;  // a C identifier, unique among inputs or outputs
  DType type;
  Shape shape;                 // over the symbols of `dims` and `input_sizes`, and data-dependent ones
  bool decides_sizes = false;  // of an input whose elements decide sizes: P_plan reads it
};

// A size that depends on elements of inputs.
struct InputSize {
  Symbol symbol;
  std::string text;  // the expression, for people: "shape[0]"
};

// A size that the caller gives with every run.
struct DimInterface : InputDim {
  std::string identifier;  // a C identifier, unique among the sizes
};

// The file of weights, when they are not part of the object.
struct WeightsFile {
  int64_t bytes, alignment;
  uint64_t hash;  // dlcc_hash_weights of the data after its header
};

struct Interface {
  std::string prefix;  // a C identifier; lower case in functions, upper case in macros
  std::vector<TensorInterface> inputs, outputs;
  std::vector<DimInterface> dims;  // in order of appearance in the shapes of the inputs
  std::vector<InputSize> input_sizes;
  std::optional<int64_t> arena_bytes = 0;  // empty: it depends on the sizes, P_plan computes it
  int64_t arena_alignment = tensor::storage_alignment;
  int64_t weights_bytes = 0;
  std::optional<WeightsFile> weights_file;  // empty: the weights are part of the object
  int64_t stack_bytes = 0;                  // largest use of the stack
  int threads = 1;                          // among which large loops are divided
  int64_t macs = 0;                         // multiply-accumulate operations of the definitions
  std::string provenance;  // dlcc's version, the options that change the object, the model's hash; no time, no path

  // Whether a size of the inputs, the outputs or the arena is not a number. Such a model has P_plan.
  bool is_dynamic() const;
  std::vector<InputDim> input_dims() const { return {dims.begin(), dims.end()}; }
  // The size in the caller's units, with InputSize::text in place of each symbol of an input size.
  Dim for_people(const Dim&) const;
};

// Makes a valid C identifier of any text, different from all in `taken`.
std::string c_identifier(const std::string& text, const std::vector<std::string>& taken = {});

// A text in the first line of every generated header, by which dlcc recognizes its own headers.
constexpr const char* header_mark = "Made by dlcc";

// The text of P.h.
std::string make_header(const Interface&);

}  // namespace dlcc::emit

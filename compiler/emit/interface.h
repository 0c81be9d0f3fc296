// The C interface of a compiled model, as data: what the header declares, what the object defines, what `inspect`
// prints. docs/ABI.md describes the result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lower/program.h"
#include "support/dtype.h"

namespace dlcc::emit {

struct TensorInterface {
  std::string name;        // the model's
  std::string identifier;  // a C identifier, unique among inputs or outputs
  DType type;
  std::vector<int64_t> shape;
};

// The file that holds the weights when the object does not.
struct WeightsFile {
  int64_t bytes, alignment;
  uint64_t hash;  // of its data
};

struct Interface {
  std::string prefix;  // a C identifier; lower case in functions, upper case in macros
  std::vector<TensorInterface> inputs, outputs;
  int64_t arena_bytes = 0;
  int64_t arena_alignment = 64;
  int64_t weights_bytes = 0;
  std::optional<WeightsFile> weights_file;  // empty: the object has the weights
  int64_t stack_bytes = 0;
  int64_t macs = 0;
  std::string provenance;  // dlcc's version, the flags that matter, the model's hash; no time, no path
};

// A valid C identifier from any text; `taken` are identifiers it must differ from.
std::string c_identifier(const std::string& text, const std::vector<std::string>& taken = {});

// The text of P.h.
std::string make_header(const Interface&);

}  // namespace dlcc::emit

// The program of a run at given sizes: numbers replace the symbols.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lower/memory_sizes.h"
#include "lower/program.h"

namespace dlcc::lower {

// The sizes at which a program runs.
class AdmittedSizes {
 public:
  explicit AdmittedSizes(const Program&);  // the program must outlive this object

  // The status of a run's check of these sizes; ok if they are allowed.
  tensor::Status status_at(const std::map<std::string, int64_t>& symbols) const;
  // Whether no value that a step uses is too large.
  bool fits(const std::map<std::string, int64_t>& symbols) const;

 private:
  const Program& program_;
  const LargestSizes largest_;
  std::vector<MemorySizes> memory_;  // of the program, then of its functions
};
// The same for one check of a program.
tensor::Status status_at(const Program&, const std::map<std::string, int64_t>& symbols);

// The program at these values of its symbols: all symbols of `dims` and `input_sizes`, and optionally symbols of
// `data_sizes`. The result has neither `dims` nor `input_sizes`; data sizes without a value remain. Kernels are
// unchanged: calls pass the numbers as scalars.
Program instantiate(const Program&, const std::map<std::string, int64_t>& symbols);

// Sizes for estimates: the typical size if the user gave one, else 64, times `scale`, clamped to the size's bounds.
// They are halved until no tensor is too large. Sizes that the user did not give satisfy the requirements of equality,
// where others determine them.
std::map<std::string, int64_t> typical_sizes(const Program&, double scale = 1);

// The shape of a kernel's parameter in a call of an instantiated program, whose scalar operands give the kernel's
// symbols. Empty if a symbol is not given by a literal.
std::optional<std::vector<int64_t>> shape_in_call(const tensor::Kernel&, const tensor::BufferNode&, const Invoke&);

}  // namespace dlcc::lower

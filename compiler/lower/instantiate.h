// A program with numbers for its symbols: what a run does at these sizes.
#pragma once

#include <map>
#include <string>

#include "lower/program.h"

namespace dlcc::lower {

// What the check of the sizes gives for these values of the symbols; ok: the program runs.
tensor::Status status_at(const Program&, const std::map<std::string, int64_t>& symbols);

// The program at these values of its symbols, which are those of `dims` and `input_sizes` and may be those of
// `data_sizes`. It has neither `dims` nor `input_sizes`, and the data sizes that have no value here. Kernels are as
// they were: calls pass them the numbers.
Program instantiate(const Program&, const std::map<std::string, int64_t>& symbols);

// Sizes for estimates: the typical ones where the user told them, else 64, times the scale, or the bound next to that.
// Smaller ones if tensors would be too large.
std::map<std::string, int64_t> typical_sizes(const Program&, double scale = 1);

// The shape of a kernel's parameter in a call of an instantiated program, whose scalar operands give the kernel's
// symbols. Empty if a symbol is not given by a literal.
std::optional<std::vector<int64_t>> shape_in_call(const tensor::Kernel&, const tensor::BufferNode&, const Invoke&);

}  // namespace dlcc::lower

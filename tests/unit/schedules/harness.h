// Runs schedules against definitions: both are evaluated on random data, for several machines and layouts.
#pragma once

#include <doctest/doctest.h>

#include <vector>

#include "tensor/builder.h"
#include "tensor/ir.h"
#include "tensor/schedules/schedule.h"

namespace dlcc::test {

inline const tensor::Machine avx512{.vector_bytes = 64, .vector_registers = 32},
    avx2{.vector_bytes = 32, .vector_registers = 16},
    neon{.vector_bytes = 16, .vector_registers = 32, .multiplies_by_lane = true},
    sse{.vector_bytes = 16, .vector_registers = 16, .has_fma = false},
    small_cache{.vector_bytes = 64, .vector_registers = 32, .l2_bytes = 8 << 10},
    streaming{.vector_bytes = 64, .vector_registers = 32, .machine_balance = 5};

// Checks that the function's kernel for each machine is well formed and computes the definition. Layouts as in
// ScheduleRequest; those left out are dense.
void check_schedule(const tensor::TensorFunction&, std::vector<bool> constant, std::vector<tensor::Layout> = {},
                    tensor::ScheduleOptions = {},
                    const std::vector<tensor::Machine>& = {avx512, avx2, neon, sse, small_cache},
                    const tensor::TuningConfig& = {});

// Checks a function with symbols in the same way: each symbol takes each of these sizes in turn, if its bounds admit
// the size. Constants have constant shapes.
void check_symbolic_schedule(const tensor::TensorFunction&, std::vector<bool> constant = {},
                             std::vector<tensor::Layout> = {}, tensor::ScheduleOptions = {},
                             const std::vector<int64_t>& sizes = {0, 1, 2, 7, 16, 17, 33},
                             const std::vector<tensor::Machine>& = {avx512, avx2, sse});

// A 2-D convolution of float32: data [n, c, h, w] and weights, and with an epilogue a bias and a residual image.
struct Conv {
  int64_t n = 1, c = 16;
  Dim h = 9, w = 9;
  int64_t o = 32, k = 3, stride = 1, pad = 1, groups = 1, dilation = 1;
  bool epilogue = true;
  bool smooth = false;  // the epilogue is x * sigmoid(x), else max(0, x)
};
tensor::TensorFunction convolution(const Conv&);

// The image of the convolution's result, and its sums of products in type `sums`, as a stage of the definition.
Shape convolved_shape(const Conv&);
tensor::Tensor convolution_sums(tensor::Definition&, const tensor::Tensor& x, const tensor::Tensor& w, const Conv&,
                                DType sums);

// One filter of k x k taps for each channel, with parameters x, w, b and skip, and an epilogue: nothing, a bias and a
// limited range, a bias and x * sigmoid(x), or the addition of another image.
struct Depthwise {
  int64_t n = 1, c = 32;
  Dim h = 9, w = 9;
  int64_t k = 3, stride = 1, dilation = 1, pad = 1;
};
enum class DepthwiseEpilogue : uint8_t { nothing, bounds, sigmoid, residual };
tensor::TensorFunction depthwise(const Depthwise&, DepthwiseEpilogue);

// The second function reads the first one's result as its first parameter; the other parameters are the first's, then
// the second's.
tensor::TensorFunction chain(const tensor::TensorFunction& first, const tensor::TensorFunction& second);

// Marks the second parameter as the only constant one.
std::vector<bool> weights_constant(const tensor::TensorFunction&);

// The layout in blocks of 16 channels of parameter `which`, or of result `which` - params.size().
tensor::Layout channels16(const tensor::TensorFunction&, size_t which);

// The layouts of a convolution within a network: blocks of channels, with the halo that its schedule needs around the
// data, and some halo around the result.
std::vector<tensor::Layout> halo_layouts(const tensor::TensorFunction&, const std::vector<bool>& constant,
                                         const tensor::ScheduleOptions&, const tensor::Machine& = avx512);

// Parses a text with one function.
tensor::TensorFunction parse_function(const std::string& text);

}  // namespace dlcc::test

// Attribute structs of the operators that graph passes rewrite; any other operator's struct is in its own file in
// relay/ops. Passes read them by attributes_of (relay/operator.h), so that each default exists once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/dtype.h"

namespace dlcc::relay {

// nn.conv1d, nn.conv2d, nn.conv3d. Defaults of the vectors and layouts depend on the number of spatial axes
// (relay/ops/conv.cpp). `make_windows` (relay/op_support/windows.h) explains the vectors' lengths.
struct ConvAttrs {
  std::vector<int64_t> strides, padding, dilation;
  int64_t groups = 1;
  std::optional<int64_t> channels;
  std::optional<std::vector<int64_t>> kernel_size;
  std::string data_layout, kernel_layout, out_layout;
  std::optional<DType> out_dtype;
  int64_t pad_value = 0;  // the elements around the data
};

// nn.max_pool1d ... nn.max_pool3d and the sums and averages, nn.max_pool_indices (relay/ops/pool.cpp).
struct PoolAttrs {
  std::vector<int64_t> pool_size, strides, dilation, padding;
  std::string layout, out_layout;
  bool ceil_mode = false;
  bool count_include_pad = false;
  int64_t storage_order = 0;
};

// nn.dense (whose weight is always transposed), nn.matmul, nn.batch_matmul.
struct MatmulAttrs {
  std::optional<int64_t> units;
  std::optional<DType> out_dtype;
  bool transpose_a = false, transpose_b = false;
};

struct BiasAddAttrs {
  int64_t axis = 1;
};

struct BatchNormAttrs {
  int64_t axis = 1;
  double epsilon = 1e-5;
  bool center = true, scale = true;
};

struct TransposeAttrs {
  std::optional<std::vector<int64_t>> axes;  // None: reversed

  // Axis k of the result is axis order[k] of data with `rank` axes.
  std::vector<int64_t> order(int64_t rank) const {
    std::vector<int64_t> all;
    for (int64_t k = 0; k < rank; ++k) {
      const int64_t axis = axes ? (*axes)[static_cast<size_t>(k)] : rank - 1 - k;
      all.push_back(axis < 0 ? axis + rank : axis);
    }
    return all;
  }
};

// qnn.quantize and qnn.dequantize: `axis` is the axis along which the scale varies, unless there is one scale for the
// whole tensor. `block_size` is the number of consecutive elements along it that share a scale; 0: one scale for each
// index.
struct QuantizeAttrs {
  int64_t axis = -1;
  int64_t block_size = 0;
  bool saturate = true;
  std::optional<DType> precision, out_dtype;
};
struct DequantizeAttrs {
  int64_t axis = -1;
  int64_t block_size = 0;
  std::optional<DType> out_dtype;
};

}  // namespace dlcc::relay

// Dense arrays in row-major order, by their shapes.
#pragma once

#include <cstdint>
#include <vector>

namespace dlcc {

// The number of elements; 1 for rank 0.
inline int64_t element_count(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

// The distance between neighbours along each dimension, in elements; modulo 2^64.
inline std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = static_cast<int64_t>(static_cast<uint64_t>(strides[d]) * static_cast<uint64_t>(shape[d]));
  return strides;
}

}  // namespace dlcc

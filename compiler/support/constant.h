// Tensors known at compile time: weights, folded values, test data. A constant is a reference to immutable bytes, dense
// and row-major; copying one copies no data. The bytes may be owned or lie in a mapped file (decision: constants are
// buffers, never IR).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/dtype.h"

namespace dlcc {

class Constant {
 public:
  Constant() = default;

  // Takes ownership of `bytes`, which must be storage_bytes(dtype, product(shape)) long.
  Constant(DType dtype, std::vector<int64_t> shape, std::vector<std::byte> bytes);

  // Refers to `bytes` without copying; `owner` keeps them alive (a mapped file, another constant's storage).
  static Constant view(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes,
                       std::shared_ptr<const void> owner);

  template <class T>
  static Constant of(DType dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
    auto raw = std::as_bytes(std::span(values));
    return Constant(dtype, std::move(shape), std::vector<std::byte>(raw.begin(), raw.end()));
  }

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t count() const;  // number of elements; 1 for rank 0
  std::span<const std::byte> bytes() const { return bytes_; }
  template <class T>
  std::span<const T> as() const {  // the caller knows that T is the storage type of dtype()
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }

  // Element `index` (row-major) widened: integers and bool exactly, floats by value. Any dtype, sub-byte included.
  int64_t integer_at(int64_t index) const;
  double number_at(int64_t index) const;

  // The same bytes under another shape of equal element count.
  Constant reshaped(std::vector<int64_t> shape) const;

  // 64-bit hash of type, shape and bytes; equal on every machine. Computed at the first call.
  uint64_t hash() const;
  bool same_as(const Constant& other) const;  // type, shape and bytes are equal

 private:
  DType dtype_ = DType::float32_;
  std::vector<int64_t> shape_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  mutable std::shared_ptr<uint64_t> hash_;
};

// FNV-like 64-bit hash, eight bytes at a time, defined here so that it is the same on every host.
uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed = 0);

}  // namespace dlcc

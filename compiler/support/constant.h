// Tensors that are known at compile time: weights, folded values, test data. A constant is a reference to immutable,
// dense, row-major data; copying a constant copies no data. The data may be in a mapped file of weights.
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

  // Takes ownership of `bytes`, whose size must be that of the elements in bytes.
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
  int64_t count() const;  // the number of elements; 1 for rank 0
  std::span<const std::byte> bytes() const { return bytes_; }
  template <class T>
  std::span<const T> as() const {  // T must be the storage type of dtype()
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }

  // Element `index`, in row-major order, widened to int64 or double, for any dtype, those of 2 and 4 bits included.
  int64_t integer_at(int64_t index) const;
  double number_at(int64_t index) const;

  // The same bytes under another shape of equal element count.
  Constant reshaped(std::vector<int64_t> shape) const;

  // A 64-bit hash of type, shape and bytes, the same on every host. Computed at the first call.
  uint64_t hash() const;
  bool same_as(const Constant& other) const;  // type, shape and bytes are equal

 private:
  DType dtype_ = DType::float32_;
  std::vector<int64_t> shape_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  mutable std::shared_ptr<uint64_t> hash_;
};

// A 64-bit hash like FNV-1a but over words of eight bytes; the same on every host.
uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed = 0);

}  // namespace dlcc

#include "support/constant.h"

#include <algorithm>
#include <cstring>

#include "support/diagnostics.h"
#include "support/float_formats.h"
#include "support/row_major.h"

namespace dlcc {

Constant::Constant(DType dtype, std::vector<int64_t> shape, std::vector<std::byte> bytes)
    : dtype_(dtype), shape_(std::move(shape)), hash_(std::make_shared<uint64_t>(0)) {
  auto owned = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  bytes_ = *owned;
  owner_ = owned;
  DLCC_CHECK(static_cast<int64_t>(bytes_.size()) == storage_bytes(dtype_, count()), "{} bytes for {} elements of {}",
             bytes_.size(), count(), name(dtype_));
}

Constant Constant::view(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes,
                        std::shared_ptr<const void> owner) {
  Constant c;
  c.dtype_ = dtype;
  c.shape_ = std::move(shape);
  c.bytes_ = bytes;
  c.owner_ = std::move(owner);
  c.hash_ = std::make_shared<uint64_t>(0);
  DLCC_CHECK(static_cast<int64_t>(bytes.size()) == storage_bytes(dtype, c.count()), "{} bytes for {} elements of {}",
             bytes.size(), c.count(), name(dtype));
  return c;
}

Constant Constant::reshaped(std::vector<int64_t> shape) const { return view(dtype_, std::move(shape), bytes_, owner_); }

int64_t Constant::count() const { return element_count(shape_); }

namespace {

template <class T>
T read(std::span<const std::byte> bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// The bits of element `index` as an unsigned integer, where elements have `width` bits, 2 or 4.
int sub_byte_integer(std::span<const std::byte> bytes, int64_t index, int width) {
  const int64_t per_byte = 8 / width;
  return std::to_integer<int>(bytes[index / per_byte]) >> index % per_byte * width & ((1 << width) - 1);
}

}  // namespace

int64_t Constant::integer_at(int64_t i) const {
  switch (dtype_) {
    case DType::bool_:
      return read<uint8_t>(bytes_, i) != 0;
    case DType::int2_:
      return (sub_byte_integer(bytes_, i, 2) ^ 2) - 2;
    case DType::int4_:
      return (sub_byte_integer(bytes_, i, 4) ^ 8) - 8;
    case DType::uint2_:
    case DType::uint4_:
      return sub_byte_integer(bytes_, i, bits(dtype_));
    case DType::int8_:
      return read<int8_t>(bytes_, i);
    case DType::int16_:
      return read<int16_t>(bytes_, i);
    case DType::int32_:
      return read<int32_t>(bytes_, i);
    case DType::int64_:
      return read<int64_t>(bytes_, i);
    case DType::uint8_:
      return read<uint8_t>(bytes_, i);
    case DType::uint16_:
      return read<uint16_t>(bytes_, i);
    case DType::uint32_:
      return read<uint32_t>(bytes_, i);
    case DType::uint64_:
      return static_cast<int64_t>(read<uint64_t>(bytes_, i));
    default:
      return static_cast<int64_t>(number_at(i));
  }
}

double Constant::number_at(int64_t i) const {
  switch (dtype_) {
    case DType::float64_:
      return read<double>(bytes_, i);
    case DType::float32_:
      return read<float>(bytes_, i);
    case DType::float16_:
      return half_to_float(read<uint16_t>(bytes_, i));
    case DType::bfloat16_:
      return bfloat16_to_float(read<uint16_t>(bytes_, i));
    case DType::float4_e2m1fn_:
      return minifloat_to_float(dtype_, static_cast<uint8_t>(sub_byte_integer(bytes_, i, 4)));
    case DType::float8_e8m0fnu_:
    case DType::float8_e4m3fn_:
    case DType::float8_e4m3fnuz_:
    case DType::float8_e5m2_:
    case DType::float8_e5m2fnuz_:
      return minifloat_to_float(dtype_, read<uint8_t>(bytes_, i));
    case DType::uint64_:
      return static_cast<double>(read<uint64_t>(bytes_, i));
    default:
      return static_cast<double>(integer_at(i));
  }
}

uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed) {
  auto mix = [](uint64_t h, uint64_t word) {
    h = (h ^ word) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 32);
  };
  uint64_t h = mix(0xCBF29CE484222325u ^ seed, bytes.size());
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) h = mix(h, read<uint64_t>(bytes.subspan(i), 0));
  uint64_t last = 0;
  for (int shift = 0; i < bytes.size(); ++i, shift += 8) last |= std::to_integer<uint64_t>(bytes[i]) << shift;
  return mix(h, last);
}

uint64_t Constant::hash() const {
  if (hash_ && *hash_ == 0) {
    uint64_t h = hash_bytes(std::as_bytes(std::span(shape_)), static_cast<uint64_t>(dtype_) + 1);
    *hash_ = hash_bytes(bytes_, h) | 1;
  }
  return hash_ ? *hash_ : 0;
}

bool Constant::same_as(const Constant& o) const {
  if (dtype_ != o.dtype_ || shape_ != o.shape_ || bytes_.size() != o.bytes_.size()) return false;
  return bytes_.data() == o.bytes_.data() || std::ranges::equal(bytes_, o.bytes_);
}

}  // namespace dlcc

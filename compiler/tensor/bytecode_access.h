// Access to registers and to stored elements.
#pragma once

#include <cstring>

#include "support/float_formats.h"
#include "tensor/bytecode.h"

namespace dlcc::tensor::bytecode {

template <class T>
T* reg(Frame& f, uint32_t offset) {
  return reinterpret_cast<T*>(f.registers + offset);
}

// Elements that have the same bytes in memory and in registers.
template <class T>
struct Plain {
  using Value = T;
  static T get(const std::byte* base, int64_t i) { return reinterpret_cast<const T*>(base)[i]; }
  static void set(std::byte* base, int64_t i, T v) { reinterpret_cast<T*>(base)[i] = v; }
};

struct Bool {
  using Value = bool;
  static bool get(const std::byte* base, int64_t i) { return base[i] != std::byte{0}; }
  static void set(std::byte* base, int64_t i, bool v) { base[i] = std::byte{v}; }
};

struct Half {
  using Value = float;
  static float get(const std::byte* base, int64_t i) { return half_to_float(Plain<uint16_t>::get(base, i)); }
  static void set(std::byte* base, int64_t i, float v) { Plain<uint16_t>::set(base, i, float_to_half(v)); }
};

struct BFloat {
  using Value = float;
  static float get(const std::byte* base, int64_t i) { return bfloat16_to_float(Plain<uint16_t>::get(base, i)); }
  static void set(std::byte* base, int64_t i, float v) { Plain<uint16_t>::set(base, i, float_to_bfloat16(v)); }
};

// Register values are representable in the type, so that the conversion does not round; infinities must not saturate.
template <DType type, class Bits>
struct Minifloat {
  using Value = float;
  static float get(const std::byte* base, int64_t i) { return minifloat_to_float(type, Bits::get(base, i)); }
  static void set(std::byte* base, int64_t i, float v) { Bits::set(base, i, float_to_minifloat(type, v, false)); }
};

// Integers of 2 or 4 bits.
template <class T, int width>
struct SubByte {
  using Value = T;
  static constexpr int per_byte = 8 / width, mask = (1 << width) - 1;
  static T get(const std::byte* base, int64_t i) {
    const int v = static_cast<int>(base[i / per_byte] >> i % per_byte * width) & mask;
    return static_cast<T>(std::is_signed_v<T> && v > mask / 2 ? v - mask - 1 : v);
  }
  static void set(std::byte* base, int64_t i, T v) {
    const int64_t shift = i % per_byte * width;
    std::byte& byte = base[i / per_byte];
    byte = (byte & ~(static_cast<std::byte>(mask) << shift)) | (static_cast<std::byte>(v & mask) << shift);
  }
};

// Calls f with the accessor class of a stored type.
template <class F>
auto with_access(DType type, F&& f) {
  switch (type) {
    case DType::bool_:
      return f(Bool{});
    case DType::int2_:
      return f(SubByte<int8_t, 2>{});
    case DType::int4_:
      return f(SubByte<int8_t, 4>{});
    case DType::uint2_:
      return f(SubByte<uint8_t, 2>{});
    case DType::uint4_:
      return f(SubByte<uint8_t, 4>{});
    case DType::float4_e2m1fn_:
      return f(Minifloat<DType::float4_e2m1fn_, SubByte<uint8_t, 4>>{});
    case DType::float8_e8m0fnu_:
      return f(Minifloat<DType::float8_e8m0fnu_, Plain<uint8_t>>{});
    case DType::int8_:
      return f(Plain<int8_t>{});
    case DType::int16_:
      return f(Plain<int16_t>{});
    case DType::int32_:
      return f(Plain<int32_t>{});
    case DType::int64_:
      return f(Plain<int64_t>{});
    case DType::uint8_:
      return f(Plain<uint8_t>{});
    case DType::uint16_:
      return f(Plain<uint16_t>{});
    case DType::uint32_:
      return f(Plain<uint32_t>{});
    case DType::uint64_:
      return f(Plain<uint64_t>{});
    case DType::float8_e4m3fn_:
      return f(Minifloat<DType::float8_e4m3fn_, Plain<uint8_t>>{});
    case DType::float8_e4m3fnuz_:
      return f(Minifloat<DType::float8_e4m3fnuz_, Plain<uint8_t>>{});
    case DType::float8_e5m2_:
      return f(Minifloat<DType::float8_e5m2_, Plain<uint8_t>>{});
    case DType::float8_e5m2fnuz_:
      return f(Minifloat<DType::float8_e5m2fnuz_, Plain<uint8_t>>{});
    case DType::float16_:
      return f(Half{});
    case DType::bfloat16_:
      return f(BFloat{});
    case DType::float32_:
      return f(Plain<float>{});
    case DType::float64_:
      return f(Plain<double>{});
  }
  DLCC_UNREACHABLE("type {}", static_cast<int>(type));
}

// Calls f with a value of the C++ type of `kind`.
template <class F>
auto with_kind(Kind kind, F&& f) {
  switch (kind) {
    case Kind::boolean:
      return f(bool{});
    case Kind::i8:
      return f(int8_t{});
    case Kind::i16:
      return f(int16_t{});
    case Kind::i32:
      return f(int32_t{});
    case Kind::i64:
      return f(int64_t{});
    case Kind::u8:
      return f(uint8_t{});
    case Kind::u16:
      return f(uint16_t{});
    case Kind::u32:
      return f(uint32_t{});
    case Kind::u64:
      return f(uint64_t{});
    case Kind::f32:
      return f(float{});
    case Kind::f64:
      return f(double{});
  }
  DLCC_UNREACHABLE("kind {}", static_cast<int>(kind));
}

}  // namespace dlcc::tensor::bytecode

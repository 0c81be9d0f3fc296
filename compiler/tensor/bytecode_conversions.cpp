// The bytecode's conversions: casts between register types, rounding to the types that registers widen, bitcasts.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "support/float_formats.h"
#include "tensor/bytecode.h"
#include "tensor/bytecode_lanes.h"
#include "tensor/bytecode_scalars.h"

namespace dlcc::tensor::bytecode {

Execute cast_instruction(Kind from, Kind to) {
  return with_kind(from, [to](auto x) -> Execute {
    using From = decltype(x);
    return with_kind(to, [](auto y) -> Execute {
      using To = decltype(y);
      return
          [](Frame& f, const Instruction& i) { over<From, To>(f, i, [](From v) { return cast_value<To, From>(v); }); };
    });
  });
}

namespace {

template <DType type, bool saturate>
void round_to_minifloat(Frame& f, const Instruction& i) {
  over<float, float>(f, i, [](float v) { return minifloat_to_float(type, float_to_minifloat(type, v, saturate)); });
}

// To an integer of 2 or 4 bits, which is extended to a byte in registers.
template <class T, int width>
void saturate_to(Frame& f, const Instruction& i) {
  static constexpr int high = (1 << (width - std::is_signed_v<T>)) - 1, low = std::is_signed_v<T> ? -high - 1 : 0;
  over<T, T>(f, i, [](T v) { return static_cast<T>(std::clamp<int>(v, low, high)); });
}
template <class T, int width>
void wrap_to(Frame& f, const Instruction& i) {
  over<T, T>(f, i, [](T v) { return static_cast<T>(static_cast<T>(v << (8 - width)) >> (8 - width)); });
}

}  // namespace

Execute round_instruction(DType type, bool saturate) {
  switch (type) {
    case DType::float16_:
      return [](Frame& f, const Instruction& i) {
        over<float, float>(f, i, [](float v) { return half_to_float(float_to_half(v)); });
      };
    case DType::bfloat16_:
      return [](Frame& f, const Instruction& i) {
        over<float, float>(f, i, [](float v) { return bfloat16_to_float(float_to_bfloat16(v)); });
      };
#define MINIFLOAT(t) \
  case DType::t:     \
    return saturate ? &round_to_minifloat<DType::t, true> : &round_to_minifloat<DType::t, false>;
      MINIFLOAT(float4_e2m1fn_)
      MINIFLOAT(float8_e8m0fnu_)
      MINIFLOAT(float8_e4m3fn_)
      MINIFLOAT(float8_e4m3fnuz_)
      MINIFLOAT(float8_e5m2_)
      MINIFLOAT(float8_e5m2fnuz_)
#undef MINIFLOAT
    case DType::int2_:
      return saturate ? &saturate_to<int8_t, 2> : &wrap_to<int8_t, 2>;
    case DType::int4_:
      return saturate ? &saturate_to<int8_t, 4> : &wrap_to<int8_t, 4>;
    case DType::uint2_:
      return saturate ? &saturate_to<uint8_t, 2> : &wrap_to<uint8_t, 2>;
    case DType::uint4_:
      return saturate ? &saturate_to<uint8_t, 4> : &wrap_to<uint8_t, 4>;
    default:
      break;
  }
  DLCC_UNREACHABLE("rounding to {}", name(type));
}

Execute round_to_odd_instruction() {
  return [](Frame& f, const Instruction& i) { over<double, float>(f, i, [](double v) { return narrow_to_odd(v); }); };
}

namespace {

constexpr bool has_minifloat_bits(DType t) { return t >= DType::float8_e8m0fnu_ && t <= DType::float8_e5m2fnuz_; }

// Converts between register values and their stored bits.
template <DType type, class R>
auto to_bits(R v) {
  if constexpr (has_minifloat_bits(type))
    return float_to_minifloat(type, static_cast<float>(v), false);
  else if constexpr (type == DType::float16_)
    return float_to_half(static_cast<float>(v));
  else if constexpr (type == DType::bfloat16_)
    return float_to_bfloat16(static_cast<float>(v));
  else if constexpr (type == DType::float32_)
    return std::bit_cast<uint32_t>(static_cast<float>(v));
  else if constexpr (type == DType::float64_)
    return std::bit_cast<uint64_t>(static_cast<double>(v));
  else if constexpr (std::is_same_v<R, bool>)
    return static_cast<uint8_t>(v);
  else
    return static_cast<std::make_unsigned_t<R>>(v);
}

template <DType type, class R, class U>
R from_bits(U v) {
  if constexpr (has_minifloat_bits(type))
    return static_cast<R>(minifloat_to_float(type, static_cast<uint8_t>(v)));
  else if constexpr (type == DType::float16_)
    return static_cast<R>(half_to_float(static_cast<uint16_t>(v)));
  else if constexpr (type == DType::bfloat16_)
    return static_cast<R>(bfloat16_to_float(static_cast<uint16_t>(v)));
  else if constexpr (type == DType::float32_)
    return static_cast<R>(std::bit_cast<float>(static_cast<uint32_t>(v)));
  else if constexpr (type == DType::float64_)
    return static_cast<R>(std::bit_cast<double>(static_cast<uint64_t>(v)));
  else
    return static_cast<R>(v);
}

template <DType from, class A, DType to, class R>
Execute bitcast_between() {
  return [](Frame& f, const Instruction& i) {
    over<A, R>(f, i, [](A v) { return from_bits<to, R>(to_bits<from, A>(v)); });
  };
}

// Calls f with a type that bitcast supports and its register type.
template <class F>
Execute with_type(DType type, Precision precision, F&& f) {
  bool wide = precision == Precision::float64;
#define TYPE(t, c) \
  case DType::t:   \
    return f.template operator()<DType::t, c>();
#define FLOAT(t, c) \
  case DType::t:    \
    return wide ? f.template operator()<DType::t, double>() : f.template operator()<DType::t, c>();
  switch (type) {
    TYPE(int8_, int8_t)
    TYPE(int16_, int16_t)
    TYPE(int32_, int32_t)
    TYPE(int64_, int64_t)
    TYPE(uint8_, uint8_t)
    TYPE(uint16_, uint16_t)
    TYPE(uint32_, uint32_t)
    TYPE(uint64_, uint64_t)
    TYPE(bool_, bool)
    FLOAT(float8_e8m0fnu_, float)
    FLOAT(float8_e4m3fn_, float)
    FLOAT(float8_e4m3fnuz_, float)
    FLOAT(float8_e5m2_, float)
    FLOAT(float8_e5m2fnuz_, float)
    FLOAT(float16_, float)
    FLOAT(bfloat16_, float)
    FLOAT(float32_, float) FLOAT(float64_, double) default : DLCC_UNREACHABLE("bitcast of {}", name(type));
  }
#undef TYPE
#undef FLOAT
}

}  // namespace

Execute bitcast_instruction(DType from, DType to, Precision precision) {
  return with_type(from, precision, [&]<DType source, class A>() {
    return with_type(to, precision, [&]<DType target, class R>() { return bitcast_between<source, A, target, R>(); });
  });
}

}  // namespace dlcc::tensor::bytecode

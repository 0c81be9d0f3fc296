// Element types of tensors. The list, with names and widths, is dtype.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dlcc {

enum class DTypeKind : uint8_t { boolean, signed_integer, unsigned_integer, floating };

enum class DType : uint8_t {
#define DTYPE(name, bits, kind, ctype, onnx) name##_,
#include "support/dtype.def"
#undef DTYPE
};

// The names to use in code. (The enumerators end in '_' because bool is a keyword.)
namespace dtype {
inline constexpr DType boolean = DType::bool_, i4 = DType::int4_, i8 = DType::int8_, i16 = DType::int16_,
                       i32 = DType::int32_, i64 = DType::int64_, u4 = DType::uint4_, u8 = DType::uint8_,
                       u16 = DType::uint16_, u32 = DType::uint32_, u64 = DType::uint64_, f16 = DType::float16_,
                       bf16 = DType::bfloat16_, f32 = DType::float32_, f64 = DType::float64_;
}

std::string_view name(DType);  // "float32": Relay's and numpy's name
int bits(DType);               // the width of one element
DTypeKind kind(DType);
std::string_view c_type(DType);  // the type of one element in generated headers
int onnx_number(DType);          // in TensorProto.DataType
std::optional<DType> dtype_named(std::string_view name);
std::optional<DType> dtype_of_onnx(int number);

inline bool is_float(DType t) { return kind(t) == DTypeKind::floating; }
// Floats of at most 8 bits, for storage: arithmetic needs a conversion (support/float_formats.h).
inline bool is_minifloat(DType t) { return is_float(t) && bits(t) <= 8; }
inline bool is_bool(DType t) { return t == DType::bool_; }
inline bool is_signed(DType t) { return kind(t) == DTypeKind::signed_integer; }
inline bool is_integer(DType t) {
  return kind(t) == DTypeKind::signed_integer || kind(t) == DTypeKind::unsigned_integer;
}

inline bool is_byte(DType t) { return t == dtype::u8 || t == dtype::i8; }

// The least and the largest number of an integer type of less than 64 bits.
struct IntegerLimits {
  int64_t low, high;
};
inline IntegerLimits integer_limits(DType t) {
  const int64_t high = (int64_t{1} << (bits(t) - (is_signed(t) ? 1 : 0))) - 1;
  return {is_signed(t) ? -high - 1 : 0, high};
}

// The size in bytes of `count` dense elements. Elements of 2 or 4 bits share bytes, the first in the lowest bits.
inline int64_t storage_bytes(DType t, int64_t count) { return (count * bits(t) + 7) / 8; }

}  // namespace dlcc

// The vocabulary of the text form, one table per kind of word.
#include "tensor/text.h"

#include <algorithm>
#include <array>

#include "support/ascii.h"
#include "tensor/builder.h"

namespace dlcc::tensor {
namespace {

struct TypeName {
  DType type;
  std::string_view name;
};
// The types of 2 bits have their long names, since "i2" is a usual name of an axis.
constexpr TypeName type_names[] = {
    {DType::bool_, "bool"},
    {DType::int2_, "int2"},
    {DType::int4_, "i4"},
    {DType::int8_, "i8"},
    {DType::int16_, "i16"},
    {DType::int32_, "i32"},
    {DType::int64_, "i64"},
    {DType::uint2_, "uint2"},
    {DType::uint4_, "u4"},
    {DType::uint8_, "u8"},
    {DType::uint16_, "u16"},
    {DType::uint32_, "u32"},
    {DType::uint64_, "u64"},
    {DType::float4_e2m1fn_, "f4e2m1fn"},
    {DType::float8_e8m0fnu_, "f8e8m0fnu"},
    {DType::float8_e4m3fn_, "f8e4m3fn"},
    {DType::float8_e4m3fnuz_, "f8e4m3fnuz"},
    {DType::float8_e5m2_, "f8e5m2"},
    {DType::float8_e5m2fnuz_, "f8e5m2fnuz"},
    {DType::float16_, "f16"},
    {DType::bfloat16_, "bf16"},
    {DType::float32_, "f32"},
    {DType::float64_, "f64"},
};

constexpr std::string_view unary_texts[] = {
#define UNARY(name, text) text,
#define BINARY(name, text, infix)
#include "tensor/ops.def"
#undef UNARY
#undef BINARY
};

struct BinaryText {
  std::string_view text;
  bool infix;
};
constexpr BinaryText binary_texts[] = {
#define UNARY(name, text)
#define BINARY(name, text, infix) {text, infix},
#include "tensor/ops.def"
#undef UNARY
#undef BINARY
};

constexpr std::string_view keywords[] = {"kernel",  "tensor",   "read",     "write",    "scratch", "for",    "parallel",
                                         "vector",  "unrolled", "let",      "alloc",    "if",      "else",   "call",
                                         "at",      "true",     "false",    "inf",      "nan",     "fma",    "bitcast",
                                         "with",    "combine",  "identity", "temp",     "reg",     "local",  "in",
                                         "strides", "align",    "require",  "prefetch", "outline", "reduce", "sum",
                                         "product", "all",      "any",      "global",   "min",     "max"};

}  // namespace

std::string_view short_name(DType type) {
  for (const TypeName& t : type_names)
    if (t.type == type) return t.name;
  DLCC_UNREACHABLE("no short name for {}", name(type));
}

std::optional<DType> dtype_of_short_name(std::string_view text) {
  for (const TypeName& t : type_names)
    if (t.name == text) return t.type;
  return std::nullopt;
}

std::string_view text_of(UnaryOp op) { return unary_texts[static_cast<size_t>(op)]; }
std::string_view text_of(BinaryOp op) { return binary_texts[static_cast<size_t>(op)].text; }
bool is_infix(BinaryOp op) { return binary_texts[static_cast<size_t>(op)].infix; }

int precedence(BinaryOp op) {
  switch (op) {
    case BinaryOp::mul:
    case BinaryOp::div:
      return 10;
    case BinaryOp::add:
    case BinaryOp::sub:
      return 9;
    case BinaryOp::shl:
    case BinaryOp::shr:
      return 8;
    case BinaryOp::bit_and:
      return 7;
    case BinaryOp::bit_xor:
      return 6;
    case BinaryOp::bit_or:
      return 5;
    case BinaryOp::logical_and:
      return 3;
    case BinaryOp::logical_xor:
      return 2;
    case BinaryOp::logical_or:
      return 1;
    default:
      return is_infix(op) ? 4 : highest_precedence;  // comparisons; functions
  }
}

std::string_view text_of(Status status) {
  switch (status) {
#define STATUS(name, number, text) \
  case Status::name:               \
    return #name;
#include "dlcc/status.def"
#undef STATUS
  }
  DLCC_UNREACHABLE("status {}", static_cast<int>(status));
}

std::string_view text_of(LoopKind kind) {
  switch (kind) {
    case LoopKind::serial:
      return "for";
    case LoopKind::parallel:
      return "parallel";
    case LoopKind::vector:
      return "vector";
    case LoopKind::unrolled:
      return "unrolled";
  }
  DLCC_UNREACHABLE("loop kind {}", static_cast<int>(kind));
}

std::optional<ReducerKind> reducer_named(std::string_view text) {
#define REDUCER(kind, op, identity) \
  if (text == #kind) return ReducerKind::kind;
#include "tensor/reducers.def"
#undef REDUCER
  return std::nullopt;
}

std::string_view text_of(ReducerKind kind) {
  switch (kind) {
#define REDUCER(kind, op, identity) \
  case ReducerKind::kind:           \
    return #kind;
#include "tensor/reducers.def"
#undef REDUCER
    case ReducerKind::other:
      return "reduce";
  }
  DLCC_UNREACHABLE("reducer kind {}", static_cast<int>(kind));
}

bool is_reserved(std::string_view word) {
  return word.starts_with("inf_") || word.starts_with("nan_") || dtype_of_short_name(word) ||
         std::ranges::count(keywords, word) || std::ranges::count(unary_texts, word) ||
         std::ranges::count(binary_texts, word, &BinaryText::text);
}

std::string quoted_name(const std::string& name) {
  bool plain = !name.empty();
  for (char c : name) plain &= is_identifier_character(c) || c == '.' || c == '-' || c == '$';
  if (plain) return "@" + name;
  std::string s = "@\"";
  for (char c : name) {
    if (c == '"' || c == '\\') s += '\\';
    s += c == '\n' ? ' ' : c;
  }
  return s + "\"";
}

Reduction named_reduction(ReducerKind kind, std::vector<Axis> axes, DType type) {
  Var a = make_var("a", type), b = make_var("b", type);
  switch (kind) {
#define REDUCER(kind, op, identity) \
  case ReducerKind::kind:           \
    return {std::move(axes), {a}, {b}, {binary(BinaryOp::op, a, b)}, {identity}};
#include "tensor/reducers.def"
#undef REDUCER
    case ReducerKind::other:
      break;
  }
  DLCC_UNREACHABLE("a reducer without a name");
}

}  // namespace dlcc::tensor

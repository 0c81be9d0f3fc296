// Parses literals of scalars and tensors.
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "frontends/relay/parser.h"
#include "support/float_formats.h"

namespace dlcc::frontends::relay_text {

using namespace relay;

// ---- scalars --------------------------------------------------------------------------------------------------------

void Parser::check_suffix(const Token& t) {
  if (t.is_float && t.width == 0)
    lexer_.error(lexer_.location(t), "a number with a fraction or an exponent has a suffix",
                 fmt::format("write {0}f for float32, {0}f64 or {0}f16; an integer has no fraction", t.text));
}

// The value of a number token; 0 on underflow, empty on overflow of float64.
std::optional<double> Parser::number(const Token& t) {
  double value = 0;
  if (t.text == "inf") {
    value = HUGE_VAL;
  } else if (t.text == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    auto [end, error] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), value);
    if (error == std::errc::result_out_of_range) {
      size_t exponent = t.text.find_first_of("eE");
      bool tiny = exponent == std::string_view::npos ? t.text[0] == '0' : t.text[exponent + 1] == '-';
      if (!tiny) return std::nullopt;
      value = 0;
    }
  }
  return t.negative ? -value : value;
}

Constant Parser::literal(const Token& t) {
  check_suffix(t);
  return t.is_float ? float_literal(t) : integer_literal(t);
}

// Without suffix: int32, or int64 if int32 is too narrow.
Constant Parser::integer_literal(const Token& t) {
  uint64_t magnitude = 0;
  auto [end, error] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), magnitude);
  auto fits = [&](int width) {
    uint64_t limit = (uint64_t{1} << (width - 1)) - !t.negative;
    return error == std::errc() && magnitude <= limit;
  };
  int width = t.width ? t.width : fits(32) ? 32 : 64;
  if (!fits(width)) {
    report(DiagnosticId::syntax_error, lexer_.location(t), fmt::format("this integer does not fit {} bits", width));
    magnitude = 0;
  }
  int64_t value = static_cast<int64_t>(t.negative ? 0 - magnitude : magnitude);
  if (width == 16) return Constant::of<int16_t>(dtype::i16, {}, {static_cast<int16_t>(value)});
  if (width == 32) return Constant::of<int32_t>(dtype::i32, {}, {static_cast<int32_t>(value)});
  return Constant::of<int64_t>(dtype::i64, {}, {value});
}

Constant Parser::float_literal(const Token& t) {
  std::optional<double> wide = number(t);
  double value = wide.value_or(0);
  float narrow = static_cast<float>(value);
  if (wide && std::isfinite(value)) {  // not through double, so that it is rounded once
    auto [end, error] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), narrow);
    if (error == std::errc::result_out_of_range) narrow = static_cast<float>(std::fabs(value));
    if (t.negative) narrow = -narrow;
  }
  bool finite = std::isfinite(value);
  bool overflow = !wide || (finite && t.width == 32 && !std::isfinite(narrow)) ||
                  (finite && t.width == 16 && std::fabs(value) > 65504);
  if (overflow)
    report(DiagnosticId::syntax_error, lexer_.location(t), fmt::format("this number does not fit float{}", t.width));
  if (t.width == 16) return Constant::of<uint16_t>(dtype::f16, {}, {float_to_half(narrow)});
  if (t.width == 64) return Constant::of<double>(dtype::f64, {}, {value});
  return Constant::of<float>(dtype::f32, {}, {narrow});
}

// ---- tensors --------------------------------------------------------------------------------------------------------

// Tensor[(2), float32]{1, 2.5}, the form in which the interpreter prints tensors: the elements in row-major order,
// after the type. They have no suffixes, and may be inf, -inf or nan.
Parser::Value Parser::tensor_literal(const Type& type, const SourceLocation& where) {
  std::vector<Token> elements;
  if (!expect("{", "the type of a tensor")) return {nothing(), where};
  list("}", [&] { elements.push_back(element_token()); });
  const TensorType* tensor = as<TensorType>(type);
  if (lexer_.failed() || !type || !(tensor || as<OpenTensorType>(type))) return {nothing(), where};
  const auto count = tensor ? product(tensor->shape).constant() : std::nullopt;
  if (!count || tensor->lanes != 1 || *count != static_cast<int64_t>(elements.size())) {
    report(DiagnosticId::syntax_error, where,
           fmt::format("a literal of {} has {} element{}", relay::str(type), elements.size(),
                       elements.size() == 1 ? "" : "s"),
           "a literal lists all elements of a tensor of known shape and element type: Tensor[(2), float32]{1, 2.5}");
    return {nothing(), where};
  }
  std::vector<int64_t> shape;
  for (const Dim& d : tensor->shape) shape.push_back(d.value());
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(tensor->dtype, *count)));
  for (size_t k = 0; k < elements.size(); ++k) {
    const auto pattern = bits_of_element(elements[k], tensor->dtype);
    if (!pattern)
      report(DiagnosticId::syntax_error, lexer_.location(elements[k]),
             fmt::format("this is not an element of type {}", name(tensor->dtype)));
    for (size_t bit = 0, width = static_cast<size_t>(bits(tensor->dtype)); bit < width; bit += 2) {
      const size_t at = k * width + bit;
      bytes[at / 8] |= static_cast<std::byte>((pattern.value_or(0) >> bit & 3) << at % 8);
    }
  }
  return {Atom(Constant(tensor->dtype, std::move(shape), std::move(bytes))), where};
}

// The element as it is stored; empty if the type does not have it.
std::optional<uint64_t> Parser::bits_of_element(const Token& t, DType type) {
  if (is_float(type)) {
    const std::optional<double> wide = number(t);
    if (!wide) return std::nullopt;
    if (type == dtype::f64) return std::bit_cast<uint64_t>(*wide);
    const auto single = static_cast<float>(*wide);
    if (type == dtype::f32)
      return std::isinf(single) && std::isfinite(*wide) ? std::nullopt
                                                        : std::optional<uint64_t>(std::bit_cast<uint32_t>(single));
    const bool is_mini = is_minifloat(type);
    const uint16_t narrow = is_mini               ? float_to_minifloat(type, single, false)
                            : type == dtype::bf16 ? float_to_bfloat16(single)
                                                  : float_to_half(single);
    const float stored = is_mini               ? minifloat_to_float(type, static_cast<uint8_t>(narrow))
                         : type == dtype::bf16 ? bfloat16_to_float(narrow)
                                               : half_to_float(narrow);
    return std::isfinite(stored) || !std::isfinite(*wide) ? std::optional<uint64_t>(narrow) : std::nullopt;
  }
  uint64_t magnitude = 0;
  auto [end, error] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), magnitude);
  if (error != std::errc() || t.is_float) return std::nullopt;
  const bool is_signed = dlcc::kind(type) == DTypeKind::signed_integer;
  const int width = type == dtype::boolean ? 1 : bits(type);
  const uint64_t largest = ~uint64_t{0} >> (64 - width + is_signed), limit = t.negative ? largest + 1 : largest;
  if (magnitude > limit || (t.negative && !is_signed && magnitude > 0)) return std::nullopt;
  return t.negative ? 0 - magnitude : magnitude;
}

// A number without suffix, or a word for one, with its sign.
Token Parser::element_token() {
  const Token first = peek();
  const bool has_sign = accept("-");
  Token t = peek();
  if (!t.word("inf") && !t.word("nan") && t.kind != TokenKind::number) {
    unexpected("an element, a number");
    return t;
  }
  lexer_.next();
  if (t.width != 0 && t.kind == TokenKind::number)
    lexer_.error(lexer_.location(t), "an element of a tensor has no suffix");
  t.is_float |= t.kind != TokenKind::number;
  t.negative = t.negative != has_sign;
  t.line = first.line;
  t.column = first.column;
  return t;
}

}  // namespace dlcc::frontends::relay_text

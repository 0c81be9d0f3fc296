#include "shape/size_range.h"

#include <fmt/format.h>

#include <charconv>

#include "support/ascii.h"

namespace dlcc {
namespace {

// "past_seq" for "past + seq", "d_1" for "?1".
std::string identifier_like(const std::string& name) {
  std::string identifier;
  for (char c : name) {
    if (is_identifier_character(c))
      identifier += c;
    else if (!identifier.ends_with('_'))
      identifier += '_';
  }
  const bool is_name = identifier == name && !name.empty() && !is_digit(name[0]);
  return is_name || (!identifier.empty() && is_letter(identifier[0])) ? identifier : "d" + identifier;
}

// The text as a number; empty if it is anything else.
std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

// Splits off and returns the text after the last `mark`; empty if there is no mark.
std::optional<std::string_view> cut(std::string_view& text, char mark) {
  size_t at = text.rfind(mark);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view tail = text.substr(at + 1);
  text = text.substr(0, at);
  return tail;
}

// Rounds the bounds to multiples. False if there is no multiple between them.
bool round_bounds(SizeRange& range) {
  const int64_t m = range.multiple;
  int64_t low = range.low / m + (range.low % m != 0);
  if (low > INT64_MAX / m) return false;
  range.low = low * m;
  if (range.high != INT64_MAX) range.high -= range.high % m;
  return range.low <= range.high;
}

}  // namespace

std::string SizeRange::str() const {
  std::string text = std::to_string(low);
  if (!is_number()) text += ".." + (high == INT64_MAX ? "" : std::to_string(high));
  if (multiple != 1) text += fmt::format(":{}", multiple);
  if (typical != 0) text += fmt::format("@{}", typical);
  return text;
}

std::optional<SizeRange> parse_size_range(std::string_view text, std::string& problem) {
  const auto fail = [&](std::string reason) {
    problem = std::move(reason);
    return std::nullopt;
  };
  std::string_view bounds = text;
  const auto typical_text = cut(bounds, '@'), multiple_text = cut(bounds, ':');
  const size_t dots = bounds.find("..");
  const bool is_range = dots != std::string_view::npos;
  const auto low = number(bounds.substr(0, dots));
  const std::string_view high_text = is_range ? bounds.substr(dots + 2) : bounds;
  const auto high = is_range && high_text.empty() ? std::optional<int64_t>(INT64_MAX) : number(high_text);
  const auto multiple = multiple_text ? number(*multiple_text) : 1, typical = typical_text ? number(*typical_text) : 0;
  if (!low || !high || !multiple || !typical) return fail("the value is neither a size nor a range of sizes");
  if (*low < 0) return fail("a size cannot be negative");
  if (*multiple < 1) return fail(fmt::format("sizes cannot be multiples of {}", *multiple));
  if (*low > *high) return fail(fmt::format("the lower bound {} is above the upper bound {}", *low, *high));
  SizeRange range;
  range.low = *low, range.high = *high, range.multiple = *multiple, range.typical = *typical;
  if (!round_bounds(range)) return fail(fmt::format("no size in this range is a multiple of {}", *multiple));
  const bool is_in_range = *typical >= range.low && *typical <= range.high;
  if (typical_text && !is_in_range) return fail(fmt::format("the typical size {} is not in the range", *typical));
  if (typical_text && *typical % *multiple != 0)
    return fail(fmt::format("the typical size {} is no multiple of {}", *typical, *multiple));
  return range;
}

InputDim input_dim(const std::string& name, const SizeRange& range, const std::set<std::string>& taken) {
  const int64_t m = range.multiple;
  std::string symbol = identifier_like(name);
  if (m != 1) symbol += fmt::format("_by_{}", m);
  while (symbol != name && taken.contains(symbol)) symbol += '_';
  const int64_t high = range.high == INT64_MAX ? INT64_MAX : range.high / m;
  return {name, {symbol, range.low / m, high}, m, range.typical};
}

}  // namespace dlcc

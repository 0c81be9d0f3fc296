#include "frontends/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace dlcc::frontends {
namespace {

std::optional<int64_t> parse_integer(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "[1,2]", "[]"
std::optional<std::vector<int64_t>> parse_list(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<int64_t> list;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    auto value = parse_integer(text.substr(0, comma));
    if (!value || comma + 1 == text.size()) return std::nullopt;
    list.push_back(*value);
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  return list;
}

// A list without negative numbers.
std::optional<std::vector<int64_t>> parse_shape(std::string_view text) {
  auto shape = parse_list(text);
  const bool is_shape = shape && std::ranges::none_of(*shape, [](int64_t size) { return size < 0; });
  return is_shape ? shape : std::nullopt;
}

// "3", or the shapes of the tensors: "[2,3],[4,3]"
std::optional<InputForm> parse_sequence(std::string_view text) {
  constexpr int64_t longest = 100000;  // more tensors than a program has arguments
  if (auto length = parse_integer(text)) {
    if (*length < 0 || *length > longest) return std::nullopt;
    return SequenceInput{std::vector<std::optional<std::vector<int64_t>>>(static_cast<size_t>(*length))};
  }
  SequenceInput sequence;
  while (true) {
    const size_t end = text.find(']');
    auto shape = end == std::string_view::npos ? std::nullopt : parse_shape(text.substr(0, end + 1));
    if (!shape) return std::nullopt;
    sequence.shapes.push_back(std::move(shape));
    if (end + 1 == text.size()) return sequence;
    if (text[end + 1] != ',') return std::nullopt;
    text = text.substr(end + 2);
  }
}

std::optional<InputForm> parse_value(std::string_view text) {
  if (auto number = parse_integer(text)) return FixedInput{Constant::of<int64_t>(dtype::i64, {}, {*number})};
  auto list = parse_list(text);
  if (!list) return std::nullopt;
  return FixedInput{Constant::of<int64_t>(dtype::i64, {static_cast<int64_t>(list->size())}, *list)};
}

}  // namespace

std::optional<InputForm> parse_input_form(const std::string& text) {
  constexpr std::string_view sequence = "seq:", value = "value:";
  if (text == "none") return AbsentInput{};
  if (auto shape = parse_shape(text)) return ShapedInput{*shape};
  if (text.starts_with(sequence)) return parse_sequence(std::string_view(text).substr(sequence.size()));
  if (text.starts_with(value)) return parse_value(std::string_view(text).substr(value.size()));
  return std::nullopt;
}

std::string describe(ArgumentKind kind, size_t tensors, bool absent) {
  if (absent) return "an absent optional";
  if (kind == ArgumentKind::sequence || kind == ArgumentKind::optional_sequence)
    return fmt::format("a sequence of {} tensor{}", tensors, tensors == 1 ? "" : "s");
  return kind == ArgumentKind::tensor ? "a tensor" : "a present optional";
}

}  // namespace dlcc::frontends

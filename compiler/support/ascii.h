// Letters and digits of ASCII. The functions of <cctype> depend on the locale; these do not.
#pragma once

#include <string>
#include <string_view>

namespace dlcc {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_letter(char c) { return is_lower(c) || is_upper(c); }
constexpr bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }
// Whether C identifiers have the character, but for their first one, which is no digit.
constexpr bool is_identifier_character(char c) { return is_alphanumeric(c) || c == '_'; }

constexpr char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

inline std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = to_lower(c);
  return result;
}

inline std::string upper_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = to_upper(c);
  return result;
}

}  // namespace dlcc

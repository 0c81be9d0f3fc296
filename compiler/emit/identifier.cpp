// Makes C identifiers of the names in models.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "emit/interface.h"
#include "support/ascii.h"

namespace dlcc::emit {

namespace {

// Keywords of C99 to C23 and C++20, and names that the header's own text uses.
constexpr std::array reserved = {
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "NULL",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "size_t",
    "errno",
    "linux",
    "unix",
    "main",
    "dlcc",
};

}  // namespace

std::string c_identifier(const std::string& text, const std::vector<std::string>& taken) {
  std::string base;
  for (char c : text) {
    if (is_identifier_character(c))
      base += c;
    else if (!base.empty() && base.back() != '_')
      base += '_';
  }
  while (base.size() > 1 && base.back() == '_' && !is_identifier_character(text.back())) base.pop_back();
  if (base.empty() || base == "_") base = "tensor";
  if (is_digit(base[0])) base = "t" + base;
  // C reserves identifiers that begin with an underscore.
  if (base[0] == '_') base = "t" + base;
  if (std::find(reserved.begin(), reserved.end(), base) != reserved.end()) base += '_';
  std::string result = base;
  for (int n = 2; std::find(taken.begin(), taken.end(), result) != taken.end(); ++n)
    result = fmt::format("{}_{}", base, n);
  return result;
}

}  // namespace dlcc::emit

// Relay text as nested groups of tokens and comments, for the formatter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontends/relay/lexer.h"

namespace dlcc::frontends::relay_text {

struct FormatPart;

// A token, a comment, or what is between two brackets.
struct FormatItem {
  enum class Kind : uint8_t { token, line_comment, block_comment, group };
  Kind kind = Kind::token;
  std::string_view text;  // of a group: its opening bracket
  std::string_view close;
  TokenKind token = TokenKind::end;
  bool is_literal = false;  // a group: the elements in Tensor[(2), float32]{1, 2}
  int lines_before = 0;     // line breaks since the item before it
  std::vector<FormatPart> parts;

  bool is(std::string_view symbol) const { return kind == Kind::token && text == symbol; }
  bool is_group(std::string_view open) const { return kind == Kind::group && text == open; }
  bool is_comment() const { return kind == Kind::line_comment || kind == Kind::block_comment; }
};

// What is between two separators: a statement, an arm, an item of a list, a definition.
struct FormatPart {
  std::vector<FormatItem> items;
  std::string_view separator;          // after it: "," or ";" or nothing
  std::vector<FormatItem> after = {};  // comments after the separator on its line
};

// The text without metadata section, which must be readable: its definitions, or the statements of an expression.
std::vector<FormatPart> format_tree(std::string_view text, const std::string& file);

}  // namespace dlcc::frontends::relay_text

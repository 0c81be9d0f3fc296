// Tokens of Relay text. Text is split on demand, so that the parser can skip embedded tensor functions, which have a
// lexer of their own.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "support/diagnostics.h"

namespace dlcc::frontends::relay_text {

enum class TokenKind : uint8_t {
  end,         // the end of the text, or an error
  identifier,  // may have dots: nn.conv2d
  local,       // %name; text is the name
  global,      // @name
  graph,       // %12; number in `integer`
  projection,  // .2
  number,
  string,
  unknown,  // ? or ?3, an unnamed size; text as written
  symbol,   // punctuation and operators, keyword `match?`
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  size_t offset = 0, end = 0;  // in the text
  int line = 1, column = 1;
  int64_t integer = 0;  // of graph variables and projections

  // number: text holds the digits without sign and suffix
  bool negative = false;
  bool is_float = false;
  int width = 0;  // bits; 0 without suffix

  bool follows_value = false;  // whether the token before ends an expression

  bool is(std::string_view symbol) const { return kind == TokenKind::symbol && text == symbol; }
  bool word(std::string_view name) const { return kind == TokenKind::identifier && text == name; }
};

// Whether the text begins with the header of a format before 0.0.5, such as v0.0.4, perhaps behind comments.
bool has_old_header(std::string_view text);

// Where the metadata section begins, on a line of its own; the length of the text if there is none.
size_t find_metadata(std::string_view text);

class Lexer {
 public:
  Lexer(std::string_view text, std::string file, Diagnostics& diagnostics)
      : text_(text), file_(std::move(file)), diagnostics_(diagnostics) {}

  const Token& peek(size_t ahead = 0);
  Token next();

  // From here on the text has format 0.0.4, in which '-' behind an expression is an operator, also before a digit.
  void begin_old_format() { is_old_ = true; }

  SourceLocation location(const Token& t) const { return {file_, t.line, t.column, "", end_column(t)}; }
  // From the first token to the last one that was consumed.
  TextRange range_from(const Token& first) const {
    return {first.line, first.column, last_line_ == first.line ? last_end_ : TextRange::end_of_line};
  }
  // Reports the first syntax error; all later tokens are `end`.
  void error(const SourceLocation& location, std::string message, std::string help = {});
  bool failed() const { return failed_; }
  bool has_errors() const { return has_errors_; }  // whether there was one, also before a recovery

  // Moves to any token that was returned before.
  void go_to(const Token&);
  // Error recovery: moves to the first line that begins with a definition, is not before the error and is after `line`.
  // False if there is none.
  bool resume_after(int line);
  // Error recovery: moves past the first ';' after the error that belongs to the block itself, or to the block's end.
  // `open` is its '{'. False if the block is not closed before the next definition.
  bool resume_in_block(const Token& open);

  // Consumes and returns the text from token `from`, the next one, to the brace that matches the first `{` after it.
  std::string_view take_braced(const Token& from);
  // Whether the next token is the name of a function of TVM's tensor IR, @f = primfn(...) ... { ... }, and its text,
  // which has several groups in braces.
  bool at_prim_function();
  std::string_view take_prim_function();

 private:
  static int end_column(const Token& t) { return t.column + static_cast<int>(t.end - t.offset); }
  Token scan();
  void skip_space();
  bool skip_comment();
  void skip_block_comment();
  Token scan_number(Token);
  bool scan_suffix(Token&);
  Token scan_variable(Token);
  Token scan_string(Token);
  Token scan_symbol(Token);
  size_t scan_word(bool dots);
  char at(size_t ahead = 0) const { return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0'; }
  void advance(size_t count);
  bool scan_index(int64_t& value);

  std::string_view text_;
  std::string file_;
  Diagnostics& diagnostics_;
  size_t position_ = 0;
  int line_ = 1, column_ = 1;
  std::deque<Token> ahead_;
  bool is_old_ = false;
  bool follows_value_ = false;  // of the next token
  bool failed_ = false, has_errors_ = false;
  bool is_quiet_ = false;     // errors are not reported
  bool is_unclosed_ = false;  // the block with the latest error is not closed, and neither are those around it
  int error_line_ = 0, error_column_ = 0;
  int last_line_ = 0, last_end_ = 0;  // where the last token that was consumed ends
};

}  // namespace dlcc::frontends::relay_text

// The lexer of tensor IR's text form.
#pragma once

#include <string>
#include <string_view>

namespace dlcc::tensor {

struct Token {
  enum class Kind { end, word, number, symbol, name, shared, note, bad };
  Kind kind = Kind::end;
  // As written, but "f" for the names @f and @"f", and "3" for the shared sub-expression %3. A note begins with '#';
  // its text is the rest of the line.
  std::string text;
  int line = 1, column = 1;

  bool is(std::string_view s) const { return (kind == Kind::word || kind == Kind::symbol) && text == s; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  Token next();  // after the last token always the end; `bad` for a character that begins no token

 private:
  char at(size_t ahead = 0) const { return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0'; }
  void advance();
  void skip_blanks();
  void word(Token&);
  void number(Token&);
  void name(Token&);

  std::string_view text_;
  size_t position_ = 0;
  int line_ = 1, column_ = 1;
};

}  // namespace dlcc::tensor

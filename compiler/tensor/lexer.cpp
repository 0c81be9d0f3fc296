#include "tensor/lexer.h"

#include "support/ascii.h"

namespace dlcc::tensor {
void Lexer::advance() {
  if (at() == '\n')
    ++line_, column_ = 1;
  else
    ++column_;
  ++position_;
}

void Lexer::skip_blanks() {
  for (;;) {
    char c = at();
    if (position_ < text_.size() && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
      advance();
    } else if (c == '/' && at(1) == '/') {
      while (position_ < text_.size() && at() != '\n') advance();
    } else {
      return;
    }
  }
}

void Lexer::word(Token& t) {
  t.kind = Token::Kind::word;
  while (is_identifier_character(at()) || (at() == '.' && is_identifier_character(at(1)))) {
    t.text += at();
    advance();
  }
}

// Digits, a fraction, an exponent, and a type as suffix.
void Lexer::number(Token& t) {
  t.kind = Token::Kind::number;
  auto digits = [&] {
    for (; is_digit(at()); advance()) t.text += at();
  };
  auto take = [&] {
    t.text += at();
    advance();
  };
  digits();
  if (at() == '.' && is_digit(at(1))) take(), digits();
  bool sign = at(1) == '+' || at(1) == '-';
  if (at() == 'e' && is_digit(at(sign ? 2 : 1))) {
    take();
    if (sign) take();
    digits();
  }
  while (is_identifier_character(at())) take();
}

void Lexer::name(Token& t) {
  t.kind = Token::Kind::name;
  advance();
  if (at() == '"') {
    for (advance(); position_ < text_.size() && at() != '"'; advance()) {
      if (at() == '\\') advance();
      t.text += at();
    }
    if (at() != '"') t.kind = Token::Kind::bad;
    advance();
    return;
  }
  while (is_identifier_character(at()) || at() == '.' || at() == '-' || at() == '$') {
    t.text += at();
    advance();
  }
  if (t.text.empty()) t.kind = Token::Kind::bad;
}

Token Lexer::next() {
  skip_blanks();
  Token t;
  t.line = line_, t.column = column_;
  if (position_ >= text_.size()) return t;
  char c = at();
  if (is_letter(c) || c == '_') {
    word(t);
  } else if (is_digit(c)) {
    number(t);
  } else if (c == '@') {
    name(t);
  } else if (c == '%') {
    t.kind = Token::Kind::shared;
    for (advance(); is_digit(at()); advance()) t.text += at();
  } else if (c == '#') {
    t.kind = Token::Kind::note;
    advance();
    if (at() == ' ') advance();
    for (; position_ < text_.size() && at() != '\n'; advance()) t.text += at();
  } else {
    t.kind = Token::Kind::symbol;
    for (std::string_view two : {"->", "==", "!=", "<=", ">=", "<<", ">>", ".."})
      if (c == two[0] && at(1) == two[1]) t.text = two;
    if (t.text.empty()) t.text = c;
    if (t.text.size() == 1 && std::string_view("()[]{}<>,:=+-*/&|^?").find(c) == std::string_view::npos)
      t.kind = Token::Kind::bad;
    for (size_t k = 0; k < t.text.size(); ++k) advance();
  }
  return t;
}

}  // namespace dlcc::tensor

// Splits Relay text into tokens.
#include "frontends/relay/lexer.h"

#include <array>

#include "frontends/relay/remedies.h"
#include "support/ascii.h"

namespace dlcc::frontends::relay_text {

namespace {

bool is_word_letter(char c) { return is_letter(c) || c == '_' || c == '/'; }

// Longer symbols precede their prefixes.
constexpr std::array<std::string_view, 26> symbols = {"match?", "->", "=>", "==", "!=", "<=", ">=", "#[", "(",
                                                      ")",      "{",  "}",  "[",  "]",  ",",  ";",  ":",  "=",
                                                      "+",      "-",  "*",  "/",  "<",  ">",  "?",  "."};

std::string printable(char c) {
  bool plain = c > ' ' && c < 127;
  return plain ? fmt::format("'{}'", c) : fmt::format("byte {:#04x}", static_cast<unsigned char>(c));
}

}  // namespace

bool has_old_header(std::string_view text) {
  Diagnostics ignored;
  Lexer lexer(text, "", ignored);
  return lexer.peek().word("v0") && lexer.peek(1).kind == TokenKind::projection;
}

size_t find_metadata(std::string_view text) {
  const bool is_old = has_old_header(text);
  const std::string mark = is_old ? "\nMETADATA:" : "\n#[metadata]";
  if (text.starts_with(std::string_view(mark).substr(1))) return 0;
  const size_t at = text.find(mark);
  return at == std::string_view::npos ? text.size() : at + 1;
}

const Token& Lexer::peek(size_t ahead) {
  while (ahead_.size() <= ahead) {
    Token& t = ahead_.emplace_back(scan());
    t.end = position_;
    t.follows_value = follows_value_;
    follows_value_ = t.kind != TokenKind::symbol || t.is(")") || t.is("]") || t.is("}");
  }
  if (failed_) ahead_[ahead].kind = TokenKind::end;
  return ahead_[ahead];
}

Token Lexer::next() {
  Token t = peek();
  ahead_.pop_front();
  last_line_ = t.line;
  last_end_ = end_column(t);
  return t;
}

void Lexer::error(const SourceLocation& location, std::string message, std::string help) {
  if (std::exchange(failed_, true) || is_quiet_) return;
  diagnostics_.error(DiagnosticId::syntax_error, location, std::move(message), {}, std::move(help));
  has_errors_ = true;
  error_line_ = location.line;
  error_column_ = location.column;
}

void Lexer::go_to(const Token& t) {
  position_ = t.offset;
  line_ = t.line;
  column_ = t.column;
  follows_value_ = t.follows_value;
  ahead_.clear();
}

// No recovery at the end of the text: a comment or a definition is not closed, and the lines after its beginning may be
// part of it.
bool Lexer::resume_after(int line) {
  if (position_ >= text_.size()) return false;
  Token start;
  for (; start.offset < text_.size(); ++start.line) {
    const std::string_view rest = text_.substr(start.offset);
    const bool is_definition = rest.starts_with("def ") || rest.starts_with("type ") || rest.starts_with("extern ") ||
                               rest.starts_with("tensor ");
    if (is_definition && start.line > line && start.line >= error_line_) {
      go_to(start);
      failed_ = is_unclosed_ = false;
      return true;
    }
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) return false;
    start.offset += end + 1;
  }
  return false;
}

bool Lexer::resume_in_block(const Token& open) {
  if (is_unclosed_) return false;
  go_to(open);
  is_quiet_ = true;
  bool found = false;
  for (int depth = 0; !found;) {
    failed_ = false;
    const size_t before = position_;
    const Token t = peek();
    if (failed_ && position_ < text_.size()) {  // a character that begins no token
      ahead_.clear();
      advance(position_ == before ? 1 : 0);
      continue;
    }
    const bool is_definition = t.column == 1 && (t.word("def") || t.word("type") || t.word("extern"));
    if (t.kind == TokenKind::end || is_definition) break;
    const bool after_error = t.line > error_line_ || (t.line == error_line_ && t.column >= error_column_);
    depth += t.is("{") - t.is("}");
    if (depth == 0 && !after_error) break;
    found = after_error && (depth == 0 || (depth == 1 && t.is(";")));
    if (depth > 0) next();
  }
  is_quiet_ = false;
  failed_ = is_unclosed_ = !found;
  return found;
}

void Lexer::advance(size_t count) {
  for (; count > 0 && position_ < text_.size(); --count) {
    bool newline = text_[position_++] == '\n';
    line_ += newline;
    column_ = newline ? 1 : column_ + 1;
  }
}

void Lexer::skip_space() {
  while (position_ < text_.size()) {
    char c = at();
    if (c == ' ' || c == '\t' || c == '\n' || (c == '\r' && at(1) == '\n'))
      advance(1);
    else if (!skip_comment())
      return;
  }
}

bool Lexer::skip_comment() {
  if (at() != '/') return false;
  if (at(1) == '/') {
    while (position_ < text_.size() && at() != '\n') advance(1);
    return true;
  }
  if (at(1) != '*') return false;
  skip_block_comment();
  return true;
}

void Lexer::skip_block_comment() {  // nested comments are allowed
  SourceLocation start{file_, line_, column_, ""};
  int depth = 0;
  do {
    if (position_ >= text_.size()) return error(start, "this comment is not closed");
    bool opens = at() == '/' && at(1) == '*', closes = at() == '*' && at(1) == '/';
    depth += opens - closes;
    advance(opens || closes ? 2 : 1);
  } while (depth > 0);
}

// Length of the word at the position; with `dots`, it may contain '.' between words. A comment ends a word.
size_t Lexer::scan_word(bool dots) {
  size_t n = 0;
  for (;; ++n) {
    char c = at(n);
    if (c == '/' && (at(n + 1) == '/' || at(n + 1) == '*')) return n;
    if (is_word_letter(c) || (n > 0 && is_digit(c))) continue;
    if (dots && n > 0 && c == '.' && is_word_letter(at(n + 1)) && at(n + 1) != '/') continue;
    return n;
  }
}

Token Lexer::scan() {
  skip_space();
  Token t;
  t.line = line_;
  t.column = column_;
  t.offset = position_;
  if (failed_ || position_ >= text_.size()) return t;
  char c = at();
  if (c == '%' || c == '@') return scan_variable(t);
  if (c == '"') return scan_string(t);
  size_t minus = 0;
  if (!is_old_ || !follows_value_)
    while (at(minus) == '-') ++minus;
  std::string_view rest = text_.substr(position_ + minus);
  if (is_digit(at(minus)) || rest.starts_with("inff") || rest.starts_with("nanf")) return scan_number(t);
  if (const size_t index = c == '.' ? text_.find_first_not_of(" \t\r\n", position_ + 1) : 0;
      index > 0 && index < text_.size() && is_digit(text_[index])) {
    advance(index - position_);
    t.kind = TokenKind::projection;
    if (!scan_index(t.integer)) error(location(t), "this projection is out of range");
    return t;
  }
  bool incomplete_match = text_.substr(position_).starts_with("match?");
  size_t word = incomplete_match ? 0 : scan_word(true);
  if (word > 0 && text_.substr(position_, word) != "/") {
    t.kind = TokenKind::identifier;
    t.text = text_.substr(position_, word);
    advance(word);
    return t;
  }
  return scan_symbol(t);
}

Token Lexer::scan_symbol(Token t) {
  for (std::string_view s : symbols) {
    if (!text_.substr(position_).starts_with(s)) continue;
    size_t length = s.size();
    bool unknown = s == "?";
    while (unknown && is_digit(at(length)) && length < 9) ++length;
    t.kind = unknown ? TokenKind::unknown : TokenKind::symbol;
    t.text = text_.substr(position_, length);
    advance(length);
    return t;
  }
  error(location(t), fmt::format("unexpected {}", printable(at())), remedy_for_character(at()));
  return t;
}

bool Lexer::scan_index(int64_t& value) {
  size_t digits = 0;
  for (value = 0; is_digit(at(digits)); ++digits)
    if (digits < 9) value = value * 10 + (at(digits) - '0');
  advance(digits);
  return digits <= 9;
}

Token Lexer::scan_variable(Token t) {
  bool local = at() == '%';
  advance(1);
  if (local && is_digit(at())) {
    t.kind = TokenKind::graph;
    size_t start = position_;
    if (!scan_index(t.integer)) error(location(t), "the number of this graph variable is out of range");
    t.text = text_.substr(start, position_ - start);
    return t;
  }
  size_t length = scan_word(true);
  t.kind = local ? TokenKind::local : TokenKind::global;
  t.text = text_.substr(position_, length);
  advance(length);
  if (length == 0) error(location(t), fmt::format("'{}' must be followed by a name", local ? '%' : '@'));
  return t;
}

Token Lexer::scan_string(Token t) {
  size_t end = text_.find_first_of("\"\n", position_ + 1);
  if (end == std::string_view::npos || text_[end] == '\n') {
    error(location(t), "this string is not closed");
    return t;
  }
  t.kind = TokenKind::string;
  t.text = text_.substr(position_ + 1, end - position_ - 1);
  advance(end + 1 - position_);
  return t;
}

// Digits, optional fraction and exponent, optional suffix; each leading '-' negates. The parser decides whether a
// suffix may be missing.
Token Lexer::scan_number(Token t) {
  t.kind = TokenKind::number;
  for (; at() == '-'; advance(1)) t.negative = !t.negative;
  size_t n = 0;
  auto digits = [&] {
    while (is_digit(at(n))) ++n;
  };
  if (!is_digit(at())) {
    n = 3;  // inf, nan
  } else {
    digits();
    if (at(n) == '.' && is_digit(at(n + 1))) {
      t.is_float = true;
      ++n;
      digits();
    }
    size_t sign = at(n + 1) == '+' || at(n + 1) == '-';
    if ((at(n) == 'e' || at(n) == 'E') && is_digit(at(n + 1 + sign))) {
      t.is_float = true;
      n += 1 + sign;
      digits();
    }
  }
  t.text = text_.substr(position_, n);
  advance(n);
  if (scan_word(false) > 0 && !scan_suffix(t))
    error(location(t), "this is not a number",
          "floats end in f, f16, f32 or f64; integers in i16, i32, i64 or nothing");
  return t;
}

bool Lexer::scan_suffix(Token& t) {
  const size_t word = scan_word(false);
  std::string_view suffix = text_.substr(position_, word);
  advance(word);
  if (suffix[0] != 'f' && (suffix[0] != 'i' || t.is_float)) return false;
  t.is_float = suffix[0] == 'f';
  std::string_view width = suffix.substr(1);
  t.width = width == "16" ? 16 : width == "32" || width.empty() ? 32 : width == "64" ? 64 : 0;
  return t.width != 0;
}

// The offset behind the string or comment that begins at `at`; `at` if none does.
static size_t after_string_or_comment(std::string_view text, size_t at) {
  const std::string_view rest = text.substr(at);
  const auto behind = [&](size_t end, size_t length) {
    return end == std::string_view::npos ? text.size() : end + length;
  };
  if (rest.starts_with("//")) return behind(text.find('\n', at), 1);
  if (rest.starts_with("/*")) return behind(text.find("*/", at + 2), 2);
  if (!rest.starts_with('"')) return at;
  size_t end = at + 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

std::string_view Lexer::take_braced(const Token& from) {
  DLCC_CHECK(ahead_.size() == 1, "text is taken at the next token");
  size_t end = from.offset;
  bool is_closed = false;
  for (int depth = 0; end < text_.size() && !is_closed;) {
    if (const size_t behind = after_string_or_comment(text_, end); behind > end) {
      end = behind;
      continue;
    }
    depth += (text_[end] == '{') - (text_[end] == '}');
    is_closed = text_[end] == '}' && depth <= 0;
    ++end;
  }
  if (!is_closed) {
    error(location(from), "this definition is not closed");
    return "";
  }
  ahead_.clear();
  advance(end - position_);
  return text_.substr(from.offset, end - from.offset);
}

// Whether these words follow the token, with nothing but spaces and comments before each.
static bool follow(std::string_view text, const Token& t, std::initializer_list<std::string_view> words) {
  size_t at = t.end;
  for (const std::string_view word : words) {
    for (size_t from = text.size(); from != at;) {
      from = at;
      at = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
      if (text.substr(at).starts_with('/')) at = after_string_or_comment(text, at);
    }
    if (!text.substr(at).starts_with(word)) return false;
    at += word.size();
  }
  return true;
}

bool Lexer::at_prim_function() {
  const Token t = peek();
  return t.kind == TokenKind::global && follow(text_, t, {"=", "primfn", "("});
}

std::string_view Lexer::take_prim_function() {
  const size_t begin = peek().offset;
  auto at_next_group = [&] {
    const Token t = peek();
    return t.is("{") || (t.kind == TokenKind::identifier && follow(text_, t, {"="}));  // the body, or `buffers = {...}`
  };
  size_t end = begin;
  do {
    const std::string_view group = take_braced(peek());
    if (failed_) return "";
    end = static_cast<size_t>(group.data() + group.size() - text_.data());
  } while (at_next_group());
  return text_.substr(begin, end - begin);
}

}  // namespace dlcc::frontends::relay_text

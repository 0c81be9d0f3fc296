#include "mutate_relay.h"

#include <cctype>
#include <vector>

namespace dlcc {
namespace {

// A range of tokens [begin, end).
struct Span {
  size_t begin, end;
  size_t size() const { return end - begin; }
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)); }

// Words with their %, @ or sign, strings, the arrows, and single characters. White space is part of the token before.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> tokens;
  for (size_t k = 0; k < text.size();) {
    size_t end = k + 1;
    if (text[k] == '"') {
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      ++end;
    } else if (is_word(text[k]) || text[k] == '%' || text[k] == '@') {
      while (end < text.size() && is_word(text[end])) ++end;
    } else if (text.compare(k, 2, "->") == 0 || text.compare(k, 2, "=>") == 0) {
      ++end;
    }
    while (end < text.size() && is_space(text[end])) ++end;
    tokens.push_back(text.substr(k, end - k));
    k = end;
  }
  return tokens;
}

// Tokens of one kind may replace each other: variables, globals, numbers, words with a capital, other words, strings;
// each other character is a kind of its own.
char kind(const std::string& token) {
  const auto c = static_cast<unsigned char>(token[0]);
  return std::isdigit(c) ? '0' : std::isupper(c) ? 'A' : std::isalpha(c) ? 'a' : token[0];
}

class TextMutator {
 public:
  TextMutator(const std::string& text, const std::string& other, std::mt19937& random)
      : tokens_(split(text)), other_(split(other)), random_(random) {}

  std::string mutate() {
    if (tokens_.empty()) return {};
    switch (draw(8)) {
      case 0:
      case 1:
        replace_token();
        break;
      case 2:
        change_number();
        break;
      case 3:
        replace_group(tokens_);
        break;
      case 4:
        replace_group(other_);
        break;
      case 5:
        copy_element();
        break;
      case 6:
        remove_element();
        break;
      default:
        exchange_elements();
    }
    std::string text;
    for (const std::string& t : tokens_) text += t;
    return text;
  }

 private:
  using Tokens = std::vector<std::string>;

  size_t draw(size_t n) { return n ? random_() % n : 0; }

  // Places of tokens for which `wanted` holds.
  template <class F>
  static std::vector<size_t> places(const Tokens& tokens, F wanted) {
    std::vector<size_t> list;
    for (size_t k = 0; k < tokens.size(); ++k)
      if (wanted(tokens[k])) list.push_back(k);
    return list;
  }

  void replace_token() {
    const size_t at = draw(tokens_.size());
    const Tokens& source = draw(4) ? tokens_ : other_;
    const auto alike = places(source, [&](const std::string& t) { return kind(t) == kind(tokens_[at]); });
    if (!alike.empty()) tokens_[at] = source[alike[draw(alike.size())]];
  }

  void change_number() {
    static const char* const numbers[] = {"0", "1", "2", "-1", "3", "65536", "2147483648", "9223372036854775807", "1f"};
    const auto list = places(tokens_, [](const std::string& t) { return kind(t) == '0'; });
    if (!list.empty()) tokens_[list[draw(list.size())]] = std::string(numbers[draw(std::size(numbers))]) + " ";
  }

  // The group that the bracket at `begin` opens, with its brackets.
  static Span group(const Tokens& tokens, size_t begin) {
    int depth = 0;
    for (size_t k = begin; k < tokens.size(); ++k) {
      const char c = tokens[k][0];
      depth += c == '(' || c == '{' || c == '[';
      depth -= c == ')' || c == '}' || c == ']';
      if (depth == 0) return {begin, k + 1};
    }
    return {begin, tokens.size()};
  }

  static bool opens(const std::string& t) { return t[0] == '(' || t[0] == '{' || t[0] == '['; }

  void replace(Span at, Tokens by) {
    const auto begin = tokens_.begin() + static_cast<std::ptrdiff_t>(at.begin);
    tokens_.insert(tokens_.erase(begin, begin + static_cast<std::ptrdiff_t>(at.size())), by.begin(), by.end());
  }

  static Tokens copy(const Tokens& tokens, Span s) {
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(s.begin);
    return {begin, begin + static_cast<std::ptrdiff_t>(s.size())};
  }

  // A group becomes another one with the same bracket.
  void replace_group(const Tokens& source) {
    const auto groups = places(tokens_, opens);
    if (groups.empty()) return;
    const size_t at = groups[draw(groups.size())];
    const auto alike = places(source, [&](const std::string& t) { return t[0] == tokens_[at][0]; });
    if (alike.empty()) return;
    replace(group(tokens_, at), copy(source, group(source, alike[draw(alike.size())])));
  }

  // An element of a list that ',' or ';' separates, with the separator behind it if there is one. Empty if there is no
  // list.
  Span element() {
    const auto separators = places(tokens_, [](const std::string& t) { return t[0] == ',' || t[0] == ';'; });
    if (separators.empty()) return {0, 0};
    const size_t end = separators[draw(separators.size())];
    size_t begin = end;
    for (int depth = 0; begin > 0; --begin) {
      const char c = tokens_[begin - 1][0];
      depth += c == ')' || c == '}' || c == ']';
      depth -= c == '(' || c == '{' || c == '[';
      if (depth < 0 || (depth == 0 && (c == ',' || c == ';'))) break;
    }
    return {begin, end + 1};
  }

  void copy_element() {
    const Span from = element();
    const Tokens parts = copy(tokens_, from);
    const Span to = element();
    if (from.size() > 0) replace({to.begin, to.begin}, parts);
  }

  void remove_element() { replace(element(), {}); }

  void exchange_elements() {
    const Span a = element(), b = element();
    if (a.size() == 0 || b.size() == 0 || a.begin >= b.begin || a.end > b.begin) return;
    const Tokens first = copy(tokens_, a), second = copy(tokens_, b);
    replace(b, first);
    replace(a, second);
  }

  Tokens tokens_;
  const Tokens other_;
  std::mt19937& random_;
};

}  // namespace

std::string mutate_relay(const std::string& text, const std::string& other, std::mt19937& random) {
  return TextMutator(text, other, random).mutate();
}

}  // namespace dlcc

#include "frontends/relay/format_tree.h"

#include <algorithm>

#include "support/dtype.h"

namespace dlcc::frontends::relay_text {

namespace {

// Tokens and comments in their order.
class Pieces {
 public:
  Pieces(std::string_view text, const std::string& file) : text_(text), lexer_(text, file, ignored_) {
    while (lexer_.peek().kind != TokenKind::end) {
      const Token t = lexer_.peek();
      comments_up_to(t.offset);
      const bool is_prim_function = depth_ == 0 && lexer_.at_prim_function();
      if (is_prim_function || (t.word("tensor") && depth_ == 0)) {
        const std::string_view definition = is_prim_function ? lexer_.take_prim_function() : lexer_.take_braced(t);
        push({FormatItem::Kind::token, definition, "", TokenKind::identifier}, t.offset + definition.size());
        continue;
      }
      lexer_.next();
      depth_ += (t.is("{") || t.is("(") || t.is("[") || t.is("#[")) - (t.is("}") || t.is(")") || t.is("]"));
      std::string_view token = text.substr(t.offset, t.end - t.offset);
      if (const size_t index = token.find_last_of(" \t\r\n"); t.kind == TokenKind::projection && index < token.size()) {
        push({FormatItem::Kind::token, token.substr(0, 1), "", t.kind}, t.offset + 1);  // white space behind the dot
        token.remove_prefix(index + 1);
      }
      push({FormatItem::Kind::token, token, "", t.kind}, t.end);
    }
    comments_up_to(text.size());
  }

  std::vector<FormatItem> list;

 private:
  void push(FormatItem item, size_t end) {
    item.lines_before = std::exchange(lines_, 0);
    list.push_back(std::move(item));
    position_ = end;
  }

  void comments_up_to(size_t end) {
    while (position_ < end) {
      if (text_.substr(position_, 2) == "//") {
        size_t stop = std::min(text_.find('\n', position_), end);
        std::string_view comment = text_.substr(position_, stop - position_);
        while (comment.ends_with(' ') || comment.ends_with('\r')) comment.remove_suffix(1);
        push({FormatItem::Kind::line_comment, comment}, stop);
      } else if (text_.substr(position_, 2) == "/*") {
        const size_t stop = end_of_comment(position_);
        push({FormatItem::Kind::block_comment, text_.substr(position_, stop - position_)}, stop);
      } else {
        lines_ += text_[position_++] == '\n';
      }
    }
  }

  size_t end_of_comment(size_t at) const {
    int depth = 0;
    do {
      const std::string_view two = text_.substr(at, 2);
      depth += (two == "/*") - (two == "*/");
      at += two == "/*" || two == "*/" ? 2 : 1;
    } while (depth > 0 && at < text_.size());
    return at;
  }

  std::string_view text_;
  Diagnostics ignored_;
  Lexer lexer_;
  size_t position_ = 0;
  int lines_ = 0, depth_ = 0;
};

class TreeBuilder {
 public:
  explicit TreeBuilder(std::vector<FormatItem> pieces) : pieces_(std::move(pieces)) {}

  // The parts up to a closing bracket, which is consumed and returned in `close`.
  std::vector<FormatPart> parts(bool outermost, std::string_view& close) {
    std::vector<FormatPart> parts(1);
    while (next_ < pieces_.size()) {
      FormatItem item = std::move(pieces_[next_++]);
      if (item.is(")") || item.is("]") || item.is("}")) {
        close = item.text;
        break;
      }
      const bool opens = item.is("(") || item.is("[") || item.is("{") || item.is("#[");
      if (outermost && begins_definition(parts.back(), item)) parts.emplace_back();
      if (item.is(",") || item.is(";")) {
        parts.back().separator = item.text;
        while (next_ < pieces_.size() && pieces_[next_].is_comment() && pieces_[next_].lines_before == 0)
          parts.back().after.push_back(std::move(pieces_[next_++]));
        parts.emplace_back();
        continue;
      }
      if (opens) {
        item.is_literal = item.is("{") && ends_in_element_type(parts.back().items);
        item.kind = FormatItem::Kind::group;
        item.parts = this->parts(false, item.close);
      }
      parts.back().items.push_back(std::move(item));
    }
    if (parts.back().items.empty()) parts.pop_back();
    return parts;
  }

 private:
  // Whether the items end in a tensor type, or the type of a scalar, that is not the type of a function's result.
  static bool ends_in_element_type(const std::vector<FormatItem>& items) {
    const size_t count = items.size();
    auto is_result = [&](size_t k) { return k > 0 && items[k - 1].is("->"); };
    if (count > 1 && items[count - 1].is_group("[") && items[count - 2].is("Tensor")) return !is_result(count - 2);
    return count > 0 && items[count - 1].token == TokenKind::identifier &&
           dtype_named(std::string(items[count - 1].text)) && !is_result(count - 1);
  }
  // A comment on a line of its own belongs to the definition that follows it.
  static bool begins_definition(const FormatPart& part, const FormatItem& item) {
    if (std::ranges::all_of(part.items, &FormatItem::is_comment)) return false;
    const FormatItem& last = part.items.back();
    const bool is_header = last.is_group("#[");
    if (item.is_comment())
      return item.lines_before > 0 &&
             (is_header || last.is_group("{") || is_kept_as_written(last) || is_extern_type(part));
    return is_header || (is_definition(item) && !last.is("extern"));
  }
  // Whether the part is `extern type` and a name, maybe with parameters and comments.
  static bool is_extern_type(const FormatPart& part) {
    auto is_token = [](const FormatItem& item) { return !item.is_comment(); };
    return std::ranges::count_if(part.items, is_token) >= 3 && std::ranges::find_if(part.items, is_token)->is("extern");
  }
  static bool is_definition(const FormatItem& item) {
    const std::string_view text = item.text;
    return item.kind == FormatItem::Kind::token && item.token == TokenKind::identifier &&
           (text == "def" || text == "type" || text == "extern" || is_kept_as_written(item));
  }
  // A tensor function, or one of TVM's tensor IR.
  static bool is_kept_as_written(const FormatItem& item) {
    return item.token == TokenKind::identifier && (item.text.starts_with("tensor ") || item.text.starts_with("@"));
  }

  std::vector<FormatItem> pieces_;
  size_t next_ = 0;
};

}  // namespace

std::vector<FormatPart> format_tree(std::string_view text, const std::string& file) {
  std::string_view close;
  return TreeBuilder(Pieces(text, file).list).parts(true, close);
}

}  // namespace dlcc::frontends::relay_text

#include "frontends/relay/format.h"

#include <algorithm>

#include "frontends/relay/format_tree.h"
#include "frontends/relay/parser.h"

namespace dlcc::frontends {

namespace {

using relay_text::FormatItem;
using relay_text::FormatPart;
using relay_text::TokenKind;

constexpr size_t width = 100;

bool is_operator(const FormatItem& item) {
  static constexpr std::string_view symbols[] = {"+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=", "=>", "->", "="};
  return item.kind == FormatItem::Kind::token && item.token == TokenKind::symbol &&
         std::ranges::find(symbols, item.text) != std::end(symbols);
}

bool is_word(const FormatItem& item, std::string_view word) {
  return item.kind == FormatItem::Kind::token && item.text == word;
}

// Whether `key=value` of the part is written without spaces: it is an attribute.
bool has_attribute(const FormatPart& part) {
  auto first = std::ranges::find_if(part.items, [](const FormatItem& i) { return !i.is_comment(); });
  return first != part.items.end() && !is_word(*first, "let") && !is_word(*first, "def") &&
         !is_word(*first, "version") && first->token != TokenKind::graph;
}

class Formatter {
 public:
  std::string run(const std::vector<FormatPart>& definitions) {
    for (size_t k = 0; k < definitions.size(); ++k) {
      if (k > 0) new_line(0);
      if (k > 0 && (has_blank_line(definitions[k]) || !is_type(definitions[k]) || !is_type(definitions[k - 1])))
        new_line(0);
      part(definitions[k], 0);
    }
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
    return std::move(out_);
  }

 private:
  static bool has_blank_line(const FormatPart& part) { return !part.items.empty() && part.items[0].lines_before > 1; }

  static bool is_type(const FormatPart& part) {
    auto first = std::ranges::find_if(part.items, [](const FormatItem& i) { return !i.is_comment(); });
    return first != part.items.end() && (is_word(*first, "type") || is_word(*first, "extern"));
  }

  // ---- one line

  // Whether no space stands between items k - 1 and k.
  static bool is_joined(const FormatPart& part, size_t k) {
    const FormatItem &left = part.items[k - 1], &right = part.items[k];
    if (left.is_comment() || right.is_comment()) return false;
    if (right.token == TokenKind::projection && right.kind == FormatItem::Kind::token)
      return left.token != TokenKind::number;  // 1.0 is a number
    if (right.is(":")) return true;
    if ((left.is("=") || right.is("=")) && has_attribute(part)) return true;
    if (left.is("-") && (k == 1 || is_operator(part.items[k - 2]))) return true;  // a sign
    if (right.is_literal) return true;
    if (right.kind != FormatItem::Kind::group || right.text == "{") return false;
    if (is_operator(left) || left.is(":")) return false;
    return left.kind == FormatItem::Kind::group
               ? left.text != "{"
               : !is_word(left, "if") && !is_word(left, "match") && !is_word(left, "match?") && !is_word(left, "fn") &&
                     !is_word(left, "else");
  }

  // Whether the group may be on one line: it has one statement, arm or constructor, or is a list.
  static bool may_be_flat(const FormatItem& group) {
    if (group.text != "{" || group.is_literal) return true;
    return group.parts.size() < 2 && (group.parts.empty() || group.parts[0].separator != ";");
  }

  // The text of the first items on one line; empty when they need several, or more than `room` columns.
  static std::optional<std::string> flat(const FormatPart& part, size_t count, size_t room) {
    std::string text;
    for (size_t k = 0; k < count; ++k) {
      if (k > 0 && !is_joined(part, k)) text += ' ';
      if (text.size() > room) return std::nullopt;
      auto item = flat(part.items[k], room - text.size());
      if (!item) return std::nullopt;
      text += *item;
    }
    return text;
  }

  static std::optional<std::string> flat(const FormatItem& item, size_t room) {
    if (item.kind == FormatItem::Kind::line_comment || item.text.size() > room ||
        item.text.find('\n') != std::string_view::npos)
      return std::nullopt;
    if (item.kind != FormatItem::Kind::group) return std::string(item.text);
    if (!may_be_flat(item)) return std::nullopt;
    std::string text(item.text);
    const bool padded = item.text == "{" && !item.is_literal && !item.parts.empty() && !is_attributes(item);
    if (padded) text += ' ';
    for (size_t k = 0; k < item.parts.size(); ++k) {
      const FormatPart& part = item.parts[k];
      auto inner = text.size() < room ? flat(part, part.items.size(), room - text.size()) : std::nullopt;
      if (!inner || !part.after.empty()) return std::nullopt;
      text += (k ? " " : "") + *inner + std::string(part.separator);
    }
    return text + (padded ? " " : "") + std::string(item.close);
  }

  // Whether the group is {virtual_device=...} after a parameter.
  static bool is_attributes(const FormatItem& group) {
    return group.parts.size() == 1 && group.parts[0].items.size() > 1 && group.parts[0].items[1].is("=") &&
           has_attribute(group.parts[0]);
  }

  // ---- several lines

  size_t column() const {
    const size_t line = out_.rfind('\n');
    return out_.size() - (line == std::string::npos ? 0 : line + 1);
  }

  // The indentation is limited, so that the length of the text is linear in the size of the program.
  void new_line(size_t indent) {
    while (out_.ends_with(' ')) out_.pop_back();
    out_ += '\n';
    out_.append(std::min(indent, width), ' ');
  }

  void part(const FormatPart& p, size_t indent) {
    size_t count = p.items.size();  // without a comment after the last token, whose length does not matter
    while (count > 1 && p.separator.empty() && p.items[count - 1].kind == FormatItem::Kind::line_comment &&
           p.items[count - 1].lines_before == 0)
      --count;
    if (auto line = flat(p, count, width); line && column() + line->size() + p.separator.size() <= width) {
      out_ += *line;
      for (; count < p.items.size(); ++count) out_ += " " + std::string(p.items[count].text);
    } else {
      items(p, indent);
    }
    out_ += p.separator;
    for (const FormatItem& comment : p.after) out_ += " " + std::string(comment.text);
  }

  // Comments on lines of their own before the first token stay there.
  void items(const FormatPart& p, size_t indent) {
    bool begun = false;  // there was a token
    for (size_t k = 0; k < p.items.size(); ++k) {
      const FormatItem& item = p.items[k];
      const FormatItem* before = k ? &p.items[k - 1] : nullptr;
      const bool after_line = before && before->kind == FormatItem::Kind::line_comment;
      const bool ends = std::all_of(p.items.begin() + static_cast<std::ptrdiff_t>(k), p.items.end(),
                                    [](const FormatItem& i) { return i.is_comment(); });
      if (begun && ends && item.lines_before > 0)
        new_line(indent);
      else if (after_line || (before && before->is_comment() && !begun && item.lines_before > 0))
        new_line(begun ? indent + 4 : indent);
      else if (before && !is_joined(p, k))
        out_ += ' ';
      if (before && !begun && item.lines_before > 1) new_line(indent);
      begun |= !item.is_comment();
      if (item.kind == FormatItem::Kind::group)
        group(item, indent);
      else
        out_ += item.text;
    }
    if (!p.items.empty() && p.items.back().kind == FormatItem::Kind::line_comment && !p.separator.empty())
      new_line(indent + 4);
  }

  void group(const FormatItem& g, size_t indent) {
    const bool is_block = g.text == "{" && !g.is_literal && !is_attributes(g);
    auto line = flat(g, width);
    if (line && !is_block && column() + line->size() <= width) {
      out_ += *line;
      return;
    }
    if (g.parts.empty()) {
      out_ += std::string(g.text) + std::string(g.close);
      return;
    }
    out_ += g.text;
    const bool hugs = !is_block && g.parts.size() == 1 && g.parts[0].after.empty() &&
                      !g.parts[0].items[0].is_comment() &&
                      g.parts[0].items.back().kind != FormatItem::Kind::line_comment;
    if (hugs) {
      part(g.parts[0], indent);
    } else {
      for (const FormatPart& p : g.parts) {
        if (&p != &g.parts[0] && has_blank_line(p)) new_line(0);
        new_line(indent + 2);
        part(p, indent + 2);
      }
      new_line(indent);
    }
    out_ += g.close;
  }

  std::string out_;
};

}  // namespace

std::optional<std::string> format_relay(std::string_view text, const std::string& file, Diagnostics& diagnostics) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const relay_text::ParseOptions options = {.file = file, .outside_constant = {}, .allows_missing_metadata = true};
  Diagnostics problems;  // a layout needs no known operators and variables
  if (!relay_text::parse_with_unknowns(text, options, problems)) {
    for (const Diagnostic& problem : problems.list())
      if (problem.id != DiagnosticId::unsupported_operator && problem.id != DiagnosticId::undefined_value)
        diagnostics.add(problem);
    return std::nullopt;
  }
  if (relay_text::has_old_header(text)) {
    diagnostics.error(DiagnosticId::unsupported_construct, {.file = file},
                      "only texts of format 0.0.5 are laid out, and this one has format 0.0.4", {},
                      "'dlcc opt --passes=' prints the program in format 0.0.5");
    return std::nullopt;
  }
  const size_t metadata = relay_text::find_metadata(text);
  return Formatter().run(relay_text::format_tree(text.substr(0, metadata), file)) + std::string(text.substr(metadata));
}

}  // namespace dlcc::frontends

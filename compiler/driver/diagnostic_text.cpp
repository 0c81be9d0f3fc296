#include "driver/diagnostic_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "support/ascii.h"

namespace dlcc::driver {
namespace {

constexpr size_t tab_width = 8;
constexpr size_t widest_line = 100;   // columns of a source line that are shown
constexpr size_t most_locations = 3;  // of the other diagnostics of an entry

// Diagnostics that are printed as one.
struct Entry {
  const Diagnostic* first;
  std::vector<const Diagnostic*> others;
};

// The message with '#' for each number: messages that differ only in numbers are taken to have the same cause.
std::string without_numbers(const std::string& message) {
  std::string result;
  for (char c : message) {
    if (!is_digit(c) || result.empty() || result.back() != '#') result += is_digit(c) ? '#' : c;
  }
  return result;
}

// "node 'b'", without its operator, or "7:3" in a text.
std::string short_location(const SourceLocation& location) {
  size_t name_end = location.node.rfind("' (");
  if (!location.node.empty()) return location.node.substr(0, name_end == std::string::npos ? name_end : name_end + 1);
  return location.line > 0 ? fmt::format("{}:{}", location.line, location.column) : "";
}

// A problem may be found several times at one location, for instance in each copy of a function.
std::vector<Entry> grouped(const std::vector<Diagnostic>& list) {
  std::vector<Entry> entries;
  std::set<std::pair<size_t, std::string>> seen;  // entries and locations
  std::map<std::tuple<Severity, DiagnosticId, std::string_view, std::string>, size_t> known;
  for (const Diagnostic& d : list) {
    auto [entry, is_new] =
        known.try_emplace({d.severity, d.id, d.location.file, without_numbers(d.message)}, entries.size());
    const std::string where = short_location(d.location);
    const bool is_repeated = !seen.emplace(entry->second, where).second && !where.empty();
    if (is_new)
      entries.push_back({&d, {}});
    else if (!is_repeated)
      entries[entry->second].others.push_back(&d);
  }
  return entries;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }

// Control characters, which could change the terminal's state or begin a new line, become '?'.
std::string printable(std::string text) {
  std::ranges::replace_if(text, is_control, '?');
  return text;
}

// The number of terminal columns of a text, by fmt's estimate, which fmt uses for padding.
size_t width(std::string_view text) {
  size_t padding = fmt::format("{:<{}}", text, text.size()).size() - text.size();
  return text.size() - padding;
}

// Whether a byte of UTF-8 continues a code point.
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::string without_tabs(std::string_view text) {
  std::string result;
  size_t column = 0;
  for (char c : text) {
    size_t columns = c == '\t' ? tab_width - column % tab_width : !is_continuation(c);
    if (c == '\t')
      result.append(columns, ' ');
    else
      result += is_control(c) ? '?' : c;
    column += columns;
  }
  return result;
}

// Cuts `text`, of which byte `at` is pointed at, to the widest line; updates `at`.
std::string shortened(std::string text, size_t& at) {
  constexpr std::string_view dots = "...";
  if (width(text) <= widest_line) return text;
  size_t begin = at > widest_line / 2 ? at - widest_line / 2 : 0;
  while (begin < text.size() && is_continuation(text[begin])) ++begin;
  size_t end = std::min(begin + widest_line, text.size());
  while (end < text.size() && is_continuation(text[end])) ++end;
  std::string part = text.substr(begin, end - begin);
  at -= begin;
  if (end < text.size()) part += dots;
  if (begin == 0) return part;
  at += dots.size();
  return std::string(dots) + part;
}

// The source line with its number, a caret under the first column of the range, and ~ under the others.
std::string snippet(const Diagnostic& d) {
  size_t column = std::min<size_t>(std::max(d.location.column, 1), d.source_line.size() + 1);
  std::string before = without_tabs(std::string_view(d.source_line).substr(0, column - 1));
  size_t at = before.size();
  std::string line = shortened(without_tabs(d.source_line), at);
  std::string number = fmt::format("    {} | ", d.location.line);
  std::string margin = fmt::format("    {:{}} | ", "", number.size() - 7);
  const size_t end = std::clamp<size_t>(std::max(d.location.end, 0), column, d.source_line.size() + 1);
  const size_t marked = width(without_tabs(std::string_view(d.source_line).substr(0, end - 1))) - width(before);
  const size_t before_mark = width(std::string_view(line).substr(0, at));
  const size_t room = width(line) - std::min(width(line), before_mark + 1);
  const std::string rest(std::min(marked > 0 ? marked - 1 : 0, room), '~');
  return fmt::format("\n{}{}\n{}{:{}}^{}", number, line, margin, "", before_mark, rest);
}

std::string other_locations(const std::vector<const Diagnostic*>& others) {
  std::vector<std::string> shown;
  for (const Diagnostic* d : others)
    if (std::string where = short_location(d->location); !where.empty() && shown.size() < most_locations)
      shown.push_back(printable(where));
  if (shown.empty()) return fmt::format("and {} more", others.size());
  return fmt::format("and {} more: {}{}", others.size(), fmt::join(shown, ", "),
                     shown.size() < others.size() ? ", ..." : "");
}

std::string coloured(Severity severity) {
  const char* bold = severity == Severity::error     ? "\033[1;31m"
                     : severity == Severity::warning ? "\033[1;35m"
                                                     : "\033[1;36m";
  return fmt::format("{}{}\033[0m", bold, severity_name(severity));
}

}  // namespace

std::string diagnostic_text(const std::vector<Diagnostic>& list, bool colour) {
  std::string text;
  std::set<std::string_view> helps;
  for (const auto& [first, others] : grouped(list)) {
    std::string where = printable(first->location.str());
    text += fmt::format("{}: {}[{}]: {}", where.empty() ? "dlcc" : where,
                        colour ? coloured(first->severity) : severity_name(first->severity), diagnostic_name(first->id),
                        printable(first->message));
    if (!first->source_line.empty()) text += snippet(*first);
    for (const std::string& line : first->details) text += "\n    " + printable(line);
    if (!others.empty()) text += "\n    " + other_locations(others);
    if (!first->help.empty() && helps.insert(first->help).second) text += "\n    help: " + printable(first->help);
    text += "\n";
  }
  return text;
}

std::string where_to_read_more(const std::vector<Diagnostic>& list) {
  constexpr DiagnosticId evident[] = {DiagnosticId::bad_option, DiagnosticId::cannot_read_file,
                                      DiagnosticId::cannot_write_file};
  std::set<std::string> names;
  for (const Diagnostic& d : list)
    if (d.severity == Severity::error && d.help.empty() && !std::ranges::count(evident, d.id))
      names.insert(diagnostic_name(d.id));
  return names.empty() ? "" : fmt::format("'dlcc explain {}' tells more\n", fmt::join(names, " "));
}

}  // namespace dlcc::driver

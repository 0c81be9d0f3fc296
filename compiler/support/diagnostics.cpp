#include "support/diagnostics.h"

#include <algorithm>

namespace dlcc {

namespace {

struct Registered {
  DiagnosticId id;
  std::string_view name, about;
};
constexpr Registered registered[] = {
#define DIAGNOSTIC(id, about) {DiagnosticId::id, #id, about},
#include "support/diagnostics.def"
#undef DIAGNOSTIC
};

// A line of a text, counted from 1, without its line break. Empty if the text has fewer lines, or if the line is too
// long to quote.
std::string_view line_of(std::string_view text, int number) {
  constexpr size_t longest = 1 << 16;  // bytes
  for (int line = 1; line < number; ++line) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  std::string_view line = text.substr(0, text.find('\n'));
  return line.size() > longest ? std::string_view() : line.substr(0, line.size() - line.ends_with('\r'));
}

}  // namespace

std::string diagnostic_name(DiagnosticId id) {
  std::string text(registered[static_cast<size_t>(id)].name);
  std::ranges::replace(text, '_', '-');
  return text;
}

std::optional<DiagnosticId> diagnostic_named(std::string_view name) {
  for (const Registered& r : registered)
    if (diagnostic_name(r.id) == name) return r.id;
  return std::nullopt;
}

std::vector<DiagnosticId> all_diagnostics() {
  std::vector<DiagnosticId> ids;
  for (const Registered& r : registered) ids.push_back(r.id);
  return ids;
}

std::string_view summary(DiagnosticId id) { return registered[static_cast<size_t>(id)].about; }

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::remark:
      return "remark";
  }
  DLCC_UNREACHABLE("unknown severity");
}

SourceLocation SourceLocation::within(const TextRange& range) const {
  return range.line > 0 ? SourceLocation{file, range.line, range.column, node, range.end} : *this;
}

std::string SourceLocation::str() const {
  std::string text = file;
  if (line > 0) text += fmt::format(":{}:{}", line, column);
  if (!node.empty()) text += (text.empty() ? "" : ": ") + node;
  return text;
}

std::string Diagnostic::str() const {
  std::string where = location.str();
  std::string text = fmt::format("{}: {}[{}]: {}", where.empty() ? "dlcc" : where, severity_name(severity),
                                 diagnostic_name(id), message);
  for (const std::string& line : details) text += "\n    " + line;
  if (!help.empty()) text += "\n    help: " + help;
  return text;
}

std::string Diagnostics::str() const {
  std::string text;
  for (const Diagnostic& d : list_) text += d.str() + "\n";
  return text;
}

void Diagnostics::add(Diagnostic d) {
  errors_ += d.severity == Severity::error;
  if (auto text = texts_.find(d.location.file); text != texts_.end() && d.location.line > 0)
    d.source_line = line_of(text->second, d.location.line);
  list_.push_back(std::move(d));
}

void internal_error(const char* file, int line, const std::string& message) {
  std::string_view path(file);
  throw InternalError(fmt::format("{}:{}: {}", path.substr(path.rfind('/') + 1), line, message));
}

}  // namespace dlcc

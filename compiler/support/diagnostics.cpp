#include "support/diagnostics.h"

#include <algorithm>

namespace dlcc {

std::string diagnostic_name(DiagnosticId id) {
  static constexpr std::string_view names[] = {
#define DIAGNOSTIC(id, about) #id,
#include "support/diagnostics.def"
#undef DIAGNOSTIC
  };
  std::string text(names[static_cast<size_t>(id)]);
  std::ranges::replace(text, '_', '-');
  return text;
}

std::string SourceLocation::str() const {
  std::string text = file;
  if (line > 0) text += fmt::format(":{}:{}", line, column);
  if (!node.empty()) text += (text.empty() ? "" : ": ") + node;
  return text;
}

std::string Diagnostic::str() const {
  std::string where = location.str();
  std::string text = fmt::format("{}: {}[{}]: {}", where.empty() ? "dlcc" : where,
                                 severity == Severity::error ? "error" : "remark", diagnostic_name(id), message);
  for (const std::string& line : details) text += "\n    " + line;
  if (!help.empty()) text += "\n    help: " + help;
  return text;
}

std::string Diagnostics::str() const {
  std::string text;
  for (const Diagnostic& d : list_) text += d.str() + "\n";
  return text;
}

void internal_error(const char* file, int line, const std::string& message) {
  std::string_view path(file);
  throw InternalError(fmt::format("{}:{}: {}", path.substr(path.rfind('/') + 1), line, message));
}

}  // namespace dlcc

#include "driver/reporting.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace dlcc::driver {
namespace {

// Whether all errors are in the command line, none in the model.
bool are_command_line_errors(const Diagnostics& diagnostics) {
  return std::ranges::all_of(diagnostics.list(), [](const Diagnostic& d) {
    return d.id == DiagnosticId::bad_option || d.id == DiagnosticId::unknown_target;
  });
}

int exit_status(const Diagnostics& diagnostics) {
  return !diagnostics.any() ? 0 : are_command_line_errors(diagnostics) ? 2 : 1;
}

}  // namespace

int report(const Diagnostics& diagnostics, const Reporting& r) {
  if (r.json) {
    nlohmann::json list = nlohmann::json::array();
    auto add = [&](const Diagnostic& d) {
      nlohmann::json item = {{"severity", d.severity == Severity::error ? "error" : "remark"},
                             {"id", diagnostic_name(d.id)},
                             {"message", d.message}};
      if (!d.location.file.empty()) item["file"] = d.location.file;
      if (d.location.line > 0) item["line"] = d.location.line, item["column"] = d.location.column;
      if (!d.location.node.empty()) item["node"] = d.location.node;
      if (!d.details.empty()) item["details"] = d.details;
      if (!d.help.empty()) item["help"] = d.help;
      list.push_back(std::move(item));
    };
    std::ranges::for_each(diagnostics.remarks(), add);
    std::ranges::for_each(diagnostics.list(), add);
    fmt::print(stderr, "{}\n", list.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
    return exit_status(diagnostics);
  }
  for (const Diagnostic& d : diagnostics.remarks()) fmt::print(stderr, "{}\n", d.str());
  std::string text = diagnostics.str();
  if (isatty(STDERR_FILENO)) {
    for (size_t at = 0; (at = text.find("error[", at)) != std::string::npos;) {
      size_t end = text.find(']', at);
      if (end == std::string::npos) break;
      text.insert(end + 1, "\033[0m");
      text.insert(at, "\033[1;31m");
      at = end + 12;
    }
  }
  fmt::print(stderr, "{}", text);
  return exit_status(diagnostics);
}

}  // namespace dlcc::driver

#include "driver/reporting.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "driver/diagnostic_text.h"

namespace dlcc::driver {
namespace {

// The diagnostics after the options -w and -Werror: warnings removed, or turned into errors.
std::vector<Diagnostic> with_warning_options(const Diagnostics& diagnostics, const Reporting& r) {
  std::vector<Diagnostic> list;
  for (Diagnostic d : diagnostics.list()) {
    bool is_warning = d.severity == Severity::warning;
    if (is_warning && r.no_warnings) continue;
    if (is_warning && r.warnings_are_errors) d.severity = Severity::error;
    list.push_back(std::move(d));
  }
  return list;
}

// The value of an environment variable; "" when it is not set.
std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_error(const Diagnostic& d) { return d.severity == Severity::error; }

// An error in the command line, not in the model.
bool is_command_line_error(const Diagnostic& d) {
  return is_error(d) && (d.id == DiagnosticId::bad_option || d.id == DiagnosticId::unknown_target);
}

int exit_status(const std::vector<Diagnostic>& list) {
  auto errors = std::ranges::count_if(list, is_error);
  return errors == 0 ? 0 : std::ranges::count_if(list, is_command_line_error) == errors ? 2 : 1;
}

nlohmann::json to_json(const Diagnostic& d) {
  nlohmann::json item = {
      {"severity", severity_name(d.severity)}, {"id", diagnostic_name(d.id)}, {"message", d.message}};
  if (!d.location.file.empty()) item["file"] = d.location.file;
  if (d.location.line > 0) item["line"] = d.location.line, item["column"] = d.location.column;
  if (const int end = d.location.end; end > d.location.column && end != TextRange::end_of_line) item["end"] = end;
  if (!d.location.node.empty()) item["node"] = d.location.node;
  if (!d.details.empty()) item["details"] = d.details;
  if (!d.help.empty()) item["help"] = d.help;
  return item;
}

}  // namespace

bool is_failure(const Diagnostics& diagnostics, const Reporting& r) {
  return exit_status(with_warning_options(diagnostics, r)) != 0;
}

std::string printed(const nlohmann::json& json) {
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void print_message(const std::string& text) { (void)std::fputs(text.c_str(), stderr); }

bool is_terminal() { return isatty(STDERR_FILENO) && !environment("TERM").empty() && environment("TERM") != "dumb"; }

bool shows_colours() { return is_terminal() && environment("NO_COLOR").empty(); }

int report(const Diagnostics& diagnostics, const Reporting& r) {
  const std::vector<Diagnostic> list = with_warning_options(diagnostics, r);
  if (r.json) {
    nlohmann::json items = nlohmann::json::array();
    for (const Diagnostic& d : list) items.push_back(to_json(d));
    print_message(printed(items));
  } else {
    print_message(diagnostic_text(list, shows_colours()) + where_to_read_more(list));
  }
  return exit_status(list);
}

}  // namespace dlcc::driver

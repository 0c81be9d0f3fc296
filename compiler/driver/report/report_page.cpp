#include "driver/report/report_page.h"

#include <fmt/format.h>

#include <string_view>

#include "page_template.inc"

namespace dlcc::driver {
namespace {

// A name that is not UTF-8 gets replacement characters.
std::string dump(const nlohmann::json& report, int indent) {
  return report.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string report_page(const nlohmann::json& report) {
  constexpr std::string_view page = page_template, placeholder = "REPORT_DATA";
  constexpr size_t at = page.find(placeholder);
  static_assert(at != std::string_view::npos);
  std::string text(page.substr(0, at));
  // In JSON a '<' is part of a string. Escaped, no string can end the script element.
  for (char c : dump(report, -1))
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  return text += page.substr(at + placeholder.size());
}

std::string report_text(const std::string& path, const nlohmann::json& report) {
  return path.ends_with(".html") ? report_page(report) : dump(report, 1) + "\n";
}

std::string check_report_path(const std::string& path) {
  if (path.ends_with(".html") || path.ends_with(".json")) return "";
  return fmt::format("expected a name ending in .html or .json, found '{}'", path);
}

}  // namespace dlcc::driver

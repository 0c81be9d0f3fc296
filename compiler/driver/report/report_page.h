// A report as text: JSON, or one HTML page that has the JSON and the script that draws it, without external references.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace dlcc::driver {

std::string report_page(const nlohmann::json& report);

// The contents of a report's file: a page for the suffix .html, else JSON.
std::string report_text(const std::string& path, const nlohmann::json& report);

// An error message when the path has neither the suffix .html nor .json, else "".
std::string check_report_path(const std::string& path);

}  // namespace dlcc::driver

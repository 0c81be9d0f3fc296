// Whole files as text.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace dlcc {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace dlcc

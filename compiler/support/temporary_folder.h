// A new folder for files that are needed for a while. It is removed at the end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace dlcc {

class TemporaryFolder {
 public:
  // Throws std::runtime_error if there is none.
  TemporaryFolder() {
    std::string name = std::filesystem::temp_directory_path() / ("dlcc-" + std::string(6, 'X'));
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");  // it replaces the last six letters
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace dlcc

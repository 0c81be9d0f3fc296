// A folder in which a test runs commands.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace dlcc::test {

class CommandFolder {
 public:
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  void write(const std::string& name, const std::vector<std::byte>& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  std::vector<std::byte> read(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }
  // Returns the command's exit status; output() has its output.
  int sh(const std::string& command) {
    int status = std::system(("cd " + folder_.string() + " && (" + command + ") > log 2>&1").c_str());
    std::ifstream log(folder_ / "log");
    output_.assign(std::istreambuf_iterator<char>(log), {});
    return status;
  }
  const std::string& output() const { return output_; }

 private:
  const TemporaryFolder temporary_;
  const std::filesystem::path& folder_ = temporary_.path();
  std::string output_;
};

}  // namespace dlcc::test

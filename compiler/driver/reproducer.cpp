#include "driver/reproducer.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "support/version.h"

namespace dlcc::driver {
namespace {

namespace fs = std::filesystem;

// The file that an argument names, as a whole or after its last '=' (--input=x=x.npy); empty when there is none.
fs::path file_of(const std::string& arg) {
  size_t equals = arg.rfind('=');
  for (const std::string& name : {arg, equals == std::string::npos ? arg : arg.substr(equals + 1)})
    if (std::error_code error; fs::is_regular_file(name, error)) return name;
  return {};
}

// Quotes text for the shell.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

}  // namespace

std::string write_reproducer(const std::string& parent, const std::vector<std::string>& args,
                             const std::string& error) {
  std::string folder =
      (fs::path(parent) / "dlcc-crash-").string() + std::string(6, 'X');  // mkdtemp replaces the last six
  if (!::mkdtemp(folder.data())) return "";
  std::error_code ignored;  // `command` names the files that cannot be copied, too
  std::string line = "dlcc";
  for (const std::string& arg : args) {
    line += " " + quoted(arg);
    if (fs::path file = file_of(arg); !file.empty())
      fs::copy_file(file, fs::path(folder) / file.filename(), fs::copy_options::skip_existing, ignored);
  }
  std::ofstream command(fs::path(folder) / "command");
  command << fmt::format("# dlcc {}: {}\ncd {}\n{}\n", version, error, quoted(fs::current_path(ignored).string()),
                         line);
  return folder;
}

}  // namespace dlcc::driver

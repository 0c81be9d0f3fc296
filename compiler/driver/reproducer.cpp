#include "driver/reproducer.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "support/shell_quoting.h"
#include "support/version.h"

namespace dlcc::driver {
namespace {

namespace fs = std::filesystem;

// The file that an argument names, as a whole or after its last '=' (--input=x=x.npy); empty when there is none.
fs::path file_in(const std::string& arg) {
  size_t equals = arg.rfind('=');
  for (const std::string& name : {arg, equals == std::string::npos ? arg : arg.substr(equals + 1)})
    if (std::error_code error; fs::is_regular_file(name, error)) return name;
  return {};
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
    line += " " + shell_quoted(arg);
    if (fs::path file = file_in(arg); !file.empty())
      fs::copy_file(file, fs::path(folder) / file.filename(), fs::copy_options::skip_existing, ignored);
  }
  std::ofstream command(fs::path(folder) / "command");
  command << fmt::format("# dlcc {}: {}\ncd {}\n{}\n", version, error, shell_quoted(fs::current_path(ignored).string()),
                         line);
  return folder;
}

}  // namespace dlcc::driver

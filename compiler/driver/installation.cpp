#include "driver/installation.h"

#include <fmt/format.h>
#include <sys/auxv.h>

#include <filesystem>

#include "support/version.h"
#include "targets/target.h"

namespace dlcc::driver {

std::string version_text() {
  std::string targets;
  for (const targets::TargetInfo& t : targets::list_targets()) targets += " " + t.name;
  return fmt::format("dlcc {}\nLLVM {}\ntargets:{}\nbuild: {}\n", version, DLCC_LLVM_VERSION, targets, DLCC_BUILD);
}

std::string runtime_folder() {
  namespace fs = std::filesystem;
  // The path by which the kernel started this program; it needs no /proc.
  const auto* program = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  const fs::path folder = fs::canonical(program).parent_path();
  const bool is_build_tree = fs::exists(folder / "libdlcc_rt.a");
  return (is_build_tree ? folder : (folder / DLCC_LIBRARY_FOLDER).lexically_normal()).string() + "\n";
}

}  // namespace dlcc::driver

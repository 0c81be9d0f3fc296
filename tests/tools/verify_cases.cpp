// Verifies many ONNX cases in one process: verify_cases CASES EXCEPTIONS ROOT... [--engine=NAME]
// CASES lists folders relative to a root, one a line; a case that no root has is skipped. EXCEPTIONS lists cases that
// are known not to pass, each with its reason behind a blank; an exception that passes is a failure too. Every case
// runs through every engine unless one is named. The last line counts.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "pipeline/verification.h"

namespace fs = std::filesystem;
using namespace dlcc;

namespace {

std::map<std::string, std::string> read_exceptions(const std::string& path) {
  std::map<std::string, std::string> reasons;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    size_t blank = line.find(' ');
    reasons[line.substr(0, blank)] = blank == std::string::npos ? "" : line.substr(blank + 1);
  }
  return reasons;
}

// Debian's package has the operator tests without the collection's first folder.
fs::path find_case(const std::string& name, const std::vector<std::string>& roots) {
  for (const std::string& root : roots)
    for (const std::string& under : {name, name.substr(name.find('/') + 1)})
      if (fs::exists(fs::path(root) / under / "model.onnx")) return fs::path(root) / under;
  return {};
}

// What went wrong, empty if nothing.
std::string verify_case(const fs::path& folder, const std::vector<std::string>& engines) {
  Diagnostics diagnostics;
  Compiler compiler({.model = folder / "model.onnx", .prefix = "m"}, diagnostics);
  auto model = prepare_verification(compiler);
  if (!model) return diagnostics.str();
  std::vector<fs::path> data_sets;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
      data_sets.push_back(entry.path());
  if (data_sets.empty()) return "no data set";
  for (const std::string& name : engines) {
    Engine engine = make_engine(name, compiler, model->fused, model->planned);
    for (const fs::path& data : data_sets) {
      double largest;
      std::string failure = verify_data_set(data, engine, model->planned.interface, {}, largest);
      if (!failure.empty()) return name + ": " + failure;
    }
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> roots, engines(std::begin(engine_names), std::end(engine_names));
  for (int k = 3; k < argc; ++k) {
    std::string arg = argv[k];
    if (arg.starts_with("--engine="))
      engines = {arg.substr(9)};
    else if (!arg.empty())
      roots.push_back(arg);
  }
  if (argc < 4) return std::fprintf(stderr, "usage: verify_cases CASES EXCEPTIONS ROOT...\n"), 2;
  auto exceptions = read_exceptions(argv[2]);
  std::ifstream cases(argv[1]);
  int passed = 0, failed = 0, excepted = 0, absent = 0;
  for (std::string name; std::getline(cases, name);) {
    fs::path folder = find_case(name, roots);
    if (folder.empty()) {
      ++absent;
      continue;
    }
    std::string failure;
    try {
      failure = verify_case(folder, engines);
    } catch (const std::exception& e) {
      failure = std::string("internal error: ") + e.what();
    }
    auto known = exceptions.find(name);
    if (failure.empty() == (known == exceptions.end())) {
      ++(failure.empty() ? passed : excepted);
      continue;
    }
    ++failed;
    std::printf("FAIL %s %s\n", name.c_str(),
                failure.empty() ? "passes, though it is listed as an exception" : failure.c_str());
    std::fflush(stdout);
  }
  std::printf("%d known exceptions, %d cases not on this machine\n%d passed, %d failed\n", excepted, absent, passed,
              failed);
  return failed ? 1 : 0;
}

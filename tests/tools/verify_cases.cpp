// Verifies many ONNX cases in one process: verify_cases CASES EXCEPTIONS ROOT[:EXCEPTIONS]... [OPTION]...
// CASES lists folders relative to a root, one a line; a case that no root has is skipped. EXCEPTIONS lists cases that
// are known not to pass, each followed by a blank and its reason; an exception that passes is a failure, too. A root
// may have further exceptions of its own, since collections differ in their data; '!' before a case there means that it
// passes with the root's data though EXCEPTIONS lists it. Every case runs through every engine unless --engine=NAME is
// given. Other options are those of dlcc: -mcpu=CPU, -O0, --threads=N, --accuracy=strict. The last line has the numbers
// of passed and failed cases.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "pipeline/input_forms.h"
#include "pipeline/verification.h"

namespace fs = std::filesystem;
using namespace dlcc;

namespace {

using Exceptions = std::map<std::string, std::string>;  // case -> reason

// A collection of cases, and those of its cases that do not pass.
struct Root {
  std::string folder;
  Exceptions exceptions;
};

Exceptions read_exceptions(const std::string& path, Exceptions reasons = {}) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    size_t blank = line.find(' ');
    if (line[0] == '!')
      reasons.erase(line.substr(1, blank - 1));
    else
      reasons[line.substr(0, blank)] = blank == std::string::npos ? "" : line.substr(blank + 1);
  }
  return reasons;
}

// The folder of a case in a root that has the case. Debian's package has the operator tests without the collection's
// first folder.
std::optional<fs::path> find_case(const std::string& name, const Root& root) {
  for (const std::string& under : {name, name.substr(name.find('/') + 1)})
    if (fs::path folder = fs::path(root.folder) / under; fs::exists(folder / "model.onnx")) return folder;
  return std::nullopt;
}

// The failure of a case; empty when it passes.
std::string verify_case(const fs::path& folder, const std::vector<std::string>& engines, CompileOptions options) {
  std::vector<fs::path> data_sets;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
      data_sets.push_back(entry.path());
  if (data_sets.empty()) return "no data set";
  Diagnostics diagnostics;
  options.model = folder / "model.onnx";
  options.find_input_form = forms_of_data_set(data_sets.front(), diagnostics);
  Compiler compiler(options, diagnostics);
  auto model = prepare_verification(compiler, engines);
  if (!model) return diagnostics.str();
  for (const std::string& name : engines) {
    Engine engine = make_engine(name, compiler, *model);
    for (const fs::path& data : data_sets) {
      Verdict verdict = verify_data_set(data, engine, *model, {}, diagnostics);
      if (!verdict.ok) return name + ": " + verdict.what;
    }
  }
  return "";
}

// Applies an option of dlcc; false for other arguments.
bool set_option(CompileOptions& options, const std::string& arg) {
  if (arg.starts_with("-mcpu="))
    options.mcpu = arg.substr(6);
  else if (arg.starts_with("--threads="))
    options.schedule.threads = std::atoi(arg.c_str() + 10);
  else if (arg == "-O0")
    options.optimization = 0;
  else if (arg == "--accuracy=strict")
    options.schedule.strict = true;
  else
    return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: verify_cases CASES EXCEPTIONS ROOT[:EXCEPTIONS]...\n"), 2;
  const Exceptions common = read_exceptions(argv[2]);
  std::vector<Root> roots;
  CompileOptions options{.prefix = "m"};
  std::vector<std::string> engines(std::begin(engine_names), std::end(engine_names));
  for (int k = 3; k < argc; ++k) {
    std::string arg = argv[k];
    size_t colon = arg.find(':');
    if (arg.starts_with("--engine="))
      engines = {arg.substr(9)};
    else if (arg.starts_with("-") && !set_option(options, arg))
      return std::fprintf(stderr, "verify_cases: unknown option %s\n", argv[k]), 2;
    else if (!arg.empty() && !arg.starts_with("-"))
      roots.push_back(
          {arg.substr(0, colon), colon == std::string::npos ? common : read_exceptions(arg.substr(colon + 1), common)});
  }
  std::ifstream cases(argv[1]);
  int passed = 0, failed = 0, excepted = 0, absent = 0;
  for (std::string name; std::getline(cases, name);) {
    auto root = std::ranges::find_if(roots, [&](const Root& r) { return find_case(name, r).has_value(); });
    if (root == roots.end()) {
      ++absent;
      continue;
    }
    std::string failure;
    try {
      failure = verify_case(*find_case(name, *root), engines, options);
    } catch (const std::exception& e) {
      failure = std::string("internal error: ") + e.what();
    }
    if (failure.empty() != root->exceptions.contains(name)) {
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

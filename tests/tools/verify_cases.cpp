// Verifies many ONNX cases in one process: verify_cases CASES EXCEPTIONS ROOT[:EXCEPTIONS]... [OPTION]...
// CASES lists folders relative to a root, one a line; a case that no root has is skipped. EXCEPTIONS lists cases that
// are known not to pass, each followed by a blank and its reason; an exception that passes is a failure, too. A root
// may have further exceptions of its own, since collections differ in their data; '!' before a case there means that it
// passes with the root's data though EXCEPTIONS lists it. Every case runs through every engine unless --engine=NAME is
// given. --emulate=TARGET runs the object for this target under qemu instead, and is skipped (exit status 77) if the
// cross compiler or qemu is not installed; --emulate=TARGET:qemu-system-arm runs it on a board without an operating
// system, and leaves out whole networks, whose weights exceed the board's memory. --sample=N verifies N cases, evenly
// spaced among those that a root has. Other options are those of dlcc: -mcpu=CPU, -O0, -Os, --threads=N,
// --accuracy=strict. The last line has the numbers of passed and failed cases.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
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

// A target other than this machine, and the emulator of its processors.
struct Emulation {
  targets::Target target;
  std::string emulator, compiler;

  bool is_board() const { return emulator == "qemu-system-arm"; }

  bool is_installed() const {
    const std::string command =
        fmt::format("command -v {} > /dev/null && command -v {} > /dev/null", emulator, compiler);
    return std::system(command.c_str()) == 0;
  }
};

// TARGET or TARGET:EMULATOR. Without a value, with a message, for a target that does not exist.
std::optional<Emulation> find_emulation(const std::string& option) {
  Diagnostics diagnostics;
  const std::string name = option.substr(0, option.find(':'));
  auto target = targets::find_target(name, "", "", diagnostics);
  if (!target) return std::fprintf(stderr, "%s", diagnostics.str().c_str()), std::nullopt;
  const bool has_own_emulator = name == "aarch64" || name == "riscv64";
  const std::string linux_emulator = has_own_emulator ? "qemu-" + name : "qemu-arm";
  const std::string emulator = name == option ? linux_emulator : option.substr(name.size() + 1);
  Emulation emulation{*std::move(target), emulator};
  emulation.compiler = emulation.is_board() ? "arm-none-eabi-gcc" : emulation.target.linux_compiler;
  return emulation;
}

// What is done with each case.
struct Settings {
  CompileOptions options{.prefix = "m"};
  std::vector<std::string> engines{std::begin(engine_names), std::end(engine_names)};
  size_t sample = 0;  // number of cases; 0: all
  std::optional<Emulation> emulation;
  std::unique_ptr<ForeignRunner> runner;  // of the object; null: this machine
};

// The failure of a case; empty when it passes.
std::string verify_case(const fs::path& folder, Settings& settings) {
  std::vector<fs::path> data_sets;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
      data_sets.push_back(entry.path());
  if (data_sets.empty()) return "no data set";
  Diagnostics diagnostics;
  CompileOptions options = settings.options;
  options.model = folder / "model.onnx";
  options.find_input_form = forms_of_data_set(data_sets.front(), diagnostics);
  Compiler compiler(options, diagnostics);
  auto model = prepare_verification(compiler, settings.engines);
  if (!model) return diagnostics.str();
  for (const std::string& name : settings.engines) {
    Engine engine = make_engine(name, compiler, *model, settings.runner.get());
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
  else if (arg == "-Os")
    options.schedule.small = true;
  else if (arg == "--accuracy=strict")
    options.schedule.strict = true;
  else
    return false;
  return true;
}

// A case, and the root that has it.
struct Case {
  std::string name;
  fs::path folder;
  bool excepted;
};

// The cases of a list that a root has; `absent` counts the others.
std::vector<Case> find_cases(const char* list, const std::vector<Root>& roots, int& absent) {
  std::vector<Case> found;
  std::ifstream file(list);
  for (std::string name; std::getline(file, name);) {
    auto root = std::ranges::find_if(roots, [&](const Root& r) { return find_case(name, r).has_value(); });
    if (root == roots.end())
      ++absent;
    else
      found.push_back({name, *find_case(name, *root), root->exceptions.contains(name)});
  }
  return found;
}

// Whether the case is a network and not a test of operators.
bool is_network(const Case& c) { return c.name.starts_with("onnx/light/") || c.name.starts_with("onnx/models/"); }

// `count` cases at equal distances.
std::vector<Case> sample_of(const std::vector<Case>& cases, size_t count) {
  std::vector<Case> sample;
  for (size_t k = 0; k < count && k < cases.size(); ++k) sample.push_back(cases[k * cases.size() / count]);
  return sample;
}

// Reads the options and roots; an argument that is neither is left in `unknown`.
std::vector<Root> read_arguments(int argc, char** argv, Settings& settings, std::string& unknown) {
  const Exceptions common = read_exceptions(argv[2]);
  std::vector<Root> roots;
  for (int k = 3; k < argc; ++k) {
    const std::string arg = argv[k];
    const size_t colon = arg.find(':');
    if (arg.starts_with("--engine="))
      settings.engines = {arg.substr(9)};
    else if (arg.starts_with("--emulate=") && (settings.emulation = find_emulation(arg.substr(10))))
      settings.engines = {"object"};
    else if (arg.starts_with("--sample="))
      settings.sample = static_cast<size_t>(std::atoi(arg.c_str() + 9));
    else if (arg.starts_with("-") && !set_option(settings.options, arg))
      unknown = arg;
    else if (!arg.empty() && !arg.starts_with("-"))
      roots.push_back(
          {arg.substr(0, colon), colon == std::string::npos ? common : read_exceptions(arg.substr(colon + 1), common)});
  }
  return roots;
}

// Whether the result of a case is as expected; prints it otherwise.
bool verify(const Case& c, Settings& settings) {
  std::string failure;
  try {
    failure = verify_case(c.folder, settings);
  } catch (const std::exception& e) {
    failure = std::string("internal error: ") + e.what();
  }
  if (failure.empty() != c.excepted) return true;
  std::printf("FAIL %s %s\n", c.name.c_str(),
              failure.empty() ? "passes, though it is listed as an exception" : failure.c_str());
  std::fflush(stdout);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: verify_cases CASES EXCEPTIONS ROOT[:EXCEPTIONS]...\n"), 2;
  Settings settings;
  std::string unknown;
  const std::vector<Root> roots = read_arguments(argc, argv, settings, unknown);
  if (!unknown.empty()) return std::fprintf(stderr, "verify_cases: unknown option %s\n", unknown.c_str()), 2;
  if (settings.emulation) {
    if (!settings.emulation->is_installed()) return std::printf("skipped: no cross compiler or no emulator\n"), 77;
    const auto& [target, emulator, compiler] = *settings.emulation;
    settings.runner = std::make_unique<ForeignRunner>(RunnerCommands{emulator, compiler}, target);
    settings.options.target = target.name;
  }
  int passed = 0, failed = 0, excepted = 0, absent = 0;
  std::vector<Case> cases = find_cases(argv[1], roots, absent);
  if (settings.emulation && settings.emulation->is_board()) std::erase_if(cases, is_network);
  if (settings.sample) cases = sample_of(cases, settings.sample);
  for (const Case& c : cases) ++(!verify(c, settings) ? failed : c.excepted ? excepted : passed);
  std::printf("%d known exceptions, %d cases not on this machine\n%d passed, %d failed\n", excepted, absent, passed,
              failed);
  return failed ? 1 : 0;
}

#include "pipeline/foreign_runner.h"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

#include "support/shell_quoting.h"
#include "targets/llvm/match_inputs.h"

namespace dlcc {
namespace {

using targets::RunRequest;
using targets::RunResult;

void write_block(std::ofstream& file, std::span<const std::byte> bytes) {
  const auto count = static_cast<int64_t>(bytes.size());
  file.write(reinterpret_cast<const char*>(&count), sizeof count);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void write_inputs(const std::string& path, const RunRequest& request, const targets::SymbolValues& symbols) {
  std::ofstream file(path, std::ios::binary);
  for (const Constant& input : request.inputs) write_block(file, input.bytes());
  const std::vector<int64_t> sizes = targets::caller_sizes(*request.interface, symbols);
  if (request.interface->is_dynamic()) write_block(file, std::as_bytes(std::span(sizes)));
  if (!request.weights.empty()) write_block(file, request.weights);
}

// Reads the file that the program writes. Its end may be missing.
class ResultReader {
 public:
  explicit ResultReader(const std::string& path) : file_(path, std::ios::binary) {}

  bool is_complete() const { return is_complete_; }

  template <class Number>
  Number number() {
    Number value{};
    is_complete_ = is_complete_ && file_.read(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }

  Shape shape(const emit::TensorInterface& t, bool is_dynamic) {
    if (!is_dynamic) return t.shape;
    Shape shape;
    for (size_t k = 0; k < t.shape.size(); ++k) shape.emplace_back(number<int64_t>());
    return shape;
  }

  // A tensor of this shape after its number of bytes.
  std::optional<Constant> tensor(DType type, const std::vector<int64_t>& shape) {
    const int64_t bytes = number<int64_t>();
    int64_t count = 1;
    for (int64_t size : shape)
      if (size < 0 || __builtin_mul_overflow(count, size, &count)) return std::nullopt;
    if (!is_complete_ || bytes != storage_bytes(type, count)) return std::nullopt;
    std::vector<std::byte> elements(static_cast<size_t>(bytes));
    if (!file_.read(reinterpret_cast<char*>(elements.data()), bytes)) return std::nullopt;
    return Constant(type, shape, std::move(elements));
  }

 private:
  std::ifstream file_;
  bool is_complete_ = true;
};

// The first lines of a file.
std::vector<std::string> first_lines(const std::string& path) {
  constexpr size_t most = 5;
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; lines.size() < most && std::getline(file, line);) lines.push_back(std::move(line));
  return lines;
}

constexpr const char* help_for_compiler = "--runner-cc is a C compiler for the target, with gcc's options";

}  // namespace

ForeignRunner::ForeignRunner(RunnerCommands commands, targets::Target target)
    : commands_(std::move(commands)), target_(std::move(target)) {}

std::optional<RunResult> ForeignRunner::run(const RunRequest& request, Diagnostics& diagnostics) {
  const auto symbols = targets::match_inputs(*request.interface, request.inputs, diagnostics);
  if (!symbols || !compile_program(diagnostics) || !link(request, diagnostics)) return std::nullopt;
  write_inputs(path("inputs"), request, *symbols);
  std::filesystem::remove(path("results"));
  const std::string calls = std::to_string(request.repeat > 1 ? request.repeat : 0);
  const std::string command = machine_->start(path("run"), {path("inputs"), path("results"), calls});
  if (!execute(fmt::format("timeout {} {}", request.time_limit_seconds, command),
               fmt::format("'{}' does not run the model", commands_.runner),
               "--runner is a command that is called with a program and its arguments", diagnostics))
    return std::nullopt;
  return read_results(request, diagnostics);
}

bool ForeignRunner::compile_program(Diagnostics& diagnostics) {
  if (machine_) return true;
  auto machine = find_runner_machine(commands_, target_, folder_.path(), diagnostics);
  if (!machine) return false;
  write_runner_sources(folder_.path());
  for (const std::string& source : machine->sources) {
    const std::string file = path(source);
    if (!execute(fmt::format("{} {} -I{} -c {} -o {}", machine->compiler, machine->compile_options,
                             shell_quoted(folder_.path().string()), shell_quoted(file), shell_quoted(file + ".o")),
                 fmt::format("'{}' does not compile the program that runs the model", machine->compiler),
                 help_for_compiler, diagnostics))
      return false;
  }
  machine_ = std::move(machine);
  return true;
}

bool ForeignRunner::link(const RunRequest& request, Diagnostics& diagnostics) {
  std::ofstream file(path("model.o"), std::ios::binary);
  file.write(reinterpret_cast<const char*>(request.object.data()), static_cast<std::streamsize>(request.object.size()));
  file.close();
  std::string objects;
  for (const std::string& source : machine_->sources) objects += shell_quoted(path(source + ".o")) + " ";
  // The program's name of the model is another one of P_model.
  return execute(fmt::format("{} {} -Wl,--defsym=model_to_run={}_model {}{} {} -o {}", machine_->compiler,
                             machine_->link_options, request.interface->prefix, objects, shell_quoted(path("model.o")),
                             machine_->libraries, shell_quoted(path("run"))),
                 fmt::format("'{}' does not link the object", machine_->compiler), help_for_compiler, diagnostics);
}

bool ForeignRunner::execute(const std::string& command, const std::string& problem, const std::string& help,
                            Diagnostics& diagnostics) const {
  constexpr int timed_out = 124;  // of the command `timeout`
  const std::string log = path("log");
  const int status = std::system(fmt::format("{} > {} 2>&1", command, shell_quoted(log)).c_str());
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  const std::string why = WIFEXITED(status) && WEXITSTATUS(status) == timed_out ? "the time is over"
                          : WIFEXITED(status) ? fmt::format("exit status {}", WEXITSTATUS(status))
                                              : fmt::format("signal {}", WTERMSIG(status));
  diagnostics.error(DiagnosticId::run_failed, {}, fmt::format("{}: {}", problem, why), first_lines(log), help);
  return false;
}

std::optional<RunResult> ForeignRunner::read_results(const RunRequest& request, Diagnostics& diagnostics) const {
  ResultReader reader(path("results"));
  RunResult result;
  result.status = static_cast<int>(reader.number<int64_t>());
  if (result.status != 0 && reader.is_complete()) return result;
  std::vector<Shape> shapes;
  for (const emit::TensorInterface& t : request.interface->outputs)
    shapes.push_back(reader.shape(t, request.interface->is_dynamic()));
  for (size_t k = 0; k < shapes.size(); ++k) {
    auto output = reader.tensor(request.interface->outputs[k].type, static_shape(shapes[k]));
    if (!output) break;
    result.outputs.push_back(std::move(*output));
  }
  for (int k = 0; k < request.repeat && request.repeat > 1; ++k) result.seconds.push_back(reader.number<double>());
  if (reader.is_complete() && result.outputs.size() == shapes.size()) return result;
  diagnostics.error(DiagnosticId::run_failed, {}, fmt::format("'{}' gives no complete results", commands_.runner));
  return std::nullopt;
}

}  // namespace dlcc

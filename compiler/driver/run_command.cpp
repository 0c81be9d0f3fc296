// dlcc run MODEL --input NAME=FILE --output NAME=FILE: compiles in memory and runs the object once; with --interpret,
// runs the interpreter.
#include <iostream>
#include <limits>
#include <set>

#include "driver/command_compiler.h"
#include "driver/commands.h"
#include "driver/interpret.h"
#include "driver/options.h"
#include "driver/run_inputs.h"
#include "driver/runner_options.h"
#include "pipeline/run.h"
#include "pipeline/tensor_files.h"
#include "relay/interpret.h"
#include "support/files.h"
#include "support/npz.h"

namespace dlcc::driver {
namespace {

// The names of outputs. One that the model gives to several is that of the first, and the others have a number behind
// it.
std::vector<std::string> distinct_names(const std::vector<emit::TensorInterface>& outputs) {
  std::set<std::string> taken, given;
  for (const emit::TensorInterface& output : outputs) given.insert(output.name);
  std::vector<std::string> names;
  for (const emit::TensorInterface& output : outputs) {
    std::string name = output.name;
    for (int k = 2; !taken.insert(name).second || (name != output.name && given.contains(name)); ++k)
      name = fmt::format("{}_{}", output.name, k);
    names.push_back(name);
  }
  return names;
}

// A file to write: of output `index`, or of all outputs if there is no index.
struct WantedOutput {
  std::optional<size_t> index;
  std::string file;
};

std::vector<WantedOutput> find_outputs(const std::vector<std::string>& options, const emit::Interface& interface,
                                       Diagnostics& diagnostics) {
  std::vector<WantedOutput> wanted;
  for (size_t k = 0; k < options.size(); ++k) {
    std::string file;
    if (is_archive(options[k]))
      wanted.push_back({std::nullopt, options[k]});
    else if (auto at = find_tensor(options[k], k, interface.outputs, "output", file, diagnostics))
      wanted.push_back({at, file});
  }
  return wanted;
}

bool write_outputs(const std::vector<WantedOutput>& wanted, const emit::Interface& interface,
                   const std::vector<Constant>& results, Diagnostics& diagnostics) {
  std::vector<std::vector<std::byte>> contents;
  std::vector<OutputFile> files;
  for (const WantedOutput& w : wanted) {
    if (w.index) {
      contents.push_back(tensor_file(w.file, interface.outputs[*w.index].name, results[*w.index]));
      continue;
    }
    std::vector<NamedArray> arrays;
    const std::vector<std::string> names = distinct_names(interface.outputs);
    for (size_t k = 0; k < results.size(); ++k) arrays.push_back({names[k], results[k]});
    contents.push_back(write_npz(arrays));
  }
  for (size_t k = 0; k < wanted.size(); ++k) files.push_back({wanted[k].file, {contents[k]}});
  return write_files(files, diagnostics);
}

// Accepts the files that run can write; a device has the format of .pb.
Store append_output(std::vector<std::string>& files) {
  return [&files](const std::string& text) -> Problem {
    const std::string file = file_of(text);
    const bool is_known = file.ends_with(".npy") || file.ends_with(".npz") || file.ends_with(".pb");
    if (!is_known && !file.starts_with("/dev/"))
      return {fmt::format("the suffix of '{}' names no format of tensors", file),
              "NAME=FILE.npy and NAME=FILE.pb have one output, FILE.npz has all"};
    files.push_back(text);
    return {};
  };
}

// " 1.5"
std::string element_text(const Constant& c, int64_t i) {
  if (is_float(c.dtype())) return fmt::format(" {:g}", c.number_at(i));
  if (c.dtype() == dtype::u64) return fmt::format(" {}", static_cast<uint64_t>(c.integer_at(i)));
  return fmt::format(" {}", c.integer_at(i));
}

// Prints the type, the shape and the first 16 elements of a result.
void print_tensor(const std::string& tensor, const Constant& c) {
  std::cout << fmt::format("{} {} {}:", tensor, name(c.dtype()), str(shape_of(c.shape())));
  for (int64_t i = 0; i < std::min<int64_t>(c.count(), 16); ++i) std::cout << element_text(c, i);
  std::cout << (c.count() > 16 ? " ...\n" : "\n");
}

}  // namespace

int run_command(CommandLine& line) {
  CompileOptions options;
  std::vector<std::string> inputs, outputs;
  RunnerOptions runner;
  bool interpret = false;
  int max_steps = 0;  // none given
  line.describe("Compiles a model in memory and runs it once.");
  add_compile_options(line, options);
  line.add({"--input", "[NAME=]FILE",
            "File of an input (.npy or .pb), by name or position; may be repeated. FILE.npz: all inputs, by name. A "
            "sequence or an optional: NAME=FILE.pb, or NAME=FORM as in 'dlcc --help'",
            append_to_inputs(inputs, options)});
  line.add({"--output", "[NAME=]FILE",
            "File of an output (.npy or .pb); may be repeated. FILE.npz: all outputs. Without this option, outputs are "
            "printed",
            append_output(outputs)});
  line.add({"--interpret", "",
            "Interpret the Relay module, which may use the whole language, and print the value of @main. --input takes "
            "a file or [NAME=]EXPRESSION in Relay, FILE.rly with one, or FILE.npz",
            store_true(interpret)});
  line.add({"--max-steps", "N",
            "With --interpret: end with an error after N steps. Each operation is a step, and so is each iteration "
            "of an operator's loops",
            store_integer(max_steps, 1, std::numeric_limits<int>::max())});
  runner.add_to(line);
  line.after_values([&] {
    if (interpret && !outputs.empty()) return Problem{"--interpret excludes --output"};
    if (interpret && runner.is_given()) return Problem{"--interpret excludes --runner"};
    if (!interpret && max_steps) return Problem{"--max-steps needs --interpret"};
    return Problem{};
  });
  if (auto status = line.parse()) return *status;

  Diagnostics diagnostics;
  if (interpret) {
    CommandCompiler compiler(options, diagnostics);
    interpret_and_print(compiler, inputs, max_steps ? max_steps : relay::unlimited_steps, diagnostics);
    return report(diagnostics, line.reporting());
  }
  options.find_input_form = forms_of_files(inputs, diagnostics);
  CommandCompiler compiler(options, diagnostics);
  auto planned = compiler.compile();
  if (!planned) return report(diagnostics, line.reporting());
  const emit::Interface& interface = planned->interface;
  auto wanted = find_outputs(outputs, interface, diagnostics);
  auto values = read_inputs(inputs, interface, compiler.arguments(), diagnostics);
  std::set<std::string> read = compiler.files();
  for (const std::string& input : inputs) read.insert(file_of(input));
  std::vector<std::string> written;
  for (const WantedOutput& w : wanted) written.push_back(w.file);
  differ_from_inputs(written, read, diagnostics);
  if (diagnostics.has_errors()) return report(diagnostics, line.reporting());
  auto object = compiler.generate(*planned).bytes();
  auto results = run_once(*planned, object, *values, runner.make_runner(planned->target).get(), diagnostics);
  if (!results || is_failure(diagnostics, line.reporting())) return report(diagnostics, line.reporting());
  write_outputs(wanted, interface, *results, diagnostics);
  if (outputs.empty())
    for (size_t k = 0; k < results->size(); ++k) print_tensor(interface.outputs[k].name, (*results)[k]);
  return report(diagnostics, line.reporting());
}

}  // namespace dlcc::driver

// dlcc run MODEL --input NAME=FILE --output NAME=FILE: compiles in memory and runs the object once.
#include <iostream>
#include <set>

#include "driver/commands.h"
#include "driver/options.h"
#include "pipeline/run.h"
#include "pipeline/tensor_files.h"
#include "support/files.h"
#include "support/npz.h"

namespace dlcc::driver {
namespace {

// The file of an option "NAME=FILE" or "FILE".
std::string file_of(const std::string& option) { return option.substr(option.find('=') + 1); }

// Whether an option is "FILE.npz": an archive of all tensors.
bool is_archive(const std::string& option) { return option.ends_with(".npz") && option.find('=') == option.npos; }

// The index of the tensor of an option: "NAME=FILE" names it, "FILE" alone is that at `position`. Sets `file`.
std::optional<size_t> find_tensor(const std::string& text, size_t position,
                                  const std::vector<emit::TensorInterface>& tensors, const char* what,
                                  std::string& file, Diagnostics& diagnostics) {
  size_t equals = text.find('=');
  file = file_of(text);
  if (file.empty()) {
    diagnostics.error(DiagnosticId::bad_option, {}, fmt::format("--{} has no file: '{}'", what, text));
    return std::nullopt;
  }
  if (file.ends_with(".npz")) {
    diagnostics.error(DiagnosticId::bad_option, {.file = file},
                      "an archive has all tensors: it takes no name, and is the only file", {},
                      fmt::format("--{} {}", what, file));
    return std::nullopt;
  }
  if (equals == std::string::npos && position < tensors.size()) return position;
  std::string wanted = equals == std::string::npos ? text : text.substr(0, equals), known;
  for (size_t k = 0; k < tensors.size(); ++k) {
    if (equals != std::string::npos && (tensors[k].name == wanted || tensors[k].identifier == wanted)) return k;
    known += (known.empty() ? "" : ", ") + tensors[k].name;
  }
  diagnostics.error(DiagnosticId::bad_data, {}, fmt::format("the model has no {} for '{}'", what, wanted), {},
                    fmt::format("{}s: {}", what, known));
  return std::nullopt;
}

std::optional<std::vector<Constant>> read_inputs_of_archive(const std::string& path, const emit::Interface& interface,
                                                            Diagnostics& diagnostics) {
  auto values = read_archive(path, interface.inputs, "input", diagnostics);
  for (size_t k = 0; values && k < values->size(); ++k) fits((*values)[k], interface, k, {.file = path}, diagnostics);
  return diagnostics.has_errors() ? std::nullopt : std::move(values);
}

// Reads the tensors of the --input options, in the model's order. Empty, with a diagnostic for each tensor that is
// missing or has another type or shape.
std::optional<std::vector<Constant>> read_inputs(const std::vector<std::string>& options,
                                                 const emit::Interface& interface, Diagnostics& diagnostics) {
  const std::vector<emit::TensorInterface>& tensors = interface.inputs;
  if (options.size() == 1 && is_archive(options[0])) return read_inputs_of_archive(options[0], interface, diagnostics);
  std::vector<std::optional<Constant>> given(tensors.size());
  for (size_t k = 0; k < options.size(); ++k) {
    std::string file;
    auto at = find_tensor(options[k], k, tensors, "input", file, diagnostics);
    if (!at) continue;
    if (given[*at]) {
      diagnostics.error(DiagnosticId::bad_option, {.file = file},
                        fmt::format("input '{}' is given twice", tensors[*at].name));
      continue;
    }
    given[*at] = read_tensor(file, diagnostics);
    if (given[*at]) fits(*given[*at], interface, *at, {.file = file}, diagnostics);
  }
  if (diagnostics.has_errors()) return std::nullopt;
  std::vector<Constant> values;
  for (size_t k = 0; k < given.size(); ++k) {
    if (given[k])
      values.push_back(*given[k]);
    else
      diagnostics.error(DiagnosticId::bad_data, {}, fmt::format("input '{}' is missing", tensors[k].name), {},
                        fmt::format("--input {}=FILE", tensors[k].name));
  }
  return diagnostics.has_errors() ? std::nullopt : std::optional(std::move(values));
}

// The file of an output; the file of all outputs without `index`.
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
    for (size_t k = 0; k < results.size(); ++k) arrays.push_back({interface.outputs[k].name, results[k]});
    contents.push_back(write_npz(arrays));
  }
  for (size_t k = 0; k < wanted.size(); ++k) files.push_back({wanted[k].file, {contents[k]}});
  return write_files(files, diagnostics);
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
  line.describe("Compiles a model in memory and runs it once.");
  add_compile_options(line, options);
  line.add({"--input", "[NAME=]FILE",
            "File of an input (.npy or .pb), by name or position; may be repeated. FILE.npz: all inputs, by name",
            append_to(inputs)});
  line.add({"--output", "[NAME=]FILE",
            "File of an output (.npy or .pb); may be repeated. FILE.npz: all outputs. Without this option, outputs are "
            "printed",
            append_to(outputs)});
  if (auto status = line.parse()) return *status;

  Diagnostics diagnostics;
  Compiler compiler(options, diagnostics);
  auto planned = compiler.compile();
  if (!planned) return report(diagnostics, line.reporting());
  const emit::Interface& interface = planned->interface;
  auto wanted = find_outputs(outputs, interface, diagnostics);
  auto values = read_inputs(inputs, interface, diagnostics);
  std::set<std::string> read = compiler.files();
  for (const std::string& input : inputs) read.insert(file_of(input));
  std::vector<std::string> written;
  for (const WantedOutput& w : wanted) written.push_back(w.file);
  differ_from_inputs(written, read, diagnostics);
  if (diagnostics.has_errors()) return report(diagnostics, line.reporting());
  auto object = compiler.generate(*planned).bytes();
  auto results = run_once(*planned, object, *values, diagnostics);
  if (!results || is_failure(diagnostics, line.reporting())) return report(diagnostics, line.reporting());
  write_outputs(wanted, interface, *results, diagnostics);
  if (outputs.empty())
    for (size_t k = 0; k < results->size(); ++k) print_tensor(interface.outputs[k].name, (*results)[k]);
  return report(diagnostics, line.reporting());
}

}  // namespace dlcc::driver

// dlcc run MODEL --input NAME=FILE --output NAME=FILE: compiles in memory and runs the object once.
#include <iostream>

#include "driver/commands.h"
#include "driver/options.h"
#include "pipeline/run.h"
#include "pipeline/tensor_files.h"
#include "support/files.h"

namespace dlcc::driver {
namespace {

// The index of the tensor of an option: "NAME=FILE" names it, "FILE" alone is that at `position`. Sets `file`.
std::optional<size_t> find_tensor(const std::string& text, size_t position,
                                  const std::vector<emit::TensorInterface>& tensors, const char* what,
                                  std::string& file, Diagnostics& diagnostics) {
  size_t equals = text.find('=');
  file = equals == std::string::npos ? text : text.substr(equals + 1);
  if (file.empty()) {
    diagnostics.error(DiagnosticId::bad_option, {}, fmt::format("--{} has no file: '{}'", what, text));
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

// Reads the tensors of the --input options, in the model's order. Empty, with a diagnostic for each tensor that is
// missing or has another type or shape.
std::optional<std::vector<Constant>> read_inputs(const std::vector<std::string>& options,
                                                 const std::vector<emit::TensorInterface>& tensors,
                                                 Diagnostics& diagnostics) {
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
    if (given[*at]) fits(*given[*at], tensors[*at], "input", {.file = file}, diagnostics);
  }
  if (diagnostics.any()) return std::nullopt;
  std::vector<Constant> values;
  for (size_t k = 0; k < given.size(); ++k) {
    if (given[k])
      values.push_back(*given[k]);
    else
      diagnostics.error(DiagnosticId::bad_data, {}, fmt::format("input '{}' is missing", tensors[k].name), {},
                        fmt::format("--input {}=FILE", tensors[k].name));
  }
  return diagnostics.any() ? std::nullopt : std::optional(std::move(values));
}

// Prints the type, the shape and the first 16 elements of a result.
void print_tensor(const std::string& tensor, const Constant& c) {
  std::cout << fmt::format("{} {} {}:", tensor, name(c.dtype()), str(shape_of(c.shape())));
  for (int64_t i = 0; i < std::min<int64_t>(c.count(), 16); ++i)
    std::cout << (is_float(c.dtype()) ? fmt::format(" {:g}", c.number_at(i)) : fmt::format(" {}", c.integer_at(i)));
  std::cout << (c.count() > 16 ? " ...\n" : "\n");
}

}  // namespace

int run_command(std::vector<std::string> args) {
  CompileOptions options;
  Reporting reporting;
  std::vector<std::string> inputs, outputs;
  CLI::App app("Compiles a model in memory and runs it once.", "dlcc run");
  add_compile_options(app, options);
  add_reporting_options(app, reporting);
  app.add_option("--input", inputs, "File of an input (.npy or .pb), by name or position")
      ->type_name("[NAME=]FILE")
      ->expected(1)
      ->take_all();
  app.add_option("--output", outputs, "File of an output; without this option, outputs are printed")
      ->type_name("[NAME=]FILE")
      ->expected(1)
      ->take_all();
  if (auto status = parse(app, args)) return *status;

  Diagnostics diagnostics;
  Compiler compiler(options, diagnostics);
  auto planned = compiler.compile();
  if (!planned) return report(diagnostics, reporting);
  const emit::Interface& interface = planned->interface;
  std::vector<std::pair<size_t, std::string>> wanted;  // outputs and their files
  for (size_t k = 0; k < outputs.size(); ++k) {
    std::string file;
    if (auto at = find_tensor(outputs[k], k, interface.outputs, "output", file, diagnostics))
      wanted.emplace_back(*at, file);
  }
  auto values = read_inputs(inputs, interface.inputs, diagnostics);
  if (diagnostics.any()) return report(diagnostics, reporting);
  auto object = compiler.generate(*planned).bytes();
  auto results = run_once(*planned, object, *values, diagnostics);
  if (!results) return report(diagnostics, reporting);
  std::vector<std::vector<std::byte>> contents;
  std::vector<OutputFile> files;
  for (const auto& [at, file] : wanted)
    contents.push_back(tensor_file(file, interface.outputs[at].name, (*results)[at]));
  for (size_t k = 0; k < wanted.size(); ++k) files.push_back({wanted[k].second, {contents[k]}});
  write_files(files, diagnostics);
  if (outputs.empty())
    for (size_t k = 0; k < results->size(); ++k) print_tensor(interface.outputs[k].name, (*results)[k]);
  return report(diagnostics, reporting);
}

}  // namespace dlcc::driver

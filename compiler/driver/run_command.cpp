// dlcc run MODEL --input NAME=FILE --output NAME=FILE: compiles in memory and runs the object once.
#include <iostream>

#include "driver/commands.h"
#include "driver/options.h"
#include "pipeline/run.h"
#include "pipeline/tensor_files.h"

namespace dlcc::driver {
namespace {

// "NAME=FILE" names a tensor; "FILE" alone goes by position.
std::optional<size_t> find_tensor(const std::string& text, size_t position,
                                  const std::vector<emit::TensorInterface>& tensors, const char* what,
                                  std::string& file, Diagnostics& diagnostics) {
  size_t equals = text.find('=');
  file = equals == std::string::npos ? text : text.substr(equals + 1);
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

}  // namespace

int run_command(std::vector<std::string> args) {
  CompileOptions options;
  Reporting reporting;
  std::vector<std::string> inputs, outputs;
  CLI::App app("Compiles a model in memory and runs it once.", "dlcc run");
  add_compile_options(app, options);
  add_reporting_options(app, reporting);
  app.add_option("--input", inputs, "NAME=FILE or FILE (.npy or .pb)")->expected(1)->take_all();
  app.add_option("--output", outputs, "NAME=FILE or FILE (.npy or .pb)")->expected(1)->take_all();
  if (auto status = parse(app, std::move(args))) return *status;

  Diagnostics diagnostics;
  Compiler compiler(options, diagnostics);
  auto planned = compiler.compile();
  if (!planned) return report(diagnostics, reporting);
  const emit::Interface& interface = planned->interface;
  std::vector<std::optional<Constant>> given(interface.inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    std::string file;
    if (auto at = find_tensor(inputs[k], k, interface.inputs, "input", file, diagnostics))
      given[*at] = read_tensor(file, diagnostics);
  }
  std::vector<Constant> values;
  for (size_t k = 0; k < given.size() && !diagnostics.any(); ++k) {
    if (!given[k])
      diagnostics.error(DiagnosticId::bad_data, {}, fmt::format("input '{}' is not given", interface.inputs[k].name),
                        {}, fmt::format("--input {}=FILE", interface.inputs[k].name));
    else
      values.push_back(*given[k]);
  }
  if (diagnostics.any() || !fits(values, interface.inputs, "input", diagnostics)) return report(diagnostics, reporting);
  auto object = compiler.generate(*planned);
  auto results = run_once(*planned, object, values, diagnostics);
  if (!results) return report(diagnostics, reporting);
  for (size_t k = 0; k < outputs.size(); ++k) {
    std::string file;
    if (auto at = find_tensor(outputs[k], k, interface.outputs, "output", file, diagnostics))
      write_tensor(file, interface.outputs[*at].name, (*results)[*at], diagnostics);
  }
  if (outputs.empty())
    for (size_t k = 0; k < results->size(); ++k) {
      const Constant& c = (*results)[k];
      fmt::print("{} {} {}:", interface.outputs[k].name, name(c.dtype()), str(shape_of(c.shape())));
      for (int64_t i = 0; i < std::min<int64_t>(c.count(), 16); ++i)
        is_float(c.dtype()) ? fmt::print(" {:g}", c.number_at(i)) : fmt::print(" {}", c.integer_at(i));
      fmt::print("{}\n", c.count() > 16 ? " ..." : "");
    }
  return report(diagnostics, reporting);
}

}  // namespace dlcc::driver

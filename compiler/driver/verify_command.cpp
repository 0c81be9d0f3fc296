// dlcc verify MODEL DATA_DIR...: compares the outputs of the object, or of an evaluator, with expected ones; with
// --layers, compares every intermediate value of the object with the evaluator.
#include <cmath>
#include <iostream>

#include "driver/commands.h"
#include "driver/options.h"
#include "pipeline/run.h"
#include "pipeline/tensor_files.h"
#include "pipeline/verification.h"
#include "relay/evaluate.h"

namespace dlcc::driver {
namespace {

// Makes the result of every call of a tensor function an output of @main, before its own outputs.
relay::Module with_layers_as_outputs(relay::Module module, std::vector<std::string>& names) {
  relay::Function& main = module.functions.at("main");
  relay::MakeTuple tuple;
  std::vector<relay::Type> types;
  for (const relay::Binding& b : main.body.bindings) {
    if (!std::holds_alternative<relay::CallTensor>(b.op) || !relay::as<relay::TensorType>(b.var->type)) continue;
    tuple.fields.push_back(b.var);
    types.push_back(b.var->type);
    names.push_back(b.location.node.empty() ? "%" + b.var->name : b.location.node);
  }
  relay::Var all = module.fresh("layers", relay::tuple_type(types));
  main.result_type = all->type;
  main.body.bindings.push_back({all, std::move(tuple), {}});
  main.body.result = all;
  module.output_names = names;
  return module;
}

// Compares the results of the layers in order; prints the first that differs.
bool verify_layers(Compiler& compiler, relay::Module fused, const std::vector<Constant>& inputs, const Tolerance& t,
                   Diagnostics& diagnostics) {
  std::vector<std::string> names;
  relay::Module module = with_layers_as_outputs(std::move(fused), names);
  auto expected = relay::evaluate(module, inputs, tensor::Precision::specified, diagnostics);
  auto laid_out = compiler.run_passes(std::move(module), storage_passes());
  auto planned = laid_out ? compiler.plan(*laid_out) : std::nullopt;
  if (!expected || !returned_ok(static_cast<int>(expected->status), diagnostics) || !planned) return false;
  auto object = compiler.generate(*planned).bytes();
  auto got = run_once(*planned, object, inputs, diagnostics);
  if (!got) return false;
  for (size_t k = 0; k < names.size(); ++k) {
    // The error of a reordered sum is relative to the largest value of the layer, not to each value.
    double scale = 0;
    for (int64_t i = 0; i < expected->results[k].count(); ++i)
      if (double v = std::abs(expected->results[k].number_at(i)); std::isfinite(v)) scale = std::max(scale, v);
    Comparison c = compare((*got)[k], expected->results[k], {t.rtol, t.atol + t.rtol * scale});
    if (c.ok) continue;
    std::cout << fmt::format("FAIL {}: {} (largest error {:g})\n", names[k], c.what, c.largest);
    return false;
  }
  std::cout << fmt::format("ok {} layers\n", names.size());
  return true;
}

}  // namespace

int verify_command(std::vector<std::string> args) {
  CompileOptions options;
  Reporting reporting;
  Tolerance tolerance;
  std::vector<std::string> folders;
  std::string engine_name = "object";
  bool layers = false;
  CLI::App app(
      "Compares the outputs of a model with those of data sets; prints 'ok' or 'FAIL' and the largest error of each.",
      "dlcc verify");
  add_compile_options(app, options);
  add_reporting_options(app, reporting);
  app.add_option("data", folders, "Folders with input_K.pb and output_K.pb")->required()->option_text(" ");
  app.add_option("--rtol", tolerance.rtol, fmt::format("Relative tolerance, default {:g}", tolerance.rtol))
      ->check(CLI::NonNegativeNumber)
      ->option_text("X");
  app.add_option("--atol", tolerance.atol, fmt::format("Absolute tolerance, default {:g}", tolerance.atol))
      ->check(CLI::NonNegativeNumber)
      ->option_text("X");
  const char* about_engines =
      "object (default): run the generated code; schedules: evaluate the scheduled kernels; definitions: evaluate the "
      "definitions of the operators";
  CLI::Option* engine_option = app.add_option("--engine", engine_name, about_engines)
                                   ->check(CLI::IsMember({"object", "schedules", "definitions"}))
                                   ->option_text("ENGINE");
  app.add_flag("--layers", layers, "Compare every intermediate value of the object with the evaluator")
      ->excludes(engine_option)
      ->option_text(" ");
  if (auto status = parse(app, args)) return *status;

  Diagnostics diagnostics;
  bind_dimensions(options, folders[0]);
  Compiler compiler(options, diagnostics);
  auto model = prepare_verification(compiler);
  if (!model) return report(diagnostics, reporting);
  const emit::Interface& interface = model->planned.interface;
  Engine engine = layers ? Engine() : make_engine(engine_name, compiler, model->fused, model->planned);
  bool all_ok = true;
  for (const std::string& folder : folders) {
    if (layers) {
      auto data = read_data_set(folder, interface.inputs.size(), interface.outputs.size(), diagnostics);
      bool ok = data && fits(data->inputs, interface.inputs, "input", diagnostics) &&
                verify_layers(compiler, model->fused, data->inputs, tolerance, diagnostics);
      all_ok = all_ok && ok;
      continue;
    }
    double largest;
    std::string failure = verify_data_set(folder, engine, interface, tolerance, largest);
    std::cout << fmt::format("{} {} {:.3g}{}{}\n", failure.empty() ? "ok" : "FAIL", folder, largest,
                             failure.empty() ? "" : " ", failure);
    all_ok = all_ok && failure.empty();
  }
  return report(diagnostics, reporting) == 0 && all_ok ? 0 : 1;
}

}  // namespace dlcc::driver

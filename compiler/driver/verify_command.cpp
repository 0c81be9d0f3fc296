// dlcc verify MODEL DATA_DIR...: compares the outputs of the object, or of an evaluator, with expected ones; with
// --layers, compares every intermediate value of the object with the evaluator.
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "driver/command_compiler.h"
#include "driver/commands.h"
#include "driver/options.h"
#include "driver/runner_options.h"
#include "pipeline/input_forms.h"
#include "pipeline/run.h"
#include "pipeline/tensor_files.h"
#include "pipeline/verification.h"
#include "relay/evaluate.h"

namespace dlcc::driver {
namespace {

// Whether the binding is a layer: it computes a tensor. A branch or a loop is one layer, or one for each of its
// results.
bool is_layer(const relay::Binding& b) {
  bool computes = std::holds_alternative<relay::CallTensor>(b.op) || std::holds_alternative<relay::Call>(b.op) ||
                  std::holds_alternative<relay::If>(b.op) || std::holds_alternative<relay::Project>(b.op);
  return computes && relay::as<relay::TensorType>(b.var->type);
}

// Makes the result of every layer an output of @main, before its own outputs.
relay::Module with_layers_as_outputs(relay::Module module, std::vector<std::string>& names) {
  relay::Function& main = module.functions.at("main");
  relay::MakeTuple tuple;
  std::vector<relay::Type> types;
  for (const relay::Binding& b : main.body.bindings) {
    if (!is_layer(b)) continue;
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
                   ForeignRunner* runner, Diagnostics& diagnostics) {
  std::vector<std::string> names;
  relay::Module module = with_layers_as_outputs(std::move(fused), names);
  auto expected = relay::evaluate(module, inputs, tensor::Precision::specified, diagnostics);
  auto laid_out = compiler.run_passes(std::move(module), storage_passes());
  auto planned = laid_out ? compiler.plan(*laid_out) : std::nullopt;
  if (!expected || !planned) return false;
  if (!returned_ok(static_cast<int>(expected->status), diagnostics, expected->location)) return false;
  auto object = compiler.generate(*planned).bytes();
  auto got = run_once(*planned, object, inputs, runner, diagnostics);
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

// verify_layers() for each data set. Returns the exit status.
int verify_all_layers(Compiler& compiler, const Verifiable& model, const std::vector<std::string>& data_sets,
                      const Tolerance& tolerance, ForeignRunner* runner, const Reporting& reporting,
                      Diagnostics& diagnostics) {
  const emit::Interface& interface = model.interface;
  bool all_ok = true;
  for (const std::string& path : data_sets) {
    auto data = read_data_set(path, interface, model.arguments, diagnostics);
    all_ok &= data && fits(data->inputs, interface, diagnostics) &&
              verify_layers(compiler, model.fused, data->inputs, tolerance, runner, diagnostics);
  }
  return report(diagnostics, reporting) == 0 && all_ok ? 0 : 1;
}

}  // namespace

int verify_command(CommandLine& line) {
  CompileOptions options;
  Tolerance tolerance;
  std::vector<std::string> data_sets;
  std::string engine_name = "object";
  RunnerOptions runner;
  bool layers = false, json = false;
  line.describe(
      "Compares the outputs of a model with those of data sets; prints 'ok' or 'FAIL' and the largest error of each.");
  add_compile_options(line, options);
  add_input_option(line, options);
  line.add(Positional{
      "DATA",
      "Data sets: folders with input_K.pb and output_K.pb (or .npy), or .npz archives with arrays named as the inputs "
      "and outputs",
      append_to(data_sets), true});
  line.add({"--rtol", "X", fmt::format("Relative tolerance, default {:g}", tolerance.rtol),
            store_nonnegative(tolerance.rtol)});
  line.add({"--atol", "X", fmt::format("Absolute tolerance, default {:g}", tolerance.atol),
            store_nonnegative(tolerance.atol)});
  line.add({.name = "--engine",
            .placeholder = "ENGINE",
            .help = "object (default): run the generated code; schedules: evaluate the scheduled kernels; definitions: "
                    "evaluate the definitions of the operators",
            .store = store_text(engine_name),
            .choices = {"object", "schedules", "definitions"}});
  line.add({"--layers", "", "Compare every intermediate value of the object with the evaluator", store_true(layers)});
  runner.add_to(line);
  add_json_option(line, json);
  line.after_values([&]() -> Problem {
    if (runner.is_given() && engine_name != "object")
      return Problem{fmt::format("--runner excludes --engine={}, which runs no object", engine_name)};
    const char* other = line.has("--engine") ? "--engine" : "--json";
    if (layers && line.has(other)) return Problem{fmt::format("--layers excludes {}", other)};
    std::error_code ignored;  // reading the files reports it
    if (std::filesystem::is_directory(options.model, ignored) &&
        std::filesystem::is_regular_file(data_sets.front(), ignored))
      return Problem{
          fmt::format("the model is '{}', a folder", options.model),
          fmt::format("the model comes before its data: dlcc verify {} {}", data_sets.front(), options.model)};
    return Problem{};
  });
  if (auto status = line.parse()) return *status;

  Diagnostics diagnostics;
  options.find_input_form = forms_of_data_set(data_sets.front(), diagnostics);
  CommandCompiler compiler(options, diagnostics);
  const std::vector<std::string> engines = {engine_name};
  auto model = prepare_verification(compiler, engines);
  if (!model) return report(diagnostics, line.reporting());
  const auto foreign = model->planned ? runner.make_runner(model->planned->target) : nullptr;
  if (layers)
    return verify_all_layers(compiler, *model, data_sets, tolerance, foreign.get(), line.reporting(), diagnostics);
  const Engine engine = make_engine(engine_name, compiler, *model, foreign.get());
  nlohmann::json results = nlohmann::json::array();
  size_t failed = 0;
  for (const std::string& path : data_sets) {
    Verdict v = verify_data_set(path, engine, *model, tolerance, diagnostics);
    failed += !v.ok;
    if (json)
      results.push_back({{"data_set", path},
                         {"ok", v.ok},
                         {"largest_error", v.compared ? nlohmann::json(v.largest) : nlohmann::json()},
                         {"what", v.what}});
    else
      std::cout << (v.ok         ? fmt::format("ok {} {:.3g}\n", path, v.largest)
                    : v.compared ? fmt::format("FAIL {} {:.3g} {}\n", path, v.largest, v.what)
                                 : fmt::format("FAIL {} not compared\n", path));
  }
  if (json)
    std::cout << printed({{"engine", engine_name},
                          {"rtol", tolerance.rtol},
                          {"atol", tolerance.atol},
                          {"passed", data_sets.size() - failed},
                          {"failed", failed},
                          {"data_sets", results}});
  return report(diagnostics, line.reporting()) == 0 && failed == 0 ? 0 : 1;
}

}  // namespace dlcc::driver

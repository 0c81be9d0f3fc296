// dlcc verify MODEL DATA_DIR...: compares the model with expected outputs, through the object or through an evaluator;
// with
// --layers it compares every intermediate value of the object with the evaluator.
#include <cmath>
#include <iostream>

#include "driver/commands.h"
#include "driver/options.h"
#include "driver/tensor_files.h"
#include "lower/evaluate.h"
#include "relay/evaluate.h"
#include "targets/llvm/loader.h"

namespace dlcc::driver {
namespace {

struct Tolerance {
  double rtol = 1e-3, atol = 1e-7;
};

// The largest error over the outputs, and whether every element is within atol + rtol * |expected|. Integers and bools
// must be equal; NaN equals NaN, infinities themselves.
struct Comparison {
  bool ok = true;
  double largest = 0;  // |difference|
  std::string what;    // of the first mismatch
};

Comparison compare(const Constant& got, const Constant& expected, const Tolerance& t) {
  Comparison c;
  if (got.dtype() != expected.dtype() || got.shape() != expected.shape()) {
    c.ok = false;
    c.what = fmt::format("{} {} instead of {} {}", name(got.dtype()), str(shape_of(got.shape())),
                         name(expected.dtype()), str(shape_of(expected.shape())));
    return c;
  }
  for (int64_t i = 0; i < got.count(); ++i) {
    bool same;
    double difference = 0;
    if (is_float(got.dtype())) {
      double a = got.number_at(i), b = expected.number_at(i);
      difference = std::abs(a - b);
      same = (std::isnan(a) && std::isnan(b)) || a == b || difference <= t.atol + t.rtol * std::abs(b);
      if (std::isnan(difference) || std::isinf(difference)) difference = same ? 0 : INFINITY;
    } else {
      same = got.integer_at(i) == expected.integer_at(i);
      difference = std::abs(static_cast<double>(got.integer_at(i)) - static_cast<double>(expected.integer_at(i)));
    }
    c.largest = std::max(c.largest, difference);
    if (!same && c.ok) {
      c.ok = false;
      c.what = fmt::format("element {}: {:g} instead of {:g}", i, got.number_at(i), expected.number_at(i));
    }
  }
  return c;
}

// One way to compute a model's outputs.
using Engine = std::function<std::optional<std::vector<Constant>>(const std::vector<Constant>& inputs, Diagnostics&)>;

std::optional<std::vector<Constant>> checked(int status, std::vector<Constant> outputs, Diagnostics& diagnostics) {
  if (status == 0) return outputs;
  diagnostics.error(DiagnosticId::run_failed, {}, fmt::format("the model returned status {}", status));
  return std::nullopt;
}

std::optional<Engine> make_engine(const std::string& kind, Compiler& compiler, const relay::Module& module,
                                  Planned& planned) {
  if (kind == "definitions")
    return [&](const std::vector<Constant>& inputs, Diagnostics& d) -> std::optional<std::vector<Constant>> {
      auto r = relay::evaluate(module, inputs, tensor::Precision::specified, d);
      return r ? checked(static_cast<int>(r->status), std::move(r->results), d) : std::nullopt;
    };
  if (kind == "schedules")
    return [&](const std::vector<Constant>& inputs, Diagnostics& d) -> std::optional<std::vector<Constant>> {
      auto r = lower::evaluate(planned.program, inputs, planned.target.levels.size() - 1);
      for (size_t k = 0; k < r.results.size(); ++k)
        r.results[k] = r.results[k].reshaped(planned.interface.outputs[k].shape);
      return checked(static_cast<int>(r.status), std::move(r.results), d);
    };
  auto object = std::make_shared<std::vector<std::byte>>(compiler.generate(planned));
  return [&, object](const std::vector<Constant>& inputs, Diagnostics& d) -> std::optional<std::vector<Constant>> {
    auto r = targets::run_object({.object = *object, .interface = &planned.interface, .inputs = inputs}, d);
    return r ? checked(r->status, std::move(r->outputs), d) : std::nullopt;
  };
}

// Every tensor function's result becomes an output of @main, in front of its own.
relay::Module with_layers_as_outputs(relay::Module module, std::vector<std::string>& names) {
  relay::Function& main = module.functions.at("main");
  relay::MakeTuple tuple;
  std::vector<relay::Type> types;
  for (const relay::Binding& b : main.body.bindings) {
    if (!std::holds_alternative<relay::CallTensor>(b.op) || !relay::as<relay::TensorType>(b.var->type)) continue;
    tuple.fields.push_back(b.var);
    types.push_back(b.var->type);
    names.push_back(b.place.node.empty() ? "%" + b.var->name : b.place.node);
  }
  relay::Var all = module.fresh("layers", relay::tuple_type(types));
  main.result_type = all->type;
  main.body.bindings.push_back({all, std::move(tuple), {}});
  main.body.result = all;
  module.output_names = names;
  return module;
}

// Compares layer by layer; prints the first node that differs.
bool verify_layers(Compiler& compiler, relay::Module fused, const std::vector<Constant>& inputs, const Tolerance& t,
                   Diagnostics& diagnostics) {
  std::vector<std::string> names;
  relay::Module module = with_layers_as_outputs(std::move(fused), names);
  auto expected = relay::evaluate(module, inputs, tensor::Precision::specified, diagnostics);
  auto laid_out = compiler.run_passes(std::move(module), {"assign-layouts"});
  auto planned = laid_out ? compiler.plan(*laid_out) : std::nullopt;
  if (!expected || !planned) return false;
  auto object = compiler.generate(*planned);
  auto got = targets::run_object({.object = object, .interface = &planned->interface, .inputs = inputs}, diagnostics);
  if (!got) return false;
  for (size_t k = 0; k < names.size(); ++k) {
    // Sums in another order differ relative to the largest value, not to each.
    double scale = 0;
    for (int64_t i = 0; i < expected->results[k].count(); ++i)
      if (double v = std::abs(expected->results[k].number_at(i)); std::isfinite(v)) scale = std::max(scale, v);
    Comparison c = compare(got->outputs[k], expected->results[k], {t.rtol, t.atol + t.rtol * scale});
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
  CLI::App app("Compares a model with data sets: a line for each, 'ok' or 'FAIL' and the largest error.",
               "dlcc verify");
  add_compile_options(app, options);
  add_reporting_options(app, reporting);
  app.add_option("data", folders, "Folders with input_K.pb and output_K.pb")->required();
  app.add_option("--rtol", tolerance.rtol, "Relative tolerance")->capture_default_str();
  app.add_option("--atol", tolerance.atol, "Absolute tolerance")->capture_default_str();
  app.add_option("--engine", engine_name,
                 "What computes: the object, the scheduled kernels or the operators' definitions in the evaluator")
      ->check(CLI::IsMember({"object", "schedules", "definitions"}))
      ->capture_default_str();
  app.add_flag("--layers", layers, "Compare every intermediate value of the object with the evaluator");
  if (auto status = parse(app, std::move(args))) return *status;

  Diagnostics diagnostics;
  Compiler compiler(options, diagnostics);
  auto fused = compiler.import_and_fuse();
  auto module = fused ? compiler.run_passes(*fused, {"assign-layouts"}) : std::nullopt;
  auto planned = module ? compiler.plan(*module) : std::nullopt;
  if (!planned) return report(diagnostics, reporting);
  auto engine = make_engine(engine_name, compiler, *fused, *planned);
  bool all_ok = true;
  for (const std::string& folder : folders) {
    Diagnostics problems;
    const emit::Interface& i = planned->interface;
    auto data = read_data_set(folder, i.inputs.size(), i.outputs.size(), problems);
    std::optional<std::vector<Constant>> got;
    if (data && fits(data->inputs, i.inputs, "input", problems)) {
      if (layers) {
        bool ok = verify_layers(compiler, *fused, data->inputs, tolerance, problems);
        all_ok = all_ok && ok && !problems.any();
        report(problems, reporting);
        continue;
      }
      got = (*engine)(data->inputs, problems);
    }
    std::string failure = got ? "" : "cannot run";
    double largest = 0;
    for (size_t k = 0; got && k < got->size(); ++k) {
      Comparison c = compare((*got)[k], data->outputs[k], tolerance);
      largest = std::max(largest, c.largest);
      if (!c.ok && failure.empty()) failure = fmt::format("{}: {}", i.outputs[k].name, c.what);
    }
    std::cout << fmt::format("{} {} {:.3g}{}{}\n", failure.empty() ? "ok" : "FAIL", folder, largest,
                             failure.empty() ? "" : " ", failure);
    all_ok = all_ok && failure.empty();
    report(problems, reporting);
  }
  return all_ok && report(diagnostics, reporting) == 0 ? 0 : 1;
}

}  // namespace dlcc::driver

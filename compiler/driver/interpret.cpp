#include "driver/interpret.h"

#include <algorithm>
#include <iostream>

#include "driver/run_inputs.h"
#include "frontends/frontend.h"
#include "pipeline/run.h"
#include "pipeline/tensor_files.h"
#include "relay/interpret.h"

namespace dlcc::driver {

using namespace relay;

namespace {

// The arguments of @main, and the modules that their values refer to.
struct Arguments {
  std::vector<Value> values;
  std::vector<std::unique_ptr<Module>> modules;
};

// The value of an expression of a type of the model.
std::optional<Value> value_of(const std::string& text, const Module& model, const Type& type, Arguments& arguments,
                              const std::string& name, Diagnostics& diagnostics) {
  Module types;
  types.data_types = model.data_types;
  const std::string before = fmt::format("{}def @main() -> {} {{\n", print(types), str(type));
  const auto lines_before = static_cast<int>(std::ranges::count(before, '\n'));
  const std::string file = "--input " + name;
  Diagnostics problems;
  auto module = frontends::import_relay(fmt::format("{}{}\n}}\n", before, text), {.file = file}, problems);
  for (Diagnostic problem : problems.list()) {
    problem.location.line = std::max(problem.location.line - lines_before, 0);
    if (problem.location.line == 0) problem.source_line.clear();
    // Another place of the program says what the value as a whole must be: it is the program's result.
    if (std::erase_if(problem.details, [&](const std::string& d) { return d.starts_with(file); }) > 0) {
      problem.message = fmt::format("the value must be of type {}", str(type));
      problem.help = "give an expression of this type, or a tensor as a file: FILE.npy or FILE.pb";
    }
    diagnostics.add(std::move(problem));
  }
  if (!module) return std::nullopt;
  arguments.modules.push_back(std::make_unique<Module>(std::move(*module)));
  auto run = interpret(*arguments.modules.back(), {}, tensor::Precision::specified, diagnostics);
  if (!run || !returned_ok(static_cast<int>(run->status), diagnostics, run->location)) return std::nullopt;
  return run->value;
}

bool is_file(const std::string& text) { return text.ends_with(".npy") || text.ends_with(".pb"); }

// The tensor of a file as the value of a parameter.
std::optional<Value> value_of(const Constant& tensor, const std::string& file, const Var& param,
                              Diagnostics& diagnostics) {
  const TensorType* type = as<TensorType>(param->type);
  ActualSizes sizes;
  if (type && type->dtype == tensor.dtype() && sizes.match(*type, tensor.shape())) return tensor_value(tensor);
  diagnostics.error(DiagnosticId::bad_data, {.file = file},
                    fmt::format("%{} is {}, the file has {}", param->name, str(param->type),
                                str(tensor_type(tensor.shape(), tensor.dtype()))));
  return std::nullopt;
}

std::optional<Value> read_value(const std::string& text, const Module& model, const Var& param, Arguments& arguments,
                                Diagnostics& diagnostics) {
  if (!is_file(text)) return value_of(text, model, param->type, arguments, param->name, diagnostics);
  const auto tensor = read_tensor(text, diagnostics);
  return tensor ? value_of(*tensor, text, param, diagnostics) : std::nullopt;
}

// All arguments from an archive of arrays with the names of the parameters.
std::optional<Arguments> arguments_of_archive(const std::string& file, const std::vector<Var>& params,
                                              Diagnostics& diagnostics) {
  std::vector<emit::TensorInterface> names;
  for (const Var& p : params) names.push_back({.name = p->name, .identifier = p->name});
  const auto tensors = read_archive(file, names, "input", diagnostics);
  Arguments arguments;
  for (size_t k = 0; tensors && k < params.size(); ++k)
    if (auto value = value_of((*tensors)[k], file, params[k], diagnostics))
      arguments.values.push_back(std::move(*value));
  return diagnostics.has_errors() ? std::nullopt : std::optional(std::move(arguments));
}

std::optional<Arguments> read_arguments(const std::vector<std::string>& inputs, const Module& model,
                                        Diagnostics& diagnostics) {
  const std::vector<Var>& params = model.functions.at("main").params;
  if (inputs.size() == 1 && is_archive(inputs[0])) return arguments_of_archive(inputs[0], params, diagnostics);
  std::vector<std::optional<std::string>> texts(params.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    const size_t equals = inputs[k].find('=');
    const std::string name = inputs[k].substr(0, equals == std::string::npos ? 0 : equals);
    const auto named = std::ranges::find(params, name, [](const Var& p) { return p->name; });
    const size_t at = named != params.end() ? static_cast<size_t>(named - params.begin()) : k;
    if (at < params.size() && !texts[at])
      texts[at] = named != params.end() ? inputs[k].substr(equals + 1) : inputs[k];
    else
      diagnostics.error(DiagnosticId::bad_data, {}, fmt::format("there is no parameter for --input {}", inputs[k]));
  }
  Arguments arguments;
  for (size_t k = 0; k < params.size() && !diagnostics.has_errors(); ++k) {
    if (!texts[k])
      diagnostics.error(DiagnosticId::bad_data, {}, fmt::format("--input {}=VALUE is missing", params[k]->name));
    else if (auto value = read_value(*texts[k], model, params[k], arguments, diagnostics))
      arguments.values.push_back(std::move(*value));
  }
  return diagnostics.has_errors() ? std::nullopt : std::optional(std::move(arguments));
}

}  // namespace

bool interpret_and_print(Compiler& compiler, const std::vector<std::string>& inputs, int64_t max_steps,
                         Diagnostics& diagnostics) {
  const auto module = compiler.import();
  if (!module) return false;
  if (!module->functions.contains("main")) {
    diagnostics.error(DiagnosticId::undefined_value, {}, "the module has no function @main");
    return false;
  }
  const auto arguments = read_arguments(inputs, *module, diagnostics);
  if (!arguments) return false;
  const auto run = interpret(*module, arguments->values, tensor::Precision::specified, diagnostics, max_steps);
  if (!run || !returned_ok(static_cast<int>(run->status), diagnostics, run->location)) return false;
  std::cout << str(run->value) << "\n";
  return true;
}

}  // namespace dlcc::driver

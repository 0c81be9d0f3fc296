// import_onnx: reads the model and imports its main graph as the function @main.
#include "frontends/onnx/importer.h"

#include <algorithm>
#include <set>

#include "frontends/onnx/tensor_decode.h"
#include "support/similar_names.h"

namespace dlcc::frontends {
namespace onnx {

std::optional<relay::Module> Importer::run() {
  schema::GraphProto& graph = *model_.proto->mutable_graph();
  Scope scope;
  scope.add_initializers(graph, diagnostics_, options_.file);
  scope.add_declarations(graph);
  relay::Function main;
  builder_.open();
  add_inputs(scope, main.params);
  check_dim_names();
  module_.dims = types_.dims();
  Body body{model_.opsets, nullptr, ""};
  import_nodes(graph.node(), scope, body);
  Values results = outputs_of_main(scope);
  if (diagnostics_.has_errors()) return std::nullopt;
  warn_of_unused_inputs();
  main.body = builder_.close(results, {.file = options_.file});
  main.location = {.file = options_.file};
  module_.functions.emplace("main", std::move(main));
  if (!relay::infer_types(module_, diagnostics_)) return std::nullopt;
  return std::move(module_);
}

void Importer::add_inputs(Scope& scope, std::vector<relay::Var>& params) {
  std::set<std::string> seen;
  for (const schema::ValueInfoProto& input : model_.proto->graph().input()) {
    SourceLocation location{.file = options_.file, .node = fmt::format("input '{}'", input.name())};
    if (!seen.insert(input.name()).second) {
      diagnostics_.error(DiagnosticId::duplicate_definition, location, "another input has this name");
      continue;
    }
    if (scope.initializers.contains(input.name())) continue;  // it has a value
    auto type = types_.of_input(input, location);
    if (!type) {
      scope.values[input.name()] = Value::poison();
      continue;
    }
    relay::Var param = builder_.parameter(input.name(), *type);
    params.push_back(param);
    module_.input_names.push_back(input.name());
    scope.values[input.name()] = {param, *type};
  }
}

void Importer::check_dim_names() {
  const std::vector<std::string>& names = types_.names();
  for (const auto& [name, range] : options_.dims) {
    if (std::ranges::count(names, name) > 0) continue;
    diagnostics_.error(DiagnosticId::undefined_value, {.file = options_.file},
                       fmt::format("--dim {}={}: no input has a dimension of this name", name, range.str()), {},
                       names.empty() ? "all dimensions of the inputs have fixed sizes" : suggest_names(name, names));
  }
}

Values Importer::outputs_of_main(Scope& scope) {
  Values results;
  const auto& outputs = model_.proto->graph().output();
  if (outputs.empty())
    diagnostics_.error(DiagnosticId::malformed_model, {.file = options_.file}, "the graph has no outputs");
  for (const schema::ValueInfoProto& output : outputs) {
    auto value = lookup(output.name(), scope);
    if (!value) {
      diagnostics_.error(DiagnosticId::undefined_value,
                         {.file = options_.file, .node = fmt::format("output '{}'", output.name())},
                         "nothing produces this output");
      value = Value::poison();
    }
    if (!value->poisoned) check_output(output, *value);
    results.push_back(*value);
    module_.output_names.push_back(output.name());
  }
  return results;
}

// A size that is not a number may have any value.
static bool can_be_equal(const Shape& a, const Shape& b) {
  return std::ranges::equal(a, b,
                            [](const Dim& m, const Dim& n) { return m == n || !m.is_constant() || !n.is_constant(); });
}

// Checks the declared element type. The declared shape is not followed: exporters often write wrong ones.
void Importer::check_output(const schema::ValueInfoProto& output, const Value& value) {
  const SourceLocation location{.file = options_.file, .node = fmt::format("output '{}'", output.name())};
  const Declaration declared = types_.of_value(output.type());
  if (declared.dtype && *declared.dtype != value.type.dtype)
    diagnostics_.error(DiagnosticId::type_mismatch, location,
                       fmt::format("declared as {}, but computed as {}", name(*declared.dtype), describe(value.type)));
  else if (declared.shape && !can_be_equal(*declared.shape, value.type.shape))
    diagnostics_.warning(DiagnosticId::declared_shape, location,
                         fmt::format("declared as {}, but computed as {}",
                                     describe({*declared.shape, value.type.dtype}), describe(value.type)),
                         {}, "the compiled model has the computed shape; correct the declaration if that is right");
}

void Importer::warn_of_unused_inputs() {
  const schema::GraphProto& graph = model_.proto->graph();
  std::set<std::string> used = names_used(graph.node());
  for (const schema::ValueInfoProto& output : graph.output()) used.insert(output.name());
  for (const std::string& name : module_.input_names)
    if (!used.contains(name))
      diagnostics_.warning(DiagnosticId::unused_input, {.file = options_.file, .node = fmt::format("input '{}'", name)},
                           "nothing uses this input", {},
                           "the compiled model has it as an argument; remove it from the model if it is not needed");
}

}  // namespace onnx

std::optional<relay::Module> import_onnx(std::span<const std::byte> bytes, const ImportOptions& options,
                                         Diagnostics& diagnostics) {
  auto model = onnx::read_model(bytes, options.file, diagnostics);
  if (!model) return std::nullopt;
  return onnx::Importer(*model, options, diagnostics).run();
}

}  // namespace dlcc::frontends

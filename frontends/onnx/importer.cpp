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
  check_intermediate_values(scope);
  main.body = builder_.close(results, {.file = options_.file});
  main.location = {.file = options_.file};
  module_.functions.emplace("main", std::move(main));
  if (!relay::infer_types(module_, diagnostics_)) return std::nullopt;
  return std::move(module_);
}

void Importer::check_dim_names() {
  const std::vector<std::string>& names = types_.names();
  for (const auto& [name, range] : options_.dims) {
    if (std::ranges::count(names, name) > 0) continue;
    diagnostics_.error(DiagnosticId::undefined_value, {.file = options_.file},
                       fmt::format("--dim {}={}: no input has a dimension of this name", name, range.str()), {},
                       names.empty() ? "all sizes of the inputs are fixed; export the model with named dimensions "
                                       "(torch.onnx.export: dynamic_axes)"
                                     : suggest_names(name, names));
  }
}

void Importer::warn_of_unused_inputs() {
  const schema::GraphProto& graph = model_.proto->graph();
  std::set<std::string> used = names_used(graph.node());
  for (const schema::ValueInfoProto& output : graph.output()) used.insert(output.name());
  for (const Argument& argument : arguments_)
    if (!used.contains(argument.name))
      diagnostics_.warning(DiagnosticId::unused_input,
                           {.file = options_.file, .node = fmt::format("input '{}'", argument.name)},
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

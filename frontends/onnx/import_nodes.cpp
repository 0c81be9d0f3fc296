// Imports nodes in evaluation order: operators are converted by the operator table, and subgraphs become blocks.
#include <algorithm>

#include "frontends/onnx/finite_weights.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/structure.h"
#include "support/similar_names.h"

namespace dlcc::frontends::onnx {

// ---- names --------------------------------------------------------------------------------------------------------

SourceLocation Importer::location_of(const schema::NodeProto& node, const Body& body) const {
  const std::string* name = &node.name();
  for (int k = 0; name->empty() && k < node.output_size(); ++k) name = &node.output(k);
  std::string domain = canonical_domain(node.domain());
  std::string op = domain.empty() ? node.op_type() : domain + "." + node.op_type();
  return {.file = options_.file, .node = fmt::format("{}node '{}' ({})", body.path, *name, op)};
}

// The value of a name, or empty if no scope has it. Decodes an initializer at its first use.
std::optional<Value> Importer::lookup(const std::string& name, Scope& innermost) {
  for (Scope* scope = &innermost; scope; scope = scope->outer) {
    auto known = scope->values.find(name);
    if (known != scope->values.end()) return known->second;
    auto initializer = scope->initializers.find(name);
    if (initializer == scope->initializers.end()) continue;
    if (auto strings = initializer->second.strings()) return scope->values[name] = *strings;
    auto constant = initializer->second.decode(model_.proto, files_, options_.file, diagnostics_);
    if (constant)
      warn_if_not_finite(*constant, {.file = options_.file, .node = fmt::format("initializer '{}'", name)},
                         diagnostics_);
    return scope->values[name] = constant ? Value::of(*constant) : Value::poison();
  }
  return std::nullopt;
}

std::string Importer::remedy_for_name(const std::string& name, const Scope& scope, const char* otherwise) const {
  constexpr size_t most_suggestions = 100;  // more errors than anyone reads
  const std::string meant = diagnostics_.error_count() < most_suggestions ? did_you_mean(name, scope.names()) : "";
  return meant.empty() ? otherwise : meant;
}

// ---- nodes --------------------------------------------------------------------------------------------------------

void Importer::import_nodes(const NodeList& nodes, Scope& scope, const Body& body) {
  scope.nodes = &nodes;
  scope.path = body.path;
  NodeOrder order = evaluation_order(nodes);
  if (!order.cycle.empty()) {
    std::vector<std::string> cycle;
    for (int k : order.cycle) cycle.push_back("needs the result of " + location_of(nodes[k], body).node);
    std::rotate(cycle.begin(), cycle.begin() + 1, cycle.end());
    diagnostics_.error(DiagnosticId::cyclic_graph, location_of(nodes[order.cycle[0]], body),
                       "the node depends on itself", cycle,
                       "an input of one of these nodes has a wrong name; loops over time are Loop or Scan nodes");
  }
  for (int k : order.stuck)
    for (const std::string& name : nodes[k].output())
      if (!name.empty()) scope.values.emplace(name, Value::poison());
  scope.propagate_declarations(nodes, [&](const schema::NodeProto& node) {
    auto version = body.opsets.find("");
    bool known = canonical_domain(node.domain()).empty() && version != body.opsets.end();
    const Row* row = known ? operator_table().find(node.op_type(), version->second) : nullptr;
    return row && row->keeps_shape;
  });
  for (int k : order.sorted) import_node(nodes[k], scope, body);
}

void Importer::import_node(const schema::NodeProto& node, Scope& scope, const Body& body) {
  SourceLocation location = location_of(node, body);
  auto function = model_.functions.find(function_key(node));
  if (function != model_.functions.end())
    call_function(*function->second, node, scope, body, location);
  else
    convert(node, scope, body, location);
}

// Fills `inputs`; omitted optional inputs are empty, undefined ones are reported and poisoned. False if one is
// poisoned.
bool Importer::inputs_of(const schema::NodeProto& node, Scope& scope, const SourceLocation& location,
                         std::vector<std::optional<Value>>& inputs) {
  bool usable = true;
  for (const std::string& name : node.input()) {
    auto& input = inputs.emplace_back();
    if (name.empty() || scope.is_left_out(name)) continue;
    input = lookup(name, scope);
    if (!input) {
      const schema::GraphProto& graph = model_.proto->graph();
      const bool has_weights = graph.initializer_size() + graph.sparse_initializer_size() > 0;
      diagnostics_.error(
          DiagnosticId::undefined_value, location, fmt::format("nothing defines its input '{}'", name), {},
          remedy_for_name(name, scope,
                          has_weights ? nothing_produces
                                      : "the model has no initializers: if this is a weight, export it with weights"));
      input = Value::poison();
    }
    usable = usable && !input->poisoned;
  }
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  return usable;
}

// The node's attributes, with references to the enclosing function's attributes resolved.
AttributeMap Importer::attributes_of(const schema::NodeProto& node, const Body& body, const SourceLocation& location) {
  AttributeMap map;
  for (const schema::AttributeProto& a : node.attribute()) {
    const schema::AttributeProto* value = &a;
    if (!a.ref_attr_name().empty()) {
      auto given = body.attributes ? body.attributes->find(a.ref_attr_name()) : AttributeMap::const_iterator();
      if (!body.attributes) {
        diagnostics_.error(
            DiagnosticId::bad_attribute, location,
            fmt::format("attribute '{}' refers to a function's attribute outside of any function", a.name()));
        continue;
      }
      if (given == body.attributes->end()) continue;  // the call omits it: the default applies
      value = given->second;
    }
    if (!map.emplace(a.name(), value).second)
      diagnostics_.error(DiagnosticId::duplicate_definition, location,
                         fmt::format("attribute '{}' is given twice", a.name()));
  }
  return map;
}

// The shapes that the model declares for the outputs of a node, at least one.
std::vector<std::optional<Shape>> Importer::declared_shapes(const schema::NodeProto& node, Scope& scope) const {
  std::vector<std::optional<Shape>> shapes;
  for (const std::string& name : node.output()) shapes.push_back(types_.declared_shape(scope, name));
  if (shapes.empty()) shapes.emplace_back();
  return shapes;
}

void Importer::convert(const schema::NodeProto& node, Scope& scope, const Body& body, const SourceLocation& location) {
  int64_t opset = 0;
  std::vector<std::optional<Value>> inputs;
  const Row* row = find_row(node, body, location, opset);
  bool usable = inputs_of(node, scope, location, inputs);
  if (!row) return bind_declared_outputs(node, scope, location);
  for (size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k]) inputs[k]->role = input_name(*row, static_cast<int>(k));

  Node n({.proto = node,
          .row = *row,
          .opset = opset,
          .location = location,
          .inputs = std::move(inputs),
          .attributes = attributes_of(node, body, location),
          .builder = builder_,
          .diagnostics = diagnostics_,
          .files = files_,
          .owner = model_.proto,
          .declared_shapes = declared_shapes(node, scope),
          .random_sequences = random_sequences_,
          .bounds = options_.bounds,
          .bounded_loops = bounded_loops_,
          .find_value = [&](const std::string& name) { return scope.find(name); },
          .import_branch = [&](const schema::GraphProto& g) { return import_branch(g, scope, body, location); },
          .import_inline =
              [&](const schema::GraphProto& g, const Values& given) {
                auto results = import_subgraph(g, given, scope, body, location);
                const bool tensors = !results || row->structures || std::ranges::none_of(*results, [](const Value& v) {
                  return v.structure != nullptr;
                });
                if (!tensors)
                  diagnostics_.error(DiagnosticId::unsupported_type, location, "its body must compute tensors");
                return tensors ? results : std::nullopt;
              },
          .import_again =
              [&](const std::string& name, const std::map<std::string, Value>& given) {
                return import_again(name, given, scope, body, location);
              }});
  check_counts(n, *row);
  check_structures(n, *row);
  int first_id = module_.next_id, first_symbol = builder_.next_symbol();
  if (n.failed() || !usable) return bind_declared_outputs(node, scope, location);
  warn_of_later_types(n, *row);
  // A node that is imported once more has the same random numbers.
  const int64_t sequences = random_sequences_;
  std::vector<const schema::NodeProto*> calls = body.calls;
  calls.push_back(&node);
  if (const auto known = sequences_of_.find(calls); again_ > 0 && known != sequences_of_.end())
    random_sequences_ = known->second;
  const int64_t first_sequence = random_sequences_;
  Values results = row->convert(n);
  if (random_sequences_ != first_sequence) sequences_of_[calls] = first_sequence;
  random_sequences_ = std::max(random_sequences_, sequences);
  if (!n.failed()) n.reject_unused_attributes();
  if (!n.failed()) check_results(n, results);
  if (n.failed()) return bind_declared_outputs(node, scope, location);
  if (!results.empty() && !results[0].structure) warn_of_later_type(n, *row, 0, "its result", results[0].type.dtype);
  results.resize(std::min(results.size(), static_cast<size_t>(node.output_size())));
  if (node.input().empty())
    for (const Value& value : results)
      if (const Constant* constant = value.constant()) warn_if_not_finite(*constant, location, diagnostics_);
  for (size_t k = 0; k < results.size(); ++k)
    if (auto declared = types_.declared_shape(scope, node.output(static_cast<int>(k)));
        declared && !results[k].structure)
      results[k] = builder_.with_declared_sizes(results[k], *declared, first_symbol, location);
  for (int k = 0; k < static_cast<int>(results.size()); ++k)
    if (auto* var = std::get_if<relay::Var>(&results[k].atom); var && n.wants(k) && (*var)->id >= first_id)
      (*var)->name = variable_name(node.output(k));
  bind_outputs(node, scope, results, location);
}

// Reports a named output without a result. A result is poisoned if an error was reported before.
void Importer::check_results(Node& n, const Values& results) const {
  for (int k = 0; k < n.output_count(); ++k) {
    const bool computed = k < static_cast<int>(results.size()) && !results[static_cast<size_t>(k)].poisoned;
    if (n.wants(k) && !computed && !diagnostics_.has_errors())
      n.fail(DiagnosticId::unsupported_attribute,
             fmt::format("its output '{}' is not computed", n.context().proto.output(k)),
             "if nothing needs the output, remove its name from the node");
  }
}

// Binds the outputs to the results; outputs without a result are poisoned.
void Importer::bind_outputs(const schema::NodeProto& node, Scope& scope, const Values& results,
                            const SourceLocation& location) {
  for (int k = 0; k < node.output_size(); ++k) {
    const std::string& name = node.output(k);
    if (name.empty() || scope.given.contains(name)) continue;
    Value value = k < static_cast<int>(results.size()) ? results[k] : Value::poison();
    const bool is_initializer = scope.initializers.contains(name);
    if (is_initializer || !scope.values.emplace(name, value).second)
      diagnostics_.error(
          DiagnosticId::duplicate_definition, location,
          fmt::format("{} has the name of its output '{}'", is_initializer ? "an initializer" : "another value", name),
          {}, "give each input, initializer and output of a node a name of its own");
  }
}

// Binds the outputs of a rejected node to values of the types that the model declares for them, so that the nodes
// that depend on it are checked, too. Outputs without a declared element type and static shape are poisoned.
void Importer::bind_declared_outputs(const schema::NodeProto& node, Scope& scope, const SourceLocation& location) {
  Values values;
  for (const std::string& name : node.output()) {
    auto declared = scope.declared.find(name);
    Declaration type = declared == scope.declared.end() ? Declaration() : types_.of_value(*declared->second);
    Value value = Value::poison();
    if (type.dtype && type.shape && is_static(*type.shape)) {
      relay::TensorType tensor{*type.shape, *type.dtype};
      value = {builder_.parameter(name, tensor), tensor};
    }
    values.push_back(std::move(value));
  }
  bind_outputs(node, scope, values, location);
}

// ---- subgraphs ----------------------------------------------------------------------------------------------------

std::optional<Values> Importer::import_subgraph(const schema::GraphProto& graph, const Values& inputs, Scope& outer,
                                                const Body& body, const SourceLocation& location) {
  Scope scope;
  scope.outer = &outer;
  for (int k = 0; k < std::min<int>(graph.input_size(), static_cast<int>(inputs.size())); ++k)
    scope.values.insert_or_assign(graph.input(k).name(), inputs[static_cast<size_t>(k)]);
  scope.add_initializers(graph, diagnostics_, options_.file);
  scope.add_declarations(graph);
  Body inner{body.opsets, body.attributes, location.node + ": ", body.calls};
  import_nodes(graph.node(), scope, inner);
  Values results;
  bool complete = true;
  for (const schema::ValueInfoProto& output : graph.output()) {
    auto value = lookup(output.name(), scope);
    if (!value)
      diagnostics_.error(DiagnosticId::undefined_value, location,
                         fmt::format("nothing produces the subgraph's output '{}'", output.name()), {},
                         remedy_for_name(output.name(), scope, nothing_produces));
    complete = complete && value && !value->poisoned;
    if (complete) results.push_back(*value);
  }
  return complete ? std::optional(results) : std::nullopt;
}

std::optional<Branch> Importer::import_branch(const schema::GraphProto& graph, Scope& outer, const Body& body,
                                              const SourceLocation& location) {
  builder_.open();
  auto results = import_subgraph(graph, {}, outer, body, location);
  if (!results) {
    builder_.discard();
    return std::nullopt;
  }
  return Branch{builder_.close(tensors_in(*results), location), *results};
}

}  // namespace dlcc::frontends::onnx

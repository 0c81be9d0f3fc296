// import_onnx: walks the graph in evaluation order and converts node by node. Problems are reported and poison what
// depends on them, so that one walk finds all of them.
#include <algorithm>
#include <set>

#include "frontends/frontend.h"
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/order.h"
#include "frontends/onnx/reader.h"
#include "frontends/onnx/scope.h"
#include "frontends/onnx/tensor_decode.h"

namespace dlcc::frontends {
namespace onnx {
namespace {

using AttributeMap = std::map<std::string, const schema::AttributeProto*>;

constexpr int deepest_call = 100;         // functions that call functions
constexpr int64_t most_inlined = 200000;  // nodes of functions, each counted as often as it is inlined

// The context in which the nodes of a graph or of a function's body stand.
struct Body {
  const Opsets& opsets;
  const AttributeMap* attributes = nullptr;  // those of the function's call
  std::string path;                          // of the calls that lead here, for messages
};

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options, Diagnostics& diagnostics)
      : model_(model),
        options_(options),
        diagnostics_(diagnostics),
        files_(options.folder, options.files_read),
        builder_(module_),
        types_(options.dims, options.file, diagnostics) {}

  std::optional<relay::Module> run();

 private:
  void add_inputs(Scope&, std::vector<relay::Var>& params);
  void check_dim_names();
  Values outputs_of_main(Scope&);
  void check_output(const schema::ValueInfoProto&, const Value&);

  void import_nodes(const NodeList&, Scope&, const Body&);
  void import_node(const schema::NodeProto&, Scope&, const Body&);
  void convert(const schema::NodeProto&, Scope&, const Body&, const SourceLocation&);
  const Row* find_row(const schema::NodeProto&, const Body&, const SourceLocation&, int64_t& opset);
  bool inputs_of(const schema::NodeProto&, Scope&, const SourceLocation&, std::vector<std::optional<Value>>&);
  AttributeMap attributes_of(const schema::NodeProto&, const Body&, const SourceLocation&);
  void bind_outputs(const schema::NodeProto&, Scope&, const Values&, const SourceLocation&);
  void poison_outputs(const schema::NodeProto& node, Scope& scope, const SourceLocation& location) {
    bind_outputs(node, scope, {}, location);
  }

  void call_function(const schema::FunctionProto&, const schema::NodeProto&, Scope&, const Body&,
                     const SourceLocation&);
  std::optional<Values> import_subgraph(const schema::GraphProto&, Scope& outer, const Body&, const SourceLocation&);
  std::optional<Branch> import_branch(const schema::GraphProto&, Scope& outer, const Body&, const SourceLocation&);

  SourceLocation location_of(const schema::NodeProto&, const Body&) const;
  std::optional<Value> lookup(const std::string& name, Scope&);

  const Model& model_;
  const ImportOptions& options_;
  Diagnostics& diagnostics_;
  ExternalFiles files_;
  relay::Module module_;
  BlockBuilder builder_;
  DeclaredTypes types_;
  std::vector<const schema::FunctionProto*> calls_;  // functions being inlined
  int64_t inlined_ = 0;
};

// ---- names --------------------------------------------------------------------------------------------------------

SourceLocation Importer::location_of(const schema::NodeProto& node, const Body& body) const {
  const std::string* name = &node.name();
  for (int k = 0; name->empty() && k < node.output_size(); ++k) name = &node.output(k);
  std::string domain = canonical_domain(node.domain());
  std::string op = domain.empty() ? node.op_type() : domain + "." + node.op_type();
  return {.file = options_.file, .node = fmt::format("{}node '{}' ({})", body.path, *name, op)};
}

// The value of a name, or empty if no scope has it. Initialisers are decoded when they are first used.
std::optional<Value> Importer::lookup(const std::string& name, Scope& innermost) {
  for (Scope* scope = &innermost; scope; scope = scope->outer) {
    auto known = scope->values.find(name);
    if (known != scope->values.end()) return known->second;
    auto initializer = scope->initializers.find(name);
    if (initializer == scope->initializers.end()) continue;
    auto constant = initializer->second.decode(model_.proto, files_, options_.file, diagnostics_);
    return scope->values[name] = constant ? Value::of(*constant) : Value::poison();
  }
  return std::nullopt;
}

// ---- the main function --------------------------------------------------------------------------------------------

std::optional<relay::Module> Importer::run() {
  schema::GraphProto& graph = *model_.proto->mutable_graph();
  Scope scope;
  scope.add_initializers(graph, diagnostics_, options_.file);
  scope.add_declarations(graph);
  relay::Function main;
  builder_.open();
  add_inputs(scope, main.params);
  check_dim_names();
  Body body{model_.opsets, nullptr, ""};
  import_nodes(graph.node(), scope, body);
  Values results = outputs_of_main(scope);
  if (diagnostics_.any()) return std::nullopt;
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
    if (scope.initializers.contains(input.name())) continue;  // a constant
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
  for (const auto& [name, value] : options_.dims) {
    if (!types_.names().contains(name))
      diagnostics_.error(DiagnosticId::undefined_value, {.file = options_.file},
                         fmt::format("--dim {}={}: no input has a dimension of this name", name, value), {},
                         types_.names().empty() ? "all dimensions of the inputs have fixed sizes"
                                                : fmt::format("there are: {}", fmt::join(types_.names(), ", ")));
    if (value < 0)
      diagnostics_.error(DiagnosticId::bad_attribute, {.file = options_.file},
                         fmt::format("--dim {}={}: a size cannot be negative", name, value));
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

// A declared shape is only advice: exporters often leave one that does not fit. The element type must be right.
void Importer::check_output(const schema::ValueInfoProto& output, const Value& value) {
  auto declared = types_.of_value(output.type()).dtype;
  if (declared && *declared != value.type.dtype)
    diagnostics_.error(DiagnosticId::type_mismatch,
                       {.file = options_.file, .node = fmt::format("output '{}'", output.name())},
                       fmt::format("declared as {}, but computed as {}", name(*declared), describe(value.type)));
}

// ---- nodes --------------------------------------------------------------------------------------------------------

void Importer::import_nodes(const NodeList& nodes, Scope& scope, const Body& body) {
  NodeOrder order = evaluation_order(nodes);
  if (!order.circle.empty()) {
    std::vector<std::string> circle;
    for (int k : order.circle) circle.push_back("needs the result of " + location_of(nodes[k], body).node);
    std::rotate(circle.begin(), circle.begin() + 1, circle.end());
    diagnostics_.error(DiagnosticId::cyclic_graph, location_of(nodes[order.circle[0]], body),
                       "the node depends on itself", circle);
  }
  for (int k : order.stuck)
    for (const std::string& name : nodes[k].output())
      if (!name.empty()) scope.values.emplace(name, Value::poison());
  scope.spread_declarations(nodes, [&](const schema::NodeProto& node) {
    auto version = body.opsets.find("");
    bool known = canonical_domain(node.domain()).empty() && version != body.opsets.end();
    const Row* row = known ? operator_table().find(node.op_type(), version->second) : nullptr;
    return row && row->keeps_shape;
  });
  for (int k : order.sorted) import_node(nodes[k], scope, body);
}

void Importer::import_node(const schema::NodeProto& node, Scope& scope, const Body& body) {
  SourceLocation location = location_of(node, body);
  FunctionKey key(canonical_domain(node.domain()), node.op_type(), node.overload());
  auto function = model_.functions.find(key);
  if (function != model_.functions.end())
    call_function(*function->second, node, scope, body, location);
  else
    convert(node, scope, body, location);
}

const Row* Importer::find_row(const schema::NodeProto& node, const Body& body, const SourceLocation& location,
                              int64_t& opset) {
  std::string domain = canonical_domain(node.domain());
  auto version = body.opsets.find(domain);
  if (version == body.opsets.end()) {
    diagnostics_.error(DiagnosticId::unsupported_opset, location,
                       domain.empty() ? "the model does not say which operator set it uses"
                                      : fmt::format("the model does not import domain '{}'", domain));
    return nullptr;
  }
  opset = version->second;
  const Row* row = domain.empty() ? operator_table().find(node.op_type(), opset) : nullptr;
  if (row) return row;
  auto first = domain.empty() ? operator_table().first_version(node.op_type()) : std::nullopt;
  std::string name = domain.empty() ? node.op_type() : domain + "." + node.op_type();
  if (first)
    diagnostics_.error(DiagnosticId::unsupported_operator, location,
                       fmt::format("operator {} does not exist in operator set {}", name, opset), {},
                       fmt::format("operator sets from {} have it", *first));
  else
    diagnostics_.error(DiagnosticId::unsupported_operator, location, fmt::format("operator {} is not supported", name),
                       {}, "a function of the model can define it");
  return nullptr;
}

// Fills `inputs`, empty for those left out. False when one is undefined, which is reported, or poisoned.
bool Importer::inputs_of(const schema::NodeProto& node, Scope& scope, const SourceLocation& location,
                         std::vector<std::optional<Value>>& inputs) {
  bool usable = true;
  for (const std::string& name : node.input()) {
    auto& input = inputs.emplace_back();
    if (name.empty() || scope.left_out.contains(name)) continue;
    input = lookup(name, scope);
    if (!input)
      diagnostics_.error(DiagnosticId::undefined_value, location, fmt::format("nothing defines its input '{}'", name));
    usable = usable && input && !input->poisoned;
  }
  while (!inputs.empty() && !inputs.back() && usable) inputs.pop_back();
  return usable;
}

// The node's attributes, those that refer to the enclosing function's attributes resolved.
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
      if (given == body.attributes->end()) continue;  // the call does not give it, so the default holds
      value = given->second;
    }
    if (!map.emplace(a.name(), value).second)
      diagnostics_.error(DiagnosticId::duplicate_definition, location,
                         fmt::format("attribute '{}' is given twice", a.name()));
  }
  return map;
}

void Importer::convert(const schema::NodeProto& node, Scope& scope, const Body& body, const SourceLocation& location) {
  int64_t opset = 0;
  std::vector<std::optional<Value>> inputs;
  const Row* row = find_row(node, body, location, opset);
  bool usable = inputs_of(node, scope, location, inputs);
  if (!row || !usable) return poison_outputs(node, scope, location);

  Node n({.proto = node,
          .opset = opset,
          .location = location,
          .inputs = std::move(inputs),
          .attributes = attributes_of(node, body, location),
          .builder = builder_,
          .diagnostics = diagnostics_,
          .files = files_,
          .owner = model_.proto,
          .declared_shape = [&](const std::string& name) { return types_.declared_shape(scope, name); },
          .import_branch = [&](const schema::GraphProto& g) { return import_branch(g, scope, body, location); },
          .import_inline = [&](const schema::GraphProto& g) { return import_subgraph(g, scope, body, location); }});
  int given = n.input_count();
  bool missing = given < row->min_inputs;
  for (int k = 0; k < given; ++k)
    missing = missing || (!n.has(k) && (k < row->min_inputs || row->max_inputs == any_number));
  if (missing)
    n.fail(DiagnosticId::wrong_arity, fmt::format("needs {} input{}, found {}", row->min_inputs,
                                                  row->min_inputs == 1 ? "" : "s", n.all_inputs().size()));
  if (row->max_inputs != any_number && given > row->max_inputs)
    n.fail(DiagnosticId::wrong_arity, fmt::format("has at most {} inputs, found {}", row->max_inputs, given));
  if (row->max_outputs != any_number && n.output_count() > row->max_outputs)
    n.fail(DiagnosticId::wrong_arity,
           fmt::format("has at most {} outputs, found {}", row->max_outputs, n.output_count()));

  int first_id = module_.next_id;
  Values results = n.failed() ? Values{} : row->convert(n);
  if (!n.failed())
    for (const std::string& name : n.unused_attributes())
      n.fail(DiagnosticId::unsupported_attribute,
             fmt::format("there is no attribute '{}' in operator set {}", name, opset));
  if (n.failed()) return poison_outputs(node, scope, location);
  for (int k = 0; k < std::min<int>(n.output_count(), static_cast<int>(results.size())); ++k)
    if (auto* var = std::get_if<relay::Var>(&results[k].atom); var && n.wants(k) && (*var)->id >= first_id)
      (*var)->name = variable_name(node.output(k));
  bind_outputs(node, scope, results, location);
}

// Results that are missing are poisoned.
void Importer::bind_outputs(const schema::NodeProto& node, Scope& scope, const Values& results,
                            const SourceLocation& location) {
  for (int k = 0; k < node.output_size(); ++k) {
    const std::string& name = node.output(k);
    if (name.empty()) continue;
    Value value = k < static_cast<int>(results.size()) ? results[k] : Value::poison();
    bool taken = scope.initializers.contains(name) || !scope.values.emplace(name, value).second;
    if (taken)
      diagnostics_.error(DiagnosticId::duplicate_definition, location,
                         fmt::format("its output '{}' is defined elsewhere too", name));
  }
}

// ---- functions and subgraphs --------------------------------------------------------------------------------------

void Importer::call_function(const schema::FunctionProto& function, const schema::NodeProto& node, Scope& scope,
                             const Body& body, const SourceLocation& location) {
  std::vector<std::optional<Value>> inputs;
  bool usable = inputs_of(node, scope, location, inputs);
  auto reject = [&](DiagnosticId id, std::string message) {
    diagnostics_.error(id, location, std::move(message));
    poison_outputs(node, scope, location);
  };
  if (std::ranges::count(calls_, &function)) return reject(DiagnosticId::cyclic_graph, "the function calls itself");
  inlined_ += function.node_size();
  if (calls_.size() >= deepest_call || inlined_ > most_inlined)
    return reject(DiagnosticId::too_large, "functions expand to too many nodes");
  if (static_cast<int>(inputs.size()) > function.input_size() || node.output_size() > function.output_size())
    return reject(DiagnosticId::wrong_arity, fmt::format("the function has {} inputs and {} outputs",
                                                         function.input_size(), function.output_size()));
  if (!usable) return poison_outputs(node, scope, location);

  AttributeMap attributes = attributes_of(node, body, location);
  for (const schema::AttributeProto& a : function.attribute_proto()) attributes.emplace(a.name(), &a);
  Opsets opsets = read_opsets(function.opset_import(), location, diagnostics_);
  for (const auto& [domain, version] : body.opsets) opsets.emplace(domain, version);
  Scope inner;
  for (int k = 0; k < function.input_size(); ++k) {
    bool given = k < static_cast<int>(inputs.size()) && inputs[k];
    if (given)
      inner.values.emplace(function.input(k), *inputs[k]);
    else
      inner.left_out.insert(function.input(k));
  }
  for (const schema::ValueInfoProto& info : function.value_info()) inner.declared.emplace(info.name(), &info.type());
  for (int k = 0; k < node.output_size(); ++k)
    if (auto known = scope.declared.find(node.output(k)); known != scope.declared.end())
      inner.declared.emplace(function.output(k), known->second);

  calls_.push_back(&function);
  import_nodes(function.node(), inner, {opsets, &attributes, location.node + ": "});
  calls_.pop_back();
  Values results;
  for (int k = 0; k < node.output_size(); ++k) {
    auto value = lookup(function.output(k), inner);
    if (!value && !node.output(k).empty())
      diagnostics_.error(DiagnosticId::undefined_value, location,
                         fmt::format("nothing in the function produces its output '{}'", function.output(k)));
    results.push_back(value.value_or(Value::poison()));
  }
  bind_outputs(node, scope, results, location);
}

std::optional<Values> Importer::import_subgraph(const schema::GraphProto& graph, Scope& outer, const Body& body,
                                                const SourceLocation& location) {
  Scope scope;
  scope.outer = &outer;
  scope.add_initializers(graph, diagnostics_, options_.file);
  scope.add_declarations(graph);
  Body inner{body.opsets, body.attributes, location.node + ": "};
  import_nodes(graph.node(), scope, inner);
  Values results;
  bool complete = true;
  for (const schema::ValueInfoProto& output : graph.output()) {
    auto value = lookup(output.name(), scope);
    if (!value)
      diagnostics_.error(DiagnosticId::undefined_value, location,
                         fmt::format("nothing produces the subgraph's output '{}'", output.name()));
    complete = complete && value && !value->poisoned;
    if (complete) results.push_back(*value);
  }
  return complete ? std::optional(results) : std::nullopt;
}

std::optional<Branch> Importer::import_branch(const schema::GraphProto& graph, Scope& outer, const Body& body,
                                              const SourceLocation& location) {
  builder_.open();
  auto results = import_subgraph(graph, outer, body, location);
  if (!results) {
    builder_.discard();
    return std::nullopt;
  }
  auto block = std::make_shared<relay::Block>(builder_.close(*results, location));
  return Branch{block, *results};
}

}  // namespace
}  // namespace onnx

std::optional<relay::Module> import_onnx(std::span<const std::byte> bytes, const ImportOptions& options,
                                         Diagnostics& diagnostics) {
  auto model = onnx::read_model(bytes, options.file, diagnostics);
  if (!model) return std::nullopt;
  return onnx::Importer(*model, options, diagnostics).run();
}

}  // namespace dlcc::frontends

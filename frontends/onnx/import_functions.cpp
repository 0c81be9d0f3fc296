// Imports calls of model-local functions. Large functions that several nodes call become Relay functions, one for each
// combination of operand types, constants and attributes; the others are inlined.
#include <algorithm>

#include "frontends/onnx/importer.h"

namespace dlcc::frontends::onnx {

namespace {

constexpr size_t max_call_depth = 100;  // of model-local functions
constexpr int64_t max_inlined_nodes = 200000;

}  // namespace

void Importer::call_function(const schema::FunctionProto& function, const schema::NodeProto& node, Scope& scope,
                             const Body& body, const SourceLocation& location) {
  Inputs inputs;
  bool usable = inputs_of(node, scope, location, inputs);
  auto reject = [&](DiagnosticId id, std::string message) {
    diagnostics_.error(id, location, std::move(message));
    poison_outputs(node, scope, location);
  };
  if (std::ranges::count(calls_, &function)) return reject(DiagnosticId::cyclic_graph, "the function calls itself");
  if (calls_.size() >= max_call_depth || inlined_ + function.node_size() > max_inlined_nodes)
    return reject(DiagnosticId::too_large, "functions expand to too many nodes");
  if (static_cast<int>(inputs.size()) > function.input_size() || node.output_size() > function.output_size())
    return reject(DiagnosticId::wrong_arity, fmt::format("the function has {} inputs and {} outputs",
                                                         function.input_size(), function.output_size()));
  if (!usable) return poison_outputs(node, scope, location);

  FunctionCall call{function,
                    node,
                    body,
                    std::move(inputs),
                    attributes_of(node, body, location),
                    read_opsets(function.opset_import(), location, diagnostics_),
                    location};
  for (const schema::AttributeProto& a : function.attribute_proto()) call.attributes.emplace(a.name(), &a);
  for (const auto& [domain, version] : body.opsets) call.opsets.emplace(domain, version);
  const bool is_in_main = calls_.empty();
  calls_.push_back(&function);
  std::optional<Values> results;
  if (again_ == 0 && shared_functions_.contains(node, is_in_main)) results = call_shared(call);
  if (!results) {
    Scope inner;
    for (int k = 0; k < node.output_size(); ++k)
      if (auto known = scope.declared.find(node.output(k)); known != scope.declared.end())
        inner.declared.emplace(function.output(k), known->second);
    results = import_function(call, inner, location.node + ": ");
  }
  calls_.pop_back();
  bind_outputs(node, scope, *results, location);
}

// The nodes of the function with the operands of the call. Missing results are reported and poisoned.
std::optional<Values> Importer::import_function(const FunctionCall& call, Scope& inner, const std::string& path) {
  const schema::FunctionProto& function = call.function;
  inlined_ += function.node_size();
  for (int k = 0; k < function.input_size(); ++k) {
    bool given = k < static_cast<int>(call.inputs.size()) && call.inputs[static_cast<size_t>(k)];
    if (given)
      inner.values.emplace(function.input(k), *call.inputs[static_cast<size_t>(k)]);
    else
      inner.left_out.insert(function.input(k));
  }
  for (const schema::ValueInfoProto& info : function.value_info()) inner.declared.emplace(info.name(), &info.type());
  std::vector<const schema::NodeProto*> calls = call.body.calls;
  calls.push_back(&call.node);
  import_nodes(function.node(), inner, {call.opsets, &call.attributes, path, std::move(calls)});
  Values results;
  for (int k = 0; k < call.node.output_size(); ++k) {
    auto value = lookup(function.output(k), inner);
    if (!value && !call.node.output(k).empty())
      diagnostics_.error(DiagnosticId::undefined_value, call.location,
                         fmt::format("nothing in the function produces its output '{}'", function.output(k)));
    results.push_back(value.value_or(Value::poison()));
  }
  return results;
}

// ---- functions that are called ------------------------------------------------------------------------------------

// Whether the value can be an operand of a Relay function. Known values and data-dependent sizes must be visible within
// the function, and values that are no tensors cannot be passed, so that such a call is inlined.
bool Importer::can_be_operand(const Value& value) const {
  if (value.structure || builder_.known(value)) return false;
  return std::ranges::all_of(value.type.shape, [](const Dim& d) {
    return std::ranges::none_of(d.symbols(), [](const Symbol& s) { return s.name.starts_with('?'); });
  });
}

// Empty if the call has to be inlined.
std::optional<Values> Importer::call_shared(const FunctionCall& call) {
  const auto& [domain, name, overload] = function_key(call.node);
  std::string key = fmt::format("{}.{}:{} {}", domain, name, overload, call.node.output_size());
  relay::Call step;
  for (const std::optional<Value>& input : call.inputs) {
    if (!input) {
      key += " none";
    } else if (input->constant()) {
      key += fmt::format(" constant {} {:016x}", describe(input->type), input->constant()->hash());
    } else if (can_be_operand(*input)) {
      key += " " + describe(input->type);
      step.args.push_back(input->atom);
    } else {
      return std::nullopt;
    }
  }
  for (const auto& [attribute, value] : call.attributes)
    key += fmt::format(" {}={}", attribute, value->SerializeAsString());
  for (const auto& [of, version] : call.opsets) key += fmt::format(" {}={}", of, version);
  if (!instances_.contains(key)) {
    const size_t errors = diagnostics_.error_count();
    Instance made = make_instance(call);
    if (diagnostics_.error_count() > errors)
      return Values(static_cast<size_t>(call.node.output_size()), Value::poison());
    instances_.emplace(key, std::move(made));
  }
  const Instance& instance = instances_.at(key);
  if (instance.name.empty()) return std::nullopt;
  step.callee = relay::GlobalRef{instance.name};
  Values results;
  for (const relay::TensorType& type : instance.results) results.push_back({Constant(), type});
  const relay::Var result =
      builder_.bind(std::move(step), type_of(results), variable_name(call.node.output(0)), call.location);
  if (results.size() > 1) return builder_.fields(result, results.size(), result->name, call.location);
  results[0].atom = result;
  return results;
}

Importer::Instance Importer::make_instance(const FunctionCall& call) {
  const int first_symbol = builder_.next_symbol();
  const int64_t first_random = random_sequences_;
  FunctionCall with_params = call;
  relay::Function made;
  builder_.open();
  for (size_t k = 0; k < call.inputs.size(); ++k) {
    if (!call.inputs[k] || call.inputs[k]->constant()) continue;
    const relay::Var param = builder_.parameter(call.function.input(static_cast<int>(k)), call.inputs[k]->type);
    made.params.push_back(param);
    with_params.inputs[k]->atom = param;
  }
  Scope scope;
  const std::string label = fmt::format("function '{}'", call.function.name());
  Values results = *import_function(with_params, scope, label + ": ");
  // Data-dependent sizes and random numbers differ between calls, so that such a function is inlined.
  const bool is_inlined =
      builder_.next_symbol() != first_symbol || random_sequences_ != first_random || results.empty() ||
      std::ranges::any_of(results, [&](const Value& v) { return v.poisoned || v.constant() || !can_be_operand(v); });
  if (is_inlined) {
    builder_.discard();
    random_sequences_ = first_random;
    return {};
  }
  made.location = {.file = options_.file, .node = label};
  made.result_type = type_of(results);
  made.body = builder_.close(results, made.location);
  Instance instance{fmt::format("{}_{}", variable_name(call.function.name()), instances_.size()), {}};
  for (const Value& v : results) instance.results.push_back(v.type);
  module_.functions.emplace(instance.name, std::move(made));
  return instance;
}

}  // namespace dlcc::frontends::onnx

// The inputs and outputs of the main graph. A compiled model has tensors only: a sequence becomes its tensors, an
// optional that is absent a tensor without elements, an input with a fixed value a constant.
#include <algorithm>

#include "frontends/onnx/compile_time_inputs.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/structure.h"
#include "frontends/onnx/tensor_decode.h"
#include "support/similar_names.h"

namespace dlcc::frontends::onnx {
namespace {

// The kind of an input, and the type of its tensors; null for other types.
struct InputType {
  ArgumentKind kind = ArgumentKind::tensor;
  const schema::TypeProto::Tensor* tensor = nullptr;
};

InputType input_type(const schema::TypeProto& type) {
  const schema::TypeProto* inner = &type;
  const bool optional = type.has_optional_type();
  if (optional) inner = &type.optional_type().elem_type();
  const bool sequence = inner->has_sequence_type();
  if (sequence) inner = &inner->sequence_type().elem_type();
  if (!inner->has_tensor_type()) return {};
  const ArgumentKind kind = !sequence  ? (optional ? ArgumentKind::optional : ArgumentKind::tensor)
                            : optional ? ArgumentKind::optional_sequence
                                       : ArgumentKind::sequence;
  return {kind, &inner->tensor_type()};
}

SourceLocation location_of_input(const std::string& file, const std::string& name) {
  return {.file = file, .node = fmt::format("input '{}'", name)};
}

}  // namespace

// ---- inputs -------------------------------------------------------------------------------------------------------

void Importer::add_inputs(Scope& scope, std::vector<relay::Var>& params) {
  const schema::GraphProto& graph = model_.proto->graph();
  const std::set<std::string> compile_time = compile_time_inputs(graph);
  std::set<std::string> seen;
  for (const schema::ValueInfoProto& input : graph.input()) {
    if (!seen.insert(input.name()).second) {
      diagnostics_.error(DiagnosticId::duplicate_definition, location_of_input(options_.file, input.name()),
                         "another input has this name");
      continue;
    }
    if (scope.initializers.contains(input.name())) continue;  // it has a value
    scope.values[input.name()] = add_input(input, compile_time.contains(input.name()), params);
  }
  check_input_names();
  if (options_.arguments) options_.arguments->inputs = has_structures_ ? arguments_ : std::vector<Argument>{};
}

// The form of an input, from an option or else from data.
std::optional<InputForm> Importer::input_form(const UnknownInput& input) {
  if (auto given = options_.inputs.find(input.name); given != options_.inputs.end()) return given->second;
  return options_.find_input_form ? options_.find_input_form(input) : std::nullopt;
}

Value Importer::add_input(const schema::ValueInfoProto& input, bool needs_value, std::vector<relay::Var>& params) {
  const SourceLocation location = location_of_input(options_.file, input.name());
  const InputType type = input_type(input.type());
  if (!type.tensor) {
    diagnostics_.error(DiagnosticId::unsupported_type, location,
                       "an input must be a tensor, a sequence of tensors or an optional of these");
    return Value::poison();
  }
  const bool is_tensor = type.kind == ArgumentKind::tensor;
  std::optional<InputForm> form;
  if (!is_tensor || needs_value || !type.tensor->has_shape() || options_.inputs.contains(input.name()))
    form = input_form({arguments_.size(), input.name(), type.kind, needs_value});
  Argument& argument = arguments_.emplace_back(Argument{input.name(), type.kind});
  const ShapedInput* shaped = form ? std::get_if<ShapedInput>(&*form) : nullptr;
  has_structures_ = has_structures_ || !is_tensor || (form && !shaped);
  InputRequest request{input.name(), *type.tensor, location, params, argument};
  if (type.kind == ArgumentKind::sequence) return add_sequence(request, form);
  if (!is_tensor) return add_optional(request, form);
  if (shaped) return add_shaped(request, *shaped);
  return form ? add_fixed(request, *form)
              : add_tensor(request, input.name(), types_.of_input(*type.tensor, input.name(), location));
}

// A remedy if --input gives the shape of an input whose shape the model declares.
static std::string remedy_for_declared_shape(const relay::TensorType& declared, const std::vector<int64_t>& wanted) {
  std::string options;
  const bool same_rank = declared.shape.size() == wanted.size();
  for (size_t k = 0; same_rank && k < wanted.size(); ++k)
    if (!declared.shape[k].is_constant()) options += fmt::format(" --dim {}={}", declared.shape[k].str(), wanted[k]);
  const std::string text = fmt::format("the model declares it as {}", describe(declared));
  if (!options.empty()) return fmt::format("{}: give the sizes by name:{}", text, options);
  return text + (is_static(declared.shape) ? "; export the model with another shape, or with named dimensions" : "");
}

// A tensor whose shape is given.
Value Importer::add_shaped(InputRequest& request, const ShapedInput& form) {
  if (request.tensor.has_shape()) {
    const auto declared = types_.of_input(request.tensor, request.name, request.location);
    return declared ? wrong_form(request, remedy_for_declared_shape(*declared, form.shape)) : Value::poison();
  }
  return add_tensor(request, request.name,
                    types_.of_element(request.tensor, request.name, 0, form.shape, request.location));
}

Value Importer::add_tensor(InputRequest& request, const std::string& name,
                           const std::optional<relay::TensorType>& type) {
  if (!type) return Value::poison();
  relay::Var param = builder_.parameter(name, *type);
  request.params.push_back(param);
  builder_.note_input(param);
  module_.input_names.push_back(name);
  return {param, *type};
}

Value Importer::add_sequence(InputRequest& request, const std::optional<InputForm>& form) {
  const auto* sequence = form ? std::get_if<SequenceInput>(&*form) : nullptr;
  if (!sequence) {
    diagnostics_.error(DiagnosticId::dynamic_shape, request.location,
                       "the number of tensors of the sequence must be known at compile time", {},
                       fmt::format("give it: --input {}=seq:3", request.name));
    return Value::poison();
  }
  request.argument.tensors = sequence->shapes.size();
  Values elements;
  for (size_t k = 0; k < sequence->shapes.size(); ++k)
    elements.push_back(
        add_tensor(request, fmt::format("{}[{}]", request.name, k),
                   types_.of_element(request.tensor, request.name, k, sequence->shapes[k], request.location)));
  const bool poisoned = std::ranges::any_of(elements, &Value::poisoned);
  return poisoned ? Value::poison() : sequence_of(std::move(elements));
}

// An optional without a form is present.
Value Importer::add_optional(InputRequest& request, const std::optional<InputForm>& form) {
  const bool is_sequence = request.argument.kind == ArgumentKind::optional_sequence;
  if (form && std::holds_alternative<AbsentInput>(*form)) {
    request.argument.absent = true;
    request.argument.tensors = is_sequence ? 0 : 1;
    auto dtype = is_sequence ? std::nullopt : checked_type(request.tensor.elem_type(), request.location, diagnostics_);
    if (dtype) add_tensor(request, request.name, relay::TensorType{{Dim(0)}, *dtype});
    return optional_of({});
  }
  Value element;
  if (is_sequence)
    element = add_sequence(request, form);
  else if (form && !std::holds_alternative<ShapedInput>(*form))
    return wrong_form(request, fmt::format("an optional can be absent: --input {}=none", request.name));
  else if (form && !request.tensor.has_shape())
    element = add_shaped(request, std::get<ShapedInput>(*form));
  else
    element = add_tensor(request, request.name, types_.of_input(request.tensor, request.name, request.location));
  return element.poisoned ? element : optional_of({element});
}

// Whether a value has the declared shape, as far as that has numbers.
static bool fits(const Constant& value, const schema::TypeProto::Tensor& declared) {
  return !declared.has_shape() ||
         std::ranges::equal(value.shape(), declared.shape().dim(),
                            [](int64_t size, const auto& dim) { return !has_size(dim) || dim.dim_value() == size; });
}

// An input whose value is fixed at compile time becomes a constant.
Value Importer::add_fixed(InputRequest& request, const InputForm& form) {
  const auto* fixed = std::get_if<FixedInput>(&form);
  if (!fixed)
    return wrong_form(request,
                      fmt::format("the input is a tensor; an integer can be fixed: --input {}=value:3", request.name));
  auto dtype = checked_type(request.tensor.elem_type(), request.location, diagnostics_);
  if (!dtype) return Value::poison();
  if (!is_integer(*dtype) && !is_bool(*dtype))
    return wrong_form(request, "only integers and bools can have a value at compile time");
  auto converted =
      builder_.call("cast", {Value::of(fixed->value)}, {{"dtype", dtype_attr(*dtype)}}, 1, request.location);
  const Values* values = std::get_if<Values>(&converted);
  const Constant* constant = values ? values->at(0).constant() : nullptr;
  if (!constant) return wrong_form(request, "the value has too many elements");
  Constant value = *constant;
  const int rank = request.tensor.shape().dim_size();
  if (value.count() == 1 && request.tensor.has_shape() && rank <= 1)
    value = value.reshaped(std::vector<int64_t>(static_cast<size_t>(rank), 1));
  if (!fits(value, request.tensor))
    return wrong_form(request, fmt::format("the value has the shape {}, the model declares another one",
                                           str(shape_of(value.shape()))));
  request.argument.tensors = 0;
  request.argument.fixed = value;
  return Value::of(value);
}

Value Importer::wrong_form(InputRequest& request, const std::string& help) {
  diagnostics_.error(DiagnosticId::bad_option, request.location, "--input does not fit this input", {}, help);
  return Value::poison();
}

void Importer::check_input_names() {
  std::vector<std::string> names;
  for (const Argument& a : arguments_) names.push_back(a.name);
  for (const auto& [name, form] : options_.inputs)
    if (std::ranges::count(names, name) == 0)
      diagnostics_.error(DiagnosticId::undefined_value, {.file = options_.file},
                         fmt::format("--input {}: the model has no input of this name", name), {},
                         suggest_names(name, names));
}

// ---- outputs ------------------------------------------------------------------------------------------------------

Values Importer::outputs_of_main(Scope& scope) {
  Values results;
  const auto& outputs = model_.proto->graph().output();
  if (outputs.empty())
    diagnostics_.error(DiagnosticId::malformed_model, {.file = options_.file}, "the graph has no outputs", {},
                       "list the values that you want in the graph's 'output'");
  std::vector<Argument> arguments;
  bool structures = false;
  for (const schema::ValueInfoProto& output : outputs) {
    auto value = lookup(output.name(), scope);
    if (!value) {
      diagnostics_.error(DiagnosticId::undefined_value,
                         {.file = options_.file, .node = fmt::format("output '{}'", output.name())},
                         "nothing produces this output", {}, remedy_for_name(output.name(), scope, nothing_produces));
      value = Value::poison();
    }
    arguments.push_back(add_output(output, *value, results));
    structures = structures || value->structure;
  }
  if (results.empty() && !diagnostics_.has_errors())
    diagnostics_.error(DiagnosticId::malformed_model, {.file = options_.file},
                       "the outputs are empty sequences and absent optionals: there is nothing to compute");
  if (options_.arguments && structures) options_.arguments->outputs = std::move(arguments);
  return results;
}

// Appends the tensors of an output to the results, and describes it.
Argument Importer::add_output(const schema::ValueInfoProto& output, const Value& value, Values& results) {
  Argument argument{output.name(), input_type(output.type()).kind};
  if (is_strings(value))
    diagnostics_.error(
        DiagnosticId::unsupported_type, {.file = options_.file, .node = fmt::format("output '{}'", output.name())},
        "strings cannot be outputs", {}, "give the numbers that the strings are made from as the output");
  const Values tensors = tensors_in({value});
  argument.tensors = tensors.size();
  for (size_t k = 0; k < tensors.size(); ++k) {
    if (!value.poisoned && !value.structure) check_output(output, value);
    results.push_back(tensors[k]);
    const bool numbered = argument.kind == ArgumentKind::sequence || argument.kind == ArgumentKind::optional_sequence;
    module_.output_names.push_back(numbered ? fmt::format("{}[{}]", output.name(), k) : output.name());
  }
  argument.absent = is_optional(value) && tensors.empty() && value.structure->elements.empty();
  return argument;
}

// ---- declarations -------------------------------------------------------------------------------------------------

// A size that is not a number may have any value.
static bool can_be_equal(const Shape& a, const Shape& b) {
  return std::ranges::equal(a, b,
                            [](const Dim& m, const Dim& n) { return m == n || !m.is_constant() || !n.is_constant(); });
}

// Checks the declared element type. A wrong declared shape is only a warning: exporters often write wrong shapes.
void Importer::check_output(const schema::ValueInfoProto& output, const Value& value) {
  const SourceLocation location{.file = options_.file, .node = fmt::format("output '{}'", output.name())};
  const Declaration declared = types_.of_value(output.type());
  if (declared.dtype && *declared.dtype != value.type.dtype)
    diagnostics_.error(DiagnosticId::type_mismatch, location,
                       fmt::format("declared as {}, but computed as {}", name(*declared.dtype), describe(value.type)),
                       {}, "correct the declared type, or insert a node Cast before the output");
  else
    warn_of_other_shape(declared, value, location);
}

void Importer::warn_of_other_shape(const Declaration& declared, const Value& value, const SourceLocation& location) {
  if (!declared.shape || can_be_equal(*declared.shape, value.type.shape)) return;
  diagnostics_.warning(DiagnosticId::declared_shape, location,
                       fmt::format("declared as {}, but computed as {}", describe({*declared.shape, value.type.dtype}),
                                   describe(value.type)),
                       {}, "the compiled model has the computed shape; correct the declaration if that is right");
}

// Compares the shapes that the main graph declares for values between its nodes with the computed ones.
void Importer::check_intermediate_values(const Scope& scope) {
  const schema::GraphProto& graph = model_.proto->graph();
  std::set<std::string> checked;
  for (const schema::ValueInfoProto& output : graph.output()) checked.insert(output.name());
  for (const schema::ValueInfoProto& info : graph.value_info()) {
    auto value = scope.values.find(info.name());
    if (value == scope.values.end() || value->second.poisoned || value->second.structure) continue;
    if (checked.insert(info.name()).second)
      warn_of_other_shape(types_.of_value(info.type()), value->second,
                          {.file = options_.file, .node = fmt::format("value '{}'", info.name())});
  }
}

}  // namespace dlcc::frontends::onnx

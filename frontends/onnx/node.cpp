#include "frontends/onnx/node.h"

#include <algorithm>
#include <cmath>

#include "frontends/onnx/external_data.h"
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/schema.h"
#include "frontends/onnx/structure.h"
#include "frontends/onnx/tensor_decode.h"
#include "frontends/onnx/wording.h"
#include "support/ascii.h"
#include "support/scalar_constant.h"
#include "support/similar_names.h"

namespace dlcc::frontends::onnx {

using schema::AttributeProto;

// ---- operands -----------------------------------------------------------------------------------------------------

int Node::output_count() const { return c_.proto.output_size(); }

bool Node::wants(int output) const { return output < output_count() && !c_.proto.output(output).empty(); }

Values Node::all_inputs() const {
  Values values;
  for (const auto& input : c_.inputs)
    if (input) values.push_back(*input);
  return values;
}

std::optional<std::vector<int64_t>> Node::integers_in(int input) {
  const Value& value = in(input);
  if (!check(is_integer(value.type.dtype) && value.rank() <= 1, DiagnosticId::type_mismatch,
             fmt::format("{} must be a list of integers, found {}", value.role, describe(value.type))))
    return std::nullopt;
  std::vector<int64_t> list;
  if (product(value.type.shape) == Dim(0)) return list;
  const Constant* constant = value.constant();
  if (!constant) return std::nullopt;
  for (int64_t k = 0; k < constant->count(); ++k) list.push_back(constant->integer_at(k));
  return list;
}

// ---- attributes ---------------------------------------------------------------------------------------------------

const AttributeProto* Node::find(const std::string& name) {
  used_.insert(name);
  auto it = c_.attributes.find(name);
  return it == c_.attributes.end() ? nullptr : it->second;
}

// Before IR version 2 attributes have no type field: the field that is present decides.
const AttributeProto* Node::typed(const std::string& name, schema::AttributeProto_AttributeType type,
                                  bool present(const AttributeProto&)) {
  const AttributeProto* a = find(name);
  if (!a || a->type() == type || (a->type() == AttributeProto::UNDEFINED && present(*a))) return a;
  const std::string expected = lower_case(AttributeProto::AttributeType_Name(type));
  const std::string found = lower_case(AttributeProto::AttributeType_Name(a->type()));
  fail(DiagnosticId::bad_attribute, fmt::format("attribute '{}' must be of type {}, found {}", name, expected, found));
  return nullptr;
}

int64_t Node::integer(const std::string& name, int64_t otherwise) {
  auto* a = typed(name, AttributeProto::INT, [](const AttributeProto& p) { return p.has_i(); });
  return a ? a->i() : otherwise;
}

bool Node::flag(const std::string& name, bool otherwise) {
  int64_t value = integer(name, otherwise);
  check(value == 0 || value == 1, DiagnosticId::bad_attribute,
        fmt::format("attribute '{}' must be 0 or 1, found {}", name, value));
  return value != 0;
}

double Node::number(const std::string& name, float otherwise) {
  auto* a = typed(name, AttributeProto::FLOAT, [](const AttributeProto& p) { return p.has_f(); });
  return a ? a->f() : otherwise;
}

std::string Node::text(const std::string& name, const std::string& otherwise) {
  auto* a = typed(name, AttributeProto::STRING, [](const AttributeProto& p) { return p.has_s(); });
  return a ? a->s() : otherwise;
}

std::optional<std::vector<int64_t>> Node::integers(const std::string& name) {
  auto* a = typed(name, AttributeProto::INTS, [](const AttributeProto& p) { return p.ints_size() > 0; });
  if (!a) return std::nullopt;
  return std::vector<int64_t>(a->ints().begin(), a->ints().end());
}

std::optional<std::vector<float>> Node::numbers(const std::string& name) {
  auto* a = typed(name, AttributeProto::FLOATS, [](const AttributeProto& p) { return p.floats_size() > 0; });
  if (!a) return std::nullopt;
  return std::vector<float>(a->floats().begin(), a->floats().end());
}

std::optional<std::vector<std::string>> Node::texts(const std::string& name) {
  auto* a = typed(name, AttributeProto::STRINGS, [](const AttributeProto& p) { return p.strings_size() > 0; });
  if (!a) return std::nullopt;
  return std::vector<std::string>(a->strings().begin(), a->strings().end());
}

std::vector<int64_t> Node::integers(const std::string& name, size_t count, int64_t otherwise) {
  auto list = integers(name);
  if (list && !check(list->size() == count, DiagnosticId::bad_attribute,
                     fmt::format("attribute '{}' must have {} numbers, found {}", name, count, list->size())))
    list.reset();
  return list.value_or(std::vector<int64_t>(count, otherwise));
}

std::optional<Constant> Node::tensor(const std::string& name) {
  auto* a = typed(name, AttributeProto::TENSOR, [](const AttributeProto& p) { return p.has_t(); });
  if (!a) return std::nullopt;
  auto constant = decode_tensor(a->t(), c_.owner, c_.files, c_.location, c_.diagnostics);
  failed_ = failed_ || !constant;
  return constant;
}

std::optional<Value> Node::string_tensor(const std::string& name) {
  auto* a = typed(name, AttributeProto::TENSOR, [](const AttributeProto& p) { return p.has_t(); });
  return a ? strings_in(a->t()) : std::nullopt;
}

std::optional<Constant> Node::sparse_tensor(const std::string& name) {
  auto* a = typed(name, AttributeProto::SPARSE_TENSOR, [](const AttributeProto& p) { return p.has_sparse_tensor(); });
  if (!a) return std::nullopt;
  auto constant = decode_sparse_tensor(a->sparse_tensor(), c_.owner, c_.files, c_.location, c_.diagnostics);
  failed_ = failed_ || !constant;
  return constant;
}

const schema::GraphProto* Node::graph(const std::string& name) {
  auto* a = typed(name, AttributeProto::GRAPH, [](const AttributeProto& p) { return p.has_g(); });
  check(a || failed_, DiagnosticId::bad_attribute, fmt::format("attribute '{}' is missing", name));
  return a ? &a->g() : nullptr;
}

int64_t Node::required_integer(const std::string& name) {
  check(has_attr(name), DiagnosticId::bad_attribute, fmt::format("attribute '{}' is missing", name));
  return integer(name, 0);
}

std::optional<DType> Node::element_type(const std::string& attribute, int64_t number) {
  const auto type = number == static_cast<int>(number) ? dtype_of_onnx(static_cast<int>(number)) : std::nullopt;
  check(type.has_value(), DiagnosticId::unsupported_type,
        fmt::format("the element type {} of attribute '{}' is not supported", element_type_name(number), attribute));
  return type;
}

// The input that has the name of an attribute; "" if there is none. TopK's attribute k is now its input K.
static std::string input_named(const Row& row, const std::string& attribute) {
  for (const std::string& input : input_names(row))
    if (lower_case(input) == lower_case(attribute)) return input;
  return "";
}

std::string Node::remedy_for_moved_attribute() const {
  for (const auto& [name, value] : c_.attributes)
    if (const std::string input = input_named(c_.row, name); !input.empty() && !used_.contains(name))
      return fmt::format("in operator set {} {} is an input; the inputs of {} are: {}", c_.opset, input, c_.row.op,
                         inputs_text(c_.row));
  return "";
}

std::string Node::remedy_for_attribute(const std::string& name) const {
  const std::string moved = input_named(c_.row, name).empty() ? "" : remedy_for_moved_attribute();
  if (!moved.empty()) return moved;
  const std::vector<std::string> known(used_.begin(), used_.end());
  if (known.empty()) return fmt::format("{} has no attributes", c_.row.op);
  const std::string meant = did_you_mean(name, known);
  return meant.empty() ? fmt::format("{} may have: {}", c_.row.op, fmt::join(known, ", ")) : meant;
}

void Node::reject_unused_attributes() {
  for (const auto& [name, value] : c_.attributes)
    if (!used_.contains(name) && !ignored_.contains(name))
      fail(DiagnosticId::bad_attribute, fmt::format("there is no attribute '{}' in operator set {}", name, c_.opset),
           remedy_for_attribute(name));
}

// ---- problems -----------------------------------------------------------------------------------------------------

std::vector<std::string> Node::operand_lines() const {
  std::vector<std::string> lines;
  for (int k = 0; k < input_count(); ++k)
    if (has(k) && !in(k).poisoned)
      lines.push_back(fmt::format("{} '{}' {}", in(k).role.empty() ? fmt::format("input {}", k) : in(k).role,
                                  c_.proto.input(k), describe(in(k))));
  return lines;
}

void Node::fail(DiagnosticId id, std::string message, std::string help) {
  if (!failed_) c_.diagnostics.error(id, c_.location, std::move(message), operand_lines(), std::move(help));
  failed_ = true;
}

bool Node::check(bool condition, DiagnosticId id, std::string message, std::string help) {
  if (!condition) fail(id, std::move(message), std::move(help));
  return condition;
}

bool Node::require_shape(int input, const Shape& shape) {
  std::optional<Value> checked = with_shape(in(input), shape);
  if (checked) c_.inputs[input] = std::move(*checked);
  return checked.has_value();
}

std::optional<Value> Node::with_shape(const Value& value, const Shape& shape) {
  if (value.type.shape == shape) return value;
  if (!may_be_equal(value.type.shape, shape)) return std::nullopt;
  return c_.builder.check_sizes(value, shape, location());
}

std::optional<int64_t> Node::axis_of(int64_t axis, int64_t rank) {
  if (!check(axis >= -rank && axis < rank, DiagnosticId::bad_attribute,
             fmt::format("axis {} is outside [{}, {}]", axis, -rank, rank - 1)))
    return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

std::optional<int64_t> Node::bound_of(const std::string& value) const {
  for (const auto& [name, bound] : c_.bounds)
    if (variable_name(name) == variable_name(value)) return bound;
  return std::nullopt;
}

std::optional<int64_t> Node::bound_in_body(const std::string& value, const std::string& unique) {
  const std::optional<int64_t> bound = bound_of(value);
  if (!bound) return std::nullopt;
  const std::string name = variable_name(value);
  const auto [loop, is_first] = c_.bounded_loops.try_emplace(name, &c_.proto);
  check(is_first || loop->second == &c_.proto, DiagnosticId::duplicate_definition,
        fmt::format("--bound {}={} names a value in the body of this loop and one in the body of another loop", name,
                    *bound),
        unique.empty() ? "give the values in the bodies different names"
                       : fmt::format("give the bound of each loop by the name of an output of its node, here: "
                                     "--bound {}={}",
                                     variable_name(unique), *bound));
  return bound;
}

// ---- emission -----------------------------------------------------------------------------------------------------

// The role of the only operand that has one; "" when there is no such operand.
static std::string common_role(const Values& operands) {
  std::string role;
  for (const Value& v : operands) {
    if (v.role.empty() || v.role == role) continue;
    if (!role.empty()) return "";
    role = v.role;
  }
  return role;
}

Values Node::call_fields(const std::string& op, const Values& args, const relay::Attrs& attrs, size_t results) {
  bool poisoned = failed_ || std::ranges::any_of(args, [](const Value& v) { return v.poisoned; });
  if (poisoned) return Values(results, Value::poison());
  auto outcome = c_.builder.call(op, args, attrs, results, c_.location);
  if (auto* error = std::get_if<relay::TypeError>(&outcome)) {
    const relay::TypeError worded = in_words_of_onnx(*error, *relay::op(op), args);
    fail(worded.id, worded.message, worded.help);
    return Values(results, Value::poison());
  }
  Values values = std::get<Values>(std::move(outcome));
  for (Value& v : values) v.role = common_role(args);
  return values;
}

Value Node::call(const std::string& op, const Values& args, const relay::Attrs& attrs) {
  return call_fields(op, args, attrs, 1)[0];
}

Value Node::scalar(DType type, double value) {
  Constant constant = scalar_constant(type, value);
  const double stored = constant.number_at(0);
  const bool overflows = std::isfinite(value) && !std::isfinite(stored);
  if (overflows || (is_integer(type) && stored != value))
    c_.diagnostics.warning(DiagnosticId::lost_precision, c_.location,
                           fmt::format("the number {} becomes {} in {}", value, stored, name(type)), {},
                           "export the model with a wider element type, or with a number that the type has");
  return Value::of(std::move(constant));
}

Value Node::reshape(const Value& value, const Shape& shape) {
  relay::Attrs attrs = {{"newshape", relay::sizes_attribute(shape)}};
  if (std::ranges::any_of(shape, [](const Dim& d) { return !provably_le(1, d); })) attrs["allowzero"] = true;
  return call("reshape", {value}, attrs);
}

Value Node::cast(const Value& value, DType type) {
  return value.type.dtype == type ? value : call("cast", {value}, {{"dtype", dtype_attr(type)}});
}

Value Node::with_declared_sizes(const Value& value) { return with_declared_sizes(value, declared_shape()); }

Value Node::with_declared_sizes(const Value& value, const std::optional<Shape>& declared) {
  return declared ? c_.builder.with_declared_sizes(value, *declared, first_symbol_, c_.location) : value;
}

relay::AttrValue dtype_attr(DType type) { return std::string(name(type)); }

std::string describe(const relay::TensorType& type) {
  std::string sizes;
  for (const Dim& d : type.shape) sizes += (sizes.empty() ? "" : ", ") + d.str();
  return fmt::format("{} [{}]", name(type.dtype), sizes);
}

}  // namespace dlcc::frontends::onnx

// Sequences. Their lengths are known at compile time. So a sequence is a list of values during import, and only
// operations on its tensors are emitted.
#include <algorithm>

#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/split.h"
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/schema.h"
#include "frontends/onnx/structure.h"

namespace dlcc::frontends::onnx {
namespace {

// The elements of an input that must be a sequence.
const Values* elements_in(Node& n, int input) {
  const Value& v = n.in(input);
  if (!n.check(is_sequence(v), DiagnosticId::type_mismatch,
               fmt::format("{} must be a sequence, found {}", v.role, describe(v))))
    return nullptr;
  return &v.structure->elements;
}

bool check_tensor(Node& n, int input) {
  return n.check(!n.in(input).structure, DiagnosticId::type_mismatch,
                 fmt::format("{} must be a tensor, found {}", n.in(input).role, describe(n.in(input))));
}

// A position in a sequence; `last` is the largest one. Empty if it is known only when the program runs.
std::optional<int64_t> position_in(Node& n, int input, int64_t length, int64_t last) {
  if (!check_tensor(n, input)) return std::nullopt;
  auto list = n.integers_in(input);
  if (!list || !n.check(list->size() == 1, DiagnosticId::shape_mismatch,
                        fmt::format("{} must be one integer, found {}", n.in(input).role, describe(n.in(input)))))
    return std::nullopt;
  const int64_t position = list->front();
  n.check(position >= -length && position <= last, DiagnosticId::bad_attribute,
          fmt::format("position {} is outside of the sequence, which has {} tensors", position, length));
  return position < 0 ? position + length : position;
}

void fail_at_run_time(Node& n, int input) {
  n.fail(DiagnosticId::dynamic_shape,
         fmt::format("{} is known only when the program runs, and decides which tensors the sequence has",
                     n.in(input).role),
         "make it a constant; for an input of the model: --input NAME=value:2");
}

Values convert_empty(Node& n) {
  n.ignore("dtype");
  return {sequence_of({})};
}

Values convert_construct(Node& n) {
  const Values inputs = n.all_inputs();
  for (const Value& v : inputs)
    n.check(!v.structure, DiagnosticId::unsupported_type,
            fmt::format("a sequence has tensors of numbers, found {}", describe(v)));
  for (const Value& v : inputs)
    n.check(n.failed() || v.type.dtype == inputs[0].type.dtype, DiagnosticId::type_mismatch,
            fmt::format("the tensors must have one element type, found {} and {}", describe(inputs[0]), describe(v)));
  return {sequence_of(inputs)};
}

Values convert_insert(Node& n) {
  const Values* elements = elements_in(n, 0);
  if (!elements || !check_tensor(n, 1)) return {};
  Values result = *elements;
  const auto length = static_cast<int64_t>(result.size());
  auto position = n.has(2) ? position_in(n, 2, length, length) : std::optional(length);
  if (!position) fail_at_run_time(n, 2);
  if (n.failed()) return {};
  n.check(result.empty() || result[0].type.dtype == n.in(1).type.dtype, DiagnosticId::type_mismatch,
          fmt::format("the sequence has tensors of {}", result.empty() ? "" : name(result[0].type.dtype)));
  result.insert(result.begin() + *position, n.in(1));
  return {sequence_of(std::move(result))};
}

Values convert_erase(Node& n) {
  const Values* elements = elements_in(n, 0);
  if (!elements) return {};
  Values result = *elements;
  const auto length = static_cast<int64_t>(result.size());
  auto position = n.has(1) ? position_in(n, 1, length, length - 1) : std::optional(length - 1);
  if (!position) fail_at_run_time(n, 1);
  if (!n.failed()) n.check(length > 0, DiagnosticId::bad_attribute, "the sequence is empty: there is nothing to erase");
  if (n.failed()) return {};
  result.erase(result.begin() + *position);
  return {sequence_of(std::move(result))};
}

// A position that is known only when the program runs selects among tensors of equal types.
Value at_run_time(Node& n, const Values& elements, const Value& position) {
  const bool alike =
      std::ranges::all_of(elements, [&](const Value& v) { return v.type.shape == elements[0].type.shape; });
  n.check(!elements.empty(), DiagnosticId::bad_attribute, "the sequence is empty");
  n.check(alike, DiagnosticId::dynamic_shape,
          "position is known only when the program runs, and the tensors of the sequence have different shapes",
          "make position a constant, or the shapes equal; for an input of the model: --input NAME=value:2");
  if (n.failed()) return Value::poison();
  Value index = n.reshape(position, {});
  return n.call("take", {stacked(n, elements, 0), index}, {{"axis", 0}, {"mode", "strict"}});
}

Values convert_at(Node& n) {
  const Values* elements = elements_in(n, 0);
  if (!elements) return {};
  const auto length = static_cast<int64_t>(elements->size());
  auto position = position_in(n, 1, length, length - 1);
  if (n.failed()) return {};
  return {position ? (*elements)[static_cast<size_t>(*position)] : at_run_time(n, *elements, n.in(1))};
}

Values convert_length(Node& n) {
  const Values* elements = elements_in(n, 0);
  if (!elements) return {};
  return {Value::of(Constant::of<int64_t>(dtype::i64, {}, {static_cast<int64_t>(elements->size())}))};
}

Values convert_concat_from_sequence(Node& n) {
  const Values* elements = elements_in(n, 0);
  const int64_t axis = n.required_integer("axis");
  const bool new_axis = n.flag("new_axis", false);
  if (!elements || !n.check(!elements->empty(), DiagnosticId::shape_mismatch,
                            "the sequence is empty: the shape of the result is not known"))
    return {};
  auto from_begin = n.axis_of(axis, elements->front().rank() + new_axis);
  if (!from_begin) return {};
  return {new_axis ? stacked(n, *elements, *from_begin) : n.call("concatenate", *elements, {{"axis", *from_begin}})};
}

// The sizes of the pieces: the elements of the input; equal sizes if the input is one number; 1 without the input.
std::optional<std::vector<int64_t>> piece_sizes(Node& n, const Dim& extent) {
  std::vector<int64_t> sizes = {1};
  const bool is_list = n.has(1) && n.in(1).rank() == 1;
  if (n.has(1)) {
    auto list = check_tensor(n, 1) ? n.integers_in(1) : std::nullopt;
    if (!list) {
      if (!n.failed()) fail_at_run_time(n, 1);
      return std::nullopt;
    }
    sizes = *list;
  }
  if (is_list) return sizes;
  auto known = extent.constant();
  n.check(
      known.has_value(), DiagnosticId::dynamic_shape,
      fmt::format("the axis has {} elements, which decides the number of tensors in the sequence", extent.str()),
      extent.is_constant()
          ? ""
          : fmt::format("give the dimension a number: --dim {}=8, or give the sizes of all pieces as a constant list",
                        extent.str()));
  if (n.failed() ||
      !n.check(sizes.size() == 1 && sizes[0] > 0, DiagnosticId::shape_mismatch, "split must be a positive number"))
    return std::nullopt;
  const int64_t size = sizes[0];
  constexpr int64_t most_tensors = 100'000;
  if (!n.check(*known / size < most_tensors, DiagnosticId::too_large,
               fmt::format("the sequence would have more than {} tensors", most_tensors)))
    return std::nullopt;
  sizes.assign(static_cast<size_t>(*known / size), size);
  if (*known % size != 0) sizes.push_back(*known % size);
  return sizes;
}

Values convert_split_to_sequence(Node& n) {
  if (!check_tensor(n, 0)) return {};
  auto axis = n.axis_of(n.integer("axis", 0), n.in(0).rank());
  const bool keeps_axis = n.flag("keepdims", true) || n.has(1);
  auto sizes = axis ? piece_sizes(n, n.in(0).type.shape[static_cast<size_t>(*axis)]) : std::nullopt;
  if (!sizes) return {};
  Values pieces = split_into(n, *sizes, *axis);
  if (!keeps_axis)
    for (Value& piece : pieces) piece = n.call("squeeze", {piece}, {{"axis", relay::AttrList{*axis}}});
  return {sequence_of(std::move(pieces))};
}

// SequenceMap: its body for each element; inputs that are tensors are the same in all calls.
Values convert_map(Node& n) {
  const Values* first = elements_in(n, 0);
  const schema::GraphProto* body = n.graph("body");
  if (!first || !body) return {};
  n.check(body->input_size() == n.input_count() && body->output_size() == n.output_count(), DiagnosticId::wrong_arity,
          fmt::format("the body must have {} inputs and {} outputs, found {} and {}", n.input_count(), n.output_count(),
                      body->input_size(), body->output_size()));
  for (int k = 0; k < n.input_count() && !n.failed(); ++k)
    n.check(!is_sequence(n.in(k)) || n.in(k).structure->elements.size() == first->size(), DiagnosticId::shape_mismatch,
            fmt::format("{} is {}, {} is {}", n.in(0).role, describe(n.in(0)), n.in(k).role, describe(n.in(k))));
  if (n.failed()) return {};
  std::vector<Values> results(static_cast<size_t>(n.output_count()));
  for (size_t i = 0; i < first->size(); ++i) {
    Values inputs;
    for (const Value& input : n.all_inputs())
      inputs.push_back(is_sequence(input) ? input.structure->elements[i] : input);
    auto outputs = n.context().import_inline(*body, inputs);
    if (!outputs) return {};
    for (size_t k = 0; k < results.size(); ++k) results[k].push_back(outputs->at(k));
  }
  Values sequences;
  for (Values& elements : results) sequences.push_back(sequence_of(std::move(elements)));
  return sequences;
}

}  // namespace

void add_sequences(Table& table) {
  table.add_with_structures({
      {"SequenceEmpty", 11, "", 0, 0, 1, convert_empty},
      {"SequenceConstruct", 11, "inputs", 1, any_number, 1, convert_construct},
      {"SequenceInsert", 11, "input_sequence tensor position", 2, 3, 1, convert_insert},
      {"SequenceErase", 11, "input_sequence position", 1, 2, 1, convert_erase},
      {"SequenceAt", 11, "input_sequence position", 2, 2, 1, convert_at},
      {"SequenceLength", 11, "input_sequence", 1, 1, 1, convert_length},
      {"SplitToSequence", 11, "input split", 1, 2, 1, convert_split_to_sequence},
      {"ConcatFromSequence", 11, "input_sequence", 1, 1, 1, convert_concat_from_sequence},
      {"SequenceMap", 17, "input_sequence additional_inputs", 1, any_number, any_number, convert_map},
  });
  table.only_if("SequenceInsert", "position is known at compile time");
  table.only_if("SequenceErase", "position is known at compile time");
  table.only_if("SequenceAt", "position is known at compile time, or the tensors of the sequence have one shape");
  table.only_if("SplitToSequence", "the number of tensors is known at compile time");
}

}  // namespace dlcc::frontends::onnx

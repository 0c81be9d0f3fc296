// Inputs and outputs of a model that are no tensors, or whose values are fixed at compile time. A compiled model has
// tensors only: a sequence becomes one tensor for each of its elements, an absent optional a tensor without elements.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "support/constant.h"

namespace dlcc::frontends {

enum class ArgumentKind { tensor, sequence, optional, optional_sequence };

// An optional that is absent.
struct AbsentInput {};
// A sequence: one entry for each tensor, its shape if the model does not declare it.
struct SequenceInput {
  std::vector<std::optional<std::vector<int64_t>>> shapes;
};
// A tensor, or the tensor of an optional, of a shape that the model does not declare.
struct ShapedInput {
  std::vector<int64_t> shape;
};
// An input with a fixed value, an integer or a list of integers. A compiled model has no such input.
struct FixedInput {
  Constant value;
};
// The form of an input: its properties that are fixed at compile time.
using InputForm = std::variant<AbsentInput, SequenceInput, ShapedInput, FixedInput>;

// The form that "none", "seq:3", "seq:[2,3],[4,3]", "[2,3]", "value:5" or "value:[1,2]" describes; else empty.
std::optional<InputForm> parse_input_form(const std::string& text);

// An input whose form must be known at compile time but is not given by an option.
struct UnknownInput {
  size_t index;  // among the inputs of the model
  std::string name;
  ArgumentKind kind;
  // Of a tensor: whether its value must be known, because a size, the length of a sequence or the presence of an
  // optional depends on it. If not, its shape must be known.
  bool needs_value = false;
};
using FindInputForm = std::function<std::optional<InputForm>(const UnknownInput&)>;

// An input or output of the model, and the tensors that a compiled model has for it.
struct Argument {
  std::string name;
  ArgumentKind kind = ArgumentKind::tensor;
  size_t tensors = 1;
  bool absent = false;              // an optional input that is absent: its tensor has no elements
  std::optional<Constant> fixed{};  // the value of an input that is fixed: there is no tensor
};

// Empty lists mean that every input and every output is a tensor.
struct Arguments {
  std::vector<Argument> inputs, outputs;
};

// "a sequence of 3 tensors", "an absent optional", "a tensor"
std::string describe(ArgumentKind, size_t tensors, bool absent);

}  // namespace dlcc::frontends

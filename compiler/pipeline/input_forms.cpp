#include "pipeline/input_forms.h"

#include <filesystem>

#include "pipeline/tensor_files.h"

namespace dlcc {

using frontends::ArgumentKind;
using frontends::InputForm;
using frontends::UnknownInput;

static InputForm form_of(const frontends::onnx::ArgumentData& data, const UnknownInput& input) {
  if (data.absent) return frontends::AbsentInput{};
  if (input.kind == ArgumentKind::tensor && input.needs_value) return frontends::FixedInput{data.tensors[0]};
  if (input.kind == ArgumentKind::tensor || input.kind == ArgumentKind::optional)
    return frontends::ShapedInput{data.tensors[0].shape()};
  frontends::SequenceInput sequence;
  for (const Constant& tensor : data.tensors) sequence.shapes.emplace_back(tensor.shape());
  return sequence;
}

std::optional<InputForm> form_of_data(const std::string& file, const UnknownInput& input, Diagnostics& diagnostics) {
  auto data = read_argument(file, input.kind, diagnostics);
  if (!data) return std::nullopt;
  const InputForm form = form_of(*data, input);
  const bool is_fixed = std::holds_alternative<frontends::FixedInput>(form);
  const auto* shaped = std::get_if<frontends::ShapedInput>(&form);
  diagnostics.remark(DiagnosticId::dynamic_shape, {.file = file},
                     fmt::format("input '{}' is compiled as {}{}", input.name,
                                 is_fixed ? "the value of this file, since it decides a size, the length of a sequence "
                                            "or the presence of an optional"
                                          : frontends::describe(input.kind, data->tensors.size(), data->absent),
                                 shaped ? fmt::format(" of shape {}", str(shape_of(shaped->shape))) : ""));
  return form;
}

frontends::FindInputForm forms_of_data_set(const std::string& folder, Diagnostics& diagnostics) {
  return [folder, &diagnostics](const UnknownInput& input) -> std::optional<InputForm> {
    if (std::error_code ignored; !std::filesystem::is_directory(folder, ignored)) return std::nullopt;
    return form_of_data(input_file(folder, input.index), input, diagnostics);
  };
}

}  // namespace dlcc

#include "frontends/onnx/reader.h"

#include "frontends/frontend.h"

namespace dlcc::frontends::onnx {

Opsets read_opsets(const google::protobuf::RepeatedPtrField<schema::OperatorSetIdProto>& imports,
                   const SourceLocation& location, Diagnostics& diagnostics) {
  Opsets opsets;
  for (const auto& import : imports) {
    std::string domain = canonical_domain(import.domain());
    if (domain.empty() && (import.version() < 1 || import.version() > newest_opset))
      diagnostics.error(DiagnosticId::unsupported_opset, location,
                        fmt::format("operator set {} is not known", import.version()), {},
                        fmt::format("versions 1 to {} are", newest_opset));
    bool inserted = opsets.emplace(domain, import.version()).second;
    if (!inserted && opsets[domain] != import.version())
      diagnostics.error(
          DiagnosticId::duplicate_definition, location,
          fmt::format("domain '{}' is imported with versions {} and {}", domain, opsets[domain], import.version()));
  }
  return opsets;
}

// Whether the bytes are a tensor: data of a known type and no fields that a tensor lacks.
static bool is_tensor(std::span<const std::byte> bytes) {
  schema::TensorProto tensor;
  return tensor.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) && tensor.data_type() > 0 &&
         (tensor.has_raw_data() ||
          tensor.float_data_size() + tensor.int64_data_size() + tensor.int32_data_size() > 0) &&
         tensor.GetReflection()->GetUnknownFields(tensor).empty();
}

std::optional<Model> read_model(std::span<const std::byte> bytes, const std::string& file, Diagnostics& diagnostics) {
  SourceLocation location{.file = file};
  Model model{std::make_shared<schema::ModelProto>(), {}, {}};
  auto malformed = [&](const char* message, const char* help = "") {
    diagnostics.error(DiagnosticId::malformed_model, location, message, {}, help);
    return std::nullopt;
  };
  if (bytes.empty()) return malformed("the model is empty");
  if (bytes.size() > INT32_MAX)
    return malformed("an ONNX file cannot be larger than 2 GiB; larger weights are external data");
  const bool is_parsed = model.proto->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (!(is_parsed && model.proto->has_graph()) && is_tensor(bytes)) {
    diagnostics.error(DiagnosticId::wrong_kind_of_file, location, "this is a tensor of ONNX (TensorProto), not a model",
                      {}, "a model is ONNX or Relay text; a tensor can be an input: dlcc run MODEL --input FILE");
    return std::nullopt;
  }
  if (!is_parsed)
    return malformed("the bytes are not an ONNX model, or end too early",
                     "copy, download or export the file again; a model of another framework must be converted to ONNX");
  if (!model.proto->has_graph())
    return malformed(
        "there is no graph",
        "if this is a model of another framework, convert it to ONNX, TensorFlow's for instance with tf2onnx");
  int64_t ir = model.proto->ir_version();
  if (ir < 1 || ir > newest_ir_version)
    diagnostics.error(DiagnosticId::unsupported_opset, location, fmt::format("IR version {} is not known", ir), {},
                      fmt::format("versions 1 to {} are", newest_ir_version));
  model.opsets = read_opsets(model.proto->opset_import(), location, diagnostics);
  if (model.opsets.empty() && ir < 3) model.opsets.emplace("", 1);  // before IR version 3 there was one operator set
  for (const schema::FunctionProto& f : model.proto->functions())
    if (!model.functions.emplace(FunctionKey(canonical_domain(f.domain()), f.name(), f.overload()), &f).second)
      diagnostics.error(DiagnosticId::duplicate_definition, location,
                        fmt::format("function '{}' is defined twice", f.name()));
  return model;
}

}  // namespace dlcc::frontends::onnx

#include "frontends/onnx/tensor_proto.h"

#include "frontends/onnx/tensor_decode.h"

namespace dlcc::frontends::onnx {

std::optional<NamedTensor> read_tensor_proto(std::span<const std::byte> bytes, const SourceLocation& location,
                                             Diagnostics& diagnostics, const std::string& folder) {
  auto tensor = std::make_shared<schema::TensorProto>();
  if (bytes.size() > INT32_MAX || !tensor->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    diagnostics.error(DiagnosticId::malformed_tensor, location, "the bytes are not an ONNX TensorProto", {},
                      "a tensor is an .npy file (numpy.save) or an ONNX TensorProto (.pb)");
    return std::nullopt;
  }
  ExternalFiles files(folder);
  auto value = decode_tensor(*tensor, tensor, files, location, diagnostics);
  if (!value) return std::nullopt;
  return NamedTensor{tensor->name(), *value};
}

namespace {

// Parses a message. False also if the bytes are a message of another type that happens to parse.
template <class Message>
bool parse(std::span<const std::byte> bytes, Message& message) {
  return bytes.size() <= INT32_MAX && message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) &&
         message.GetReflection()->GetUnknownFields(message).empty();
}

std::optional<ArgumentData> tensors_of(const schema::SequenceProto& sequence, const std::shared_ptr<const void>& owner,
                                       const SourceLocation& location, Diagnostics& diagnostics) {
  ArgumentData data;
  ExternalFiles files("");
  for (const schema::TensorProto& tensor : sequence.tensor_values()) {
    auto value = decode_tensor(tensor, owner, files, location, diagnostics);
    if (!value) return std::nullopt;
    data.tensors.push_back(std::move(*value));
  }
  return data;
}

std::optional<ArgumentData> one_tensor(std::span<const std::byte> bytes, const SourceLocation& location,
                                       Diagnostics& diagnostics) {
  auto tensor = read_tensor_proto(bytes, location, diagnostics);
  return tensor ? std::optional(ArgumentData{false, {tensor->value}}) : std::nullopt;
}

}  // namespace

std::optional<ArgumentData> read_argument(std::span<const std::byte> bytes, ArgumentKind kind,
                                          const SourceLocation& location, Diagnostics& diagnostics) {
  if (kind == ArgumentKind::tensor) return one_tensor(bytes, location, diagnostics);
  if (kind == ArgumentKind::sequence) {
    auto sequence = std::make_shared<schema::SequenceProto>();
    if (parse(bytes, *sequence)) return tensors_of(*sequence, sequence, location, diagnostics);
    diagnostics.error(DiagnosticId::malformed_tensor, location, "the bytes are not an ONNX SequenceProto of tensors");
    return std::nullopt;
  }
  auto optional = std::make_shared<schema::OptionalProto>();
  if (!parse(bytes, *optional))  // some data sets have the element itself
    return kind == ArgumentKind::optional ? one_tensor(bytes, location, diagnostics)
                                          : read_argument(bytes, ArgumentKind::sequence, location, diagnostics);
  const bool is_sequence = kind == ArgumentKind::optional_sequence;
  if (is_sequence ? optional->has_tensor_value() : optional->has_sequence_value()) {
    diagnostics.error(DiagnosticId::malformed_tensor, location,
                      "the optional has an element of another kind than the model declares");
    return std::nullopt;
  }
  if (optional->has_sequence_value()) return tensors_of(optional->sequence_value(), optional, location, diagnostics);
  if (!optional->has_tensor_value()) return ArgumentData{true, {}};
  ExternalFiles files("");
  auto value = decode_tensor(optional->tensor_value(), optional, files, location, diagnostics);
  return value ? std::optional(ArgumentData{false, {*value}}) : std::nullopt;
}

std::vector<std::byte> write_tensor_proto(const std::string& name, const Constant& value) {
  schema::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx_number(value.dtype()));
  for (int64_t d : value.shape()) tensor.add_dims(d);
  tensor.set_raw_data(value.bytes().data(), value.bytes().size());
  std::vector<std::byte> bytes(tensor.ByteSizeLong());
  bool written = tensor.SerializeToArray(bytes.data(), static_cast<int>(bytes.size()));
  DLCC_CHECK(written, "a tensor of {} bytes cannot be serialized", bytes.size());
  return bytes;
}

}  // namespace dlcc::frontends::onnx

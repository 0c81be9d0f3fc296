#include "frontends/onnx/tensor_proto.h"

#include "frontends/onnx/tensor_decode.h"

namespace dlcc::frontends::onnx {

std::optional<NamedTensor> read_tensor_proto(std::span<const std::byte> bytes, const SourceLocation& location,
                                             Diagnostics& diagnostics, const std::string& folder) {
  auto tensor = std::make_shared<schema::TensorProto>();
  if (bytes.size() > INT32_MAX || !tensor->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    diagnostics.error(DiagnosticId::malformed_tensor, location, "the bytes are not an ONNX TensorProto");
    return std::nullopt;
  }
  ExternalFiles files(folder);
  auto value = decode_tensor(*tensor, tensor, files, location, diagnostics);
  if (!value) return std::nullopt;
  return NamedTensor{tensor->name(), *value};
}

std::vector<std::byte> write_tensor_proto(const std::string& name, const Constant& value) {
  schema::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx_number(value.dtype()));
  for (int64_t d : value.shape()) tensor.add_dims(d);
  tensor.set_raw_data(value.bytes().data(), value.bytes().size());
  std::vector<std::byte> bytes(tensor.ByteSizeLong());
  bool written = tensor.SerializeToArray(bytes.data(), static_cast<int>(bytes.size()));
  DLCC_CHECK(written, "a tensor of {} bytes cannot be serialised", bytes.size());
  return bytes;
}

}  // namespace dlcc::frontends::onnx

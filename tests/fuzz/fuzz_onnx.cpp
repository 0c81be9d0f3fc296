// libFuzzer: any bytes are imported or rejected with a message. An InternalError, a crash or a leak is a defect.
#include "frontends/frontend.h"
#include "frontends/onnx/tensor_proto.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto bytes = std::as_bytes(std::span(data, size));
  dlcc::Diagnostics model_errors, tensor_errors;
  auto module = dlcc::frontends::import_onnx(bytes, {.dims = {{"n", 2}}, .file = "fuzz", .folder = ""}, model_errors);
  if (module.has_value() == model_errors.any()) __builtin_trap();
  auto tensor = dlcc::frontends::onnx::read_tensor_proto(bytes, {.file = "fuzz"}, tensor_errors);
  if (tensor.has_value() == tensor_errors.any()) __builtin_trap();
  return 0;
}

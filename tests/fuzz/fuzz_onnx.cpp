// Fuzz target: any bytes are imported as an ONNX model and as a tensor, or rejected with a message. An exception, a
// crash or a leak is a defect.
#include "frontends/frontend.h"
#include "frontends/onnx/tensor_proto.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto bytes = std::as_bytes(std::span(data, size));
  using Ranges = std::map<std::string, dlcc::SizeRange>;
  dlcc::SizeRange range;
  range.high = 32, range.multiple = 4, range.low = 4;
  for (const Ranges& dims : {Ranges{}, Ranges{{"n", 2}}, Ranges{{"n", range}}}) {
    dlcc::Diagnostics errors;
    auto module = dlcc::frontends::import_onnx(bytes, {.dims = dims, .file = "fuzz", .folder = ""}, errors);
    if (module.has_value() == errors.has_errors()) __builtin_trap();
  }
  dlcc::Diagnostics errors;
  auto tensor = dlcc::frontends::onnx::read_tensor_proto(bytes, {.file = "fuzz"}, errors);
  if (tensor.has_value() == errors.has_errors()) __builtin_trap();
  return 0;
}

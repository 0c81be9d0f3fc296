// Fuzz target: an ONNX model is imported, optimized, lowered and planned, without generated code, or rejected with a
// message. Its mutations are those of models, not of bytes. An exception, a crash or a leak is a defect.
#include "mutate_model.h"
#include "pipeline/compile.h"

using dlcc::frontends::onnx::schema::ModelProto;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  dlcc::CompileOptions options;
  options.model = "fuzz.onnx";
  options.model_bytes = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  dlcc::Diagnostics errors;
  const auto planned = dlcc::Compiler(std::move(options), errors).compile();
  if (planned.has_value() == errors.has_errors()) __builtin_trap();
  return 0;
}

// A mutation of the model in data[0, size), which has room for max_size bytes. Returns its size.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  ModelProto model;
  if (!model.ParseFromArray(data, static_cast<int>(size))) return size;
  std::mt19937 random(seed);
  for (unsigned count = 1 + random() % 4; count > 0; --count) dlcc::mutate(model, random);
  const size_t needed = model.ByteSizeLong();
  if (needed > max_size) return size;
  model.SerializeToArray(data, static_cast<int>(needed));
  return needed;
}

// The generated ONNX schema, included by the importer's own files only: no header outside this folder shows protobuf.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "onnx_model.pb.h"
#pragma GCC diagnostic pop

namespace dlcc::frontends::onnx {

namespace schema = ::dlcc_onnx;

inline constexpr int64_t newest_ir_version = 14;
inline constexpr int64_t newest_opset = 28;

// The default operator set has two names.
inline std::string canonical_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

}  // namespace dlcc::frontends::onnx

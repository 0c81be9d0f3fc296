// The generated ONNX schema. Only files of this folder include it: no other header depends on protobuf.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "onnx_model.pb.h"
#pragma GCC diagnostic pop

namespace dlcc::frontends::onnx {

namespace schema = ::dlcc_onnx;

inline constexpr int64_t newest_ir_version = 14;

// The domain of the default operator set has two names.
inline std::string canonical_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

}  // namespace dlcc::frontends::onnx

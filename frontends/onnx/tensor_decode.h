// Converts a TensorProto to a Constant, from raw_data, the typed fields or external data, and checks all sizes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/external_data.h"
#include "frontends/onnx/schema.h"
#include "support/constant.h"

namespace dlcc::frontends::onnx {

// The number of elements of `dims`. Reports malformed_tensor for negative sizes, and too_large if the number of bits
// overflows int64.
std::optional<int64_t> checked_count(const std::vector<int64_t>& dims, DType, const SourceLocation&, Diagnostics&);

// The name of a TensorProto.DataType, for messages: "float16", or "number 99".
std::string element_type_name(int64_t number);

// The element type with this TensorProto.DataType number. Reports unsupported_type.
std::optional<DType> checked_type(int number, const SourceLocation&, Diagnostics&);

// The tensor's value. It refers to raw_data if that is aligned; `owner` keeps `tensor` alive.
std::optional<Constant> decode_tensor(const schema::TensorProto& tensor, const std::shared_ptr<const void>& owner,
                                      ExternalFiles& files, const SourceLocation& location, Diagnostics&);

// The dense value of a sparse tensor.
std::optional<Constant> decode_sparse_tensor(const schema::SparseTensorProto& tensor,
                                             const std::shared_ptr<const void>& owner, ExternalFiles& files,
                                             const SourceLocation& location, Diagnostics&);

}  // namespace dlcc::frontends::onnx

// Forward declarations of the ONNX schema's messages, for headers that converters include (schema.h has the
// definitions).
#pragma once

namespace dlcc_onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
class TensorProto;
class ValueInfoProto;
enum AttributeProto_AttributeType : int;
}  // namespace dlcc_onnx

namespace dlcc::frontends::onnx {

namespace schema = ::dlcc_onnx;

}  // namespace dlcc::frontends::onnx

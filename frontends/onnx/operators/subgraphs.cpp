#include "frontends/onnx/operators/subgraphs.h"

#include "frontends/onnx/schema.h"

namespace dlcc::frontends::onnx {

Value as_scalar(Node& n, const Value& value) { return value.rank() == 0 ? value : n.reshape(value, {}); }

Value in_declared_rank(Node& n, const Value& value, const schema::ValueInfoProto& input) {
  const auto& tensor = input.type().tensor_type();
  return tensor.has_shape() && tensor.shape().dim_size() == 1 ? n.reshape(value, {Dim(1)}) : value;
}

bool passes_on(const schema::GraphProto& graph, const std::string& input, std::string output) {
  for (int k = graph.node_size(); k-- > 0;) {
    const schema::NodeProto& node = graph.node(k);
    if (node.output_size() == 0 || node.output(0) != output) continue;
    if (node.op_type() != "Identity" || node.input_size() != 1) return false;
    output = node.input(0);
  }
  return output == input;
}

void check_carried(Node& n, const std::string& output, const relay::TensorType& before,
                   const relay::TensorType& after) {
  n.check(before.dtype == after.dtype, DiagnosticId::type_mismatch,
          fmt::format("the carried value '{}' is {} before an iteration and {} after it", output, describe(before),
                      describe(after)));
  n.check(
      before.shape == after.shape, DiagnosticId::dynamic_shape,
      fmt::format("the carried value '{}' is {} before an iteration and {} after it: its size depends on the number "
                  "of iterations",
                  output, describe(before), describe(after)),
      "carry a tensor of the final size from the beginning");
}

}  // namespace dlcc::frontends::onnx

#include "frontends/onnx/operators/subgraphs.h"

#include "frontends/onnx/schema.h"
#include "frontends/onnx/scope.h"

namespace dlcc::frontends::onnx {

Value as_scalar(Node& n, const Value& value) {
  const relay::Atom* source = &value.atom;
  while (const relay::Call* call = n.context().builder.call_of(*source)) {
    const std::string& name = std::get<relay::OperatorRef>(call->callee).op->name;
    if (name != "expand_dims" && name != "reshape" && name != "squeeze") break;
    source = &call->args[0];
  }
  const auto* var = std::get_if<relay::Var>(source);
  const auto* type = var ? relay::as<relay::TensorType>((*var)->type) : nullptr;
  if (type && type->shape.empty()) return {*var, *type};
  return value.rank() == 0 ? value : n.reshape(value, {});
}

Value in_declared_rank(Node& n, const Value& value, const schema::ValueInfoProto& input) {
  const auto& tensor = input.type().tensor_type();
  return tensor.has_shape() && tensor.shape().dim_size() == 1 ? n.reshape(value, {Dim(1)}) : value;
}

bool passes_on(const schema::GraphProto& graph, const std::string& input, std::string output) {
  for (int k = graph.node_size(); k-- > 0;) {
    const schema::NodeProto& node = graph.node(k);
    if (node.output_size() == 0 || node.output(0) != output) continue;
    const bool is_identity = node.op_type() == "Identity" && canonical_domain(node.domain()).empty();
    if (!is_identity || node.input_size() != 1) return false;
    output = node.input(0);
  }
  return output == input;
}

std::vector<std::optional<int64_t>> declared_sizes(const schema::ValueInfoProto& output) {
  std::vector<std::optional<int64_t>> sizes;
  for (const auto& dim : output.type().tensor_type().shape().dim())
    sizes.push_back(has_size(dim) ? std::optional<int64_t>(dim.dim_value()) : std::nullopt);
  return sizes;
}

Value carried(Node& n, const std::string& output, const relay::TensorType& before, const Value& after) {
  const relay::TensorType& type = after.type;
  const std::string types = fmt::format("the carried value '{}' is {} before an iteration and {} after it", output,
                                        describe(before), describe(type));
  n.check(before.dtype == type.dtype, DiagnosticId::type_mismatch, types);
  n.check(may_be_equal(before.shape, type.shape), DiagnosticId::dynamic_shape,
          types + ": its size depends on the number of iterations",
          "carry a tensor of the final size from the beginning");
  return n.failed() ? after : *n.with_shape(after, before.shape);
}

}  // namespace dlcc::frontends::onnx

#include "frontends/onnx/compile_time_inputs.h"

#include <algorithm>

namespace dlcc::frontends::onnx {
namespace {

using Infos = google::protobuf::RepeatedPtrField<schema::ValueInfoProto>;

bool any_structure(const Infos& infos) {
  return std::ranges::any_of(infos, [](const schema::ValueInfoProto& info) {
    return info.type().has_sequence_type() || info.type().has_optional_type();
  });
}

const schema::GraphProto* graph_of(const schema::NodeProto& node, const std::string& attribute) {
  for (const schema::AttributeProto& a : node.attribute())
    if (a.name() == attribute) return &a.g();
  return nullptr;
}

// The indices of the inputs that determine the sizes of a Fourier transform's result and its constants; none if the
// result has the sizes of the operand.
std::vector<int> compile_time_inputs_of_transform(const schema::NodeProto& node) {
  if (node.op_type() == "STFT") return {1, 3};
  const bool onesided =
      std::ranges::any_of(node.attribute(), [](const auto& a) { return a.name() == "onesided" && a.i() != 0; });
  const bool has_length = node.input_size() > 1 && !node.input(1).empty();
  return onesided || has_length ? std::vector<int>{1, 2} : std::vector<int>{};
}

// The indices of the node's inputs whose values must be known at compile time.
std::vector<int> compile_time_inputs(const schema::NodeProto& node) {
  const std::string& op = node.op_type();
  if (op == "SplitToSequence" || op == "SequenceErase") return {1};
  if (op == "SequenceInsert") return {2};
  if (op == "DFT" || op == "STFT") return compile_time_inputs_of_transform(node);
  const schema::GraphProto *body = graph_of(node, "body"), *branch = graph_of(node, "then_branch");
  if (op == "Loop" && body && any_structure(body->input())) return {0, 1};
  if (op == "If" && branch && any_structure(branch->output())) return {0};
  return {};
}

}  // namespace

std::set<std::string> compile_time_inputs(const schema::GraphProto& graph) {
  std::set<std::string> names;
  for (const schema::NodeProto& node : graph.node())
    for (int k : compile_time_inputs(node))
      if (k < node.input_size() && !node.input(k).empty()) names.insert(node.input(k));
  return names;
}

}  // namespace dlcc::frontends::onnx

#include "frontends/onnx/deciding_inputs.h"

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

// The indices of the node's inputs that decide a structure.
std::vector<int> deciding(const schema::NodeProto& node) {
  const std::string& op = node.op_type();
  if (op == "SplitToSequence" || op == "SequenceErase") return {1};
  if (op == "SequenceInsert") return {2};
  const schema::GraphProto *body = graph_of(node, "body"), *branch = graph_of(node, "then_branch");
  if (op == "Loop" && body && any_structure(body->input())) return {0, 1};
  if (op == "If" && branch && any_structure(branch->output())) return {0};
  return {};
}

}  // namespace

std::set<std::string> names_that_decide_structures(const schema::GraphProto& graph) {
  std::set<std::string> names;
  for (const schema::NodeProto& node : graph.node())
    for (int k : deciding(node))
      if (k < node.input_size()) names.insert(node.input(k));
  return names;
}

}  // namespace dlcc::frontends::onnx

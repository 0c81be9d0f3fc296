#include "frontends/onnx/shared_functions.h"

#include <fmt/format.h>

namespace dlcc::frontends::onnx {
namespace {

std::set<std::string> initializers_of(const schema::GraphProto& graph) {
  std::set<std::string> names;
  for (const schema::TensorProto& t : graph.initializer()) names.insert(t.name());
  for (const schema::SparseTensorProto& t : graph.sparse_initializer()) names.insert(t.values().name());
  return names;
}

std::string text_of(const FunctionKey& key) {
  const auto& [domain, name, overload] = key;
  return fmt::format("{}.{}:{}", domain, name, overload);
}

}  // namespace

FunctionKey function_key(const schema::NodeProto& node) {
  return {canonical_domain(node.domain()), node.op_type(), node.overload()};
}

SharedFunctions::SharedFunctions(const Model& model)
    : constants_(initializers_of(model.proto->graph())), calls_(find(model)) {}

relay::Specialization SharedFunctions::specialization_of(const schema::NodeProto& call, bool is_in_main) const {
  std::string constants;
  for (int k = 0; k < call.input_size() && is_in_main; ++k)
    if (constants_.contains(call.input(k))) constants += fmt::format("{}: {} ", k, call.input(k));
  return {text_of(function_key(call)), constants};
}

void SharedFunctions::scan(const Model& model, const NodeList& nodes, bool is_in_main,
                           relay::SharedCalls::Body& body) const {
  for (const schema::NodeProto& node : nodes) {
    if (model.functions.contains(function_key(node)))
      body.calls.push_back(specialization_of(node, is_in_main));
    else
      ++body.operations;
    for (const schema::AttributeProto& a : node.attribute()) {
      scan(model, a.g().node(), is_in_main, body);
      for (const schema::GraphProto& g : a.graphs()) scan(model, g.node(), is_in_main, body);
    }
  }
}

relay::SharedCalls SharedFunctions::find(const Model& model) const {
  const std::string main;  // no function has this text
  std::map<std::string, relay::SharedCalls::Body> bodies;
  scan(model, model.proto->graph().node(), true, bodies[main]);
  for (const auto& [key, function] : model.functions) scan(model, function->node(), false, bodies[text_of(key)]);
  return {bodies, main};
}

}  // namespace dlcc::frontends::onnx

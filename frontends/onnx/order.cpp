#include "frontends/onnx/order.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

namespace dlcc::frontends::onnx {
namespace {

// Adds the names that a node uses, including those captured by its subgraphs. Protobuf's limit bounds their nesting.
void collect_uses(const schema::NodeProto& node, std::set<std::string>& names) {
  for (const std::string& name : node.input())
    if (!name.empty()) names.insert(name);
  auto of_graph = [&](const schema::GraphProto& graph) {
    std::set<std::string> used;
    for (const schema::NodeProto& inner : graph.node()) collect_uses(inner, used);
    for (const schema::ValueInfoProto& output : graph.output()) used.insert(output.name());
    for (const schema::ValueInfoProto& input : graph.input()) used.erase(input.name());
    for (const schema::TensorProto& initializer : graph.initializer()) used.erase(initializer.name());
    for (const schema::SparseTensorProto& t : graph.sparse_initializer()) used.erase(t.values().name());
    for (const schema::NodeProto& inner : graph.node())
      for (const std::string& own : inner.output()) used.erase(own);
    names.merge(used);
  };
  const bool is_gradient = node.op_type() == "Gradient" && node.domain() == "ai.onnx.preview.training";
  for (const schema::AttributeProto& a : node.attribute()) {
    if (is_gradient && a.name() == "y") names.insert(a.s());
    if (a.has_g()) of_graph(a.g());
    for (const schema::GraphProto& g : a.graphs()) of_graph(g);
  }
}

std::vector<int> find_cycle(const std::vector<std::vector<int>>& producers, const std::vector<int>& waiting,
                            int start) {
  std::vector<int> path;
  std::vector<bool> visited(producers.size());
  int node = start;
  while (!visited[node]) {
    visited[node] = true;
    path.push_back(node);
    node = *std::ranges::find_if(producers[node], [&](int p) { return waiting[p] > 0; });
  }
  return {std::ranges::find(path, node), path.end()};
}

}  // namespace

std::set<std::string> names_used(const NodeList& nodes) {
  std::set<std::string> names;
  for (const schema::NodeProto& node : nodes) collect_uses(node, names);
  return names;
}

std::set<std::string> names_used(const schema::NodeProto& node) {
  std::set<std::string> names;
  collect_uses(node, names);
  return names;
}

NodeOrder evaluation_order(const NodeList& nodes) {
  std::map<std::string, int> producer;
  for (int k = 0; k < nodes.size(); ++k)
    for (const std::string& name : nodes[k].output())
      if (!name.empty()) producer.emplace(name, k);

  std::vector<std::vector<int>> producers(nodes.size()), consumers(nodes.size());
  std::vector<int> waiting(nodes.size());  // number of a node's producers that are not in the order yet
  for (int k = 0; k < nodes.size(); ++k) {
    std::set<std::string> names;
    collect_uses(nodes[k], names);
    std::set<int> from;
    for (const std::string& name : names)
      if (auto it = producer.find(name); it != producer.end()) from.insert(it->second);
    producers[k].assign(from.begin(), from.end());
    for (int p : from) consumers[p].push_back(k);
    waiting[k] = static_cast<int>(from.size());
  }

  NodeOrder order;
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int k = 0; k < nodes.size(); ++k)
    if (waiting[k] == 0) ready.push(k);
  while (!ready.empty()) {
    int k = ready.top();
    ready.pop();
    order.sorted.push_back(k);
    for (int c : consumers[k])
      if (--waiting[c] == 0) ready.push(c);
  }
  for (int k = 0; k < nodes.size(); ++k)
    if (waiting[k] > 0) order.stuck.push_back(k);
  if (!order.stuck.empty()) order.cycle = find_cycle(producers, waiting, order.stuck[0]);
  return order;
}

}  // namespace dlcc::frontends::onnx

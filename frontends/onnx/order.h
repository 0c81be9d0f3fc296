// Topological sorting of a graph's nodes. The ONNX standard requires sorted nodes; unsorted ones without cycles are
// accepted as well. The algorithm is from Kahn, "Topological sorting of large networks", 1962.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "frontends/onnx/schema.h"

namespace dlcc::frontends::onnx {

using NodeList = google::protobuf::RepeatedPtrField<schema::NodeProto>;

struct NodeOrder {
  std::vector<int> sorted;  // node indices; the model's order where possible
  std::vector<int> stuck;   // nodes that depend on a cycle, in the model's order
  std::vector<int> cycle;   // one cycle, if there is any; each node depends on the next one
};

NodeOrder evaluation_order(const NodeList&);

// The names that the nodes use, including those in their subgraphs.
std::set<std::string> names_used(const NodeList&);
std::set<std::string> names_used(const schema::NodeProto&);

}  // namespace dlcc::frontends::onnx

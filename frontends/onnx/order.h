// The order in which the nodes of a graph can be evaluated. ONNX wants nodes sorted; unsorted ones are accepted as long
// as they do not depend on each other in a circle.
#pragma once

#include <string>
#include <vector>

#include "frontends/onnx/schema.h"

namespace dlcc::frontends::onnx {

using NodeList = google::protobuf::RepeatedPtrField<schema::NodeProto>;

struct NodeOrder {
  std::vector<int> sorted;  // indices; the model's order wherever that is possible
  std::vector<int> stuck;   // nodes that depend on a circle, in the model's order
  std::vector<int> circle;  // one circle, if there is any; each depends on the next
};

NodeOrder evaluation_order(const NodeList&);

}  // namespace dlcc::frontends::onnx

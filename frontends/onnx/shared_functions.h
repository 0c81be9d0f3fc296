// Selects the calls of model-local functions that become calls of Relay functions (relay/shared_calls.h). The others
// are inlined.
#pragma once

#include "frontends/onnx/order.h"
#include "frontends/onnx/reader.h"
#include "relay/shared_calls.h"

namespace dlcc::frontends::onnx {

FunctionKey function_key(const schema::NodeProto&);

class SharedFunctions {
 public:
  explicit SharedFunctions(const Model&);

  // `is_in_main`: the node is in the model's graph, not in a function.
  bool contains(const schema::NodeProto& call, bool is_in_main) const {
    return calls_.contains(specialization_of(call, is_in_main));
  }

 private:
  // Operands count as constant if they are initializers of the model's graph.
  relay::Specialization specialization_of(const schema::NodeProto& call, bool is_in_main) const;
  void scan(const Model&, const NodeList&, bool is_in_main, relay::SharedCalls::Body&) const;
  relay::SharedCalls find(const Model&) const;

  std::set<std::string> constants_;
  relay::SharedCalls calls_;
};

}  // namespace dlcc::frontends::onnx

// Which calls of a model's functions become calls of Relay functions (relay/shared_calls.h). The others are inlined.
#pragma once

#include "frontends/onnx/order.h"
#include "frontends/onnx/reader.h"
#include "relay/shared_calls.h"

namespace dlcc::frontends::onnx {

FunctionKey function_key(const schema::NodeProto&);

class SharedFunctions {
 public:
  explicit SharedFunctions(const Model&);

  // `is_in_main`: the node is one of the model's graph, not of a function.
  bool contains(const schema::NodeProto& call, bool is_in_main) const {
    return calls_.contains(way_of(call, is_in_main));
  }

 private:
  // The constants are the initializers of the model's graph, by name.
  relay::CallWay way_of(const schema::NodeProto& call, bool is_in_main) const;
  void scan(const Model&, const NodeList&, bool is_in_main, relay::SharedCalls::Body&) const;
  relay::SharedCalls find(const Model&) const;

  std::set<std::string> constants_;
  relay::SharedCalls calls_;
};

}  // namespace dlcc::frontends::onnx

// Imports models and evaluates them by the operators' definitions.
#pragma once

#include "relay/evaluate.h"
#include "support.h"

namespace dlcc::frontends::onnx {

inline Constant floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  return Constant::of<float>(dtype::f32, std::move(shape), values);
}
inline Constant integers(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  return Constant::of<int64_t>(dtype::i64, std::move(shape), values);
}
inline Constant truth(bool value) { return Constant::of<uint8_t>(dtype::boolean, {}, {value}); }

// The shapes and elements of the results, one result per line: "(2): 1 2"; else the diagnostics or the status.
inline std::string evaluated(const std::vector<std::byte>& bytes, const std::vector<Constant>& args) {
  ImportOptions options;
  options.file = "m";
  Diagnostics d;
  auto module = import_onnx(bytes, options, d);
  if (!module) return "errors:\n" + d.str();
  CHECK_MESSAGE(relay::verify(*module, d), d.str());
  auto result = relay::evaluate(*module, args, tensor::Precision::specified, d);
  if (!result) return "errors:\n" + d.str();
  if (result->status != tensor::Status::ok) return fmt::format("status {}", static_cast<int>(result->status));
  std::string text;
  for (const Constant& c : result->results) {
    text += (text.empty() ? "" : "\n") + str(shape_of(c.shape())) + ":";
    for (int64_t k = 0; k < c.count(); ++k) text += fmt::format(" {:.4g}", c.number_at(k));
  }
  return text;
}

// A subgraph attribute: subgraph("body", node(...) + value("input", ...)).
inline std::string subgraph(const std::string& name, const std::string& graph) {
  return fmt::format("attribute {{ name: '{}' type: GRAPH g {{ {} }} }} ", name, graph);
}

}  // namespace dlcc::frontends::onnx

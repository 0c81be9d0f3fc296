// Imports models written in protobuf's text format.
#pragma once

#include <google/protobuf/text_format.h>

#include <string>

#include "doctest/doctest.h"
#include "frontends/frontend.h"
#include "frontends/onnx/schema.h"

namespace dlcc::frontends::onnx {

inline std::vector<std::byte> serialized(const google::protobuf::MessageLite& message) {
  std::vector<std::byte> bytes(message.ByteSizeLong());
  message.SerializeToArray(bytes.data(), static_cast<int>(bytes.size()));
  return bytes;
}

// A whole model in text format.
inline std::vector<std::byte> model_bytes(const std::string& text) {
  schema::ModelProto model;
  bool parsed = google::protobuf::TextFormat::ParseFromString(text, &model);
  return parsed ? serialized(model) : std::vector<std::byte>{};
}

// A model with one operator set and the fields of a graph.
inline std::vector<std::byte> graph_bytes(const std::string& graph, int opset = 17) {
  return model_bytes(fmt::format("ir_version: 8 opset_import {{ version: {} }} graph {{ {} }}", opset, graph));
}

// A graph input or output: value("input", "x", 1, {2, 3}).
inline std::string value(const std::string& field, const std::string& name, int type,
                         const std::vector<std::string>& dims) {
  std::string shape;
  for (const std::string& d : dims)
    shape += fmt::format("dim {{ {} }} ", d.empty() ? ""
                                          : std::isdigit(static_cast<unsigned char>(d[0])) || d[0] == '-'
                                              ? "dim_value: " + d
                                              : "dim_param: '" + d + "'");
  return fmt::format("{} {{ name: '{}' type {{ tensor_type {{ elem_type: {} shape {{ {} }} }} }} }} ", field, name,
                     type, shape);
}

// A node: node("Add", {"x", "y"}, {"z"}, ints("axes", {1}) + number("epsilon", 0.5f)).
inline std::string node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& attributes = "") {
  std::string text = fmt::format("node {{ op_type: '{}' ", op);
  for (const std::string& name : inputs) text += fmt::format("input: '{}' ", name);
  for (const std::string& name : outputs) text += fmt::format("output: '{}' ", name);
  return text + attributes + "} ";
}
inline std::string integer(const std::string& name, int64_t v) {
  return fmt::format("attribute {{ name: '{}' type: INT i: {} }} ", name, v);
}
inline std::string ints(const std::string& name, const std::vector<int64_t>& v) {
  return fmt::format("attribute {{ name: '{}' type: INTS ints: [{}] }} ", name, fmt::join(v, ", "));
}
inline std::string number(const std::string& name, float v) {
  return fmt::format("attribute {{ name: '{}' type: FLOAT f: {} }} ", name, v);
}
inline std::string text(const std::string& name, const std::string& v) {
  return fmt::format("attribute {{ name: '{}' type: STRING s: '{}' }} ", name, v);
}
// An int64 initializer of rank 1.
inline std::string list(const std::string& name, const std::vector<int64_t>& v) {
  return fmt::format("initializer {{ name: '{}' data_type: 7 dims: {} int64_data: [{}] }} ", name, v.size(),
                     fmt::join(v, ", "));
}

// The module as text or, after "errors:", the diagnostics.
inline std::string imported(const std::vector<std::byte>& bytes, ImportOptions options = {}) {
  options.file = "m";
  Diagnostics diagnostics;
  auto module = import_onnx(bytes, options, diagnostics);
  CHECK(module.has_value() != diagnostics.has_errors());
  if (!module) return "errors:\n" + diagnostics.str();
  return relay::print(*module);
}

// The bindings and the result of @main, one per line.
inline std::string body(const std::vector<std::byte>& bytes, ImportOptions options = {}) {
  std::string text = imported(bytes, std::move(options));
  if (text.starts_with("errors:")) return text;
  size_t from = text.find("{\n"), to = text.find("\n}", from);
  return text.substr(from + 2, to - from - 1);
}

// The imported `op` for an input x of shape [2, 3, 4] (float32) and initializers.
struct ImportedNode {
  std::string op;
  int opset;
  std::vector<std::string> inputs = {"x"};
  std::string attributes = "";
  std::string initializers = "";
  std::vector<std::string> outputs = {"y"};

  std::string result() const {
    return body(graph_bytes(value("input", "x", 1, {"2", "3", "4"}) + "output { name: 'y' } " + initializers +
                                node(op, inputs, outputs, attributes),
                            opset));
  }
  bool says(const char* message) const { return result().find(message) != std::string::npos; }
};

}  // namespace dlcc::frontends::onnx

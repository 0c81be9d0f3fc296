// The values that nodes can refer to by name, and the types that the model declares for them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "frontends/onnx/builder.h"
#include "frontends/onnx/external_data.h"
#include "frontends/onnx/order.h"
#include "frontends/onnx/schema.h"

namespace dlcc::frontends::onnx {

// A tensor stored with a graph, decoded at its first use.
class Initializer {
 public:
  explicit Initializer(schema::TensorProto* tensor) : tensor_(tensor) {}
  explicit Initializer(const schema::SparseTensorProto* tensor) : sparse_(tensor) {}
  explicit Initializer(const schema::TensorProto* tensor) : shared_(tensor) {}

  // For a dense tensor of the main graph, moves the bytes from the model to the constant: call it once.
  std::optional<Constant> decode(const std::shared_ptr<schema::ModelProto>& model, ExternalFiles&,
                                 const std::string& file, Diagnostics&) const;

 private:
  schema::TensorProto* tensor_ = nullptr;
  const schema::SparseTensorProto* sparse_ = nullptr;
  const schema::TensorProto* shared_ = nullptr;
};

struct Scope {
  Scope* outer = nullptr;  // of the graph that contains a subgraph's node
  std::map<std::string, Value> values;
  std::map<std::string, Initializer> initializers;
  std::map<std::string, const schema::TypeProto*> declared;
  std::set<std::string> left_out;  // a function's inputs that its call omits

  void add_initializers(schema::GraphProto&, Diagnostics&, const std::string& file);
  void add_initializers(const schema::GraphProto&, Diagnostics&, const std::string& file);
  void add_declarations(const schema::GraphProto&);
  // Declares the first operand of a shape-preserving node with the shape declared for its result.
  void propagate_declarations(const NodeList&, const std::function<bool(const schema::NodeProto&)>& keeps_shape);

 private:
  void add(const std::string& name, Initializer, Diagnostics&, const std::string& file);
};

// The declared type of a value; unknown parts are empty.
struct Declaration {
  std::optional<DType> dtype;
  std::optional<Shape> shape;
};

class DeclaredTypes {
 public:
  DeclaredTypes(const std::map<std::string, int64_t>& dims, std::string file, Diagnostics& diagnostics)
      : dims_(dims), file_(std::move(file)), diagnostics_(diagnostics) {}

  // A graph input's type. A dimension without name or value becomes the symbol 'INPUT_AXIS'. Reports inputs that are
  // not tensors, and unsupported element types, missing shapes and sizes.
  std::optional<relay::TensorType> of_input(const schema::ValueInfoProto&, const SourceLocation&);

  // The declarations of other values. Problems in them are not reported.
  Declaration of_value(const schema::TypeProto&) const;
  std::optional<Shape> declared_shape(const Scope&, const std::string& name) const;

  const std::set<std::string>& names() const { return names_; }  // of the inputs' symbolic dimensions

 private:
  Dim named(const std::string& name) const;

  const std::map<std::string, int64_t>& dims_;
  std::string file_;
  Diagnostics& diagnostics_;
  std::set<std::string> names_;
};

}  // namespace dlcc::frontends::onnx

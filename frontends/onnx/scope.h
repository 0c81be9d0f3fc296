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
#include "shape/size_range.h"

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
  // `ranges` has the values of --dim; `graph` is the main one.
  DeclaredTypes(const std::map<std::string, SizeRange>& ranges, const schema::GraphProto& graph, std::string file,
                Diagnostics& diagnostics);

  // A graph input's type. A dimension without name or value becomes the symbol 'INPUT_AXIS'. Reports inputs that are
  // not tensors, and unsupported element types, missing shapes and sizes.
  std::optional<relay::TensorType> of_input(const schema::ValueInfoProto&, const SourceLocation&);

  // The declarations of other values. Problems in them are not reported.
  Declaration of_value(const schema::TypeProto&) const;
  std::optional<Shape> declared_shape(const Scope&, const std::string& name) const;

  // The names of the inputs' symbolic dimensions, in order of appearance, and those that are no numbers.
  const std::vector<std::string>& names() const { return names_; }
  std::vector<InputDim> dims() const;

 private:
  Dim named(const std::string& name) const;

  std::map<std::string, int64_t> numbers_;  // the dimensions that --dim gives a number
  std::map<std::string, InputDim> ranges_;  // and a range
  std::string file_;
  Diagnostics& diagnostics_;
  std::vector<std::string> names_;
};

}  // namespace dlcc::frontends::onnx

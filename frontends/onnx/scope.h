// The names that nodes can use, and the types that the model declares for them.
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

// A tensor stored with a graph, decoded when something uses it.
class Initializer {
 public:
  explicit Initializer(schema::TensorProto* tensor) : tensor_(tensor) {}
  explicit Initializer(const schema::SparseTensorProto* tensor) : sparse_(tensor) {}
  explicit Initializer(const schema::TensorProto* tensor) : shared_(tensor) {}

  // Called once for a tensor of the main graph: it leaves the model then, so that its bytes live only as long as the
  // constant.
  std::optional<Constant> decode(const std::shared_ptr<schema::ModelProto>& model, ExternalFiles&,
                                 const std::string& file, Diagnostics&) const;

 private:
  schema::TensorProto* tensor_ = nullptr;
  const schema::SparseTensorProto* sparse_ = nullptr;
  const schema::TensorProto* shared_ = nullptr;
};

struct Scope {
  Scope* outer = nullptr;  // of the graph around a subgraph
  std::map<std::string, Value> values;
  std::map<std::string, Initializer> initializers;
  std::map<std::string, const schema::TypeProto*> declared;
  std::set<std::string> left_out;  // optional inputs that the call of a function does not give

  void add_initializers(schema::GraphProto&, Diagnostics&, const std::string& file);
  void add_initializers(const schema::GraphProto&, Diagnostics&, const std::string& file);
  void add_declarations(const schema::GraphProto&);
  // An operand has the shape declared for the result of a node that keeps shapes.
  void spread_declarations(const NodeList&, const std::function<bool(const schema::NodeProto&)>& keeps_shape);

 private:
  void add(const std::string& name, Initializer, Diagnostics&, const std::string& file);
};

// What a model says of a value; what it leaves open is empty.
struct Declaration {
  std::optional<DType> dtype;
  std::optional<Shape> shape;
};

class DeclaredTypes {
 public:
  DeclaredTypes(const std::map<std::string, int64_t>& dims, std::string file, Diagnostics& diagnostics)
      : dims_(dims), file_(std::move(file)), diagnostics_(diagnostics) {}

  // A graph input's type. A dimension without name or value becomes a symbol 'INPUT_AXIS'. Reports what is not a tensor
  // of a supported type, known rank and possible size.
  std::optional<relay::TensorType> of_input(const schema::ValueInfoProto&, const SourceLocation&);

  // The rest of the model's declarations are only read where they are needed, and no problem in itself.
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

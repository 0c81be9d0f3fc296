// Scopes: the values to which nodes can refer by name, and their declared types.
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

  // The value of a tensor of strings; empty for other tensors.
  std::optional<Value> strings() const;

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
  std::set<std::string> left_out;   // a function's inputs that its call omits
  const NodeList* nodes = nullptr;  // of the graph; null before their import, and of an import of a part (import_again)
  std::string path;                 // of the nodes, for messages
  std::set<std::string> given;      // the names whose values such an import replaces

  void add_initializers(schema::GraphProto&, Diagnostics&, const std::string& file);
  void add_initializers(const schema::GraphProto&, Diagnostics&, const std::string& file);
  void add_declarations(const schema::GraphProto&);
  // The value of this name in this scope or one around it; null if there is none yet.
  const Value* find(const std::string& name) const;
  // Whether the name is that of a function's input that the call omits.
  bool is_left_out(const std::string& name) const;
  // The names that nodes of the scope can use.
  std::vector<std::string> names() const;
  // For each shape-preserving node, declares its first operand with the declared shape of its result.
  void propagate_declarations(const NodeList&, const std::function<bool(const schema::NodeProto&)>& keeps_shape);

 private:
  void add(const std::string& name, Initializer, Diagnostics&, const std::string& file);
};

// Whether a declared dimension is a number. Some exporters write -1 for a size that is not known.
inline bool has_size(const schema::TensorShapeProto::Dimension& dim) {
  return dim.has_dim_value() && dim.dim_value() != -1;
}

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

  // The type of an input, a tensor. A dimension without a value has the name that the model gives it, or INPUT_AXIS if
  // that is empty or has no letters, like "?". Reports unsupported element types, missing shapes and wrong sizes.
  std::optional<relay::TensorType> of_input(const schema::TypeProto::Tensor&, const std::string& input,
                                            const SourceLocation&);

  // The type of tensor `element` of an input, a sequence whose tensors have the type `tensor`. Their sizes may differ,
  // so that a dimension N has the name N_ELEMENT there, unless --dim gives N a number. `sizes` is the shape of the
  // element if the model declares none.
  std::optional<relay::TensorType> of_element(const schema::TypeProto::Tensor& tensor, const std::string& input,
                                              size_t element, const std::optional<std::vector<int64_t>>& sizes,
                                              const SourceLocation&);

  // The declarations of other values. Malformed ones are ignored. Dimensions that no input has are "?".
  Declaration of_value(const schema::TypeProto&) const;
  std::optional<Shape> declared_shape(const Scope&, const std::string& name) const;

  // names(): the names of the inputs' symbolic dimensions, in order of appearance. dims(): those that --dim did not
  // replace by numbers.
  const std::vector<std::string>& names() const { return names_; }
  std::vector<InputDim> dims() const;

 private:
  Dim size_named(const std::string& name) const;
  Dim size_of_input(const std::string& name);
  std::set<std::string> taken_names() const;
  const std::string& new_name(const std::string& key, const std::string& wanted);
  std::optional<relay::TensorType> of_tensor(const schema::TypeProto::Tensor&, const std::string& input,
                                             const std::string& suffix, const SourceLocation&);

  const std::map<std::string, SizeRange> ranges_;  // the values of --dim
  const std::set<std::string> declared_;           // the names that the graph declares for dimensions
  std::map<std::string, InputDim> dims_;           // the symbolic dimensions of inputs, by name
  std::map<std::string, std::string> new_names_;   // of dimensions without a name of their own
  std::string file_;
  Diagnostics& diagnostics_;
  std::vector<std::string> names_;
};

}  // namespace dlcc::frontends::onnx

// The interface of operator converters to one ONNX node: operands, attributes, error reports and emission of Relay
// calls.
//
// Converters need little error handling. The first problem is reported, marks the node as failed, and yields a valid
// default: an attribute's default value, a poisoned result. Calls with poisoned operands return poisoned values. The
// importer discards the results of a failed node. A converter must test failed() only before it indexes a shape or
// list.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frontends/onnx/builder.h"
#include "frontends/onnx/schema_forward.h"

namespace dlcc::frontends::onnx {

class ExternalFiles;
struct Row;

// A subgraph that was imported as a block of its own.
struct Branch {
  relay::Block block;
  Values results;
};

// A node and its environment, from the importer.
struct NodeContext {
  const schema::NodeProto& proto;
  const Row& row;  // the operator
  int64_t opset;
  SourceLocation location;
  std::vector<std::optional<Value>> inputs;  // an omitted optional input is empty
  std::map<std::string, const schema::AttributeProto*> attributes;
  BlockBuilder& builder;
  Diagnostics& diagnostics;
  ExternalFiles& files;
  std::shared_ptr<const void> owner;                               // keeps the model's bytes alive
  std::vector<std::optional<Shape>> declared_shapes;               // of the outputs
  int64_t& random_sequences;                                       // number taken by earlier nodes
  const std::map<std::string, int64_t>& bounds;                    // upper bounds of data-dependent sizes, by variable
  std::map<std::string, const schema::NodeProto*>& bounded_loops;  // by the name in its body that a bound has
  // The value of a name in the graphs around the node's subgraphs; null if there is none.
  std::function<const Value*(const std::string& name)> find_value;
  // Import a subgraph as a block of its own or into the current block; its inputs are given. Empty if it was rejected.
  std::function<std::optional<Branch>(const schema::GraphProto&)> import_branch;
  std::function<std::optional<Values>(const schema::GraphProto&, const Values& inputs)> import_inline;
  // The value of a name in the node's graph where some names have other values: the nodes that depend on those are
  // imported once more. Empty if one was rejected.
  std::function<std::optional<Value>(const std::string& name, const std::map<std::string, Value>& given)> import_again;
};

class Node {
 public:
  explicit Node(NodeContext context) : c_(std::move(context)), first_symbol_(c_.builder.next_symbol()) {}

  int64_t opset() const { return c_.opset; }
  const SourceLocation& location() const { return c_.location; }

  // ---- operands and results
  int input_count() const { return static_cast<int>(c_.inputs.size()); }
  bool has(int input) const { return input < input_count() && c_.inputs[input].has_value(); }
  const Value& in(int input) const { return *c_.inputs[input]; }  // has(input) must hold
  std::optional<Value> optional_in(int input) const { return has(input) ? std::optional(in(input)) : std::nullopt; }
  Values all_inputs() const;
  int output_count() const;
  bool wants(int output) const;  // whether the model names the output
  // The elements of an integer input of rank 0 or 1; empty if it is not a constant. Reports inputs of other types.
  std::optional<std::vector<int64_t>> integers_in(int input);

  // ---- attributes: the value, or a default if the node has none. A wrong type is reported as bad_attribute.
  bool has_attr(const std::string& name) { return find(name) != nullptr; }
  void ignore(const std::string& name) { ignored_.insert(name); }
  int64_t integer(const std::string& name, int64_t otherwise);
  bool flag(const std::string& name, bool otherwise);
  double number(const std::string& name, float otherwise);
  std::string text(const std::string& name, const std::string& otherwise);
  std::optional<std::vector<int64_t>> integers(const std::string& name);
  std::optional<std::vector<float>> numbers(const std::string& name);
  std::optional<std::vector<std::string>> texts(const std::string& name);
  // A list that must have `count` entries; without the attribute, `count` times `otherwise`.
  std::vector<int64_t> integers(const std::string& name, size_t count, int64_t otherwise);
  std::optional<Constant> tensor(const std::string& name);
  std::optional<Constant> sparse_tensor(const std::string& name);
  std::optional<Value> string_tensor(const std::string& name);  // empty for other tensors
  const schema::GraphProto* graph(const std::string& name);
  int64_t required_integer(const std::string& name);
  // The element type with a number of TensorProto.DataType, the value of an attribute. Reports unsupported_type.
  std::optional<DType> element_type(const std::string& attribute, int64_t number);
  void reject_unused_attributes();  // reports the first attribute that the converter did not read
  // A remedy for an attribute of older operator sets that is an input in this one; "" if the node has no such
  // attribute.
  std::string remedy_for_moved_attribute() const;

  // ---- problems
  void fail(DiagnosticId, std::string message, std::string help = "");
  bool failed() const { return failed_; }
  // Reports unless the condition holds, which it returns.
  bool check(bool condition, DiagnosticId, std::string message, std::string help = "");
  // The value with this shape; empty if its sizes are proved different. A run checks sizes that are not proved equal.
  std::optional<Value> with_shape(const Value&, const Shape&);
  // The same for an input, which becomes that value. False if its sizes are proved different.
  bool require_shape(int input, const Shape&);
  // Normalizes an axis in [-rank, rank) to [0, rank).
  std::optional<int64_t> axis_of(int64_t axis, int64_t rank);

  // ---- emission
  Value call(const std::string& op, const Values& args, const relay::Attrs& attrs = {});
  // The first `results` fields of an operator whose result is a tuple.
  Values call_fields(const std::string& op, const Values& args, const relay::Attrs& attrs, size_t results);
  Value scalar(DType, double value);  // a constant of rank 0; warns if the type cannot hold the value
  Value reshape(const Value&, const Shape&);
  Value cast(const Value&, DType);
  // A value that has the shape of the first output, with the model's declared sizes in place of unknown ones. Needed
  // only for values with which the converter computes further; the importer does the same for the node's results.
  Value with_declared_sizes(const Value&);
  Value with_declared_sizes(const Value&, const std::optional<Shape>& declared);
  const std::optional<Shape>& declared_shape(size_t output = 0) const { return c_.declared_shapes.at(output); }
  // The bound that the user gives for a value (--bound).
  std::optional<int64_t> bound_of(const std::string& value) const;
  // The same for a value in the body of this node, a loop. Names in bodies need not be unique: reports a bound that
  // applies to another loop, too. `unique` is the name of an output of this node, if it has one.
  std::optional<int64_t> bound_in_body(const std::string& value, const std::string& unique);

  NodeContext& context() { return c_; }

 private:
  const schema::AttributeProto* find(const std::string& name);
  // The attribute if it has this type; reports another type.
  const schema::AttributeProto* typed(const std::string& name, schema::AttributeProto_AttributeType type,
                                      bool present(const schema::AttributeProto&));
  std::string remedy_for_attribute(const std::string& name) const;  // for an unknown attribute
  std::vector<std::string> operand_lines() const;

  NodeContext c_;
  int first_symbol_;  // for unknown sizes of the node's values
  bool failed_ = false;
  std::set<std::string> used_, ignored_;  // attributes
};

// The value of an attribute of Relay operators.
relay::AttrValue dtype_attr(DType);

// "float32 [1, 3, 224, 224]"
std::string describe(const relay::TensorType&);

}  // namespace dlcc::frontends::onnx

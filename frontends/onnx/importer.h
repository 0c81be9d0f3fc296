// The state of importing one ONNX model: the main graph's inputs and outputs (importer.cpp, import_interface.cpp),
// nodes and subgraphs (import_nodes.cpp), parts of a graph for other values (import_again.cpp), calls of model-local
// functions (import_functions.cpp), the operators of nodes (import_operator.cpp). A problem is reported once. The
// results of its node then have the declared types, or else poison the values that depend on them, so that one
// traversal reports all problems.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frontends/frontend.h"
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/order.h"
#include "frontends/onnx/reader.h"
#include "frontends/onnx/scope.h"
#include "frontends/onnx/shared_functions.h"

namespace dlcc::frontends::onnx {

using AttributeMap = std::map<std::string, const schema::AttributeProto*>;

// The environment of the nodes of a graph or function body, besides their scope.
struct Body {
  const Opsets& opsets;
  const AttributeMap* attributes = nullptr;          // of the function's call; null outside of functions
  std::string path;                                  // the calling nodes, for messages
  std::vector<const schema::NodeProto*> calls = {};  // the nodes that call the functions, outermost first
};

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options, Diagnostics& diagnostics)
      : model_(model),
        options_(options),
        diagnostics_(diagnostics),
        files_(options.folder, options.files_read),
        builder_(module_),
        types_(options.dims, model.proto->graph(), options.file, diagnostics),
        shared_functions_(model) {}

  std::optional<relay::Module> run();

 private:
  // importer.cpp
  void check_dim_names();
  void warn_of_unused_inputs();

  // import_interface.cpp
  struct InputRequest {  // an input to be added: the type of its tensors, and the lists that receive it
    const std::string& name;
    const schema::TypeProto::Tensor& tensor;
    const SourceLocation& location;
    std::vector<relay::Var>& params;
    Argument& argument;
  };
  void add_inputs(Scope&, std::vector<relay::Var>& params);
  std::optional<InputForm> input_form(const UnknownInput&);
  Value add_input(const schema::ValueInfoProto&, bool needs_value, std::vector<relay::Var>& params);
  Value add_tensor(InputRequest&, const std::string& name, const std::optional<relay::TensorType>&);
  Value add_sequence(InputRequest&, const std::optional<InputForm>&);
  Value add_optional(InputRequest&, const std::optional<InputForm>&);
  Value add_shaped(InputRequest&, const ShapedInput&);
  Value add_fixed(InputRequest&, const InputForm&);
  Value wrong_form(InputRequest&, const std::string& help);
  void check_input_names();
  Values outputs_of_main(Scope&);
  Argument add_output(const schema::ValueInfoProto&, const Value&, Values& results);
  void check_output(const schema::ValueInfoProto&, const Value&);
  void check_intermediate_values(const Scope&);
  void warn_of_other_shape(const Declaration&, const Value&, const SourceLocation&);

  // import_nodes.cpp
  void import_nodes(const NodeList&, Scope&, const Body&);
  void import_node(const schema::NodeProto&, Scope&, const Body&);
  std::vector<std::optional<Shape>> declared_shapes(const schema::NodeProto&, Scope&) const;
  void convert(const schema::NodeProto&, Scope&, const Body&, const SourceLocation&);
  bool inputs_of(const schema::NodeProto&, Scope&, const SourceLocation&, std::vector<std::optional<Value>>&);
  AttributeMap attributes_of(const schema::NodeProto&, const Body&, const SourceLocation&);
  // "did you mean 'x'?" for a name that is similar to one in the scope, else `otherwise`. After the first errors always
  // `otherwise`, since a search takes time for each name.
  std::string remedy_for_name(const std::string& name, const Scope&, const char* otherwise) const;
  static constexpr const char* nothing_produces =
      "the name must be that of an input, an initializer or an output of a node";
  void check_results(Node&, const Values& results) const;
  void bind_declared_outputs(const schema::NodeProto&, Scope&, const SourceLocation&);
  void bind_outputs(const schema::NodeProto&, Scope&, const Values&, const SourceLocation&);
  void poison_outputs(const schema::NodeProto& node, Scope& scope, const SourceLocation& location) {
    bind_outputs(node, scope, {}, location);
  }

  std::optional<Values> import_subgraph(const schema::GraphProto&, const Values& inputs, Scope& outer, const Body&,
                                        const SourceLocation&);
  std::optional<Branch> import_branch(const schema::GraphProto&, Scope& outer, const Body&, const SourceLocation&);
  std::optional<Value> import_again(const std::string& name, const std::map<std::string, Value>& given, Scope&,
                                    const Body&, const SourceLocation&);

  // import_functions.cpp
  using Inputs = std::vector<std::optional<Value>>;
  struct FunctionCall {
    const schema::FunctionProto& function;
    const schema::NodeProto& node;
    const Body& body;  // of the node
    Inputs inputs;
    AttributeMap attributes;  // of the call, then the function's defaults
    Opsets opsets;
    const SourceLocation& location;
  };
  // A Relay function for some operand types and constants; without a name if the call must be inlined.
  struct Instance {
    std::string name;
    std::vector<relay::TensorType> results;
  };
  void call_function(const schema::FunctionProto&, const schema::NodeProto&, Scope&, const Body&,
                     const SourceLocation&);
  std::optional<Values> import_function(const FunctionCall&, Scope&, const std::string& path);
  std::optional<Values> call_shared(const FunctionCall&);
  Instance make_instance(const FunctionCall&);
  bool can_be_operand(const Value&) const;

  // import_operator.cpp
  const Row* find_row(const schema::NodeProto&, const Body&, const SourceLocation&, int64_t& opset);
  const std::string& meant_operator(const std::string& op);
  void report_unknown_operator(const std::string& op, const std::string& domain, int64_t opset, const SourceLocation&);
  static void check_counts(Node&, const Row&);
  static void check_structures(Node&, const Row&);
  // Warn of element types that only later operator sets permit: those of the operands, or that of a value which belongs
  // to input number `input`.
  void warn_of_later_types(const Node&, const Row&);
  void warn_of_later_type(const Node&, const Row&, int input, const std::string& what, DType);

  SourceLocation location_of(const schema::NodeProto&, const Body&) const;
  std::optional<Value> lookup(const std::string& name, Scope&);

  const Model& model_;
  const ImportOptions& options_;
  Diagnostics& diagnostics_;
  ExternalFiles files_;
  relay::Module module_;
  BlockBuilder builder_;
  DeclaredTypes types_;
  SharedFunctions shared_functions_;
  std::map<std::string, Instance> instances_;           // by function, types and constants
  std::vector<Argument> arguments_;                     // the inputs so far
  std::map<std::string, std::string> meant_operators_;  // suggestions for unknown operators
  std::set<std::string> later_types_;                   // "operator type" of which a warning has told
  bool has_structures_ = false;                         // whether an input is no tensor, or is fixed
  std::vector<const schema::FunctionProto*> calls_;     // functions being imported, innermost last
  int64_t inlined_ = 0;                                 // nodes of imported functions, counted for each import
  int again_ = 0;                                       // depth of import_again()
  std::map<std::string, const schema::NodeProto*> bounded_loops_;  // by the name in its body that a bound has
  int64_t random_sequences_ = 0;                                   // number of nodes with random numbers so far
  // The number before a node's last import, by the nodes that call the functions around it and the node.
  std::map<std::vector<const schema::NodeProto*>, int64_t> sequences_of_;
};

}  // namespace dlcc::frontends::onnx

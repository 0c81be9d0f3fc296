// The table of ONNX operators: the converter of each operator for a range of operator set versions. Each file of this
// folder has one family of operators and ends with its rows.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// The node's results in order; trailing results that the model does not use may be missing. Results of a failed node
// are ignored.
using Converter = std::function<Values(Node&)>;

inline constexpr int any_number = -1;

struct Row {
  const char* op;
  int64_t since;  // first operator set version of the row, which applies until the operator's next row
  // The standard's names of the inputs, "X W B"; the last names a list if there may be any number. A '?' after a name
  // marks an input that may be omitted although later ones are required.
  const char* inputs;
  int min_inputs, max_inputs, max_outputs;
  Converter convert;
  bool keeps_shape = false;  // the first result has the shape of the first operand
  bool structures = false;   // inputs may be sequences, optionals and strings
};

class Table {
 public:
  void add(std::vector<Row> rows);
  void add_with_structures(std::vector<Row> rows);  // rows whose inputs may be sequences, optionals and strings
  // Declares a restriction on the nodes of an operator beyond the standard. Other nodes are located errors.
  void only_if(const std::string& op, std::string condition);
  const std::string& only_if(const std::string& op) const;  // empty if there is no such condition
  std::vector<std::string> names() const;
  std::vector<int64_t> versions(const std::string& op) const;         // of the operator's rows, ascending
  std::optional<int64_t> first_version(const std::string& op) const;  // the first operator set with the operator
  const Row* find(const std::string& op, int64_t opset) const;        // null if that operator set does not have it

 private:
  std::map<std::string, std::map<int64_t, Row>> rows_;
  std::map<std::string, std::string> conditions_;
};

// All operators. Those of other domains than the default one have qualified names, and the versions of their domain.
const Table& operator_table();

// "Relu", or "ai.onnx.preview.training.Adam" in another domain than the default one.
std::string qualified_name(const std::string& domain, const std::string& op);

// The standard's names of the inputs; the last one names a list if there may be any number.
std::vector<std::string> input_names(const Row&);
// The standard's name of an input of an operator: "X", or "inputs[2]" for one of a list.
std::string input_name(const Row&, int input);
// The number of inputs before the list; of all inputs, where there is no list.
int inputs_before_list(const Row&);
// Whether a node may omit an input that is not in the list.
bool is_optional_input(const Row&, int input);
// The names of the inputs; '?' marks those that may be omitted, "..." a list: "X W B?", "inputs...".
std::string inputs_text(const Row&);

// The names of all operators of the default domain in the ONNX standard, sorted.
const std::vector<std::string>& standard_operators();

// Converts to one call of a Relay operator with the node's inputs in order.
Converter direct(const char* relay_op);

// For an operator that only moves elements: elements of less than 8 bits are widened before it and narrowed after it.
Converter moving(Converter);

// For an operator that computes with numbers: bools are converted to 0 and 1 of a type before it, and a first result
// of that type is true where it is not 0.
Converter bools_as(DType, Converter);

// A list of integers that determines a shape: an attribute in old operator sets, an input in new ones.
struct ListArgument {
  bool given = false;
  std::optional<std::vector<int64_t>> known;  // empty if it is not given or known at run time only

  bool dynamic() const { return given && !known; }
};
ListArgument list_attribute(Node&, const char* name);
ListArgument list_input(Node&, int input);

// The rows of each family.
void add_elementwise(Table&);
void add_activation_functions(Table&);
void add_bits(Table&);
void add_positions(Table&);
void add_statistics(Table&);
void add_losses(Table&);
void add_optimizers(Table&);
void add_gradient(Table&);
void add_random(Table&);
void add_windows(Table&);
void add_conv_transpose(Table&);
void add_resize(Table&);
void add_sampling(Table&);
void add_rearrangement(Table&);
void add_einsum(Table&);
void add_quantization(Table&);
void add_attention(Table&);
void add_sequence_layers(Table&);
void add_dft(Table&);
void add_microsoft(Table&);
void add_microsoft_quantized(Table&);
void add_microsoft_transformers(Table&);
void add_microsoft_attention(Table&);
void add_microsoft_group_query_attention(Table&);
void add_microsoft_weights(Table&);
void add_microsoft_diffusion(Table&);
void add_normalization(Table&);
void add_products(Table&);
void add_shapes(Table&);
void add_movement(Table&);
void add_reductions(Table&);
void add_constants(Table&);
void add_control_flow(Table&);
void add_loop(Table&);
void add_scan(Table&);
void add_recurrent(Table&);
void add_scatter(Table&);
void add_selection(Table&);
void add_sequences(Table&);
void add_optionals(Table&);
void add_strings(Table&);
void add_ml_trees(Table&);
void add_ml_features(Table&);
void add_ml_labels(Table&);
void add_ml_linear(Table&);
void add_ml_svm(Table&);
void add_ngrams(Table&);

}  // namespace dlcc::frontends::onnx

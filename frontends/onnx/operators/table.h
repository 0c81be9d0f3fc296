// The table of ONNX operators: which function converts a node of an operator in a range of operator set versions. One
// file here holds one family; its table stands at the end of the file.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// The node's results in order; fewer than the node has when the rest is not wanted. What a failed node returns is
// ignored.
using Converter = std::function<Values(Node&)>;

inline constexpr int any_number = -1;

struct Row {
  const char* op;
  int64_t since;  // the first operator set version that the row is for; it holds until the next row of the operator
  int min_inputs, max_inputs, max_outputs;
  Converter convert;
  bool keeps_shape = false;  // the result has the shape of the first operand
};

class Table {
 public:
  void add(std::vector<Row> rows);
  std::optional<int64_t> first_version(const std::string& op) const;  // of the operator sets that have it
  const Row* find(const std::string& op, int64_t opset) const;        // null if there is none in that version

 private:
  std::map<std::string, std::map<int64_t, Row>> rows_;
};

// All operators of the default domain.
const Table& operator_table();

// Converts to one call of a Relay operator with the node's inputs in order.
Converter direct(const char* relay_op);

// Integers that decide a shape: an attribute in old versions, an input in new ones.
struct ListArgument {
  bool given = false;
  std::optional<std::vector<int64_t>> known;  // empty when it is only known at run time (or not given)

  bool dynamic() const { return given && !known; }
};
ListArgument list_attribute(Node&, const char* name);
ListArgument list_input(Node&, int input);

// For an operand that decides the result's shape only at run time: the shape declared for output 0. Reports
// dynamic_shape when that is not static; `operand` names the operand.
relay::AttrValue declared_shape_attr(Node&, const char* operand);

// One list per family.
void add_elementwise(Table&);
void add_windows(Table&);
void add_normalization(Table&);
void add_products(Table&);
void add_shapes(Table&);
void add_movement(Table&);
void add_reductions(Table&);
void add_constants(Table&);
void add_control_flow(Table&);

}  // namespace dlcc::frontends::onnx

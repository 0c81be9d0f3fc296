// A random ONNX graph under construction. Every value carries its shape at run time and bounds of its elements, so that
// each node that is added is valid, no operator leaves its domain, and engines that round differently have results that
// can be compared.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "frontends/onnx/schema.h"
#include "support/constant.h"

namespace dlcc::random_models {

namespace schema = frontends::onnx::schema;

// A size: the number at run time, and the name of the dimension if it is symbolic in the model.
struct Size {
  int64_t number = 1;
  std::string symbol;  // empty: a number
  bool operator==(const Size&) const = default;
};

// A tensor of the graph. Elements are at most `bound` away from 0. If `grain` is positive, they are multiples of it,
// and the same in every engine; else an engine's elements are at most `error` away from the true ones.
struct Value {
  std::string name;
  DType type = dtype::f32;
  std::vector<Size> shape;
  double bound = 0, grain = 0, error = 0;
  bool hidden = false;  // no tensor, or not to be used: no later node reads it

  bool exact() const { return grain > 0; }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t count() const;
  bool is_symbolic() const;
  Value renamed(std::string new_name) const;
};

// The distance of 1 and the next number of a float type; 0 for other types.
double epsilon(DType);
// Whether a type has every multiple of `grain` up to `bound`.
bool holds(DType, double bound, double grain);

// A constant of any type from numbers that the type has.
Constant constant_of(DType, const std::vector<int64_t>& shape, const std::vector<double>& numbers);

// A node under construction.
class Node {
 public:
  explicit Node(schema::NodeProto& proto) : proto_(proto) {}
  Node& integer(const char* name, int64_t);
  Node& integers(const char* name, const std::vector<int64_t>&);
  Node& number(const char* name, double);
  Node& text(const char* name, const char*);
  Node& texts(const char* name, const std::vector<const char*>&);
  schema::GraphProto& graph(const char* name);

 private:
  schema::AttributeProto& attribute(const char* name, schema::AttributeProto::AttributeType);
  schema::NodeProto& proto_;
};

class Graph {
 public:
  Graph(unsigned seed, int opset);

  int opset() const { return opset_; }
  int draw(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return draw(100) < percent; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[draw(static_cast<int>(list.size()))];
  }
  std::vector<int64_t> permutation(int64_t n);

  // A value that satisfies the condition, later ones preferred; null if there is none.
  std::optional<Value> any(const std::function<bool(const Value&)>& condition);
  // A value that broadcasts with this one and has its type: another value, a constant, or the value itself.
  Value partner(const Value&);
  std::optional<std::vector<Size>> broadcast(const std::vector<Size>&, const std::vector<Size>&) const;

  Value input(DType, const std::vector<Size>& shape);
  Value input(DType, const std::vector<Size>& shape, const std::vector<double>& numbers);  // with these elements
  Value constant(const Constant&);
  Value constant(DType, const std::vector<int64_t>& shape, const std::vector<double>& numbers);
  Value indices(const std::vector<int64_t>& list, DType = dtype::i64);  // rank 1
  Value random_constant(DType, const std::vector<int64_t>& shape, double bound = 2);
  std::vector<Size> random_shape(int largest_rank);
  Size symbol();  // a symbolic size of inputs
  std::vector<double> random_numbers(DType, int64_t count, double bound, double grain);

  // A size that data decide, `number` of them.
  Size counted(int64_t number) { return {number, "count" + std::to_string(next_++)}; }
  // The elements of an input of the graph; null for other values.
  const Constant* data_of(const Value&) const;

  // Adds a node with one result, which later nodes may use. An operand without a name is absent. Operators of another
  // domain have qualified names: "com.microsoft.Gelu".
  Node add(const char* op, const std::vector<Value>& operands, Value result);
  Node add(const char* op, const std::vector<Value>& operands, std::vector<Value> results);

  // Adds nodes to a sub-graph while the function runs; its values are forgotten afterwards.
  void in_subgraph(schema::GraphProto&, const std::function<void()>&);
  std::string fresh_name() { return "v" + std::to_string(next_++); }
  static void declare(schema::ValueInfoProto&, const Value&, bool with_shape = true);

  // Makes results of the values that no node uses, and returns the model.
  schema::ModelProto finish();
  const std::vector<Value>& outputs() const { return outputs_; }
  const std::vector<Constant>& input_data() const { return input_data_; }
  bool has_symbols() const { return has_symbols_; }
  int size() const { return nodes_; }
  std::vector<Value>& visible() { return visible_; }

 private:
  void import_domain(const std::string&);

  std::mt19937 random_;
  int opset_, next_ = 0, nodes_ = 0;
  bool has_symbols_, has_empty_;
  schema::ModelProto model_;
  schema::GraphProto* current_;  // nodes are added to it
  std::vector<Value> visible_, outputs_;
  std::vector<Constant> input_data_;
  std::vector<std::string> used_, input_names_;
};

// An operator that can be added: returns whether the graph had operands for it.
using Operator = bool (*)(Graph&);
// The operators of a file; an operator that is twice in a list is drawn twice as often.
const std::vector<Operator>& elementwise_operators();
const std::vector<Operator>& movement_operators();
const std::vector<Operator>& selection_operators();
const std::vector<Operator>& layer_operators();
const std::vector<Operator>& control_operators();
const std::vector<Operator>& counted_operators();
const std::vector<Operator>& recurrent_operators();
const std::vector<Operator>& attention_operators();
const std::vector<Operator>& sequence_operators();
const std::vector<Operator>& microsoft_operators();

// A sum of n products of elements of x and y, without a shape.
Value sum_of_products(const Value& x, const Value& y, double n);
// Whether a float is small enough for sums of products.
inline bool is_small_float(const Value& v) { return is_float(v.type) && v.bound <= 16; }

}  // namespace dlcc::random_models

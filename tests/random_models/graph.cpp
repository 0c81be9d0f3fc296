#include "graph.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "frontends/onnx/tensor_proto.h"
#include "support/float_formats.h"

namespace dlcc::random_models {

int64_t Value::count() const {
  int64_t n = 1;
  for (const Size& s : shape) n *= s.number;
  return n;
}

bool Value::is_symbolic() const {
  return std::ranges::any_of(shape, [](const Size& s) { return !s.symbol.empty(); });
}

Value Value::renamed(std::string new_name) const {
  Value v = *this;
  v.name = std::move(new_name);
  return v;
}

double epsilon(DType t) {
  if (t == dtype::f64) return 0x1p-52;
  if (t == dtype::f32) return 0x1p-23;
  if (t == dtype::f16) return 0x1p-10;
  return t == dtype::bf16 ? 0x1p-7 : 0;
}

bool holds(DType t, double bound, double grain) {
  if (is_float(t)) return bound < 60000 && grain >= 0x1p-12 && bound * epsilon(t) <= grain;
  if (grain < 1) return false;
  return is_bool(t) ? bound <= 1 : bound < std::ldexp(1, bits(t) - (is_signed(t) ? 1 : 0)) && bound < 0x1p40;
}

Constant constant_of(DType t, const std::vector<int64_t>& shape, const std::vector<double>& numbers) {
  const int width = bits(t) / 8;
  std::vector<std::byte> bytes(numbers.size() * static_cast<size_t>(width));
  for (size_t k = 0; k < numbers.size(); ++k) {
    const auto single = static_cast<float>(numbers[k]);
    uint64_t word = 0;
    if (t == dtype::f64)
      std::memcpy(&word, &numbers[k], 8);
    else if (t == dtype::f32)
      std::memcpy(&word, &single, 4);
    else if (is_float(t))
      word = t == dtype::f16 ? float_to_half(single) : float_to_bfloat16(single);
    else
      word = static_cast<uint64_t>(static_cast<int64_t>(numbers[k]));
    std::memcpy(bytes.data() + k * static_cast<size_t>(width), &word, static_cast<size_t>(width));
  }
  return Constant(t, shape, std::move(bytes));
}

schema::AttributeProto& Node::attribute(const char* name, schema::AttributeProto::AttributeType type) {
  schema::AttributeProto& a = *proto_.add_attribute();
  a.set_name(name);
  a.set_type(type);
  return a;
}
Node& Node::integer(const char* name, int64_t v) {
  attribute(name, schema::AttributeProto::INT).set_i(v);
  return *this;
}
Node& Node::integers(const char* name, const std::vector<int64_t>& list) {
  schema::AttributeProto& a = attribute(name, schema::AttributeProto::INTS);
  for (int64_t v : list) a.add_ints(v);
  return *this;
}
Node& Node::number(const char* name, double v) {
  attribute(name, schema::AttributeProto::FLOAT).set_f(static_cast<float>(v));
  return *this;
}
Node& Node::text(const char* name, const char* v) {
  attribute(name, schema::AttributeProto::STRING).set_s(v);
  return *this;
}
Node& Node::texts(const char* name, const std::vector<const char*>& list) {
  schema::AttributeProto& a = attribute(name, schema::AttributeProto::STRINGS);
  for (const char* v : list) a.add_strings(v);
  return *this;
}
schema::GraphProto& Node::graph(const char* name) {
  return *attribute(name, schema::AttributeProto::GRAPH).mutable_g();
}

Graph::Graph(unsigned seed, int opset)
    : random_(seed), opset_(opset), has_symbols_(chance(30)), has_empty_(chance(10)), current_(model_.mutable_graph()) {
  model_.set_ir_version(opset >= 24 ? 12 : opset == 23 ? 11 : opset >= 21 ? 10 : 8);
  auto& set = *model_.add_opset_import();
  set.set_version(opset);
  model_.mutable_graph()->set_name("random");
}

std::vector<int64_t> Graph::permutation(int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) order[static_cast<size_t>(k)] = k;
  for (int64_t k = n; k > 1; --k)
    std::swap(order[static_cast<size_t>(k - 1)], order[static_cast<size_t>(draw(static_cast<int>(k)))]);
  return order;
}

std::optional<Value> Graph::any(const std::function<bool(const Value&)>& condition) {
  std::vector<const Value*> fitting;
  for (const Value& v : visible_)
    if (condition(v)) fitting.push_back(&v);
  if (fitting.empty()) return std::nullopt;
  const size_t recent = std::min<size_t>(fitting.size(), chance(50) ? 3 : fitting.size());
  return *fitting[fitting.size() - 1 - static_cast<size_t>(draw(static_cast<int>(recent)))];
}

std::optional<std::vector<Size>> Graph::broadcast(const std::vector<Size>& a, const std::vector<Size>& b) const {
  std::vector<Size> result(std::max(a.size(), b.size()));
  const Size one;
  for (size_t k = 0; k < result.size(); ++k) {
    const Size &x = k < a.size() ? a[a.size() - 1 - k] : one, &y = k < b.size() ? b[b.size() - 1 - k] : one;
    if (x != y && x != one && y != one) return std::nullopt;
    result[result.size() - 1 - k] = x == one ? y : x;
  }
  return result;
}

Value Graph::partner(const Value& x) {
  if (chance(70))
    if (auto other =
            any([&](const Value& v) { return v.type == x.type && v.name != x.name && broadcast(v.shape, x.shape); }))
      return *other;
  if (chance(10)) return x;
  std::vector<int64_t> shape;
  for (size_t k = static_cast<size_t>(draw(static_cast<int>(x.shape.size()) + 1)); k < x.shape.size(); ++k)
    shape.push_back(x.shape[k].symbol.empty() && chance(80) ? x.shape[k].number : 1);
  return random_constant(x.type, shape);
}

std::vector<double> Graph::random_numbers(DType t, int64_t count, double bound, double grain) {
  std::vector<double> numbers(static_cast<size_t>(count));
  const int steps = static_cast<int>(bound / grain), least = is_float(t) || is_signed(t) ? -steps : 0;
  for (double& v : numbers) v = (least + draw(steps - least + 1)) * grain;
  return numbers;
}

// Floats are multiples of 1/4.
static double grain_of(DType t) { return is_float(t) ? 0.25 : 1; }

static std::vector<int64_t> numbers_of(const std::vector<Size>& shape) {
  std::vector<int64_t> numbers;
  for (const Size& s : shape) numbers.push_back(s.number);
  return numbers;
}

static std::vector<Size> sizes_of(const std::vector<int64_t>& shape) {
  std::vector<Size> sizes;
  for (int64_t n : shape) sizes.push_back({n, ""});
  return sizes;
}

Size Graph::symbol() { return chance(70) ? Size{3, "n"} : Size{4, "m"}; }

std::vector<Size> Graph::random_shape(int largest_rank) {
  std::vector<Size> shape(static_cast<size_t>(draw(largest_rank + 1)));
  for (Size& s : shape) {
    s = {one_of<int64_t>({1, 2, 3, 3, 4, 4, 5, 8}), ""};
    if (has_symbols_ && chance(40)) s = symbol();
    if (has_empty_ && chance(10)) s = {0, ""};
  }
  return shape;
}

void Graph::declare(schema::ValueInfoProto& info, const Value& v, bool with_shape) {
  info.set_name(v.name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_number(v.type));
  if (!with_shape) return;
  auto& shape = *type.mutable_shape();
  for (const Size& s : v.shape) {
    auto& dim = *shape.add_dim();
    if (s.symbol.empty())
      dim.set_dim_value(s.number);
    else if (s.symbol == "n" || s.symbol == "m")
      dim.set_dim_param(s.symbol);
  }
}

Value Graph::input(DType t, const std::vector<Size>& shape) {
  const double bound = is_bool(t) ? 1 : 2;
  return input(t, shape, random_numbers(t, Value{"", t, shape}.count(), bound, grain_of(t)));
}

Value Graph::input(DType t, const std::vector<Size>& shape, const std::vector<double>& numbers) {
  Value v{fresh_name(), t, shape, is_bool(t) ? 1. : 2., grain_of(t)};
  for (double number : numbers) v.bound = std::max(v.bound, std::abs(number));
  input_data_.push_back(constant_of(t, numbers_of(shape), numbers));
  declare(*model_.mutable_graph()->add_input(), v);
  input_names_.push_back(v.name);
  visible_.push_back(v);
  return v;
}

const Constant* Graph::data_of(const Value& v) const {
  const auto found = std::ranges::find(input_names_, v.name);
  return found == input_names_.end() ? nullptr : &input_data_[static_cast<size_t>(found - input_names_.begin())];
}

Value Graph::constant(const Constant& c) {
  Value v{fresh_name(), c.dtype(), sizes_of(c.shape()), 0, grain_of(c.dtype())};
  for (int64_t k = 0; k < c.count(); ++k) v.bound = std::max(v.bound, std::abs(c.number_at(k)));
  const std::vector<std::byte> bytes = frontends::onnx::write_tensor_proto(v.name, c);
  schema::TensorProto& proto = *model_.mutable_graph()->add_initializer();
  proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  return v;
}

Value Graph::constant(DType t, const std::vector<int64_t>& shape, const std::vector<double>& numbers) {
  return constant(constant_of(t, shape, numbers));
}

Value Graph::indices(const std::vector<int64_t>& list, DType t) {
  const std::vector<int64_t> shape = {static_cast<int64_t>(list.size())};
  return constant(t == dtype::i32 ? Constant::of(t, shape, std::vector<int32_t>(list.begin(), list.end()))
                                  : Constant::of(t, shape, list));
}

Value Graph::random_constant(DType t, const std::vector<int64_t>& shape, double bound) {
  if (is_bool(t)) bound = 1;
  int64_t count = 1;
  for (int64_t n : shape) count *= n;
  return constant(t, shape, random_numbers(t, count, bound, grain_of(t)));
}

void Graph::import_domain(const std::string& domain) {
  for (const auto& set : model_.opset_import())
    if (set.domain() == domain) return;
  auto& set = *model_.add_opset_import();
  set.set_domain(domain);
  set.set_version(1);
}

Node Graph::add(const char* op, const std::vector<Value>& operands, Value result) {
  return add(op, operands, std::vector<Value>{std::move(result)});
}

Node Graph::add(const char* op, const std::vector<Value>& operands, std::vector<Value> results) {
  schema::NodeProto& node = *current_->add_node();
  const std::string name = op;
  const size_t dot = name.rfind('.');
  if (dot != std::string::npos) import_domain(name.substr(0, dot)), node.set_domain(name.substr(0, dot));
  node.set_op_type(name.substr(dot + 1));
  for (const Value& v : operands) {
    node.add_input(v.name);
    used_.push_back(v.name);
  }
  for (Value& v : results) {
    if (v.name.empty()) v.name = fresh_name();
    node.add_output(v.name);
    if (!v.hidden) visible_.push_back(v);
  }
  ++nodes_;
  return Node(node);
}

void Graph::in_subgraph(schema::GraphProto& graph, const std::function<void()>& fill) {
  schema::GraphProto* outer = std::exchange(current_, &graph);
  std::vector<Value> visible = visible_;
  graph.set_name("body" + std::to_string(next_++));
  fill();
  visible_ = std::move(visible);
  current_ = outer;
}

schema::ModelProto Graph::finish() {
  std::vector<std::string> made;
  for (const schema::NodeProto& node : model_.graph().node())
    made.insert(made.end(), node.output().begin(), node.output().end());
  for (const Value& v : visible_) {
    if (std::ranges::find(used_, v.name) != used_.end() || std::ranges::find(made, v.name) == made.end()) continue;
    declare(*model_.mutable_graph()->add_output(), v);
    outputs_.push_back(v);
  }
  return model_;
}

}  // namespace dlcc::random_models

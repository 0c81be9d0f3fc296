#include "random_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "frontends/frontend.h"
#include "relay/metadata.h"

namespace dlcc::random_program {
namespace {

bool is_decided_by_data(const Symbol& s) { return s.name.starts_with('?'); }
bool has_data_sizes(const Shape& shape) {
  return std::ranges::any_of(shape, [](const Dim& d) { return std::ranges::any_of(d.symbols(), is_decided_by_data); });
}

std::string sizes_text(const Shape& dims) {
  std::string text;
  for (const Dim& d : dims) text += (text.empty() ? "" : ", ") + d.str();
  return text;
}

std::string type_text(const Value& v) {
  return fmt::format("Tensor[({}{}), {}]", sizes_text(v.dims), v.dims.size() == 1 ? "," : "", dlcc::name(v.type));
}

std::string declaration(const Value& v) { return v.name + ": " + type_text(v); }

}  // namespace

Sizes at_sizes(const Shape& shape, std::map<std::string, int64_t> sizes) {
  Sizes numbers;
  for (const Dim& d : shape) {
    for (const Symbol& s : d.symbols())
      if (is_decided_by_data(s)) sizes[s.name] = 6;
    numbers.push_back(d.evaluate(sizes).value_or(-1));
  }
  return numbers;
}

std::string Program::text(const std::vector<std::string>& outputs) const {
  std::set<std::string> needed(outputs.begin(), outputs.end());
  std::string body, params, result;
  for (auto s = statements.rbegin(); s != statements.rend(); ++s) {
    if (!needed.contains(s->name)) continue;
    body = fmt::format("  let {} = {};\n", s->name, s->operation) + body;
    for (size_t at = s->operation.find('%'); at != std::string::npos; at = s->operation.find('%', at + 1)) {
      size_t end = s->operation.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789", at + 1);
      needed.insert(s->operation.substr(at, end - at));
    }
  }
  for (const Value& v : inputs) params += (params.empty() ? "" : ", ") + declaration(v);
  for (const std::string& name : outputs) result += name + ", ";
  std::string out = "#[version = \"0.0.5\"]\n";
  for (const std::string& f : functions) out += f;
  out += fmt::format("def @main({}) {{\n{}  ({})\n}}\n", params, body, result);
  return constants.empty() ? out : out + relay::metadata_text(constants);
}

namespace {

// Proposes operations at random, and drops those that type inference refuses.
class Generator {
 public:
  Generator(unsigned seed, bool symbolic) : random_(seed), symbolic_(symbolic) {}

  Program program() {
    for (int k = 0; k < 3; ++k) input(shape_of(random_shape(4)), any_type());
    input({1, pick({3, 8, 16, 20}), pick({5, 8, 14}), pick({7, 8, 14})}, dtype::f32);
    input({}, dtype::boolean);
    program_.inputs.push_back({"%sizes", dtype::i64, {4}, true});  // elements in [0, 6)
    if (symbolic_) input({Dim::symbol({"n", 1}), 16}, dtype::f32);
    for (int tries = 0; tries < 300 && program_.statements.size() < 14; ++tries) {
      bool exact = true;
      std::string operation = propose(exact);
      if (!operation.empty()) add(operation, exact);
    }
    return std::move(program_);
  }

 private:
  size_t draw(size_t n) { return n ? random_() % n : 0; }
  bool chance(size_t n) { return draw(n) == 0; }
  int64_t pick(std::initializer_list<int64_t> list) { return list.begin()[draw(list.size())]; }
  const char* word(std::initializer_list<const char*> list) { return list.begin()[draw(list.size())]; }
  DType any_type() {
    constexpr DType types[] = {dtype::f32, dtype::f32, dtype::f32, dtype::i32, dtype::i8, dtype::u8, dtype::boolean};
    return types[draw(std::size(types))];
  }
  int64_t any_size() { return chance(40) ? 0 : pick({1, 1, 2, 3, 4, 5, 7, 16, 17}); }
  Sizes random_shape(size_t max_rank) {
    Sizes shape(draw(max_rank + 1));
    for (int64_t& size : shape) size = any_size();
    return shape;
  }

  void input(const Shape& shape, DType type) {
    Shape dims = shape;
    for (Dim& d : dims)
      if (symbolic_ && d.is_constant() && chance(3)) d = Dim::symbol({chance(2) ? "n" : "m", 1});
    program_.inputs.push_back({fmt::format("%x{}", program_.inputs.size()), type, dims, true});
    values_.push_back(program_.inputs.back());
  }

  const Value& any_value() {
    return values_[chance(2) ? draw(values_.size()) : values_.size() - 1 - draw(std::min<size_t>(3, values_.size()))];
  }
  const Value& any_value(const std::function<bool(const Value&)>& fits) {
    for (int k = 0; k < 20; ++k)
      if (const Value& v = any_value(); fits(v)) return v;
    return values_[3];  // the image
  }
  const Value& any_float() {
    return any_value([](const Value& v) { return v.type == dtype::f32; });
  }
  const Value& any_image() {
    return any_value([](const Value& v) { return v.type == dtype::f32 && v.shape.size() == 4; });
  }

  std::string constant(DType type, const Sizes& shape) {
    int64_t count = product(shape_of(shape)).value();
    std::vector<std::byte> bytes;
    for (int64_t i = 0; i < count; ++i) {
      auto put = [&](auto v) {
        const auto* raw = reinterpret_cast<const std::byte*>(&v);
        bytes.insert(bytes.end(), raw, raw + sizeof v);
      };
      auto small = static_cast<int>(draw(17)) - 8;
      if (type == dtype::f32) put(static_cast<float>(draw(4001)) / 2000 - 1);
      if (type == dtype::i32) put(small);
      if (type == dtype::i64) put(static_cast<int64_t>(small));
      if (type == dtype::i8) put(static_cast<int8_t>(small));
      if (type == dtype::u8) put(static_cast<uint8_t>(small + 8));
      if (type == dtype::boolean) put(static_cast<uint8_t>(draw(2)));
    }
    program_.constants.emplace_back(type, shape, std::move(bytes));
    return fmt::format("meta[relay.Constant][{}]", program_.constants.size() - 1);
  }

  // An operand of `v`'s type that broadcasts with it: another value, or a constant of which some sizes are 1.
  std::string partner(const Value& v, bool& exact) {
    const Value& other = any_value();
    if (other.type == v.type && chance(2)) {
      exact &= other.exact;
      return other.name;
    }
    Sizes shape = v.shape;
    for (size_t k = 0; k < shape.size(); ++k)
      if (chance(3) || !v.dims[k].is_constant()) shape[k] = 1;
    shape.erase(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(draw(shape.size() + 1)));
    return constant(v.type, shape);
  }

  std::string axes_of(const Value& v) {
    Sizes axes;
    for (size_t k = 0; k < v.shape.size(); ++k)
      if (chance(2)) axes.push_back(static_cast<int64_t>(k));
    return axes.empty() ? "None" : fmt::format("[{}]", fmt::join(axes, ", "));
  }

  std::string permutation(const Value& v) {
    Sizes axes;
    for (size_t k = 0; k < v.shape.size(); ++k)
      axes.insert(axes.begin() + static_cast<ptrdiff_t>(draw(axes.size() + 1)), static_cast<int64_t>(k));
    return fmt::format("[{}]", fmt::join(axes, ", "));
  }

  std::string unary(const Value& v, bool& exact) {
    if (v.type == dtype::boolean) return fmt::format("logical_not({})", v.name);
    if (v.type != dtype::f32) return fmt::format("{}({})", word({"negative", "abs", "copy", "sign"}), v.name);
    if (chance(2)) return fmt::format("{}({})", word({"nn.relu", "negative", "abs", "copy"}), v.name);
    if (chance(3)) return fmt::format("clip({}, a_min=-1.5f, a_max=2f)", v.name);
    exact = false;
    return fmt::format("{}({})", word({"tanh", "sigmoid", "erf", "nn.leaky_relu"}), v.name);
  }

  std::string binary(bool& exact) {
    const Value& v = any_value();
    std::string other = partner(v, exact);
    exact &= v.exact;
    if (v.type == dtype::boolean)
      return fmt::format("{}({}, {})", word({"logical_and", "logical_or", "logical_xor"}), v.name, other);
    if (exact && chance(4)) return fmt::format("{}({}, {})", word({"less", "equal", "greater_equal"}), v.name, other);
    const char* operation = word({"add", "subtract", "multiply", "maximum", "minimum"});
    exact &= v.type != dtype::f32 || operation[1] == 'a' || operation[1] == 'i';
    return fmt::format("{}({}, {})", operation, v.name, other);
  }

  std::string where(bool& exact) {
    const Value& c = any_value([](const Value& v) { return v.type == dtype::boolean; });
    const Value& v = any_value();
    std::string other = partner(v, exact);
    exact &= v.exact && c.exact;
    return fmt::format("where({}, {}, {})", c.name, v.name, other);
  }

  std::string movement(bool& exact) {
    const Value& v = any_value();
    exact = v.exact;
    auto rank = static_cast<int64_t>(v.shape.size());
    int64_t axis = rank ? static_cast<int64_t>(draw(v.shape.size())) : 0, size = rank ? v.shape[axis] : 1;
    Sizes begin(v.shape.size(), 0), end = v.shape, stride(v.shape.size(), 1), pads;
    switch (draw(11)) {
      case 9:  // rows up to an element of an input
        if (rank == 0) return "";
        return fmt::format("strided_slice({}, {}, {}, {}, axes=[{}])", v.name, constant_list({0}), size_of_input(),
                           constant_list({pick({1, 2})}), axis);
      case 10: {
        if (rank == 0 || product(shape_of(v.shape)).value() > 500) return "";
        const std::string ones = constant_list(Sizes(v.shape.size() - 1, 1));
        if (rank == 1) return fmt::format("tile({}, {})", v.name, size_of_input());
        return fmt::format("tile({}, concatenate(({}, {})))", v.name, size_of_input(), ones);
      }
      case 0:
        return fmt::format("transpose({}, axes={})", v.name, permutation(v));
      case 1:
        return fmt::format("reshape({}, newshape=[{}])", v.name, rank > 1 && chance(2) ? "0, -1" : "-1");
      case 2:
        return fmt::format("expand_dims({}, axis={}, num_newaxis={})", v.name, axis, 1 + draw(2));
      case 3:
        return is_static(v.dims) ? fmt::format("squeeze({})", v.name) : "";
      case 4: {
        if (has_data_sizes(v.dims)) return "";
        Shape shape = v.dims;
        shape.insert(shape.begin(), symbolic_ && chance(2) ? Dim::symbol({"n", 1}) : Dim(any_size()));
        for (Dim& d : shape)
          if (d == Dim(1)) d = any_size();
        return fmt::format("broadcast_to({}, shape=[{}])", v.name, sizes_text(shape));
      }
      case 5:
        for (size_t k = 0; k < end.size(); ++k)
          begin[k] = static_cast<int64_t>(draw(static_cast<size_t>(end[k] / 2 + 1))), stride[k] = pick({1, 1, 2, 3});
        return fmt::format("strided_slice({}, begin=[{}], end=[{}], strides=[{}])", v.name, fmt::join(begin, ", "),
                           fmt::join(end, ", "), fmt::join(stride, ", "));
      case 6: {
        const Value& other = any_value([&](const Value& o) { return o.type == v.type; });
        exact &= other.exact;
        return fmt::format("concatenate(({}, {}, {}), axis={})", v.name, other.name, v.name, axis);
      }
      case 7:
        for (int64_t k = 0; k < rank; ++k) pads.push_back(pick({0, 0, 1, 2})), pads.push_back(pick({0, 1, 3}));
        return fmt::format("nn.pad({}, {}, pad_width=[{}])", v.name, constant(v.type, {}), pairs(pads));
      default: {
        Sizes positions = random_shape(2);
        std::vector<int64_t> chosen;
        for (int64_t k = 0; k < product(shape_of(positions)).value(); ++k)
          chosen.push_back(static_cast<int64_t>(draw(static_cast<size_t>(std::max<int64_t>(size, 1)))));
        program_.constants.push_back(Constant::of<int64_t>(dtype::i64, positions, chosen));
        return fmt::format("take({}, meta[relay.Constant][{}], axis={})", v.name, program_.constants.size() - 1, axis);
      }
    }
  }

  std::string constant_list(const Sizes& numbers) {
    program_.constants.push_back(Constant::of(dtype::i64, {static_cast<int64_t>(numbers.size())}, numbers));
    return fmt::format("meta[relay.Constant][{}]", program_.constants.size() - 1);
  }

  // A list of one number: an element of the input of sizes.
  std::string size_of_input() {
    const size_t k = draw(4);
    return fmt::format("strided_slice(%sizes, begin=[{}], end=[{}])", k, k + 1);
  }

  static std::string pairs(const Sizes& list) {
    std::string text;
    for (size_t k = 0; k < list.size(); k += 2) text += fmt::format("{}[{}, {}]", k ? ", " : "", list[k], list[k + 1]);
    return text;
  }

  std::string reduction(bool& exact) {
    const Value& v = any_value();
    bool any_empty = std::ranges::count(v.shape, 0) > 0;
    exact = v.exact;
    std::string rest = fmt::format("({}, axis={}, keepdims={})", v.name, axes_of(v), chance(2) ? "True" : "False");
    if (v.type == dtype::boolean) return word({"all", "any"}) + rest;
    if (!any_empty && chance(2)) {
      if (exact && chance(3)) return word({"argmax", "argmin"}) + rest;
      return word({"max", "min"}) + rest;
    }
    if (v.type != dtype::f32) return "sum" + rest;
    exact = false;
    if (!v.shape.empty() && chance(3)) return fmt::format("nn.softmax({}, axis={})", v.name, draw(v.shape.size()));
    return (any_empty || chance(3) ? "sum" : "mean") + rest;
  }

  std::string image_operation() {
    const Value& v = any_image();
    int64_t channels = v.shape[1], taps = pick({1, 1, 3, 3, 5}), stride = pick({1, 1, 2}), pad = pick({0, taps / 2});
    std::string window = fmt::format("strides=[{}, {}], padding=[{}, {}]", stride, stride, pad, pad);
    switch (draw(6)) {
      case 0:
        return fmt::format("{}({}, pool_size=[{}, {}], {})", word({"nn.max_pool2d", "nn.avg_pool2d"}), v.name, taps,
                           taps, window);
      case 1:
        return fmt::format("nn.bias_add({}, {})", v.name, constant(dtype::f32, {channels}));
      case 2:
        return fmt::format("nn.conv2d({}, {}, {}, groups={})", v.name, constant(dtype::f32, {channels, 1, taps, taps}),
                           window, channels);
      case 3:
        return fmt::format("nn.global_avg_pool2d({})", v.name);
      default:
        return fmt::format("nn.conv2d({}, {}, {})", v.name,
                           constant(dtype::f32, {pick({1, 5, 16, 24, 32}), channels, taps, taps}), window);
    }
  }

  std::string product_of_matrices() {
    const Value& v = any_float();
    int64_t columns = v.shape.empty() ? 1 : v.shape.back();
    if (v.shape.size() == 2 && chance(2))
      return fmt::format("nn.dense({}, {})", v.name, constant(dtype::f32, {any_size(), columns}));
    if (v.shape.size() == 3 && chance(2))
      return fmt::format("nn.batch_matmul({}, {})", v.name, constant(dtype::f32, {v.shape[0], any_size(), columns}));
    return fmt::format("nn.matmul({}, {})", v.name,
                       chance(3) ? any_float().name : constant(dtype::f32, {columns, any_size()}));
  }

  // Both branches use values from outside; one or two results.
  std::string condition(bool& exact) {
    const Value& c = values_[4];
    const Value& v = any_value();
    bool first = v.exact, second = v.exact;
    std::string then_value = unary(v, first), else_value = unary(v, second);
    exact = first && second;
    if (!v.shape.empty() && chance(3))  // of different sizes
      return fmt::format("if ({}) {{ {} }} else {{ concatenate(({}, {}), axis={}) }}", c.name, then_value, else_value,
                         v.name, draw(v.shape.size()));
    if (chance(2)) return fmt::format("if ({}) {{ {} }} else {{ {} }}", c.name, then_value, else_value);
    return fmt::format("(if ({}) {{ let %t = {}; (%t, {}) }} else {{ ({}, {}) }}).{}", c.name, then_value, v.name,
                       v.name, else_value, draw(2));
  }

  // A call of a new global function of one value, which applies two operations.
  std::string call(bool& exact) {
    const Value& v = any_value([](const Value& o) {  // whose sizes give its symbols
      return !has_data_sizes(o.dims) &&
             std::ranges::all_of(o.dims, [](const Dim& d) { return d.symbols().size() + d.atom_count() <= 2; });
    });
    Value param{"%p", v.type, v.dims, v.exact};
    exact = v.exact;
    std::string first = unary(param, exact);
    Value inner{"%q", v.type, v.dims, exact};
    std::string second = unary(inner, exact);
    std::string name = fmt::format("@f{}", program_.functions.size());
    program_.functions.push_back(
        fmt::format("def {}({}) {{\n  let %q = {};\n  {}\n}}\n", name, declaration(param), first, second));
    return fmt::format("{}({})", name, v.name);
  }

  std::string conversion(bool& exact) {
    const Value& v = any_value();
    exact = v.exact;
    const char* to = exact ? word({"float32", "int32", "int8", "bool"}) : "float32";
    return fmt::format("cast({}, dtype=\"{}\")", v.name, to);
  }

  std::string propose(bool& exact) {
    switch (draw(12)) {
      case 0: {
        const Value& v = any_value();
        exact = v.exact;
        return unary(v, exact);
      }
      case 1:
      case 2:
        return binary(exact);
      case 3:
        return where(exact);
      case 4:
      case 5:
        return movement(exact);
      case 6:
        return reduction(exact);
      case 7:
        exact = false;
        return product_of_matrices();
      case 8:
        return conversion(exact);
      case 9:
        return chance(2) ? condition(exact) : call(exact);
      default:
        exact = false;
        return image_operation();
    }
  }

  // Binds the operation if it has a type and is small enough.
  void add(const std::string& operation, bool exact) {
    std::string name = fmt::format("%v{}", program_.statements.size());
    program_.statements.push_back({name, operation});
    Diagnostics d;
    auto module = frontends::import_relay(program_.text({name}), {}, d);
    const auto* tuple = module ? relay::as<relay::TupleType>(module->functions.at("main").result_type) : nullptr;
    const auto* type = tuple ? relay::as<relay::TensorType>(tuple->fields.at(0)) : nullptr;
    const bool known = type && std::ranges::all_of(type->shape, [&](const Dim& d) {
                         return !d.is_overflow() && std::ranges::all_of(d.symbols(), [&](const Symbol& s) {
                           return is_decided_by_data(s) || (symbolic_ && typical.contains(s.name));
                         });
                       });
    auto is_negative = [](int64_t size) { return size < 0; };
    if (!known || std::ranges::any_of(at_sizes(type->shape, typical), is_negative) ||
        product(shape_of(at_sizes(type->shape, typical))).constant().value_or(INT64_MAX) > 20000) {
      program_.statements.pop_back();
      return;
    }
    values_.push_back({name, type->dtype, type->shape, exact});
    program_.values.push_back(values_.back());
  }

  std::mt19937 random_;
  bool symbolic_;
  Program program_;
  std::vector<Value> values_;  // inputs, then results
};

}  // namespace

Program make_program(unsigned seed, bool symbolic) { return Generator(seed, symbolic).program(); }

}  // namespace dlcc::random_program

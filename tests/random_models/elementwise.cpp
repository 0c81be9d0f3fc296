// Operators whose results have an element for each element of their operands.
#include <algorithm>
#include <cmath>

#include "graph.h"

namespace dlcc::random_models {
namespace {

// Whether operators without bfloat16 have the type.
bool has_ieee_type(const Value& v) { return is_float(v.type) && v.type != dtype::bf16; }

bool is_number(const Value& v) { return !is_bool(v.type); }

// A result of float arithmetic whose operands may be wrong by `error`.
Value rounded(const Value& like, double bound, double error) {
  return {"", like.type, like.shape, bound, 0, error + 4 * epsilon(like.type) * std::max(bound, 1.)};
}

// A smooth function with values up to `bound` and slopes up to `slope` where |x| <= 8. Those of operator set 13 are
// defined for bfloat16, too.
struct Function {
  const char* name;
  int opset;  // the first that has it
  double bound, slope;
};
constexpr Function functions[] = {{"Sigmoid", 13, 1, 1},    {"Tanh", 13, 1, 1},    {"Erf", 13, 1, 2},
                                  {"Softplus", 1, 9, 1},    {"Softsign", 1, 1, 1}, {"Sin", 7, 1, 1},
                                  {"Cos", 7, 1, 1},         {"Atan", 7, 2, 1},     {"Elu", 6, 8, 1},
                                  {"Selu", 6, 9, 2},        {"Celu", 12, 8, 1},    {"LeakyRelu", 6, 8, 1},
                                  {"HardSwish", 14, 8, 2},  {"Mish", 18, 8, 2},    {"Gelu", 20, 8, 2},
                                  {"HardSigmoid", 6, 1, 1}, {"Asinh", 9, 8, 1}};

bool add_function(Graph& g) {
  const Function& f = functions[g.draw(std::size(functions))];
  auto x = g.any([](const Value& v) { return is_float(v.type) && v.bound <= 8; });
  if (!x || g.opset() < f.opset || (x->type == dtype::bf16 && f.opset != 13)) return false;
  if (f.name == std::string("Celu") && x->type != dtype::f32) return false;
  g.add(f.name, {*x}, rounded(*x, f.bound, 2 * f.slope * x->error + 8 * epsilon(x->type) * f.bound));
  return true;
}

bool add_exp(Graph& g) {
  auto x = g.any([](const Value& v) { return is_float(v.type) && v.bound <= 4; });
  if (!x) return false;
  const double bound = std::exp(x->bound);
  g.add("Exp", {*x}, rounded(*x, bound, 2 * bound * x->error + 8 * epsilon(x->type) * bound));
  return true;
}

// Functions whose values are among the operand, its opposite and 0: exact.
bool add_selecting(Graph& g) {
  const char* op = g.one_of({"Abs", "Neg", "Relu", "Identity"});
  auto x = g.any([&](const Value& v) { return is_number(v) && (is_float(v.type) || is_signed(v.type)); });
  if (!x || (op[0] == 'R' && !is_float(x->type))) return false;
  g.add(op, {*x}, x->renamed(""));
  return true;
}

bool add_rounding(Graph& g) {
  auto x = g.any([](const Value& v) { return has_ieee_type(v) && v.exact() && v.bound < 256; });
  if (!x) return false;
  g.add(g.one_of({"Floor", "Ceil", "Round"}), {*x}, Value{"", x->type, x->shape, std::ceil(x->bound), 1});
  return true;
}

bool add_sign(Graph& g) {
  auto x = g.any([](const Value& v) { return is_number(v) && v.exact(); });
  if (!x) return false;
  g.add("Sign", {*x}, Value{"", x->type, x->shape, 1, 1});
  return true;
}

bool add_clip(Graph& g) {
  auto x = g.any([](const Value& v) { return is_number(v); });
  if (!x) return false;
  const bool low = g.chance(70), high = g.chance(70);
  Value result = x->renamed(""), absent;
  if (low && high) result.bound = std::min(x->bound, 4.);
  g.add("Clip",
        {*x, low ? g.constant(x->type, {}, {is_float(x->type) ? -1.5 : 0}) : absent,
         high ? g.constant(x->type, {}, {4}) : absent},
        result);
  return true;
}

// Small integers have the four operations since operator set 14.
bool lacks_arithmetic(const Graph& g, DType t) { return g.opset() < 14 && is_integer(t) && bits(t) < 32; }

bool add_arithmetic(Graph& g) {
  auto x = g.any([](const Value& v) { return is_number(v) && v.bound < 1e4; });
  if (!x) return false;
  Value y = g.partner(*x);
  if (y.bound > 1e4) return false;
  if (g.chance(50)) std::swap(*x, y);
  const char* op = g.one_of({"Add", "Sub", "Mul", "Min", "Max", "Sum", "Mean"});
  const bool product = op == std::string("Mul"), choice = op[0] == 'M' && op[2] != 'a' && !product;
  const bool averaging = op == std::string("Mean");
  if ((averaging || op == std::string("Sum")) && !is_float(x->type)) return false;
  if (op[0] != 'M' && lacks_arithmetic(g, x->type)) return false;
  if (product && lacks_arithmetic(g, x->type)) return false;
  if (op == std::string("Sub") && !is_float(x->type) && !is_signed(x->type)) return false;
  Value r{"", x->type, *g.broadcast(x->shape, y.shape)};
  r.bound = product ? x->bound * y.bound : choice ? std::max(x->bound, y.bound) : x->bound + y.bound;
  const double grain = product ? x->grain * y.grain : std::min(x->grain, y.grain) / (averaging ? 2 : 1);
  if (x->exact() && y.exact() && holds(x->type, r.bound, grain))
    r.grain = grain;
  else if (!is_float(x->type))
    return false;
  else
    r.error =
        (product ? 2 * (x->error * y.bound + y.error * x->bound) : x->error + y.error) + 2 * epsilon(x->type) * r.bound;
  g.add(op, {*x, y}, r);
  return true;
}

// Divisors are constants: powers of two for floats, any number but 0 for integers.
bool add_division(Graph& g) {
  auto x = g.any([](const Value& v) { return is_number(v) && v.bound < 100; });
  if (!x) return false;
  const bool remainder = g.chance(40);
  if (!remainder && lacks_arithmetic(g, x->type)) return false;
  if (remainder && (!x->exact() || bits(x->type) == 16)) return false;
  double divisor = is_float(x->type) ? g.one_of({0.5, 1., 2., 4., -2.}) : g.one_of({1., 2., 3., 5.});
  if (is_signed(x->type) && g.chance(40)) divisor = -divisor;
  const Value y = g.constant(x->type, g.chance(50) ? std::vector<int64_t>{} : std::vector<int64_t>{1}, {divisor});
  Value r{"",       x->type,     *g.broadcast(x->shape, y.shape), x->bound * (is_float(x->type) && !remainder ? 2 : 1),
          x->grain, 2 * x->error};
  if (remainder) r.bound = std::max(x->bound, 5.);
  if (is_float(x->type) && !remainder) {
    r.grain = x->grain / 4;
    if (!holds(x->type, r.bound, r.grain)) r.grain = 0, r.error = 2 * x->error + 4 * epsilon(x->type) * r.bound;
  }
  Node node = g.add(remainder ? "Mod" : "Div", {*x, y}, r);
  if (remainder && (is_float(x->type) || g.chance(40))) node.integer("fmod", 1);
  return true;
}

bool add_power(Graph& g) {
  auto x = g.any([](const Value& v) { return is_float(v.type) && v.bound <= 8; });
  if (!x) return false;
  const int exponent = g.draw(4);
  const double bound = std::max(1., std::pow(x->bound, exponent));
  if (x->type == dtype::bf16 && g.opset() < 15) return false;
  const Value y =
      g.constant(x->type != dtype::bf16 && g.chance(50) ? x->type : dtype::i64, {}, {static_cast<double>(exponent)});
  g.add("Pow", {*x, y}, rounded(*x, bound, 8 * exponent * x->error * bound + 16 * epsilon(x->type) * bound));
  return true;
}

bool add_root(Graph& g) {
  auto x = g.any([](const Value& v) { return is_float(v.type) && v.exact() && v.bound < 1e3; });
  if (!x) return false;
  Value positive = x->renamed(g.fresh_name());
  g.add("Abs", {*x}, positive);
  g.add("Sqrt", {positive}, rounded(*x, std::sqrt(x->bound) + 1, 0));
  return true;
}

bool add_comparison(Graph& g) {
  auto x = g.any([](const Value& v) { return is_number(v) && v.exact(); });
  if (!x) return false;
  const Value y = g.partner(*x);
  if (!y.exact()) return false;
  const char* op = g.one_of({"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"});
  if (x->type == dtype::bf16 && (op == std::string("Equal") || g.opset() < 16)) return false;
  g.add(op, {*x, y}, Value{"", dtype::boolean, *g.broadcast(x->shape, y.shape), 1, 1});
  return true;
}

bool add_logic(Graph& g) {
  auto x = g.any([](const Value& v) { return is_bool(v.type); });
  if (!x) return false;
  if (g.chance(25)) return g.add("Not", {*x}, x->renamed("")), true;
  const Value y = g.partner(*x);
  g.add(g.one_of({"And", "Or", "Xor"}), {*x, y}, Value{"", x->type, *g.broadcast(x->shape, y.shape), 1, 1});
  return true;
}

// Bits of unsigned integers up to 255, which stay below 256.
bool add_bits(Graph& g) {
  auto x = g.any([](const Value& v) { return is_integer(v.type) && !is_signed(v.type) && v.bound < 256; });
  if (!x) return false;
  Value y = g.partner(*x);
  const bool shift = g.chance(40);
  if ((!shift && g.opset() < 18) || y.bound >= 256) return false;
  if (shift && y.bound > 7) y = g.random_constant(x->type, {}, 7);
  const Value r{"", x->type, *g.broadcast(x->shape, y.shape), 255, 1};
  if (shift)
    g.add("BitShift", {*x, y}, r).text("direction", "RIGHT");
  else
    g.add(g.one_of({"BitwiseAnd", "BitwiseOr", "BitwiseXor"}), {*x, y}, r);
  return true;
}

bool add_where(Graph& g) {
  auto condition = g.any([](const Value& v) { return is_bool(v.type); });
  auto x = condition ? g.any([&](const Value& v) {
    return (v.type != dtype::bf16 || g.opset() >= 16) && g.broadcast(v.shape, condition->shape).has_value();
  })
                     : std::nullopt;
  if (!x) return false;
  const Value y = g.partner(*x);
  auto pair = g.broadcast(x->shape, y.shape);
  auto shape = g.broadcast(*pair, condition->shape);
  if (!shape) return false;
  const bool exact = x->exact() && y.exact();
  g.add("Where", {*condition, *x, y},
        Value{"", x->type, *shape, std::max(x->bound, y.bound), exact ? std::min(x->grain, y.grain) : 0,
              std::max(x->error, y.error)});
  return true;
}

// Casts to any type that can represent the numbers; exact floats that are not integers are truncated.
bool add_cast(Graph& g) {
  const DType to = g.one_of({dtype::f32, dtype::f32, dtype::f64, dtype::f16, dtype::bf16, dtype::i8, dtype::i16,
                             dtype::i32, dtype::i64, dtype::u8, dtype::u16, dtype::u32, dtype::u64, dtype::boolean});
  auto x = g.any([&](const Value& v) {
    if (v.type == to || v.bound > 1e4) return false;
    if (is_float(to)) return true;
    const bool unsigned_source = is_bool(v.type) || (is_integer(v.type) && !is_signed(v.type));
    return v.exact() && (is_bool(to) || ((is_signed(to) || unsigned_source) && holds(to, v.bound, 1)));
  });
  if (!x) return false;
  Value r{"", to, x->shape, is_bool(to) ? 1 : x->bound};
  if (!is_float(to))
    r.grain = std::max(1., x->grain);
  else if (x->exact() && holds(to, x->bound, x->grain))
    r.grain = x->grain;
  else
    r.error = x->error + epsilon(to) * x->bound;
  if (is_bool(to)) r.grain = 1;
  if (g.chance(20) && g.opset() >= 15)
    g.add("CastLike", {*x, g.random_constant(to, {1})}, r);
  else
    g.add("Cast", {*x}, r).integer("to", onnx_number(to));
  return true;
}

}  // namespace

const std::vector<Operator>& elementwise_operators() {
  static const std::vector<Operator> rows = {
      add_function, add_exp,   add_selecting, add_rounding,   add_sign,  add_clip, add_arithmetic, add_arithmetic,
      add_division, add_power, add_root,      add_comparison, add_logic, add_bits, add_where,      add_cast};
  return rows;
}

}  // namespace dlcc::random_models

// Elementwise operators: arithmetic, comparisons, Clip, Cast, Where.
#include <cmath>

#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/schema.h"
#include "support/float_formats.h"

namespace dlcc::frontends::onnx {
namespace {

// ---- two operands -------------------------------------------------------------------------------------------------

// Before operator set 7 `broadcast` = 1 requests broadcasting of the second operand, and `axis` is the first operand's
// axis that its first axis corresponds to.
Value align_legacy_operand(Node& n, const Value& a, const Value& b) {
  bool broadcast = n.flag("broadcast", false);
  n.ignore("consumed_inputs");
  if (!broadcast) {
    n.ignore("axis");
    bool equal = a.type.shape.size() == b.type.shape.size() &&
                 std::equal(a.type.shape.begin(), a.type.shape.end(), b.type.shape.begin());
    n.check(equal, DiagnosticId::shape_mismatch, "without attribute broadcast=1 A and B must have the same shape");
    return b;
  }
  if (!n.has_attr("axis")) return b;
  auto axis = n.axis_of(n.integer("axis", 0), a.rank());
  if (!axis) return b;
  int64_t trailing = a.rank() - *axis - b.rank();
  if (!n.check(trailing >= 0, DiagnosticId::shape_mismatch, "B has more axes than A from 'axis' on")) return b;
  Shape shape = b.type.shape;
  shape.insert(shape.end(), static_cast<size_t>(trailing), Dim(1));
  return trailing == 0 ? b : n.reshape(b, shape);
}

Converter legacy_binary(const char* relay_op) {
  return [relay_op](Node& n) -> Values {
    return {n.call(relay_op, {n.in(0), align_legacy_operand(n, n.in(0), n.in(1))})};
  };
}

// op(op(a, b), c) ...
Converter chained(const char* relay_op) {
  return [relay_op](Node& n) -> Values {
    n.ignore("consumed_inputs");
    Values operands = n.all_inputs();
    Value result = operands[0];
    for (size_t k = 1; k < operands.size(); ++k) result = n.call(relay_op, {result, operands[k]});
    return {result};
  };
}

// An integer to the power of a float: exact if the exponent is an integer, else computed in the float type.
Value integer_to_float_power(Node& n, const Value& base, const Value& exponent) {
  Value whole = n.cast(exponent, base.type.dtype);
  Value is_whole = n.call("equal", {n.cast(whole, exponent.type.dtype), exponent});
  Value power = n.call("power", {n.cast(base, exponent.type.dtype), exponent});
  return n.call("where", {is_whole, n.call("power", {base, whole}), n.cast(power, base.type.dtype)});
}

// Whether a float type has the number exactly.
bool has_number(DType type, double number) {
  const auto single = static_cast<float>(number);
  if (type == dtype::f64) return true;
  if (type == dtype::f16) return half_to_float(float_to_half(single)) == number;
  if (type == dtype::bf16) return bfloat16_to_float(float_to_bfloat16(single)) == number;
  return type == dtype::f32 && single == number;
}

// Whether the float type has each exponent exactly: by the types, or the exponents are known.
bool has_exponents(DType type, const Value& exponent) {
  const DType other = exponent.type.dtype;
  const int digits = type == dtype::f64 ? 53 : type == dtype::f32 ? 24 : type == dtype::f16 ? 11 : 8;
  const bool by_type =
      is_float(other) ? other == type || bits(other) < bits(type) : bits(other) - (is_signed(other) ? 1 : 0) <= digits;
  if (by_type) return true;
  const Constant* known = exponent.constant();
  for (int64_t k = 0; known && k < known->count(); ++k) {
    const double number = known->number_at(k);
    const bool exact = is_float(other) || std::abs(number) <= 9007199254740992.0;
    if (!exact || !has_number(type, number)) return false;
  }
  return known != nullptr;
}

// A float to a power of another type: the exponent is not rounded to the type of the base.
Value float_power(Node& n, const Value& base, const Value& exponent) {
  const DType type = base.type.dtype;
  if (has_exponents(type, exponent)) return n.call("power", {base, n.cast(exponent, type)});
  const DType wide = has_exponents(dtype::f32, exponent) && bits(type) <= 32 ? dtype::f32 : dtype::f64;
  return n.cast(n.call("power", {n.cast(base, wide), n.cast(exponent, wide)}), type);
}

// The result has the base's type.
Value power(Node& n, const Value& base, const Value& exponent) {
  DType type = base.type.dtype, other = exponent.type.dtype;
  if (type == other) return n.call("power", {base, exponent});
  if (is_float(type)) return float_power(n, base, exponent);
  if (is_float(other)) return integer_to_float_power(n, base, exponent);
  DType wider = bits(other) > bits(type) ? other : type;  // products agree modulo the narrower type's range
  return n.cast(n.call("power", {n.cast(base, wider), n.cast(exponent, wider)}), type);
}

Values convert_power(Node& n) { return {power(n, n.in(0), n.in(1))}; }

// ---- one operand --------------------------------------------------------------------------------------------------

Values convert_reciprocal(Node& n) {
  n.ignore("consumed_inputs");
  return {n.call("divide", {n.scalar(n.in(0).type.dtype, 1), n.in(0)})};
}

// The remainder of a division rounded toward zero with fmod = 1, else rounded down. Floats need fmod = 1 before
// operator set 28.
Values convert_mod(Node& n) {
  const bool truncates = n.flag("fmod", false);
  n.check(truncates || n.opset() >= 28 || !is_float(n.in(0).type.dtype), DiagnosticId::bad_attribute,
          "floats need attribute fmod=1", "set fmod=1, or export the model for operator set 28");
  return {n.call(truncates ? "mod" : "floor_mod", {n.in(0), n.in(1)})};
}

Values convert_mean(Node& n) {
  n.ignore("consumed_inputs");
  return {in_float32(n, n.in(0), [&](const Value& first) {
    Value sum = first;
    for (int k = 1; k < n.input_count(); ++k) sum = add(n, sum, n.cast(n.in(k), first.type.dtype));
    return divide(n, sum, constant_like(n, sum, n.input_count()));
  })};
}

// Integers are computed in float64, in which erf(x) is 1 from 6 on; the result is truncated.
Values convert_erf(Node& n) {
  const DType type = n.in(0).type.dtype;
  if (!is_integer(type)) return {n.call("erf", {n.in(0)})};
  return {n.cast(n.call("erf", {n.cast(n.in(0), dtype::f64)}), type)};
}

// ---- kinds of floats ----------------------------------------------------------------------------------------------

// 8-bit floats have no arithmetic: their values as float32.
Value readable(Node& n, const Value& x) { return bits(x.type.dtype) < 16 ? n.cast(x, dtype::f32) : x; }

Values convert_is_nan(Node& n) { return {n.call("isnan", {readable(n, n.in(0))})}; }

Values convert_is_inf(Node& n) {
  const bool positive = n.flag("detect_positive", true), negative = n.flag("detect_negative", true);
  const Value x = readable(n, n.in(0));
  if (positive && negative) return {n.call("isinf", {x})};
  if (positive || negative) return {n.call("equal", {x, constant_like(n, x, positive ? INFINITY : -INFINITY)})};
  return {n.call("zeros", {}, {{"shape", relay::sizes_attribute(x.type.shape)}, {"dtype", "bool"}})};
}

// ---- Clip ---------------------------------------------------------------------------------------------------------

Values convert_clip_with_attributes(Node& n) {
  constexpr float largest = 3.402823466e+38f;
  n.ignore("consumed_inputs");
  const bool bounded = n.opset() >= 6;  // in earlier operator sets the attributes have no default
  const double low = bounded || n.has_attr("min") ? n.number("min", -largest) : -INFINITY;
  const double high = bounded || n.has_attr("max") ? n.number("max", largest) : INFINITY;
  return {n.call("clip", {n.in(0)}, {{"a_min", low}, {"a_max", high}})};
}

// The bound as an attribute of `clip`; `missing` if the input is omitted, empty if it is no constant or not exact as a
// double.
std::optional<double> known_bound(Node& n, int input, double missing) {
  if (!n.has(input)) return missing;
  const Constant* c = n.in(input).constant();
  if (!c || c->count() != 1) return std::nullopt;
  double value = c->number_at(0);
  bool exact = is_float(c->dtype()) || std::abs(value) <= 9007199254740992.0;
  return exact && !std::isnan(value) ? std::optional(value) : std::nullopt;
}

Values convert_clip(Node& n) {
  if (!n.has(1) && !n.has(2)) return {n.in(0)};
  for (int k = 1; k <= 2; ++k)
    if (n.has(k))
      n.check(n.in(k).type.dtype == n.in(0).type.dtype && product(n.in(k).type.shape) == Dim(1),
              DiagnosticId::type_mismatch, "min and max must be scalars of the type of input");
  if (n.failed()) return {};
  auto low = known_bound(n, 1, -INFINITY), high = known_bound(n, 2, INFINITY);
  if (low && high) return {n.call("clip", {n.in(0)}, {{"a_min", *low}, {"a_max", *high}})};
  Value result = n.in(0);
  if (n.has(1)) result = n.call("maximum", {result, n.reshape(n.in(1), {})});
  if (n.has(2)) result = n.call("minimum", {result, n.reshape(n.in(2), {})});
  return {result};
}

// ---- Cast ---------------------------------------------------------------------------------------------------------

Values cast_to(Node& n, std::optional<DType> type, bool saturate, const std::string& round_mode = "up") {
  if (!type) return {};
  if (*type == n.in(0).type.dtype) return {n.in(0)};
  relay::Attrs attrs = {{"dtype", dtype_attr(*type)}};
  if (!saturate) attrs["saturate"] = false;
  if (round_mode != "up") attrs["round_mode"] = round_mode;
  // Floats out of the range of 2 or 4 bits wrap, as in ONNX's reference implementation; Relay's `cast` would saturate.
  bool wraps = bits(*type) < 8 && is_integer(*type) && is_float(n.in(0).type.dtype);
  return {n.call("cast", {wraps ? n.cast(n.in(0), dtype::i32) : n.in(0)}, attrs)};
}

// Before operator set 6 the type is the name of a TensorProto.DataType.
Values convert_cast_by_name(Node& n) {
  std::string name = n.text("to", "");
  schema::TensorProto::DataType number = schema::TensorProto::UNDEFINED;
  schema::TensorProto::DataType_Parse(name, &number);
  return cast_to(n, n.element_type("to", number), true);
}

Values convert_cast_like(Node& n) {
  bool saturate = n.flag("saturate", true);
  return cast_to(n, n.in(1).type.dtype, saturate, n.text("round_mode", "up"));
}

Values convert_cast(Node& n) {
  bool saturate = n.flag("saturate", true);
  const std::string round_mode = n.text("round_mode", "up");
  return cast_to(n, n.element_type("to", n.required_integer("to")), saturate, round_mode);
}

}  // namespace

void add_elementwise(Table& table) {
  table.add({
      {"Acos", 7, "input", 1, 1, 1, direct("acos"), true},
      {"Acosh", 9, "input", 1, 1, 1, direct("acosh"), true},
      {"Asin", 7, "input", 1, 1, 1, direct("asin"), true},
      {"Asinh", 9, "input", 1, 1, 1, direct("asinh"), true},
      {"Atan", 7, "input", 1, 1, 1, direct("atan"), true},
      {"Atanh", 9, "input", 1, 1, 1, direct("atanh"), true},
      {"Cos", 7, "input", 1, 1, 1, direct("cos"), true},
      {"Cosh", 9, "input", 1, 1, 1, direct("cosh"), true},
      {"IsInf", 10, "X", 1, 1, 1, convert_is_inf, true},
      {"IsNaN", 9, "X", 1, 1, 1, convert_is_nan, true},
      {"Round", 11, "X", 1, 1, 1, direct("round"), true},
      {"Sign", 9, "input", 1, 1, 1, direct("sign"), true},
      {"Sin", 7, "input", 1, 1, 1, direct("sin"), true},
      {"Sinh", 9, "input", 1, 1, 1, direct("sinh"), true},
      {"Tan", 7, "input", 1, 1, 1, direct("tan"), true},
      {"Abs", 1, "X", 1, 1, 1, direct("abs"), true},
      {"Ceil", 1, "X", 1, 1, 1, direct("ceil"), true},
      {"Erf", 9, "input", 1, 1, 1, convert_erf, true},
      {"Exp", 1, "input", 1, 1, 1, direct("exp"), true},
      {"Floor", 1, "X", 1, 1, 1, direct("floor"), true},
      {"Log", 1, "input", 1, 1, 1, direct("log"), true},
      {"Neg", 1, "X", 1, 1, 1, direct("negative"), true},
      {"Not", 1, "X", 1, 1, 1, direct("logical_not"), true},
      {"Sqrt", 1, "X", 1, 1, 1, direct("sqrt"), true},
      {"Tanh", 1, "input", 1, 1, 1, direct("tanh"), true},
      {"Reciprocal", 1, "X", 1, 1, 1, convert_reciprocal, true},
      {"Clip", 1, "input", 1, 1, 1, convert_clip_with_attributes, true},
      {"Clip", 11, "input min max", 1, 3, 1, convert_clip, true},
      {"Cast", 1, "input", 1, 1, 1, convert_cast_by_name, true},
      {"Cast", 6, "input", 1, 1, 1, convert_cast, true},
      {"CastLike", 15, "input target_type", 2, 2, 1, convert_cast_like, true},
  });
  table.add({
      {"Add", 1, "A B", 2, 2, 1, legacy_binary("add")},
      {"Add", 7, "A B", 2, 2, 1, direct("add")},
      {"Sub", 1, "A B", 2, 2, 1, legacy_binary("subtract")},
      {"Sub", 7, "A B", 2, 2, 1, direct("subtract")},
      {"Mul", 1, "A B", 2, 2, 1, legacy_binary("multiply")},
      {"Mul", 7, "A B", 2, 2, 1, direct("multiply")},
      {"Div", 1, "A B", 2, 2, 1, legacy_binary("divide")},
      {"Div", 7, "A B", 2, 2, 1, direct("divide")},
      {"Pow", 1, "X Y", 2, 2, 1, legacy_binary("power")},
      {"Pow", 7, "X Y", 2, 2, 1, convert_power},
      {"And", 1, "A B", 2, 2, 1, legacy_binary("logical_and")},
      {"And", 7, "A B", 2, 2, 1, direct("logical_and")},
      {"Or", 1, "A B", 2, 2, 1, legacy_binary("logical_or")},
      {"Or", 7, "A B", 2, 2, 1, direct("logical_or")},
      {"Xor", 1, "A B", 2, 2, 1, legacy_binary("logical_xor")},
      {"Xor", 7, "A B", 2, 2, 1, direct("logical_xor")},
      {"Equal", 1, "A B", 2, 2, 1, legacy_binary("equal")},
      {"Greater", 1, "A B", 2, 2, 1, legacy_binary("greater")},
      {"Greater", 7, "A B", 2, 2, 1, direct("greater")},
      {"Less", 1, "A B", 2, 2, 1, legacy_binary("less")},
      {"Less", 7, "A B", 2, 2, 1, direct("less")},
      {"GreaterOrEqual", 12, "A B", 2, 2, 1, direct("greater_equal")},
      {"LessOrEqual", 12, "A B", 2, 2, 1, direct("less_equal")},
      {"Min", 1, "data", 1, any_number, 1, chained("minimum")},
      {"Max", 1, "data", 1, any_number, 1, chained("maximum")},
      {"Mean", 1, "data", 1, any_number, 1, convert_mean},
      {"Mod", 10, "A B", 2, 2, 1, convert_mod},
      {"Sum", 1, "data", 1, any_number, 1, chained("add")},
      {"Where", 9, "condition X Y", 3, 3, 1, direct("where")},
  });
}

}  // namespace dlcc::frontends::onnx

// Elementwise functions of one operand, as one table: each line has the definition of its operator. A function of real
// numbers also takes integers, as TVM's type relations have it: its value is rounded toward zero. For the gradient each
// line has the derivative of y = f(x).
#include <numbers>

#include "relay/call_gradient.h"
#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct UnaryFunction {
  const char* name;
  const char* summary;
  const TypeClass& types;
  Expr (*value)(Expr);
  Term (*derivative)(const Term& x, const Term& y);  // null: 0 wherever it exists
  double tolerance = 0;
};

Expr zero_of(const Expr& a) { return number(a.type(), 0); }
Expr one_of(const Expr& a) { return number(a.type(), 1); }

Expr absolute(Expr a) {
  if (is_float(a.type())) return abs(a);
  return is_signed(a.type()) ? max(a, -a) : a;
}

// The sign of 0, -0 and NaN is the operand itself.
Expr sign_of(Expr a) {
  Expr positive_part = select(a > zero_of(a), one_of(a), a);
  return is_float(a.type()) || is_signed(a.type()) ? select(a < zero_of(a), number(a.type(), -1), positive_part)
                                                   : positive_part;
}

Expr itself(Expr a) { return a; }
Expr rectified(Expr a) { return max(zero_of(a), a); }  // NaN stays NaN by the comparison alone
Expr inverse_root(Expr a) { return one_of(a) / sqrt(a); }
Expr negated(Expr a) { return -a; }
Expr inverted(Expr a) { return unary(tensor::UnaryOp::bit_not, a); }

Expr binary_logarithm(Expr a) { return log(a) * number(a.type(), std::numbers::log2e); }
Expr decimal_logarithm(Expr a) { return log(a) * number(a.type(), std::numbers::log10e); }

template <tensor::UnaryOp op>
Expr of(Expr a) {
  return unary(op, a);
}

template <Expr (*round)(Expr)>
Expr rounded(Expr a) {
  return is_float(a.type()) ? round(a) : a;
}

// ---- derivatives

Term one_like(const Term& x) { return x.code().number(x.dtype(), 1); }
Term inverse(const Term& x) { return 1 / x; }
Term root_of_complement(const Term& x) { return (1 - x * x).map("rsqrt"); }

Term d_abs(const Term& x, const Term&) { return x.map("sign"); }
Term d_negative(const Term& x, const Term&) { return x.code().number(x.dtype(), -1); }
Term d_exp(const Term&, const Term& y) { return y; }
Term d_log(const Term& x, const Term&) { return inverse(x); }
Term d_log2(const Term& x, const Term&) { return inverse(x * std::numbers::ln2); }
Term d_log10(const Term& x, const Term&) { return inverse(x * std::numbers::ln10); }
Term d_sqrt(const Term&, const Term& y) { return 0.5 / y; }
Term d_rsqrt(const Term& x, const Term& y) { return y / x * -0.5; }
Term d_tanh(const Term&, const Term& y) { return 1 - y * y; }
Term d_sigmoid(const Term&, const Term& y) { return y * (1 - y); }
Term d_erf(const Term& x, const Term&) { return (-(x * x)).map("exp") * (2 * std::numbers::inv_sqrtpi); }
Term d_expm1(const Term&, const Term& y) { return y + 1; }
Term d_log1p(const Term& x, const Term&) { return inverse(x + 1); }
Term d_sin(const Term& x, const Term&) { return x.map("cos"); }
Term d_cos(const Term& x, const Term&) { return -x.map("sin"); }
Term d_tan(const Term&, const Term& y) { return y * y + 1; }
Term d_asin(const Term& x, const Term&) { return root_of_complement(x); }
Term d_acos(const Term& x, const Term&) { return -root_of_complement(x); }
Term d_atan(const Term& x, const Term&) { return inverse(x * x + 1); }
Term d_sinh(const Term& x, const Term&) { return x.map("cosh"); }
Term d_cosh(const Term& x, const Term&) { return x.map("sinh"); }
Term d_asinh(const Term& x, const Term&) { return (x * x + 1).map("rsqrt"); }
Term d_acosh(const Term& x, const Term&) { return ((x + 1) * (x + -1)).map("rsqrt"); }
Term d_atanh(const Term& x, const Term&) { return inverse(1 - x * x); }
Term d_relu(const Term& x, const Term&) { return where(x > 0, one_like(x), 0); }
Term d_copy(const Term& x, const Term&) { return one_like(x); }

const UnaryFunction unary_functions[] = {
    {"abs", "|x|", types::number, absolute, d_abs},
    {"negative", "-x; unsigned integers wrap", types::number, negated, d_negative},
    {"sign", "-1, 0 or 1; NaN stays NaN", types::number, sign_of, nullptr},
    {"exp", "e to the power of x", types::real, tensor::exp, d_exp, 5e-7},
    {"log", "natural logarithm", types::real, tensor::log, d_log, 5e-7},
    {"log2", "the logarithm to base 2", types::real, binary_logarithm, d_log2, 5e-7},
    {"log10", "the logarithm to base 10", types::real, decimal_logarithm, d_log10, 5e-7},
    {"sqrt", "square root; NaN below 0", types::real, tensor::sqrt, d_sqrt},
    {"rsqrt", "1 / sqrt(x)", types::real, inverse_root, d_rsqrt, 2e-7},
    {"tanh", "hyperbolic tangent", types::real, tensor::tanh, d_tanh, 5e-7},
    {"sigmoid", "1 / (1 + exp(-x))", types::real, tensor::sigmoid, d_sigmoid, 5e-7},
    {"erf", "the error function", types::real, tensor::erf, d_erf, 5e-7},
    {"fast_exp", "exp, which TVM approximates", types::real, tensor::exp, d_exp, 5e-7},
    {"fast_tanh", "tanh, which TVM approximates", types::real, tensor::tanh, d_tanh, 5e-7},
    {"fast_erf", "erf, which TVM approximates", types::real, tensor::erf, d_erf, 5e-7},
    {"expm1", "exp(x) - 1, accurate for small x", types::real, tensor::expm1, d_expm1, 5e-7},
    {"log1p", "log(1 + x), accurate for small x", types::real, tensor::log1p, d_log1p, 5e-7},
    {"sin", "sine", types::real, of<tensor::UnaryOp::sin>, d_sin, 5e-7},
    {"cos", "cosine", types::real, of<tensor::UnaryOp::cos>, d_cos, 5e-7},
    {"tan", "tangent", types::real, of<tensor::UnaryOp::tan>, d_tan, 5e-7},
    {"asin", "the angle in [-pi/2, pi/2] of a sine; NaN outside [-1, 1]", types::real, of<tensor::UnaryOp::asin>,
     d_asin, 5e-7},
    {"acos", "the angle in [0, pi] of a cosine; NaN outside [-1, 1]", types::real, of<tensor::UnaryOp::acos>, d_acos,
     5e-7},
    {"atan", "the angle in [-pi/2, pi/2] of a tangent", types::real, of<tensor::UnaryOp::atan>, d_atan, 5e-7},
    {"sinh", "hyperbolic sine", types::real, of<tensor::UnaryOp::sinh>, d_sinh, 5e-7},
    {"cosh", "hyperbolic cosine", types::real, of<tensor::UnaryOp::cosh>, d_cosh, 5e-7},
    {"asinh", "the inverse of sinh", types::real, of<tensor::UnaryOp::asinh>, d_asinh, 5e-7},
    {"acosh", "the inverse of cosh that is not negative; NaN below 1", types::real, of<tensor::UnaryOp::acosh>, d_acosh,
     5e-7},
    {"atanh", "the inverse of tanh; NaN outside [-1, 1]", types::real, of<tensor::UnaryOp::atanh>, d_atanh, 5e-7},
    {"floor", "the largest integer that is not greater", types::number, rounded<tensor::floor>, nullptr},
    {"ceil", "the smallest integer that is not less", types::number, rounded<tensor::ceil>, nullptr},
    {"round", "the nearest integer, ties to even", types::number, rounded<tensor::round_even>, nullptr},
    {"trunc", "the integer part", types::number, rounded<tensor::trunc>, nullptr},
    {"bitwise_not", "all bits inverted", types::integer, inverted, nullptr},
    {"logical_not", "true for false and false for true", types::boolean, tensor::logical_not, nullptr},
    {"nn.relu", "max(0, x)", types::number, rectified, d_relu},
    {"copy", "x itself", types::movable, itself, d_copy},
};

// An integer is an operand of float64 where the function is one of real numbers.
Expr value_of(const UnaryFunction& f, const Expr& a) {
  const bool is_converted = &f.types == &types::real && is_integer(a.type());
  return is_converted ? cast(a.type(), f.value(cast(dtype::f64, a))) : f.value(a);
}

}  // namespace

void unary_math(OperatorTable& table) {
  for (const UnaryFunction& f : unary_functions) {
    table.add<NoAttrs>({
        .name = f.name,
        .summary = f.summary,
        .attributes = {},
        .arguments = {"data"},
        .type = [&f](const NoAttrs&, const Operands& in) -> TypeResult {
          const TypeClass& accepted = &f.types == &types::real ? types::number : f.types;
          if (auto e = check_type(in[0], "data", accepted)) return *e;
          return tensor_result(in[0].shape, in[0].dtype);
        },
        .compute =
            [&f](const NoAttrs&, const Operands& in) {
              Definition d(f.name);
              Tensor x = d.input("data", in[0].dtype, in[0].shape);
              d.result("result", x.type(), x.shape(),
                       [&](Index i) { return f.value == itself ? stored(x, i) : value_of(f, x(i)); });
              return d.finish();
            },
        .gradient =
            [&f](const NoAttrs&, CallGradient& g) {
              if (f.derivative) g.add(0, g.gradient() * f.derivative(g.operand(0), g.result()));
            },
        .tolerance = f.tolerance,
    });
  }
}

}  // namespace dlcc::relay::ops

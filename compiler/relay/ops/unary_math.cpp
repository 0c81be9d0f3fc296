// Elementwise functions of one operand, as one table: each line has the definition of its operator. A function of real
// numbers also takes integers, as TVM's type relations have it: its value is rounded toward zero.
#include <numbers>

#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct UnaryFunction {
  const char* name;
  const char* summary;
  const TypeClass& types;
  Expr (*value)(Expr);
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

const UnaryFunction unary_functions[] = {
    {"abs", "|x|", types::number, absolute},
    {"negative", "-x; unsigned integers wrap", types::number, negated},
    {"sign", "-1, 0 or 1; NaN stays NaN", types::number, sign_of},
    {"exp", "e to the power of x", types::real, tensor::exp, 5e-7},
    {"log", "natural logarithm", types::real, tensor::log, 5e-7},
    {"log2", "the logarithm to base 2", types::real, binary_logarithm, 5e-7},
    {"log10", "the logarithm to base 10", types::real, decimal_logarithm, 5e-7},
    {"sqrt", "square root; NaN below 0", types::real, tensor::sqrt},
    {"rsqrt", "1 / sqrt(x)", types::real, inverse_root, 2e-7},
    {"tanh", "hyperbolic tangent", types::real, tensor::tanh, 5e-7},
    {"sigmoid", "1 / (1 + exp(-x))", types::real, tensor::sigmoid, 5e-7},
    {"erf", "the error function", types::real, tensor::erf, 5e-7},
    {"fast_exp", "exp, which TVM approximates", types::real, tensor::exp, 5e-7},
    {"fast_tanh", "tanh, which TVM approximates", types::real, tensor::tanh, 5e-7},
    {"fast_erf", "erf, which TVM approximates", types::real, tensor::erf, 5e-7},
    {"expm1", "exp(x) - 1, accurate for small x", types::real, tensor::expm1, 5e-7},
    {"log1p", "log(1 + x), accurate for small x", types::real, tensor::log1p, 5e-7},
    {"sin", "sine", types::real, of<tensor::UnaryOp::sin>, 5e-7},
    {"cos", "cosine", types::real, of<tensor::UnaryOp::cos>, 5e-7},
    {"tan", "tangent", types::real, of<tensor::UnaryOp::tan>, 5e-7},
    {"asin", "the angle in [-pi/2, pi/2] of a sine; NaN outside [-1, 1]", types::real, of<tensor::UnaryOp::asin>, 5e-7},
    {"acos", "the angle in [0, pi] of a cosine; NaN outside [-1, 1]", types::real, of<tensor::UnaryOp::acos>, 5e-7},
    {"atan", "the angle in [-pi/2, pi/2] of a tangent", types::real, of<tensor::UnaryOp::atan>, 5e-7},
    {"sinh", "hyperbolic sine", types::real, of<tensor::UnaryOp::sinh>, 5e-7},
    {"cosh", "hyperbolic cosine", types::real, of<tensor::UnaryOp::cosh>, 5e-7},
    {"asinh", "the inverse of sinh", types::real, of<tensor::UnaryOp::asinh>, 5e-7},
    {"acosh", "the inverse of cosh that is not negative; NaN below 1", types::real, of<tensor::UnaryOp::acosh>, 5e-7},
    {"atanh", "the inverse of tanh; NaN outside [-1, 1]", types::real, of<tensor::UnaryOp::atanh>, 5e-7},
    {"floor", "the largest integer that is not greater", types::number, rounded<tensor::floor>},
    {"ceil", "the smallest integer that is not less", types::number, rounded<tensor::ceil>},
    {"round", "the nearest integer, ties to even", types::number, rounded<tensor::round_even>},
    {"trunc", "the integer part", types::number, rounded<tensor::trunc>},
    {"bitwise_not", "all bits inverted", types::integer, inverted},
    {"logical_not", "true for false and false for true", types::boolean, tensor::logical_not},
    {"nn.relu", "max(0, x)", types::number, rectified},
    {"copy", "x itself", types::movable, itself},
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
        .tolerance = f.tolerance,
    });
  }
}

}  // namespace dlcc::relay::ops

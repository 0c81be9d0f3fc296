// Elementwise arithmetic of two broadcast operands, as one table. Integers wrap on overflow; division of integers by
// zero ends the run with status division_by_zero.
#include "relay/call_gradient.h"
#include "relay/op_support/broadcasting.h"

namespace dlcc::relay::ops {

namespace {

struct BinaryFunction {
  const char* name;
  const char* summary;
  const TypeClass& types;
  Expr (*value)(Expr, Expr);
  void (*gradient)(CallGradient&) = nullptr;  // null: 0 wherever it exists, or no function of floats
  bool divides = false;
  double tolerance = 0;
};

Expr floored_quotient(Expr a, Expr b) { return is_float(a.type()) ? floor(a / b) : floor_div(a, b); }
Expr truncated_quotient(Expr a, Expr b) { return is_float(a.type()) ? trunc(a / b) : a / b; }
Expr truncated_remainder(Expr a, Expr b) { return binary(tensor::BinaryOp::rem, a, b); }

// Exact for floats: a truncated remainder of the other sign gets the divisor added, and a remainder of 0 gets the
// divisor's sign.
Expr floored_remainder(Expr a, Expr b) {
  if (!is_float(a.type())) return floor_mod(a, b);
  Expr zero = number(a.type(), 0), remainder = truncated_remainder(a, b);
  Expr shifted = select(binary(tensor::BinaryOp::logical_xor, remainder < zero, b < zero), remainder + b, remainder);
  return select(equal(remainder, zero), select(b < zero, number(a.type(), -0.0), zero), shifted);
}

template <tensor::BinaryOp op>
Expr of(Expr a, Expr b) {
  return binary(op, a, b);
}

// Square and multiply over all bits of the exponent, exact modulo the type's range. A negative exponent gives the
// truncated quotient: 1 for base 1, 1 or -1 for base -1, else 0.
Expr integer_power(Expr base, Expr exponent) {
  DType type = base.type();
  Expr zero = number(type, 0), one = number(type, 1);
  Expr result = one, square = base, rest = exponent;
  for (int bit = 0; bit < bits(type); ++bit) {
    Expr odd = not_equal(binary(tensor::BinaryOp::bit_and, rest, one), zero);
    result = select(odd, result * square, result);
    square = square * square;
    rest = binary(tensor::BinaryOp::shr, rest, one);
  }
  if (!is_signed(type)) return result;
  Expr minus_one = number(type, -1);
  Expr parity = select(equal(binary(tensor::BinaryOp::bit_and, exponent, one), zero), one, minus_one);
  Expr inverse = select(equal(base, one), one, select(equal(base, minus_one), parity, zero));
  return select(exponent < zero, inverse, result);
}

Expr power_of(Expr a, Expr b) { return is_float(a.type()) ? pow(a, b) : integer_power(a, b); }

Expr sum_value(Expr a, Expr b) { return a + b; }
Expr difference(Expr a, Expr b) { return a - b; }
Expr product_value(Expr a, Expr b) { return a * b; }
Expr quotient(Expr a, Expr b) { return a / b; }
Expr larger(Expr a, Expr b) { return max(a, b); }
Expr smaller(Expr a, Expr b) { return min(a, b); }

// ---- gradients

void gradient_of_sum(CallGradient& g) {
  g.add(0, g.gradient());
  g.add(1, g.gradient());
}
void gradient_of_difference(CallGradient& g) {
  g.add(0, g.gradient());
  if (g.wants(1)) g.add(1, -g.gradient());
}
void gradient_of_product(CallGradient& g) {
  if (g.wants(0)) g.add(0, g.gradient() * g.operand(1));
  if (g.wants(1)) g.add(1, g.gradient() * g.operand(0));
}
void gradient_of_quotient(CallGradient& g) {
  const Term share = g.gradient() / g.operand(1);
  g.add(0, share);
  if (g.wants(1)) g.add(1, -(share * g.result()));
}
// A remainder is a - b * q with a whole number q: the derivative by b is -q.
void gradient_of_truncated_remainder(CallGradient& g) {
  g.add(0, g.gradient());
  if (g.wants(1)) g.add(1, -(g.gradient() * (g.operand(0) / g.operand(1)).map("trunc")));
}
void gradient_of_floored_remainder(CallGradient& g) {
  g.add(0, g.gradient());
  if (g.wants(1)) g.add(1, -(g.gradient() * (g.operand(0) / g.operand(1)).map("floor")));
}
// By a: b a^(b - 1), and 0 for b = 0. By b: a^b log(a), and 0 for a <= 0, where log(a) does not exist.
void gradient_of_power(CallGradient& g) {
  const Term a = g.operand(0), b = g.operand(1);
  if (g.wants(0)) {
    const Term lower = g.code().call("power", {a, b + -1});
    g.add(0, where(equal(b, 0), 0, g.gradient() * b * lower));
  }
  if (g.wants(1)) {
    const Term is_positive = a > 0, logarithm = where(is_positive, a, 1).map("log");
    g.add(1, where(is_positive, g.gradient() * g.result() * logarithm, 0));
  }
}
// The operand that is the result gets the gradient; equal operands get half of it each.
void gradient_of_extremum(CallGradient& g) {
  const Term y = g.result(), is_equal = equal(g.operand(0), g.operand(1));
  const Term share = where(is_equal, g.gradient() * 0.5, g.gradient());
  for (size_t k : {0, 1})
    if (g.wants(k)) g.add(k, where(equal(g.operand(k), y), share, 0));
}

const BinaryFunction binary_functions[] = {
    {"add", "lhs + rhs", types::number, sum_value, gradient_of_sum},
    {"subtract", "lhs - rhs", types::number, difference, gradient_of_difference},
    {"multiply", "lhs * rhs", types::number, product_value, gradient_of_product},
    {"divide", "lhs / rhs; integers toward zero", types::number, quotient, gradient_of_quotient, true},
    {"floor_divide", "lhs / rhs, rounded down", types::number, floored_quotient, nullptr, true},
    {"trunc_divide", "lhs / rhs, rounded toward zero", types::number, truncated_quotient, nullptr, true},
    {"trunc_mod", "the remainder of division toward zero; it has the sign of lhs", types::number, truncated_remainder,
     gradient_of_truncated_remainder, true},
    {"mod", "the remainder of division toward zero; it has the sign of lhs", types::number, truncated_remainder,
     gradient_of_truncated_remainder, true},
    {"floor_mod", "the remainder of division rounded down; it has the sign of rhs", types::number, floored_remainder,
     gradient_of_floored_remainder, true},
    {"power", "lhs to the power of rhs", types::number, power_of, gradient_of_power, false, 5e-7},
    {"bitwise_and", "the bits that are set in both", types::integer, of<tensor::BinaryOp::bit_and>},
    {"bitwise_or", "the bits that are set in one or both", types::integer, of<tensor::BinaryOp::bit_or>},
    {"bitwise_xor", "the bits that are set in exactly one", types::integer, of<tensor::BinaryOp::bit_xor>},
    {"left_shift", "lhs * 2^rhs, wrapping; 0 if rhs is negative or at least the number of bits", types::integer,
     of<tensor::BinaryOp::shl>},
    {"right_shift",
     "lhs / 2^rhs, rounded down; all bits are the sign if rhs is negative or at least the number of bits",
     types::integer, of<tensor::BinaryOp::shr>},
    {"maximum", "the larger operand; NaN if one is NaN", types::number, larger, gradient_of_extremum},
    {"minimum", "the smaller operand; NaN if one is NaN", types::number, smaller, gradient_of_extremum},
};

}  // namespace

void binary_arithmetic(OperatorTable& table) {
  for (const BinaryFunction& f : binary_functions) {
    table.add<NoAttrs>({
        .name = f.name,
        .summary = f.summary,
        .attributes = {},
        .arguments = {"lhs", "rhs"},
        .type = [&f](const NoAttrs&, const Operands& in) -> TypeResult {
          return broadcast_result(in, f.types, in[0].dtype);
        },
        .compute =
            [&f](const NoAttrs&, const Operands& in) {
              Definition d(f.name);
              Tensor a = d.input("lhs", in[0].dtype, in[0].shape), b = d.input("rhs", in[1].dtype, in[1].shape);
              Shape shape = std::get<Shape>(broadcast(a.shape(), b.shape()));
              require_broadcast_next(d, a.shape(), shape);
              require_broadcast_next(d, b.shape(), shape);
              auto left = [&](Index i) { return a(broadcast_index(a.shape(), shape, i)); };
              auto right = [&](Index i) { return b(broadcast_index(b.shape(), shape, i)); };
              if (f.divides && !is_float(b.type()))
                d.require_next([&](Index i) { return not_equal(right(i), number(b.type(), 0)); },
                               tensor::Status::division_by_zero);
              d.result("result", a.type(), shape, [&](Index i) { return f.value(left(i), right(i)); });
              return d.finish();
            },
        .gradient =
            [&f](const NoAttrs&, CallGradient& g) {
              if (f.gradient) f.gradient(g);
            },
        .tolerance = f.tolerance,
    });
  }
}

}  // namespace dlcc::relay::ops

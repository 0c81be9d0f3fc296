// Accuracy of the expansions over the float32 range, against the host's long double functions.
#include "tensor/passes/expand_math.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tensor/builder.h"
#include "tensor/evaluate.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

// The error in units in the last place (ulp) of the expected value as T; infinite if only one is NaN or infinite, or if
// signs of zero differ.
template <class T>
double distance(T got, long double want) {
  double far = std::numeric_limits<double>::infinity();
  if (std::isnan(want)) return std::isnan(got) ? 0 : far;
  T rounded = static_cast<T>(want);
  if (std::isinf(rounded) || std::isinf(got))
    return got == rounded                                                                                         ? 0
           : std::abs(got) == std::numeric_limits<T>::max() || std::abs(rounded) == std::numeric_limits<T>::max() ? 1
                                                                                                                  : far;
  if (rounded == 0 && got == 0) return std::signbit(rounded) == std::signbit(got) ? 0 : far;
  int exponent;
  std::frexp(want, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent) - std::numeric_limits<T>::digits;
  return static_cast<double>(std::abs((static_cast<long double>(got) - want) / std::ldexp(1.0L, exponent)));
}

template <class T>
std::vector<T> run(const std::function<Expr(Expr, Expr)>& f, const std::vector<T>& x, const std::vector<T>& y) {
  DType type = sizeof(T) == 4 ? dtype::f32 : dtype::f64;
  int64_t n = static_cast<int64_t>(x.size());
  Definition d("f");
  Tensor a = d.input("a", type, {n}), b = d.input("b", type, {n});
  d.result("r", type, {n}, [&](Index i) { return f(a(i), b(i)); });
  auto r = evaluate(d.finish(), std::vector{Constant::of(type, {n}, x), Constant::of(type, {n}, y)});
  auto values = r.results[0].template as<T>();
  return {values.begin(), values.end()};
}

struct Function {
  const char* name;
  UnaryOp op;
  long double (*exact)(long double);
};
const Function functions[] = {
    {"exp", UnaryOp::exp, [](long double x) { return std::exp(x); }},
    {"log", UnaryOp::log, [](long double x) { return std::log(x); }},
    {"tanh", UnaryOp::tanh, [](long double x) { return std::tanh(x); }},
    {"erf", UnaryOp::erf, [](long double x) { return std::erf(x); }},
    {"sigmoid", UnaryOp::sigmoid,
     [](long double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }},
    {"sin", UnaryOp::sin, [](long double x) { return std::sin(x); }},
    {"cos", UnaryOp::cos, [](long double x) { return std::cos(x); }},
    {"expm1", UnaryOp::expm1, [](long double x) { return std::expm1(x); }},
    {"log1p", UnaryOp::log1p, [](long double x) { return std::log1p(x); }},
    {"tan", UnaryOp::tan, [](long double x) { return std::tan(x); }},
    {"asin", UnaryOp::asin, [](long double x) { return std::asin(x); }},
    {"acos", UnaryOp::acos, [](long double x) { return std::acos(x); }},
    {"atan", UnaryOp::atan, [](long double x) { return std::atan(x); }},
    {"sinh", UnaryOp::sinh, [](long double x) { return std::sinh(x); }},
    {"cosh", UnaryOp::cosh, [](long double x) { return std::cosh(x); }},
    {"asinh", UnaryOp::asinh, [](long double x) { return std::asinh(x); }},
    {"acosh", UnaryOp::acosh, [](long double x) { return std::acosh(x); }},
    {"atanh", UnaryOp::atanh, [](long double x) { return std::atanh(x); }},
};

uint64_t random_state = 1;
uint64_t random_bits() {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return random_state ^ (random_state >> 29);
}
double random_unit() { return static_cast<double>(random_bits() >> 11) * 0x1p-52 - 1; }  // [-1, 1)

}  // namespace

TEST_CASE("float32 functions are within 2.5 ulp over the full range") {
  std::vector<float> x{0.0f,   -0.0f,  1,       -1,       INFINITY, -INFINITY, NAN,
                       88.72f, 88.73f, -87.34f, -103.97f, -103.98f, 1e-45f,    -1e-45f};
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 20011)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (int k = 0; k < 20000; ++k) x.push_back(static_cast<float>(random_unit() * 10));
  for (const Function& f : functions)
    for (bool fused : {true, false}) {
      auto y = run<float>([&](Expr a, Expr) { return expand_math(unary(f.op, a), {.fused = fused}); }, x, x);
      double worst = 0;
      float where = 0;
      for (size_t k = 0; k < x.size(); ++k)
        if (double e = distance(y[k], f.exact(x[k])); e > worst) worst = e, where = x[k];
      CHECK_MESSAGE(worst < (fused ? 2.5 : 4.0), (f.name + std::string(" at ") + std::to_string(where)));
    }
}

TEST_CASE("the fast erf and tanh of float32 are within 6 ulp, 8 if not fused, and never beyond 1") {
  std::vector<float> x{0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-45f, -1e-45f};
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 20011)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (int k = 0; k < 100000; ++k) x.push_back(static_cast<float>(random_unit() * 10));
  for (const Function& f : functions) {
    if (f.op != UnaryOp::erf && f.op != UnaryOp::tanh) continue;
    for (bool fused : {true, false}) {
      const MathOptions options{.fused = fused, .fast = true};
      const auto y = run<float>([&](Expr a, Expr) { return expand_math(unary(f.op, a), options); }, x, x);
      for (size_t k = 0; k < x.size(); ++k) {
        CAPTURE(x[k]);
        CHECK(distance(y[k], f.exact(static_cast<long double>(x[k]))) < (fused ? 6 : 8));
        CHECK_FALSE(std::abs(y[k]) > 1);
        if (std::abs(x[k]) > 10) CHECK(std::abs(y[k]) == 1);
      }
    }
  }
}

TEST_CASE("exp of an argument between known bounds takes one factor, a power of two") {
  const Expr x = make_var("x", dtype::f32);
  auto number = [](double v) { return literal(dtype::f32, v); };
  auto factors = [](const Expr& e) {
    int count = 0;
    for_each_expr(expand_math(exp(e)), [&](const Expr& part) { count += as<Bitcast>(part) && is_float(part.type()); });
    return count;
  };
  CHECK(factors(max(min(x, number(0)), number(-87))) == 1);
  CHECK(factors(min(number(88), max(x, number(-80)))) == 1);
  const Expr bounded = max(min(x, number(40)), number(-40));
  CHECK(factors(bounded + bounded) == 1);
  CHECK(factors(min(unary(UnaryOp::abs, x), number(88))) == 1);
  CHECK(factors(bounded + x) == 2);
  CHECK(factors(bounded + bounded + bounded) == 2);
  CHECK(factors(x) == 2);
  CHECK(factors(min(x, number(0))) == 2);
  CHECK(factors(max(x, number(-87))) == 2);
  CHECK(factors(max(min(x, number(0)), number(-88))) == 2);
  CHECK(factors(max(min(x, number(89)), number(-87))) == 2);
  CHECK(factors(max(min(x, number(NAN)), number(-87))) == 2);
}

TEST_CASE("exp of nonpositive numbers is within 2.5 ulp and 0 where it would be tiny") {
  auto check = [](auto least, double tiny) {
    using T = decltype(least);
    std::vector<T> x{0, -0.0, -1, -INFINITY, NAN, least, std::nextafter(least, T(-INFINITY)), -1e-40, -1e30};
    for (int k = 0; k < 40000; ++k) x.push_back(static_cast<T>((random_unit() - 1) * tiny));
    for (bool fused : {true, false}) {
      const auto y = run<T>([&](Expr a, Expr) { return expand_math(exp_of_nonpositive(a), {.fused = fused}); }, x, x);
      for (size_t k = 0; k < x.size(); ++k) {
        CAPTURE(x[k]);
        if (x[k] < least)
          CHECK(y[k] == 0);
        else
          CHECK(distance(y[k], std::exp(static_cast<long double>(x[k]))) < (fused ? 2.5 : 4));
      }
    }
  };
  check(-87.0f, 50);
  check(-708.0, 400);
}

TEST_CASE("a power with a known exponent is a product, a root or a quotient") {
  std::vector<float> x{0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1, -1, 2, -3, 0.1f, 1e-30f, -1e20f};
  for (int k = 0; k < 1000; ++k) x.push_back(static_cast<float>(random_unit() * 100));
  for (double exponent : {-1.0, -0.5, 0.5, 1.0, 2.0, 3.0, 4.0}) {
    auto known = [&](const Expr& a) { return expand_math(pow(a, literal(dtype::f32, exponent))); };
    CHECK(print(known(Expr(make_var("v", dtype::f32)))).find("bitcast") == std::string::npos);
    auto y = run<float>([&](Expr a, Expr) { return known(a); }, x, x);
    for (size_t k = 0; k < x.size(); ++k) {
      CAPTURE(x[k]);
      CHECK(distance(y[k], std::pow(static_cast<long double>(x[k]), static_cast<long double>(exponent))) < 2);
    }
  }
}

TEST_CASE("float64 functions are within 2.5 ulp, 4 if not fused") {
  std::vector<double> x{0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 709.7, 709.8, -745.1, -745.2, 5e-324};
  for (int k = 0; k < 40000; ++k) {
    x.push_back(random_unit() * 20), x.push_back(random_unit() * 750), x.push_back(random_unit());
    double any = std::bit_cast<double>(random_bits());
    x.push_back(any);
  }
  for (const Function& f : functions)
    for (bool fused : {true, false}) {
      auto y = run<double>([&](Expr a, Expr) { return expand_math(unary(f.op, a), {.fused = fused}); }, x, x);
      double worst = 0, where = 0;
      for (size_t k = 0; k < x.size(); ++k)
        if (double e = distance(y[k], f.exact(x[k])); e > worst) worst = e, where = x[k];
      CHECK_MESSAGE(worst < (fused ? 2.5 : 4), (f.name + std::string(" at ") + std::to_string(where)));
    }
}

template <class T>
double worst_pow(const std::vector<T>& x, const std::vector<T>& y, bool fused) {
  auto r = run<T>([&](Expr a, Expr b) { return expand_math(pow(a, b), {.fused = fused}); }, x, y);
  double worst = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    double e = distance(r[k], std::pow(static_cast<long double>(x[k]), static_cast<long double>(y[k])));
    worst = std::max(worst, e);
  }
  return worst;
}

TEST_CASE("pow has IEEE's special cases and is accurate") {
  std::vector<double> special{0.0,   -0.0,     1,        -1,       INFINITY, -INFINITY, NAN,    2,
                              -2,    3,        -3,       0.5,      -0.5,     1e-45,     -1e-45, 3e38,
                              -3e38, 16777216, 16777217, 33554434, -8388609, 1.5,       -1.5};
  std::vector<float> x, y;
  std::vector<double> u, v;
  for (double a : special)
    for (double b : special) x.push_back(a), y.push_back(b), u.push_back(a), v.push_back(b);
  for (int k = 0; k < 20000; ++k) {
    float q = static_cast<float>(std::exp(random_unit() * 20));
    x.push_back(q), y.push_back(static_cast<float>(random_unit() * 100 / std::log(q)));
    x.push_back(-q), y.push_back(static_cast<float>(std::round(random_unit() * 40)));
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(random_bits())));
    y.push_back(std::bit_cast<float>(static_cast<uint32_t>(random_bits())));
    u.push_back(q), v.push_back(random_unit() * 700 / std::log(q));
  }
  for (bool fused : {true, false}) {
    CHECK(worst_pow<float>(x, y, fused) < 1);
    CHECK(worst_pow<double>(u, v, fused) < 32);
  }
}

TEST_CASE("no transcendental function is left") {
  Var x = make_var("x", dtype::f32);
  std::string text = print(expand_math(pow(exp(x), log(tanh(erf(sigmoid(x)))))));
  for (const char* name : {"exp(", "log(", "tanh(", "erf(", "sigmoid(", "pow("})
    CHECK(text.find(name) == std::string::npos);
}

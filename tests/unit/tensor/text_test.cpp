// The text form: golden texts; parsing and printing are inverse.
#include <doctest/doctest.h>

#include "tensor/builder.h"
#include "tensor/parse.h"
#include "tensor/passes/expand_math.h"
#include "tensor/schedules/naive.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

std::string reprinted(const std::string& text) {
  Diagnostics d;
  auto m = parse(text, "t.tir", d);
  if (!m) return d.str();
  std::string out;
  for (const TensorFunction& f : m->functions) out += print(f);
  for (const Kernel& k : m->kernels) out += print(k);
  return out;
}

std::string first_error(const std::string& text) {
  Diagnostics d;
  return parse(text, "t.tir", d) ? "" : d.list()[0].str();
}

TensorFunction softmax() {
  Definition d("nn.softmax");
  Tensor x = d.input("x", dtype::f32, {8, 10});
  Tensor largest = d.reduce("largest", {8}, max_of(x.type()), {10}, [&](Index i, Index k) { return x(i[0], k[0]); });
  Tensor e = d.compute("e", dtype::f32, {8, 10}, [&](Index i) { return exp(x(i) - largest(i[0])); });
  Tensor total = d.reduce("total", {8}, sum_of(dtype::f32), {10}, [&](Index i, Index k) { return e(i[0], k[0]); });
  d.result("y", dtype::f32, {8, 10}, [&](Index i) { return e(i) / total(i[0]); });
  return d.finish();
}

}  // namespace

TEST_CASE("a definition is printed as text") {
  std::string expected = R"(tensor @nn.softmax(x: f32[8, 10]) -> (y: f32[8, 10]) {
  temp largest: f32[8]
  largest[i0 < 8] = max(r0 < 10) { x[i0, r0] }
  temp e: f32[8, 10]
  e[i0 < 8, i1 < 10] = exp(x[i0, i1] - largest[i0])
  temp total: f32[8]
  total[i0 < 8] = sum(r0 < 10) { e[i0, r0] }
  y[i0 < 8, i1 < 10] = e[i0, i1] / total[i0]
}
)";
  CHECK(print(softmax()) == expected);
  CHECK(reprinted(expected) == expected);
}

TEST_CASE("the naive schedule of a definition is printed as text") {
  std::string expected =
      R"(kernel @nn.softmax(read x: f32[8, 10], write y: f32[8, 10], scratch largest: f32[8], scratch e: f32[8, 10], scratch total: f32[8]) {
  vector i0 in 8 {
    alloc reg largest_acc: f32[]
    largest_acc[] = -inf
    for r0 in 10 {
      largest_acc[] = max(largest_acc[], x[i0, r0])
    }
    largest[i0] = largest_acc[]
  }
  parallel i0 in 8 {
    vector i1 in 10 {
      e[i0, i1] = exp(x[i0, i1] - largest[i0])
    }
  }
  vector i0 in 8 {
    alloc reg total_acc: f32[]
    total_acc[] = 0.0
    for r0 in 10 {
      total_acc[] = total_acc[] + e[i0, r0]
    }
    total[i0] = total_acc[]
  }
  parallel i0 in 8 {
    vector i1 in 10 {
      y[i0, i1] = e[i0, i1] / total[i0]
    }
  }
}
)";
  CHECK(print(naive_schedule(softmax())) == expected);
  CHECK(reprinted(expected) == expected);
}

TEST_CASE("tuples, boxes, requirements, symbols, strides and types are printed as they were parsed") {
  for (const char* text : {
           "tensor @argmax<n in 1..512>(x: f32[n, 10]) -> (i: i64[n]) {\n"
           "  temp v: f32[n]\n"
           "  (v, i)[r < n] = reduce(k < 10) { x[r, k], k } combine (a: f32, p: i64), (b: f32, q: i64) { b > a ? b : "
           "a, "
           "b > a ? q : p } identity { -inf, -1 }\n"
           "}\n",
           "tensor @concat(a: i8[2, 3], b: i8[2, 4]) -> (y: i8[2, 7]) {\n"
           "  y[i < 2 at 0, j < 3 at 0] = a[i, j]\n"
           "  y[i < 2 at 0, j < 4 at 3] = b[i, j]\n"
           "}\n",
           "tensor @take(x: bf16[100, 64], i: i64[5]) -> (y: bf16[5, 64]) {\n"
           "  y[p < 5, j < 64] = x[i[p] < 0 ? i[p] + 100 : i[p], j]\n"
           "    require -100 <= i[p] and i[p] < 100 : index_out_of_range\n"
           "}\n",
           "tensor @literals(x: u4[3] align 64) -> (y: f64[3]) {\n"
           "  y[i < 3] = f64(x[i]) * 0.1f64 + nan_f64 - f64(f8e5m2(1e+20, wrap)) + f64(bitcast(f32, 7i32) + -0.0 * "
           "3.0)\n"
           "}\n",
           "tensor @empty() -> () {\n}\n",
           "tensor @\"odd name\"<min.1>(x: f32[min.1]) -> (y: f32[2 * min.1 + 1]) {\n"
           "  y[i < 2 * min.1 + 1] = x[floordiv(i, 2)] else 0.0\n"
           "}\n",
           "kernel @k(read x: f32[4, 8] strides [16, 1], write y: f32[4, 8]) {\n"
           "  alloc reg acc: f32[2, 8]\n"
           "  for i in 4 {\n"
           "    unrolled u in 2 {\n"
           "      vector v in 8 {\n"
           "        acc[u, v] = (x[i, v + u] else 0.0) * 2.0\n"
           "      }\n"
           "    }\n"
           "    {\n"
           "      let t = i * i\n"
           "      if t < 3 or not(i == 2) {\n"
           "        vector v in 8 {\n"
           "          y[i, v] = fma(acc[0, v], acc[1, v], f32(t - 1))\n"
           "        }\n"
           "      } else {\n"
           "        require t << 2 > 4 : division_by_zero\n"
           "      }\n"
           "    }\n"
           "    prefetch x[i + 1, 0]\n"
           "    prefetch x[i + 2, 0] : l2\n"
           "  }\n"
           "}\n",
       })
    CHECK(reprinted(text) == text);
}

TEST_CASE("clashing and reserved names are numbered") {
  Var i = make_var("i"), j = make_var("i"), f = make_var("for");
  CHECK(print(Expr(i) + j * Expr(f)) == "i + i.1 * for.1");
}

TEST_CASE("parentheses are printed only where they are needed") {
  Var a = make_var("a"), b = make_var("b"), c = make_var("c");
  CHECK(print((Expr(a) + b) * c - (Expr(a) - (Expr(b) - c))) == "(a + b) * c - (a - (b - c))");
  CHECK(print(logical_or(logical_and(a < Expr(1), b < Expr(2)), equal(c, 3))) == "a < 1 and b < 2 or c == 3");
  CHECK(print(select(a < Expr(1), b, c) + 1) == "(a < 1 ? b : c) + 1");
}

TEST_CASE("a large shared sub-expression is printed once and parsed as one node") {
  Definition d("shared");
  Tensor x = d.input("x", dtype::f32, {4});
  d.result("y", dtype::f32, {4}, [&](Index i) { return expand_math(tanh(sigmoid(tanh(sigmoid(erf(x(i))))))); });
  std::string text = print(d.finish());
  CHECK(text.size() < 20000);
  CHECK(reprinted(text) == text);
}

TEST_CASE("errors in tensor IR text have a line and a column") {
  CHECK(first_error("tensor @f(x: f32[3]) -> (y: f32[3]) {\n  y[i < 3] = x[j]\n}") ==
        "t.tir:2:16: error[undefined-value]: 'j' is not defined");
  CHECK(first_error("kernel @k() {\n  for i in {\n") ==
        "t.tir:2:12: error[syntax-error]: expected an expression, found '{'");
  CHECK(first_error("kernel @k(write y: f32[2]) { vector i in 2 { y[i] = i } }").find("instead of float32") !=
        std::string::npos);
  CHECK(first_error("tensor @f(x: f32[3, 3]) -> (y: f32[3]) { y[i < 3] = x[i] }").find("2, but 1 indices") !=
        std::string::npos);
}

TEST_CASE("no text crashes the parser") {
  std::string good = print(naive_schedule(softmax())) + print(softmax());
  std::string deep = "kernel @k(write y: i64[]) { y[] = " + std::string(100000, '(') + "1";
  std::string chain = "kernel @k(write y: i64[]) { y[] = 1";
  for (int k = 0; k < 100000; ++k) chain += " + 1";
  std::string blocks = "kernel @k() " + std::string(100000, '{');
  std::string lets = "kernel @k(write y: i64[]) { ";
  for (int k = 0; k < 100000; ++k) lets += "let a" + std::to_string(k) + " = 1 ";
  for (const std::string& text : {deep, chain + " }", blocks, lets + "y[] = 1 }"}) CHECK(first_error(text) != "");
  uint64_t state = 7;
  auto next = [&](size_t n) { return ((state = state * 6364136223846793005u + 1442695040888963407u) >> 33) % n; };
  for (int round = 0; round < 2000; ++round) {
    std::string text = good;
    for (int k = 0; k < 3; ++k) {
      size_t at = next(text.size());
      switch (next(4)) {
        case 0:
          text.erase(at, 1 + next(8));
          break;
        case 1:
          text[at] = static_cast<char>(next(128));
          break;
        case 2:
          text.insert(at, text.substr(next(text.size()), next(20)));
          break;
        default:
          text.resize(at + 1);
          break;
      }
    }
    Diagnostics d;
    parse(text, "t.tir", d);
  }
}

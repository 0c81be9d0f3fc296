// Definitions and kernels with symbols: their scalar parameters, their text, numbers in place of symbols.
#include <doctest/doctest.h>

#include "tensor/analysis.h"
#include "tensor/evaluate.h"
#include "tensor/index_facts.h"
#include "tensor/parse.h"
#include "tensor/passes/bind_sizes.h"
#include "tensor/schedules/naive.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

constexpr const char* text = R"(
tensor @scaled<m in 0.., n in 1..>(x: f32[m, 2 * n], scalar factor: f32) -> (y: f32[m]) {
  temp t: f32[m]
  t[i < m] = sum(k < 2 * n) { x[i, k] }
  y[i < m] = t[i] * factor / f32(n)
}
)";

TensorFunction parsed_function() {
  Diagnostics d;
  auto parsed = parse(text, "t.tir", d);
  REQUIRE_MESSAGE(parsed, d.str());
  return parsed->functions.at(0);
}

Constant number(int64_t v) { return Constant::of<int64_t>(dtype::i64, {}, {v}); }

}  // namespace

TEST_CASE("a function's symbols, sorted by name, are the last scalar parameters of its kernel") {
  TensorFunction f = parsed_function();
  std::string names;
  for (const Symbol& s : symbols_of(f)) names += s.name + " ";
  CHECK(names == "m n ");
  Kernel k = naive_schedule(f);
  names.clear();
  for (const Var& v : k.scalars) names += v->name + " ";
  CHECK(names == "factor m n ");
}

TEST_CASE("a kernel with symbols runs at any size, and its text parses to itself") {
  CompiledKernel compiled(parsed_function());
  for (int64_t m : {0, 1, 3})
    for (int64_t n : {1, 4}) {
      std::vector<float> x(static_cast<size_t>(m * 2 * n), 1.5f);
      auto result = compiled.run(std::vector{Constant::of(dtype::f32, {m, 2 * n}, x),
                                             Constant::of<float>(dtype::f32, {}, {2.0f}), number(m), number(n)});
      REQUIRE(result.results[0].count() == m);
      for (int64_t i = 0; i < m; ++i) CHECK(result.results[0].number_at(i) == 6);
    }
  std::string kernel = print(naive_schedule(parsed_function()));
  Diagnostics d;
  auto again = parse(kernel, "k.tir", d);
  REQUIRE_MESSAGE(again, d.str());
  CHECK(print(again->kernels.at(0)) == kernel);
  CHECK(
      kernel.starts_with("kernel @scaled<m, n in 1..>(read x: f32[m, 2 * n], write y: f32[m], scratch t: f32[m], "
                         "scalar factor: f32) {"));
}

TEST_CASE("a kernel with a symbol that is not a parameter is invalid") {
  Kernel k = naive_schedule(parsed_function());
  k.scalars.pop_back();
  Diagnostics d;
  CHECK_FALSE(verify(k, d));
  CHECK(d.str().find("the symbol n is not a scalar parameter") != std::string::npos);
}

TEST_CASE("binding some symbols to numbers leaves the others") {
  TensorFunction f = bind_sizes(parsed_function(), {{"n", 3}});
  CHECK(f.params[0]->shape == Shape{size_symbol("m"), 6});
  CHECK(symbols_of(f).size() == 1);
}

TEST_CASE("loops and conditions prove indices in range") {
  const Symbol n{"n", 0};
  const Dim size = Dim::symbol(n);
  IndexFacts facts({n});
  Var v = make_var("v"), lane = make_var("lane"), k = make_var("k");
  facts.enter_loop(v, Expr(floor_div(size, 16)));
  facts.enter_loop(lane, 16);
  CHECK(facts.in_range(Expr(v) * Expr(16) + Expr(lane), size));
  CHECK_FALSE(facts.in_range(Expr(v) * Expr(16) + Expr(lane) + Expr(1), size));
  CHECK_FALSE(facts.in_range(Expr(lane), size));
  facts.define(k, Expr(v) * Expr(16));
  CHECK(facts.in_range(Expr(k), size));
  const Dim done = floor_div(size, 16), rest = floor_div(size, 8) - Dim(2) * done;
  IndexFacts other({n});
  other.enter_loop(lane, 8);
  CHECK_FALSE(other.in_range(Expr(done) * Expr(16) + Expr(lane), size));
  other.assume(Expr(0) < Expr(rest));
  CHECK(other.in_range(Expr(done) * Expr(16) + Expr(lane), size));
  CHECK_FALSE(other.in_range(Expr(done) * Expr(16) + Expr(lane) - Expr(1), size));
}

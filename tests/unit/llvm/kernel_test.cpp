// Kernels of the tensor IR, compiled and run: loops, accesses, buffers.
#include <cmath>

#include "harness.h"

namespace dlcc::test {

using namespace tensor;

namespace {

constexpr LoopKind serial = LoopKind::serial, vector = LoopKind::vector, unrolled = LoopKind::unrolled;

Constant floats(std::vector<int64_t> shape, const std::function<float(int64_t)>& at) {
  std::vector<float> values;
  for (int64_t i = 0; i < product(shape_of(shape)).value(); ++i) values.push_back(at(i));
  return Constant::of(dtype::f32, std::move(shape), values);
}

Expr number(double v) { return literal(dtype::f32, v); }

}  // namespace

TEST_CASE("a vector loop handles every extent") {
  for (int64_t n : {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 100}) {
    CAPTURE(n);
    Buffer x = make_buffer("x", dtype::f32, {n}), y = make_buffer("y", dtype::f32, {n});
    Var i = make_var("i");
    Stmt body = for_loop(i, n, vector, store(y, {i}, load(x, {i}) * number(2) + number(1)));
    auto result = run({"twice", {{x, Access::read}, {y, Access::write}}, body}, {floats({n}, [](int64_t k) { return float(k); })});
    for (int64_t k = 0; k < n; ++k) CHECK(result.outputs[0].as<float>()[k] == 2 * float(k) + 1);
  }
}

TEST_CASE("a register-tiled product keeps its accumulators in registers") {
  constexpr int rows = 14, depth = 32;
  Buffer a = make_buffer("a", dtype::f32, {rows, depth}), b = make_buffer("b", dtype::f32, {depth, 32}),
         y = make_buffer("y", dtype::f32, {rows, 32}), acc = make_buffer("acc", dtype::f32, {rows, 2, 16}, Scope::reg);
  auto tile = [&](const std::function<Stmt(Expr q, Expr v, Expr l)>& at) {
    Var q = make_var("q"), v = make_var("v"), l = make_var("l");
    return for_loop(q, rows, unrolled, for_loop(v, 2, unrolled, for_loop(l, 16, vector, at(q, v, l))));
  };
  Var k = make_var("k");
  Stmt body = allocate(
      acc, sequence({tile([&](Expr q, Expr v, Expr l) { return store(acc, {q, v, l}, number(0)); }),
                     for_loop(k, depth, serial, tile([&](Expr q, Expr v, Expr l) {
                                return store(acc, {q, v, l}, fma(load(a, {q, k}), load(b, {k, v * 16 + l}), load(acc, {q, v, l})));
                              })),
                     tile([&](Expr q, Expr v, Expr l) {
                       return store(y, {q, v * 16 + l}, max(number(0), load(acc, {q, v, l})));
                     })}));
  Kernel kernel{"product", {{a, Access::read}, {b, Access::read}, {y, Access::write}}, body};
  Constant left = floats({rows, depth}, [](int64_t i) { return float(i % 7 - 3); });
  Constant right = floats({depth, 32}, [](int64_t i) { return float(i % 5 - 2); });
  auto result = run(kernel, {left, right});
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < 32; ++c) {
      float sum = 0;
      for (int64_t d = 0; d < depth; ++d) sum += left.as<float>()[r * depth + d] * right.as<float>()[d * 32 + c];
      CHECK(result.outputs[0].as<float>()[r * 32 + c] == std::max(0.f, sum));
    }
  std::string code = assembly(kernel, "x86-64-v4");
  CHECK(code.find("(%rsp)") == std::string::npos);
}

}  // namespace dlcc::test

#include "harness.h"
#include <cstdio>
#include <cstdlib>
#include <chrono>
namespace dlcc::test {
using namespace tensor;
// conv with direct schedule
Kernel conv(int Q, int NV, int L, int W) {
  constexpr int C = 16, H = 14, K = 3;

  Buffer x = make_buffer("x", dtype::f32, {C, H + 2, W + 2, 16}), w = make_buffer("w", dtype::f32, {8, C, K, K, 16, NV * L}),
    bias = make_buffer("bias", dtype::f32, {8, NV*L}), res = make_buffer("res", dtype::f32, {8*NV*L/16, H, W, 16}),
    y = make_buffer("y", dtype::f32, {8*NV*L/16, H, W, 16}), acc = make_buffer("acc", dtype::f32, {Q, NV, L}, Scope::reg);
  Var o = make_var("o"), h = make_var("h"), qo = make_var("qo");
  auto tile = [&](const std::function<Stmt(Expr q, Expr v, Expr l)>& at) {
    Var q = make_var("q"), v = make_var("v"), l = make_var("l");
    return for_loop(q, Q, LoopKind::unrolled, for_loop(v, NV, LoopKind::unrolled, for_loop(l, L, LoopKind::vector, at(q, v, l))));
  };
  Var c = make_var("c"), r = make_var("r"), s = make_var("s"), k = make_var("k");
  auto S = LoopKind::serial;
  Stmt inner = tile([&](Expr q, Expr v, Expr l) {
    return store(acc, {q, v, l}, fma(load(x, {c, Expr(h) + r, Expr(qo)*Q + q + s, k}), load(w, {o, c, r, s, k, v * L + l}), load(acc, {q, v, l})));
  });
  Stmt body = for_loop(o, 8, S, for_loop(h, H, S, for_loop(qo, W / Q, S, allocate(acc, sequence({
    tile([&](Expr q, Expr v, Expr l) { return store(acc, {q, v, l}, literal(dtype::f32, 0.0)); }),
    for_loop(c, C, S, for_loop(r, K, S, for_loop(s, K, S, for_loop(k, 16, S, inner)))),
    tile([&](Expr q, Expr v, Expr l) {
      Expr ch = Expr(o) * (NV * L / 16) + (L == 16 ? v : Expr(0)), lane = L == 16 ? l : v * L + l;
      return store(y, {ch, h, Expr(qo) * Q + q, lane}, max(literal(dtype::f32, 0.0), load(acc, {q, v, l}) + load(bias, {o, v * L + l}) + load(res, {ch, h, Expr(qo) * Q + q, lane})));
    })})))));
  return {"conv", {{x, Access::read}, {w, Access::read}, {bias, Access::read}, {res, Access::read}, {y, Access::write}}, body};
}
TEST_CASE("dump") {
  for (auto [q, nv, l, cpu] : {std::tuple{14, 2, 16, "x86-64-v4"}, {6, 2, 8, "x86-64-v3"}, {6, 1, 16, "x86-64-v3"}}) {
    Kernel k = conv(q, nv, l, q == 14 ? 14 : 12);
    auto t0 = std::chrono::steady_clock::now();
    CompiledKernel c = compile(k, cpu);
    double ms = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count() * 1e3;
    FILE* f = fopen((std::string("/tmp/conv_") + cpu + "_" + std::to_string(q) + "_" + std::to_string(l) + ".s").c_str(), "w");
    fputs(assembly(k, cpu).c_str(), f); fclose(f);
    f = fopen((std::string("/tmp/conv_") + cpu + "_" + std::to_string(q) + "_" + std::to_string(l) + ".o").c_str(), "w");
    fwrite(c.object.data(), 1, c.object.size(), f); fclose(f);
    std::vector<Constant> in;
    for (auto& p : k.params) if (p.access == Access::read) { std::vector<float> v(product(p.buffer->shape).value()); for (size_t i = 0; i < v.size(); ++i) v[i] = float(i * 2654435761u % 1000) / 500 - 1; in.push_back(Constant::of(dtype::f32, static_shape(p.buffer->shape), v)); }
    Diagnostics d;
    auto r = targets::run_object({c.object, &c.interface, in, 60, 200}, d);
    INFO(d.str());
    REQUIRE(r);
    double best = 1e9; for (double s : r->seconds) best = std::min(best, s);
    double flops = 2.0 * 8 * 14 * ((q == 14 ? 14 : 12)) * 16 * 9 * 16 * nv * l;
    printf("%s q=%d compile %.1f ms, %.1f GFLOP/s, stack %ld\n", cpu, q, ms, flops / best * 1e-9, (long)targets::stack_bytes(c.object));
  }
}
}

// Kernels of the tensor IR, compiled and run: loops, accesses, buffers.
#include <algorithm>
#include <cmath>

#include "harness.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

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

TEST_CASE("a vector loop is correct for every extent") {
  for (int64_t n : {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 100}) {
    CAPTURE(n);
    Buffer x = make_buffer("x", dtype::f32, {n}), y = make_buffer("y", dtype::f32, {n});
    Var i = make_var("i");
    Stmt body = for_loop(i, n, vector, store(y, {i}, load(x, {i}) * number(2) + number(1)));
    auto result = run({"twice", {{x, Access::read}, {y, Access::write}}, body},
                      {floats({n}, [](int64_t k) { return float(k); })});
    for (int64_t k = 0; k < n; ++k) CHECK(result.outputs[0].as<float>()[k] == 2 * float(k) + 1);
  }
}

TEST_CASE("a loop counts multiples of its variable, unless its body also uses the variable") {
  Buffer x = make_buffer("x", dtype::f32, {4}), y = make_buffer("y", dtype::f32, {8});
  Var i = make_var("i"), v = make_var("v"), lane = make_var("lane");
  for (const Expr& index : {Expr(i), Expr(v) - Expr(v)}) {
    const Stmt pair = for_loop(lane, 2, vector, store(y, {Expr(v) + Expr(lane)}, load(x, {index})));
    const Stmt body = for_loop(i, 4, serial, let(v, Expr(2) * Expr(i), pair));
    run({"multiples", {{x, Access::read}, {y, Access::write}}, body},
        {floats({4}, [](int64_t k) { return float(k); })});
  }
}

TEST_CASE("local buffers are aligned whatever the alignment of the caller's stack") {
  // Aligned loads and stores of the buffer's vectors, in the kernel, an outlined nest and a task.
  Buffer x = make_buffer("x", dtype::f32, {8, 64}), y = make_buffer("y", dtype::f32, {8, 64});
  Buffer part = make_buffer("part", dtype::f32, {64}, Scope::local, 64);
  Var r = make_var("r"), i = make_var("i"), j = make_var("j"), k = make_var("k");
  Stmt copy = for_loop(i, 64, vector, store(part, {i}, load(x, {r, i})));
  Stmt twice = for_loop(j, 3, serial, for_loop(k, 64, vector, store(part, {k}, load(part, {k}) * number(2))));
  Var l = make_var("l");
  Stmt back = for_loop(l, 64, vector, store(y, {r, l}, load(part, {l})));
  Kernel kernel{"local",
                {{x, Access::read}, {y, Access::write}},
                for_loop(r, 8, LoopKind::parallel, allocate(part, sequence({copy, twice, back})))};
  Constant numbers = floats({8, 64}, [](int64_t n) { return float(n); });
  for (size_t bytes : {16, 32, 48, 64}) {
    auto* space = static_cast<volatile char*>(__builtin_alloca(bytes));
    space[0] = 1;
    for (int threads : {1, 2})
      run(kernel, {numbers}, threads, [](Machine& m) { m.general_registers = 3, m.call_cost = 0; });
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
      acc,
      sequence(
          {tile([&](Expr q, Expr v, Expr l) {
             return store(acc, {q, v, l}, number(0));
           }),
           for_loop(
               k, depth, serial, tile([&](Expr q, Expr v, Expr l) {
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

TEST_CASE("predicated loads access no byte out of bounds") {
  // A window over an image with padding on all sides, in lanes along the row, a column and with strides.
  Buffer x = make_buffer("x", dtype::f32, {5, 19}), y = make_buffer("y", dtype::f32, {3, 9, 23});
  std::vector<Stmt> loops;
  auto cell = [&](int kind, Expr i, Expr j) {
    std::vector<Expr> at = kind == 0   ? std::vector<Expr>{i - 2, j - 2}
                           : kind == 1 ? std::vector<Expr>{j - 2, i - 2}
                                       : std::vector<Expr>{i - 2, j * 2 - 7};
    return store(y, {kind, i, j}, load(x, at, number(-1)) + number(1));
  };
  for (int kind = 0; kind < 3; ++kind) {
    Var i = make_var("i"), j = make_var("j");
    loops.push_back(for_loop(i, 9, serial, for_loop(j, 23, vector, cell(kind, i, j))));
  }
  Constant image = floats({5, 19}, [](int64_t k) { return float(k); });
  auto result = run({"window", {{x, Access::read}, {y, Access::write}}, sequence(loops)}, {image});
  auto at = [&](int64_t r, int64_t c) { return r >= 0 && r < 5 && c >= 0 && c < 19 ? float(r * 19 + c) + 1 : 0.f; };
  for (int64_t i = 0; i < 9; ++i)
    for (int64_t j = 0; j < 23; ++j) {
      CHECK(result.outputs[0].as<float>()[i * 23 + j] == at(i - 2, j - 2));
      CHECK(result.outputs[0].as<float>()[(9 + i) * 23 + j] == at(j - 2, i - 2));
      CHECK(result.outputs[0].as<float>()[(18 + i) * 23 + j] == at(i - 2, 2 * j - 7));
    }
}

TEST_CASE("predicated loads of bytes and bools, in lanes and alone") {
  for (DType type : {dtype::u8, dtype::boolean}) {
    CAPTURE(name(type));
    int64_t n = 37;
    Buffer x = make_buffer("x", type, {n}), y = make_buffer("y", type, {2, n + 4});
    std::vector<Stmt> loops;
    for (LoopKind kind : {vector, serial}) {
      Var i = make_var("i");
      loops.push_back(
          for_loop(i, n + 4, kind, store(y, {kind == vector ? 0 : 1, i}, load(x, {i - 2}, literal(type, int64_t{0})))));
    }
    std::vector<uint8_t> bytes(n, 1);
    auto result =
        run({"bytes", {{x, Access::read}, {y, Access::write}}, sequence(loops)}, {Constant::of(type, {n}, bytes)});
    for (int64_t k = 0; k < 2 * (n + 4); ++k) {
      int64_t i = k % (n + 4) - 2;
      CHECK(result.outputs[0].as<uint8_t>()[k] == (i >= 0 && i < n));
    }
  }
}

TEST_CASE("loads in the arm of a select that is not taken are not executed") {
  Buffer x = make_buffer("x", dtype::f32, {20}), y = make_buffer("y", dtype::f32, {3, 40});
  std::vector<Stmt> loops;
  int row = 0;
  for (LoopKind kind : {vector, serial, vector}) {
    Var i = make_var("i");
    Expr at = row == 2 ? Expr(i) * -1 + 30 : Expr(i) - 10;
    Expr inside = logical_and(at >= 0, at < 20);
    loops.push_back(for_loop(i, 40, kind, store(y, {row++, i}, select(inside, load(x, {at}) * number(2), number(5)))));
  }
  auto result = run({"choice", {{x, Access::read}, {y, Access::write}}, sequence(loops)},
                    {floats({20}, [](int64_t k) { return float(k); })});
  for (int64_t r = 0; r < 3; ++r)
    for (int64_t i = 0; i < 40; ++i) {
      int64_t at = r == 2 ? 30 - i : i - 10;
      CHECK(result.outputs[0].as<float>()[r * 40 + i] == (at >= 0 && at < 20 ? 2 * float(at) : 5.f));
    }
}

TEST_CASE("gathers by loaded indices in vector loops") {
  Buffer x = make_buffer("x", dtype::f32, {10}), at = make_buffer("at", dtype::i64, {21}),
         y = make_buffer("y", dtype::f32, {21});
  Var i = make_var("i");
  Expr index = load(at, {i});
  Stmt body = for_loop(i, 21, vector,
                       sequence({require(logical_and(index >= 0, index < 10), Status::index_out_of_range),
                                 store(y, {i}, load(x, {index}))}));
  Kernel kernel{"gather", {{x, Access::read}, {at, Access::read}, {y, Access::write}}, body};
  Constant values = floats({10}, [](int64_t k) { return float(k * k); });
  std::vector<int64_t> indices;
  for (int64_t k = 0; k < 21; ++k) indices.push_back(k * 7 % 10);
  auto result = run(kernel, {values, Constant::of(dtype::i64, {21}, indices)});
  for (int64_t k = 0; k < 21; ++k) CHECK(result.outputs[0].as<float>()[k] == float(indices[k] * indices[k]));
  for (int64_t bad : {int64_t{10}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    indices[17] = bad;
    CHECK(run(kernel, {values, Constant::of(dtype::i64, {21}, indices)}).status == 5);
  }
}

TEST_CASE("lanes at small distances are loaded as vectors, and no byte after the last one") {
  Var i = make_var("i");
  Expr lane = i;
  const Expr two(2), four(4);
  for (const Expr& index : {lane * two, lane * two + Expr(1), lane * Expr(3), Expr(15) - lane, floor_mod(lane, two),
                            floor_div(lane, four), floor_div(lane, two) * two + floor_mod(lane, two),
                            floor_mod(lane, four) * Expr(7) + floor_div(lane, Expr(8))}) {
    CAPTURE(print(index));
    auto at = [&](int64_t k) { return *constant_integer(simplify(substitute(index, {{i, Expr(k)}}))); };
    int64_t last = 0;
    for (int64_t k = 0; k < 16; ++k) last = std::max(last, at(k));
    Buffer x = make_buffer("x", dtype::f32, {last + 1}), y = make_buffer("y", dtype::f32, {16});
    Kernel kernel{
        "near", {{x, Access::read}, {y, Access::write}}, for_loop(i, 16, vector, store(y, {i}, load(x, {index})))};
    auto result = run(kernel, {floats({last + 1}, [](int64_t k) { return float(k); })});
    for (int64_t k = 0; k < 16; ++k) CHECK(result.outputs[0].as<float>()[k] == float(at(k)));
  }
  Buffer x = make_buffer("x", dtype::f32, {2}), y = make_buffer("y", dtype::f32, {16});
  Stmt pairs = for_loop(i, 16, vector, store(y, {i}, load(x, {floor_mod(lane, two)})));
  CHECK(assembly({"pairs", {{x, Access::read}, {y, Access::write}}, pairs}, "x86-64-v4").find("vbroadcastsd") !=
        std::string::npos);
}

TEST_CASE("lanes that depend on each other's stores are executed in order") {
  Buffer x = make_buffer("x", dtype::f32, {32}), y = make_buffer("y", dtype::f32, {32}),
         t = make_buffer("t", dtype::f32, {32}, Scope::local);
  Var i = make_var("i");
  Stmt body = allocate(
      t, for_loop(i, 32, vector,
                  sequence({store(t, {i}, load(x, {i}) * number(2)), store(y, {i}, load(t, {Expr(31) - i}))})));
  auto result =
      run({"turn", {{x, Access::read}, {y, Access::write}}, body}, {floats({32}, [](int64_t k) { return float(k); })});
  for (int64_t k = 0; k < 32; ++k) CHECK(result.outputs[0].as<float>()[k] == 2 * float(31 - k));
}

TEST_CASE("lanes that depend on a store other than the first are executed in order") {
  Buffer x = make_buffer("x", dtype::f32, {32}), y = make_buffer("y", dtype::f32, {32}),
         t = make_buffer("t", dtype::f32, {96}, Scope::local);
  Var i = make_var("i");
  Stmt body = allocate(t, for_loop(i, 32, vector,
                                   sequence({store(t, {i}, load(x, {i})), store(t, {i + Expr(64)}, load(x, {i})),
                                             store(y, {i}, load(t, {i + Expr(69)}, number(0)))})));
  auto result =
      run({"move", {{x, Access::read}, {y, Access::write}}, body}, {floats({32}, [](int64_t k) { return float(k); })});
  for (int64_t k = 0; k < 32; ++k) CHECK(result.outputs[0].as<float>()[k] == (k < 27 ? float(k + 5) : 0));
}

TEST_CASE("reductions, lets and buffers of one lane") {
  // Row sums in lanes: transposed access, an accumulator per lane, a nested serial loop.
  Buffer x = make_buffer("x", dtype::f32, {21, 6}), y = make_buffer("y", dtype::f32, {21}),
         acc = make_buffer("acc", dtype::f32, {1}, Scope::local);
  Var i = make_var("i"), k = make_var("k"), s = make_var("s", dtype::f32);
  Stmt body = for_loop(
      i, 21, vector,
      allocate(acc, sequence({store(acc, {0}, number(0)),
                              for_loop(k, 6, serial,
                                       let(s, load(x, {i, k}) + number(1), store(acc, {0}, load(acc, {0}) + Expr(s)))),
                              store(y, {i}, load(acc, {0}))})));
  Constant values = floats({21, 6}, [](int64_t n) { return float(n); });
  auto result = run({"sums", {{x, Access::read}, {y, Access::write}}, body}, {values});
  for (int64_t r = 0; r < 21; ++r) CHECK(result.outputs[0].as<float>()[r] == float(36 * r + 15 + 6));
}

TEST_CASE("the halves of a vector register are added in a tree") {
  Buffer x = make_buffer("x", dtype::f32, {64}), y = make_buffer("y", dtype::f32, {1}),
         part = make_buffer("part", dtype::f32, {16}, Scope::reg);
  Var i = make_var("i"), j = make_var("j"), k = make_var("k");
  std::vector<Stmt> steps = {
      for_loop(i, 16, vector, store(part, {i}, number(0))),
      for_loop(k, 4, serial, for_loop(j, 16, vector, store(part, {j}, load(part, {j}) + load(x, {Expr(k) * 16 + j}))))};
  for (int64_t half = 8; half > 0; half /= 2) {
    Var l = make_var("l");
    steps.push_back(for_loop(l, half, vector, store(part, {l}, load(part, {l}) + load(part, {Expr(l) + half}))));
  }
  steps.push_back(store(y, {0}, load(part, {0})));
  Kernel kernel{"fold", {{x, Access::read}, {y, Access::write}}, allocate(part, sequence(steps))};
  CHECK(run(kernel, {floats({64}, [](int64_t n) { return float(n); })}).outputs[0].as<float>()[0] == 2016);
  CHECK(assembly(kernel, "x86-64-v4").find("(%rsp)") == std::string::npos);
}

TEST_CASE("branches, loops of data-dependent extent and strided stores") {
  Buffer n = make_buffer("n", dtype::i64, {1}), y = make_buffer("y", dtype::i32, {2, 16});
  Var i = make_var("i"), j = make_var("j"), k = make_var("k");
  Stmt body = sequence({for_loop(i, 16, vector, store(y, {0, Expr(15) - i}, cast(dtype::i32, i))),
                        for_loop(j, 16, serial,
                                 if_then(equal(floor_mod(j, 3), 0), store(y, {1, j}, literal(dtype::i32, int64_t{7})),
                                         store(y, {1, j}, literal(dtype::i32, int64_t{0})))),
                        for_loop(k, load(n, {0}), serial, store(y, {1, k}, literal(dtype::i32, int64_t{9})))});
  Kernel kernel{"mixed", {{n, Access::read}, {y, Access::write}}, body};
  for (int64_t count : {0, 5}) {
    auto result = run(kernel, {Constant::of(dtype::i64, {1}, std::vector<int64_t>{count})});
    for (int64_t r = 0; r < 16; ++r) {
      CHECK(result.outputs[0].as<int32_t>()[r] == 15 - r);
      CHECK(result.outputs[0].as<int32_t>()[16 + r] == (r < count ? 9 : r % 3 == 0 ? 7 : 0));
    }
  }
}

}  // namespace dlcc::test

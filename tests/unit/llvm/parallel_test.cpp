// Parallel loops on several threads give the results and the status of one thread.
#include "harness.h"

namespace dlcc::test {

using namespace tensor;

namespace {

Constant counting(DType type, int64_t n) {
  if (type == dtype::i64) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(i);
    return Constant::of(type, {n}, values);
  }
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<float>(i));
  return Constant::of(type, {n}, values);
}

// y[r, i, l] = x[i] * r + l with the loop over rows around the parallel loop, and i in it.
Kernel nest(int64_t extent) {
  Buffer x = make_buffer("x", dtype::f32, {extent}), y = make_buffer("y", dtype::f32, {3, extent, 20});
  Var r = make_var("r"), i = make_var("i"), l = make_var("l"), factor = make_var("factor", dtype::f32);
  Expr value = load(x, {i}) * Expr(factor) + cast(dtype::f32, l);
  Stmt inner = for_loop(i, extent, LoopKind::parallel, for_loop(l, 20, LoopKind::vector, store(y, {r, i, l}, value)));
  return {"nest",
          {{x, Access::read}, {y, Access::write}},
          for_loop(r, 3, LoopKind::serial, let(factor, cast(dtype::f32, r), inner))};
}

}  // namespace

TEST_CASE("every number of threads computes every iteration, with the variables around the loop") {
  for (int64_t extent : {2, 3, 7, 16})
    for (int threads : {1, 2, 3, 5, 16}) {
      CAPTURE(extent);
      CAPTURE(threads);
      run(nest(extent), {counting(dtype::f32, extent)}, threads);  // compares with the evaluator
    }
}

TEST_CASE("the first failing iteration gives the status, whatever the number of threads") {
  constexpr int64_t n = 12;
  Buffer x = make_buffer("x", dtype::i64, {n}), y = make_buffer("y", dtype::i64, {n});
  Var i = make_var("i");
  Expr at = load(x, {i});
  auto differs = [&](int64_t from) { return binary(BinaryOp::ne, at, Expr(from)); };
  Stmt body = sequence({require(differs(9), Status::division_by_zero), require(differs(7), Status::shape_mismatch),
                        require(differs(8), Status::division_by_zero), store(y, {i}, at)});
  Kernel kernel{"fails", {{x, Access::read}, {y, Access::write}}, for_loop(i, n, LoopKind::parallel, body)};
  for (int threads : {1, 2, 3, 12})
    CHECK(run(kernel, {counting(dtype::i64, n)}, threads).status == static_cast<int>(Status::shape_mismatch));
}

TEST_CASE("many tasks run every iteration once") {
  constexpr int64_t rows = 37, columns = 1 << 14;
  Buffer x = make_buffer("x", dtype::i64, {rows}), y = make_buffer("y", dtype::i64, {rows, columns});
  Var i = make_var("i"), j = make_var("j");
  Stmt row = for_loop(j, columns, LoopKind::vector, store(y, {i, j}, load(y, {i, j}) + load(x, {i})));
  Stmt clear = for_loop(j, columns, LoopKind::vector, store(y, {i, j}, Expr(0)));
  Kernel kernel{
      "rows", {{x, Access::read}, {y, Access::write}}, for_loop(i, rows, LoopKind::parallel, sequence({clear, row}))};
  for (int threads : {1, 2, 3}) run(kernel, {counting(dtype::i64, rows)}, threads);  // compares with the evaluator
}

TEST_CASE("the stack use of a model includes that of a task") {
  KernelObject one = compile(nest(4), "x86-64-v3"), two = compile(nest(4), "x86-64-v3", "net", 2);
  CHECK(targets::stack_bytes(two.object) > targets::stack_bytes(one.object) + 16);
}

TEST_CASE("only a model with parallel loops and several threads needs the runtime") {
  auto mentions = [](const KernelObject& k) {
    std::string_view bytes(reinterpret_cast<const char*>(k.object.data()), k.object.size());
    return bytes.find("dlcc_default_executor") != std::string_view::npos;
  };
  Kernel parallel = nest(4), serial = parallel;
  serial.body = nullptr;
  CHECK(mentions(compile(parallel, "x86-64-v3", "net", 2)));
  CHECK_FALSE(mentions(compile(parallel, "x86-64-v3", "net", 1)));
  CHECK_FALSE(mentions(compile(serial, "x86-64-v3", "net", 2)));
}

}  // namespace dlcc::test

// The selection of parallel loops, and the numbers of their tasks.
#include "tensor/passes/parallel_loops.h"

#include <doctest/doctest.h>

#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

// y[a, b, i] = 1 with parallel loops over a and b.
Stmt nest(int64_t a, int64_t b, int64_t i) {
  Buffer y = make_buffer("y", dtype::f32, {a, b, i});
  Var va = make_var("a"), vb = make_var("b"), vi = make_var("i");
  Stmt row = for_loop(vi, i, LoopKind::vector, store(y, {va, vb, vi}, literal(dtype::f32, 1.0)));
  return for_loop(va, a, LoopKind::parallel, for_loop(vb, b, LoopKind::parallel, row));
}

// Extents of the remaining parallel loops, outermost first.
std::vector<int64_t> forks(const Stmt& s, int threads) {
  std::vector<int64_t> extents;
  for_each_stmt(choose_parallel_loops(s, threads, {}), [&](const Stmt& x) {
    const For* loop = as<For>(x);
    if (loop && loop->kind == LoopKind::parallel) extents.push_back(*constant_integer(loop->extent));
  });
  return extents;
}

}  // namespace

TEST_CASE("one parallel loop of a nest is kept: the outermost that divides evenly among threads") {
  CHECK(forks(nest(4, 100, 10000), 1).empty());
  CHECK(forks(nest(4, 100, 10000), 2) == std::vector<int64_t>{4});
  CHECK(forks(nest(4, 100, 10000), 4) == std::vector<int64_t>{4});
}

TEST_CASE("two nested parallel loops are merged if the outer one divides unevenly among threads") {
  CHECK(forks(nest(3, 100, 10000), 2) == std::vector<int64_t>{300});
}

TEST_CASE("threads never store into one byte") {
  auto rows_of = [](DType type, int64_t columns) {
    Buffer y = make_buffer("y", type, {1000, columns});
    Var r = make_var("r"), c = make_var("c");
    Stmt row = for_loop(c, columns, LoopKind::vector, store(y, {r, c}, literal(type, int64_t{1})));
    return for_loop(r, 1000, LoopKind::parallel, row);
  };
  CHECK(forks(rows_of(dtype::u8, 1001), 2) == std::vector<int64_t>{1000});
  CHECK(forks(rows_of(dtype::u4, 1002), 2) == std::vector<int64_t>{1000});
  CHECK(forks(rows_of(dtype::u4, 1001), 2).empty());
  CHECK(forks(rows_of(DType::uint2_, 1002), 2).empty());
  CHECK(forks(rows_of(DType::uint2_, 1004), 2) == std::vector<int64_t>{1000});
}

TEST_CASE("a loop with less work than a fork and a join stays serial") { CHECK(forks(nest(4, 4, 16), 2).empty()); }

TEST_CASE("the cost of a loop is known for each size, also if its own extent is constant") {
  const Dim n = Dim::symbol({"n", 1});
  Buffer y = make_buffer("y", dtype::f32, {12, n, n});
  Var head = make_var("head"), row = make_var("row"), column = make_var("column");
  Stmt one = for_loop(column, Expr(n), LoopKind::vector, store(y, {head, row, column}, literal(dtype::f32, 1.0)));
  const Stmt heads = for_loop(head, 12, LoopKind::parallel, for_loop(row, Expr(n), LoopKind::serial, one));
  const Machine machine;
  const Dim expected = n * n * Dim(12 * static_cast<int64_t>(machine.memory_store_cost));
  CHECK(cost_in_sizes(*as<For>(heads), machine) == expected);
  // The rows up to `head` are as many as in the last iteration.
  const Stmt triangle = for_loop(head, 12, LoopKind::parallel, for_loop(row, Expr(head) + Expr(1), LoopKind::serial, one));
  CHECK(cost_in_sizes(*as<For>(triangle), machine) == n * Dim(12 * 12 * static_cast<int64_t>(machine.memory_store_cost)));
}

TEST_CASE("a long parallel loop has the same number of tasks for each thread") {
  auto tasks = [](const Stmt& s, int threads) {
    const For& loop = *as<For>(s);
    return count_tasks(loop, *constant_integer(loop.extent), threads, {});
  };
  CHECK(tasks(nest(100, 100, 10000), 2) == 16);
  CHECK(tasks(nest(100, 100, 10000), 3) == 24);
  CHECK(tasks(nest(5, 100, 10000), 2) == 4);
  CHECK(tasks(nest(3, 100, 10000), 4) == 4);
  CHECK(tasks(nest(64, 1, 4096), 2) == 4);  // of four microseconds each
  CHECK(tasks(nest(64, 1, 1024), 2) == 2);
}

TEST_CASE("loads are part of the estimated cost of a parallel loop") {
  auto sums = [](int64_t n) {
    Buffer x = make_buffer("x", dtype::f32, {4, n}), y = make_buffer("y", dtype::f32, {4});
    Buffer total = make_buffer("total", dtype::f32, {1}, Scope::reg);
    Var a = make_var("a"), i = make_var("i");
    Stmt add = store(total, {0}, load(total, {0}) + load(x, {a, i}));
    Stmt row = sequence({for_loop(i, n, LoopKind::serial, add), store(y, {a}, load(total, {0}))});
    return for_loop(a, 4, LoopKind::parallel, allocate(total, row));
  };
  CHECK(forks(sums(16000), 2) == std::vector<int64_t>{4});
  CHECK(forks(sums(4000), 2).empty());
}

TEST_CASE("a loop that uses a buffer allocated around it stays serial") {
  Buffer y = make_buffer("y", dtype::f32, {8, 1 << 20}), t = make_buffer("t", dtype::f32, {1}, Scope::local);
  Var a = make_var("a"), i = make_var("i");
  Stmt row = sequence(
      {store(t, {0}, cast(dtype::f32, a)), for_loop(i, 1 << 20, LoopKind::serial, store(y, {a, i}, load(t, {0})))});
  Stmt loop = for_loop(a, 8, LoopKind::parallel, row);
  CHECK(forks(allocate(t, loop), 2).empty());
  CHECK(forks(for_loop(a, 8, LoopKind::parallel, allocate(t, row)), 2) == std::vector<int64_t>{8});
}

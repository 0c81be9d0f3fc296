// The lines of statements in a kernel's text.
#include "tensor/print_lines.h"

#include <doctest/doctest.h>

#include "tensor/builder.h"
#include "tensor/parse.h"
#include "tensor/passes/parallel_loops.h"
#include "tensor/passes/strip_mine_vector_loops.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::tensor;

TEST_CASE("print reports the line of each statement, and both of a shared one") {
  Buffer y = make_buffer("y", dtype::f32, {4});
  Var i = make_var("i"), j = make_var("j");
  Stmt zero = store(y, {0}, literal(dtype::f32, 0.0)), one = store(y, {1}, literal(dtype::f32, 1.0));
  Stmt first = for_loop(i, 4, LoopKind::serial, sequence({zero, one}));
  Stmt second = for_loop(j, 3, LoopKind::serial, zero);
  Kernel kernel{"k", {{y, Access::write}}, sequence({first, second})};
  StatementLines lines;
  CHECK(print(kernel, 10, lines) == print(kernel));
  CHECK(print(kernel) ==
        "kernel @k(write y: f32[4]) {\n"  // 10
        "  for i in 4 {\n"
        "    y[0] = 0.0\n"
        "    y[1] = 1.0\n"
        "  }\n"
        "  for j in 3 {\n"  // 15
        "    y[0] = 0.0\n"
        "  }\n"
        "}\n");
  CHECK(lines.find(first, 10) == 11);
  CHECK(lines.find(second, 10) == 15);
  CHECK(lines.find(zero, 11) == 12);
  CHECK(lines.find(one, 11) == 13);
  CHECK(lines.find(zero, 15) == 16);
  CHECK(lines.find(one, 15) == 0);
  CHECK(lines.find(kernel.body, 10) == 0);
}

TEST_CASE("the line of a statement is found by what it declares after a pass has changed what it contains") {
  Buffer y = make_buffer("y", dtype::f32, {4}), local = make_buffer("local", dtype::f32, {1}, Scope::local);
  Var i = make_var("i"), n = make_var("n");
  const Expr small = Expr(i) < Expr(2);
  Stmt zero = store(y, {i}, literal(dtype::f32, 0.0)), one = store(y, {i}, literal(dtype::f32, 1.0));
  auto nest = [&](const Stmt& innermost) {
    std::vector<Stmt> all = {make_stmt(IfThen{small, innermost, nullptr})};
    all.push_back(allocate(local, all.back()));
    all.push_back(let(n, Expr(i) + Expr(1), all.back()));
    all.push_back(for_loop(i, 4, LoopKind::serial, all.back()));
    return all;
  };
  const std::vector<Stmt> before = nest(zero), after = nest(one);
  StatementLines lines;
  CHECK(print(Kernel{"k", {{y, Access::write}}, before.back()}, 1, lines) ==
        "kernel @k(write y: f32[4]) {\n"  // 1
        "  for i in 4 {\n"
        "    let n = i + 1\n"
        "    alloc local local.1: f32[1]\n"
        "    if i < 2 {\n"  // 5
        "      y[i] = 0.0\n"
        "    }\n"
        "  }\n"
        "}\n");
  for (size_t k = 0; k < before.size(); ++k) {
    CHECK(lines.find(before[k], 1) == 5 - static_cast<int>(k));
    CHECK(lines.find(after[k], 1) == 5 - static_cast<int>(k));
  }
  CHECK(lines.find(outline(before.back()), 1) == 2);
  CHECK(lines.find(outline(after.back()), 1) == 2);
  CHECK(lines.find(zero, 5) == 6);
  CHECK(lines.find(one, 5) == 0);
}

TEST_CASE("the statements of a strip-mined loop are those of the loop, and cost as much") {
  Diagnostics diagnostics;
  const auto parsed = parse(
      "kernel @k(read x: f32[21], write y: f32[21]) {\n"
      "  vector v in 21 {\n"
      "    alloc reg total: f32[]\n"
      "    total[] = x[v] + 1.0\n"
      "    if x[0] < 2.0 {\n"
      "      y[v] = total[]\n"
      "    }\n"
      "  }\n"
      "}\n",
      "t", diagnostics);
  REQUIRE_MESSAGE(parsed, diagnostics.str());
  const Stmt& loop = parsed->kernels[0].body;
  Machine machine;
  machine.vector_bytes = 32;
  StatementOrigins origins;
  const Stmt strips = strip_mine_vector_loops(loop, machine, false, &origins);
  std::map<Stmt, int> copies;
  int statements = 0;
  for_each_stmt(strips, [&](const Stmt& s) {
    if (as<Sequence>(s) || as<Let>(s)) return;
    ++statements;
    if (const auto origin = origins.find(s.get()); origin != origins.end()) ++copies[origin->second];
  });
  // Two vectors in a loop, one of 4 iterations and a single one.
  int noted = 0;
  for_each_stmt(loop, [&](const Stmt& s) {
    if (as<Sequence>(s)) return;
    CHECK(copies[s] == 3);
    noted += copies[s];
  });
  CHECK(noted == statements);
  const double cost = cost_of(loop, {}, machine);
  CHECK(cost_of(strips, {}, machine) == cost);
}

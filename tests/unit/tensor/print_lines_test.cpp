// The lines of statements in a kernel's text.
#include "tensor/print_lines.h"

#include <doctest/doctest.h>

#include "tensor/builder.h"

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

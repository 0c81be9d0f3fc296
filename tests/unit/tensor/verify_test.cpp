// Each rule of the verifier is violated once.
#include <doctest/doctest.h>

#include "tensor/builder.h"
#include "tensor/parse.h"
#include "tensor/schedules/naive.h"
#include "tensor/verify.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

void rejects(const std::string& text, const std::string& message) {
  Diagnostics d;
  CHECK_MESSAGE(!parse(text, "t", d), text);
  CHECK_MESSAGE(d.str().find(message) != std::string::npos, d.str());
}

std::string kernel(const std::string& body) {
  return "kernel @k(read x: f32[8], read h: f16[8], write y: f32[8], write z: i64[8]) { " + body +
         " vector i9 in 8 { y[i9] = 0.0 z[i9] = 0 } }";
}

}  // namespace

TEST_CASE("the verifier rejects expressions with wrong types") {
  Diagnostics d;
  CHECK(parse(kernel("vector i in 8 { y[i] = x[i] + 1.0 }"), "t", d));
  rejects(kernel("y[0] = x[0] + 1"), "operands of types float32 and int64");
  rejects(kernel("y[0] = exp(3) > 2 ? x[0] : 1.0"), "exp of int64");
  rejects(kernel("y[0] = x[0] ? 1.0 : 2.0"), "a condition has type float32");
  rejects(kernel("y[0] = f32(h[0] + h[1])"), "'+' of float16");
  rejects(kernel("y[0] = x[0] & x[1]"), "'&' of float32");
  rejects(kernel("y[0] = bitcast(f32, 1)"), "a bitcast from int64 to float32");
  rejects(kernel("y[0] = x[1.0]"), "an index into x has type float32");
  rejects(kernel("y[0] = x[0] else 1"), "the alternative of a load from x has type int64");
}

TEST_CASE("the verifier rejects invalid kernels") {
  rejects(kernel("x[0] = 1.0"), "the parameter x is read-only but written");
  rejects(kernel("y[0] = 1"), "a stored value has type int64 instead of float32");
  rejects(kernel("for i in 4 { alloc reg r: f32[4] r[i] = 1.0 }"), "depends on more than unrolled and vector loops");
  rejects(kernel("require 3 : index_out_of_range"), "a requirement has type int64");
  rejects("kernel @k(write y: f32[8]) { }", "the parameter y is never written");
  rejects("kernel @k(write y: f32[8], read x: f32[8]) { y[0] = x[0] }", "not in the order inputs, outputs, scratch");
  rejects("kernel @k(write y: f32[8] strides [0]) { y[0] = 1.0 }", "strides of y");
  Var i = make_var("i");
  Buffer y = make_buffer("y", dtype::f32, {4}), z = make_buffer("z", dtype::f32, {4});
  Stmt twice = make_stmt(
      For{i, Expr(2), LoopKind::serial, make_stmt(For{i, Expr(2), LoopKind::serial, store(y, {i}, load(z, {i}))})});
  Diagnostics d;
  CHECK(!verify(Kernel{"k", {{y, Access::write}}, twice}, d));
  CHECK(d.str().find("variable i is bound twice") != std::string::npos);
  CHECK(d.str().find("buffer z is read before") != std::string::npos);
}

TEST_CASE("the verifier rejects loop nests that cannot be functions") {
  Diagnostics d;
  CHECK(parse(kernel("outline { alloc reg r: f32[] for i in 8 { r[] = x[i] outline { y[i] = x[i] } } }"), "t", d));
  rejects(kernel("vector i in 8 { outline { y[i] = 0.0 } }"), "a loop nest in a vector loop is outlined");
  rejects(kernel("vector i in 8 { for j in 2 { outline { y[i] = 0.0 } } }"),
          "a loop nest in a vector loop is outlined");
  rejects(kernel("outline { for i in 8 { require x[i] < 1.0 : index_out_of_range } }"), "contains a requirement");
  rejects(kernel("alloc reg r: f32[] outline { r[] = 1.0 }"), "uses the register buffer r of its caller");
  rejects("tensor @f(x: f32[8]) -> (y: f32[8]) { y = { outline { for i in 8 { y[i] = x[i] } } } }",
          "the stage of y outlines a loop nest, as only kernels do");
}

TEST_CASE("a symbol that occurs only in an expression of a definition is valid") {
  Definition d("f");
  const Tensor x = d.input("x", dtype::i64, {2});
  d.result("y", dtype::i64, {2}, [&](Index i) { return x(i) * Expr(Dim::symbol({"n"})); });
  Diagnostics diagnostics;
  CHECK_MESSAGE(verify(d.finish(), diagnostics), diagnostics.str());
}

TEST_CASE("the verifier rejects invalid definitions") {
  rejects("tensor @f(x: f32[3]) -> (y: f32[3]) { }", "the result y is not written");
  rejects("tensor @f(x: f32[3]) -> (y: f32[3]) { y[i < 2] = x[i] }", "has extent 2 instead of 3");
  rejects("tensor @f(x: f32[3]) -> (y: f32[3]) { y[i < 2 at 0] = x[i] }", "a part of the result y is not written");
  rejects("tensor @f(x: f32[3]) -> (y: f32[3]) { y[i < 2 at 0] = x[i] y[i < 2 at 1] = x[i] }",
          "two stages write the same part");
  rejects("tensor @f(x: f32[3]) -> (y: f32[3]) { y[i < 3 at 1] = x[i] }", "out of range of y along axis 0");
  rejects("tensor @f(x: f32[3]) -> (y: f32[3]) { temp t: f32[3] y[i < 3] = t[i] t[i < 3] = x[i] }", "read before");
  rejects("tensor @f(x: f32[3]) -> (y: f32[3]) { x[i < 3] = 1.0 y[i < 3] = x[i] }", "the parameter x is written");
  rejects("tensor @f(x: f32[3]) -> (y: f32[3]) { y[i < 3] = 1 }", "int64 instead of float32");
  rejects(
      "tensor @f(x: f32[3]) -> (y: f32[3]) { y[i < 3] = reduce(k < 2) { x[i] } combine (a: f32), (b: f32) { a + x[i] } "
      "identity { 0.0 } }",
      "read before");
  rejects(
      "tensor @f(x: f32[3]) -> (y: f32[3]) { y[i < 3] = reduce(k < 2) { x[i] } combine (a: f32), (b: i64) { a } "
      "identity { "
      "0.0 } }",
      "different types");
}

TEST_CASE("iterations of a vector loop in a body are independent") {
  auto body = [](const std::string& statements) {
    return "tensor @f(x: f32[16]) -> (y: f32[4, 48]) { y[i < 4, j < 48] = 0.0 y = { " + statements + " } }";
  };
  Diagnostics d;
  for (const char* independent :
       {"vector i in 16 { y[1, i] = y[0, i] y[2, i] = y[0, i] }", "vector i in 16 { y[0, 2 * i] = x[15 - i] }",
        "vector i in 16 { y[0, i] = x[i] y[0, i + 16] = y[0, i + 32] }", "for i in 16 { y[0, i + 1] = y[0, i] }",
        "for j in 4 { vector i in 16 { alloc reg t: f32[] t[] = x[i] y[j, i + j] = t[] } }"})
    CHECK_MESSAGE(parse(body(independent), "t", d), d.str());
  for (const char* dependent :
       {"vector i in 16 { y[0, i] = y[0, 15 - i] + 1.0 }", "vector i in 16 { y[0, i + 1] = y[0, i] }",
        "vector i in 16 { y[0, i] = x[i] y[0, i + 16] = x[i] y[1, 0] = y[0, i + 19] }",
        "vector i in 16 { y[0, 0] = y[0, 0] + x[i] }", "vector i in 16 { y[0, i / 2] = x[i] }",
        "vector i in 16 { for j in 4 { y[0, i + j] = y[0, i + j] + 1.0 } }",
        "vector i in 16 { let k = i64(x[i]) y[0, k] = 1.0 }"})
    rejects(body(dependent), "iterations of the vector loop over i may access the same elements of y");
}

TEST_CASE("a wrong result of a pass is an internal error that names the pass") {
  Buffer x = make_buffer("x", dtype::f32, {4}), y = make_buffer("y", dtype::f32, {4});
  Kernel wrong{"k", {{y, Access::write}}, store(y, {0}, load(x, {0}))};
  CHECK_THROWS_WITH_AS(check_verified(wrong, "some_pass"), doctest::Contains("after some_pass"), InternalError);
  Var i = make_var("i"), j = make_var("j");
  TensorFunction unbound{"f", {x}, {y}, {{.results = {y}, .axes = {{i, 4}}, .values = {load(x, {j})}}}};
  CHECK_THROWS_WITH_AS(check_verified(unbound, "some_pass"), doctest::Contains("variable j"), InternalError);
  if (verify_every_pass)
    CHECK_THROWS_WITH_AS(naive_schedule(unbound), doctest::Contains("after naive_schedule"), InternalError);
  else
    CHECK_NOTHROW(naive_schedule(unbound));
}

// A toy accelerator with one instruction, a 4x4x4 matrix multiply-accumulate on int8: a kernel that calls it computes
// the same product as a definition.
#include "tensor/intrinsic.h"

#include <doctest/doctest.h>

#include "tensor/builder.h"
#include "tensor/evaluate.h"
#include "tensor/parse.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

// c[i, j] += sum over k of a[i, k] * b[k, j]; c is in the accelerator's registers, which are local buffers here.
Intrinsic toy_matmul() {
  Buffer a = make_buffer("a", dtype::i8, {4, 4}), b = make_buffer("b", dtype::i8, {4, 4});
  Buffer c = make_buffer("c", dtype::i32, {4, 4}, Scope::local);
  Var i = make_var("i"), j = make_var("j"), k = make_var("k");
  Expr product = cast(dtype::i32, load(a, {i, k})) * cast(dtype::i32, load(b, {k, j}));
  Stmt body = store(c, {i, j}, load(c, {i, j}) + product);
  for (const Var& v : {k, j, i}) body = for_loop(v, Expr(4), LoopKind::serial, body);
  return {.name = "toy.matmul4",
          .operands = {{a, Access::read}, {b, Access::read}, {c, Access::write}},
          .body = body,
          .required_features = {},
          .emission = ""};
}

const char* text = R"(kernel @matmul(read a: i8[8, 12], read b: i8[12, 16], write y: i32[8, 16]) {
  for i in 2 {
    for j in 4 {
      alloc local acc: i32[4, 4]
      for u in 4 {
        vector v in 4 {
          acc[u, v] = 0i32
        }
      }
      for k in 3 {
        call toy.matmul4(a[4 * i, 4 * k], b[4 * k, 4 * j], acc[0, 0])
      }
      for u in 4 {
        vector v in 4 {
          y[4 * i + u, 4 * j + v] = acc[u, v]
        }
      }
    }
  }
}
)";

}  // namespace

TEST_CASE("a kernel on the toy accelerator equals the definition") {
  Intrinsic matmul = toy_matmul();
  const Intrinsic* known[] = {&matmul};
  Diagnostics diagnostics;
  auto m = parse(text, "toy", diagnostics, known);
  REQUIRE_MESSAGE(m, diagnostics.str());
  CHECK(print(m->kernels[0]) == text);

  Definition d("matmul");
  Tensor a = d.input("a", dtype::i8, {8, 12}), b = d.input("b", dtype::i8, {12, 16});
  d.reduce_result("y", dtype::i32, {8, 16}, sum_of(dtype::i32), {12},
                  [&](Index i, Index k) { return cast(dtype::i32, a(i[0], k[0])) * cast(dtype::i32, b(k[0], i[1])); });
  std::vector<int8_t> as(96), bs(192);
  for (size_t k = 0; k < as.size(); ++k) as[k] = static_cast<int8_t>(k * 37);
  for (size_t k = 0; k < bs.size(); ++k) bs[k] = static_cast<int8_t>(k * 91 + 5);
  std::vector<Constant> args{Constant::of(dtype::i8, {8, 12}, as), Constant::of(dtype::i8, {12, 16}, bs)};
  CHECK(evaluate(m->kernels[0], args).results[0].same_as(evaluate(d.finish(), args).results[0]));
}

TEST_CASE("a call with operands of wrong types or scopes is rejected") {
  Intrinsic matmul = toy_matmul();
  const Intrinsic* known[] = {&matmul};
  Diagnostics d;
  CHECK(!parse("kernel @k(read a: i8[4, 4], write y: i32[4, 4]) { call toy.matmul4(a[0, 0], a[0, 0], y[0, 0]) }", "toy",
               d, known));
  CHECK(d.str().find("y does not fit operand 2 of toy.matmul4") != std::string::npos);
  Diagnostics e;
  CHECK(!parse(text, "toy", e));
  CHECK(e.str().find("'toy.matmul4' is not a known intrinsic") != std::string::npos);
}

// Intrinsic calls become the instructions of their rules if the CPU has them, else their bodies.
#include "tensor/intrinsic.h"

#include "harness.h"
#include "tensor/evaluate.h"
#include "tensor/parse.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

// c[i] += sum over k < 4 of a[4 i + k] * b[4 i + k].
Intrinsic dot_products() {
  Buffer a = make_buffer("a", dtype::u8, {64}), b = make_buffer("b", dtype::i8, {64});
  Buffer c = make_buffer("c", dtype::i32, {16}, Scope::reg);
  Var i = make_var("i"), k = make_var("k");
  Expr at = Expr(i) * Expr(4) + Expr(k);
  Stmt body = store(c, {i}, load(c, {i}) + cast(dtype::i32, load(a, {at})) * cast(dtype::i32, load(b, {at})));
  body = for_loop(i, 16, LoopKind::unrolled, for_loop(k, 4, LoopKind::unrolled, body));
  return {.name = "x86.vpdpbusd",
          .operands = {{a, Access::read}, {b, Access::read}, {c, Access::write}},
          .body = body,
          .required_features = {"avx512vnni"},
          .emission = "llvm.x86.avx512.vpdpbusd.512"};
}

Intrinsic matrix_unit() {
  Buffer a = make_buffer("a", dtype::i8, {4, 4}), c = make_buffer("c", dtype::i32, {4, 4});
  Var i = make_var("i"), j = make_var("j");
  Stmt body = store(c, {i, j}, cast(dtype::i32, load(a, {i, j})));
  return {.name = "toy.widen",
          .operands = {{a, Access::read}, {c, Access::write}},
          .body = for_loop(i, 4, LoopKind::serial, for_loop(j, 4, LoopKind::serial, body)),
          .required_features = {},
          .emission = "call toy_widen"};
}

Kernel kernel_of(const std::string& text, const Intrinsic& intrinsic) {
  const Intrinsic* known[] = {&intrinsic};
  Diagnostics diagnostics;
  auto m = parse(text, "test", diagnostics, known);
  REQUIRE_MESSAGE(m, diagnostics.str());
  return m->kernels[0];
}

}  // namespace

TEST_CASE("an instruction if the CPU has it, else its body") {
  Intrinsic dot = dot_products();
  Kernel kernel = kernel_of(R"(kernel @dot(read a: u8[6, 64], read b: i8[6, 64], write y: i32[16]) {
    alloc reg acc: i32[16]
    vector v in 16 { acc[v] = 0i32 }
    for k in 6 { call x86.vpdpbusd(a[k, 0], b[k, 0], acc[0]) }
    vector v in 16 { y[v] = acc[v] }
  })",
                            dot);
  CHECK(assembly(kernel, "cascadelake").find("vpdpbusd") != std::string::npos);
  CHECK(assembly(kernel, "x86-64-v4").find("vpdpbusd") == std::string::npos);

  std::vector<uint8_t> a(6 * 64);
  std::vector<int8_t> b(6 * 64);
  for (size_t k = 0; k < a.size(); ++k) a[k] = static_cast<uint8_t>(k * 37), b[k] = static_cast<int8_t>(k * 91 + 5);
  std::vector<Constant> inputs = {Constant::of(dtype::u8, {6, 64}, a), Constant::of(dtype::i8, {6, 64}, b)};
  run(kernel, inputs);
  KernelObject with_instruction = compile(kernel, "cascadelake");
  Diagnostics diagnostics;
  auto ran = targets::run_object({with_instruction.object, &with_instruction.interface, inputs}, diagnostics);
  REQUIRE_MESSAGE(ran, diagnostics.str());
  if (ran->status == static_cast<int>(Status::unsupported_cpu)) {
    MESSAGE("skipped: this CPU has no AVX512-VNNI");
    return;
  }
  CHECK(ran->outputs[0].same_as(evaluate(kernel, inputs).results[0]));
}

TEST_CASE("a function that drives an accelerator gets boxes and strides") {
  Intrinsic widen = matrix_unit();
  Kernel kernel = kernel_of(R"(kernel @k(read x: i8[8, 12], write y: i32[2, 4, 20]) {
    for i in 2 { call toy.widen(x[4 * i, 8], y[i, 0, 16]) }
  })",
                            widen);
  std::string code = assembly(kernel, "x86-64-v3");
  CHECK(code.find("toy_widen") != std::string::npos);
  CHECK(code.find("$12, %esi") != std::string::npos);  // stride of x's rows
  CHECK(code.find("$20, %ecx") != std::string::npos);  // stride of y's rows
}

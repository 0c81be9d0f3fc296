// The elementwise stage after a reduction.
#include "tensor/schedules/epilogue.h"

#include <doctest/doctest.h>

#include "harness.h"
#include "tensor/analysis.h"
#include "tensor/text.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

// Whether the statement has an expensive function in an unrolled loop, where it is expanded for each register.
static bool unrolls_expensive(const Stmt& body) {
  bool found = false;
  for_each_stmt(body, [&](const Stmt& s) {
    const For* loop = as<For>(s);
    if (!loop || loop->kind != LoopKind::unrolled) return;
    for_each_root_expr(loop->body, [&](const Expr& e) { found |= is_expensive(e); });
  });
  return found;
}

TEST_CASE("an expensive epilogue is not unrolled on the accumulators, but a loop over the stored tile") {
  TensorFunction smooth = convolution({.smooth = true});
  std::vector<bool> constant = {false, true, true, false};
  for (const Kernel& k : schedule({smooth, constant, {{}, {}, {}, {}, channels16(smooth, 4)}, {avx512, avx2}}).variants)
    CHECK_FALSE(unrolls_expensive(k.body));
}

TEST_CASE("an expensive epilogue is split into a cheap store and a loop over the stored values") {
  auto parts = [](const std::string& value) {
    TensorFunction f = parse_function(
        "tensor @f(x: f32[9, 8], b: f32[2], skip: f32[8]) -> (y: f32[8]) {\n"
        "temp t: f32[8]\nt[i < 8] = sum(k < 9) { x[k, i] }\ny[i < 8] = " +
        value + "\n}\n");
    Epilogue e(f.stages[0], &f.stages[1]);
    std::vector<Expr> index = {Expr(make_var("j"))};
    std::string text = print(e.store_total(Expr(make_var("total", dtype::f32)), index));
    return e.has_finish() ? text + print(e.finish(index)) : text;
  };
  CHECK(parts("max(0.0, t[i] + b[0])") == "y[j] = max(0.0, total + b[0])\n");
  CHECK(parts("with %0 = t[i] + b[0]: %0 * sigmoid(%0)") == "y[j] = total + b[0]\ny[j] = y[j] * sigmoid(y[j])\n");
  CHECK(parts("sigmoid(t[i] * b[0] + skip[i])") == "y[j] = total * b[0] + skip[j]\ny[j] = sigmoid(y[j])\n");
  // The result may share the memory of `skip`.
  CHECK(parts("sigmoid(t[i]) * skip[i]") == "y[j] = sigmoid(total) * skip[j]\n");
  CHECK(parts("exp(t[i]) / (1.0 + abs(t[i] + b[0]))") ==
        "y[j] = total\ny[j] = exp(y[j]) / (1.0 + abs(y[j] + b[0]))\n");
  // Quotients and roots are one instruction each.
  CHECK(parts("sqrt(t[i]) / (1.0 + abs(t[i] + b[0]))") == "y[j] = sqrt(total) / (1.0 + abs(total + b[0]))\n");
}

TEST_CASE("an epilogue reads the total at its own index, which is 0 along an axis of one index") {
  auto is_epilogue = [](const std::string& at) {
    TensorFunction f = parse_function(
        "tensor @f(x: f32[9, 1, 8]) -> (y: f32[1, 8]) {\n"
        "temp t: f32[1, 8]\nt[n < 1, i < 8] = sum(k < 9) { x[k, n, i] }\ny[n < 1, i < 8] = t[" +
        at + "] * 2.0\n}\n");
    check_schedule(f, {false});
    return find_epilogue(f, 0).has_value();
  };
  CHECK(is_epilogue("n, i"));
  CHECK(is_epilogue("0, i"));
  CHECK_FALSE(is_epilogue("0, 0"));
  CHECK_FALSE(is_epilogue("0, 7 - i"));
}

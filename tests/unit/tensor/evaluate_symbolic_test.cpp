// Values of small integer tensors over symbolic dimensions: every known element has the value that the evaluator
// computes for numbers.
#include "tensor/evaluate_symbolic.h"

#include <doctest/doctest.h>

#include <random>

#include "tensor/builder.h"
#include "tensor/evaluate.h"
#include "tensor/statements.h"

namespace dlcc::tensor {
namespace {

const Dim n = size_symbol("n"), m = size_symbol("m");

KnownValue list(std::vector<std::optional<Dim>> elements) {
  auto value = std::make_shared<SymbolicTensor>();
  value->shape = {static_cast<int64_t>(elements.size())};
  value->elements = std::move(elements);
  return value;
}

std::string text(const KnownValue& value) {
  if (!value) return "unknown";
  std::string s = value->conditional ? "if " : "";
  for (const auto& e : value->elements) s += (s.empty() || s == "if " ? "" : " ") + (e ? e->str() : "_");
  return s;
}

// The values of result[i] = point(a, i) for an operand `a` of two elements.
std::string result_of(const std::function<Expr(const Tensor&, Expr)>& point, const KnownValue& operand,
                      DType type = dtype::i64, int64_t count = 2) {
  Definition d("f");
  Tensor a = d.input("a", type, {2});
  d.result("r", point(a, Expr(0)).type(), {count}, [&](Index i) { return point(a, i[0]); });
  TensorFunction f = d.finish();
  return text(evaluate_symbolic(f, std::vector{operand})[0]);
}

}  // namespace

TEST_CASE("arithmetic on symbolic elements gives their expressions or unknown") {
  KnownValue v = list({n, n * m});
  CHECK(result_of([](auto& a, Expr i) { return a(i) * Expr(2) + Expr(1); }, v) == "2 * n + 1 2 * m * n + 1");
  CHECK(result_of([](auto& a, Expr) { return a(Expr(1)) / a(Expr(0)); }, v) == "m m");
  CHECK(result_of([](auto& a, Expr i) { return binary(BinaryOp::rem, a(i), Expr(2)); }, v) ==
        "floor_mod(n, 2) floor_mod(m * n, 2)");
  CHECK(result_of([](auto& a, Expr i) { return (Expr(0) - a(i)) / Expr(2); }, v) == "unknown");
  CHECK(result_of([](auto& a, Expr i) { return select(a(i) < Expr(1), Expr(7), a(i)); }, v) == "n m * n");
  CHECK(result_of([](auto& a, Expr i) { return select(equal(a(i), Expr(0)), Expr(7), a(i)); }, v) == "n m * n");
  CHECK(result_of([](auto& a, Expr i) { return select(equal(a(i), Expr(1)), Expr(7), a(i)); }, v) == "unknown");
  CHECK(result_of([](auto& a, Expr i) { return logical_or(a(i) < Expr(5), a(i) >= Expr(1)); }, v) == "1 1");
  CHECK(result_of([](auto& a, Expr i) { return min(a(i), n.is_constant() ? Expr(0) : Expr(8)); }, v) ==
        "min(n, 8) min(m * n, 8)");
}

TEST_CASE("unknown elements and indices out of range give unknown") {
  KnownValue v = list({{}, 3});
  CHECK(result_of([](auto& a, Expr i) { return a(i); }, v) == "_ 3");
  CHECK(result_of([](auto& a, Expr i) { return a.at_or({i + Expr(1)}, Expr(9)); }, v) == "3 9");
  CHECK(result_of([](auto& a, Expr i) { return select(equal(i, Expr(0)), Expr(4), a(i)); }, v) == "4 3");
  CHECK(result_of([](auto& a, Expr i) { return a(i) * Expr(0); }, v) == "0 0");  // x * 0 is 0
  CHECK(result_of([](auto& a, Expr i) { return a(i); }, nullptr) == "unknown");
}

TEST_CASE("elements of narrow types are known if their values fit the type") {
  KnownValue v = list({n, Dim::symbol({"k", 0, 100})});
  auto as = [&](DType type) { return result_of([=](auto& a, Expr i) { return cast(type, a(i)); }, v); };
  CHECK(as(dtype::i32) == "n k");
  CHECK(as(dtype::u32) == "n k");
  CHECK(as(dtype::u8) == "_ k");
  CHECK(as(dtype::i8) == "_ k");
  CHECK(as(dtype::boolean) == "1 _");
  CHECK(as(dtype::f32) == "unknown");
  CHECK(result_of([](auto& a, Expr i) { return cast(dtype::u64, Expr(0) - a(i)); }, v) == "unknown");
  CHECK(result_of([](auto& a, Expr i) { return cast(dtype::u8, a(i)); }, list({300, -1})) == "44 255");
  CHECK(result_of([](auto& a, Expr i) { return a(i) + literal(dtype::i32, int64_t{1}); }, list({INT32_MAX, 0}),
                  dtype::i32) == "-2147483648 1");
}

TEST_CASE("definitions of several stages, boxes and reductions are evaluated") {
  Definition d("f");
  Tensor a = d.input("a", dtype::i64, {2});
  Tensor twice = d.compute("twice", dtype::i64, {2}, [&](Index i) { return a(i[0]) * Expr(2); });
  d.reduce_result("product", dtype::i64, {}, product_of(dtype::i64), {2}, [&](Index, Index r) { return twice(r[0]); });
  Tensor joined = d.declare_result("joined", dtype::i64, {4});
  d.compute_box(joined, {0}, {2}, [&](Index i) { return twice(i[0]); });
  d.compute_box(joined, {2}, {2}, [&](Index i) { return a(Expr(1) - i[0]); });
  TensorFunction f = d.finish();
  auto values = evaluate_symbolic(f, std::vector{list({n, m})});
  CHECK(text(values[0]) == "4 * m * n");
  CHECK(text(values[1]) == "2 * n 2 * m m n");
}

TEST_CASE("sizes of operands are known values; requirements become conditions") {
  Definition d("f");
  Tensor x = d.input("x", dtype::f32, {n, 3}), at = d.input("at", dtype::i64, {});
  d.require_next([&](Index) { return at(std::vector<Expr>{}) < Expr(2); }, Status::index_out_of_range);
  d.result("r", dtype::i64, {}, [&](Index) { return Expr(x.extent(0)) * Expr(x.extent(1)) + at(std::vector<Expr>{}); });
  TensorFunction f = d.finish();
  auto value = [&](std::optional<Dim> index) {
    auto scalar = std::make_shared<SymbolicTensor>();
    scalar->elements = {std::move(index)};
    return std::vector<KnownValue>{nullptr, scalar};
  };
  CHECK(text(evaluate_symbolic(f, value(1))[0]) == "3 * n + 1");
  CHECK(text(evaluate_symbolic(f, value(m))[0]) == "if m + 3 * n");
  CHECK(text(evaluate_symbolic(f, value(5))[0]) == "unknown");
  CHECK(requirements_hold(f, value(1)));
  CHECK_FALSE(requirements_hold(f, value(m)));
  CHECK_FALSE(requirements_hold(f, value(5)));
}

TEST_CASE("integer constants are known values, and known values become constants") {
  CHECK(text(value_of(Constant::of<int32_t>(dtype::i32, {2}, {-1, 7}))) == "-1 7");
  CHECK(text(value_of(Constant::of<float>(dtype::f32, {1}, {1}))) == "unknown");
  CHECK(text(value_of(Constant::of<uint64_t>(dtype::u64, {2}, {1, UINT64_MAX}))) == "1 _");
  Constant c = constant_of(dtype::i16, *list({-3, 300}));
  CHECK(c.integer_at(0) == -3);
  CHECK(c.integer_at(1) == 300);
  CHECK_FALSE(list({1, n})->is_constant());
  CHECK_FALSE(list({1, {}})->is_constant());
}

TEST_CASE("random symbolic expressions have the values of the evaluator") {
  std::mt19937 random(5);
  auto draw = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  const BinaryOp ops[] = {BinaryOp::add, BinaryOp::sub, BinaryOp::mul,       BinaryOp::div,      BinaryOp::rem,
                          BinaryOp::min, BinaryOp::max, BinaryOp::floor_div, BinaryOp::floor_mod};
  const BinaryOp tests[] = {BinaryOp::eq, BinaryOp::ne, BinaryOp::lt, BinaryOp::le, BinaryOp::gt, BinaryOp::ge};
  int known = 0;
  for (int round = 0; round < 600; ++round) {
    Definition d("f");
    Tensor a = d.input("a", dtype::i64, {3});
    std::function<Expr(int)> some = [&](int depth) -> Expr {
      if (depth == 0) return draw(0, 1) ? a(Expr(draw(0, 2))) : Expr(draw(-3, 3));
      if (draw(0, 3) == 0)
        return select(binary(tests[draw(0, 5)], some(depth - 1), some(depth - 1)), some(depth - 1), some(depth - 1));
      return binary(ops[draw(0, 8)], some(depth - 1), some(depth - 1));
    };
    Expr e = some(3);
    d.result("r", dtype::i64, {}, [&](Index) { return e; });
    TensorFunction f = d.finish();
    KnownValue value = evaluate_symbolic(f, std::vector{list({n, m, Dim(2)})})[0];
    if (!value) continue;
    ++known;
    for (int64_t p : {1, 2, 5})
      for (int64_t q : {1, 3, 4}) {
        auto r = evaluate(f, std::vector{Constant::of<int64_t>(dtype::i64, {3}, {p, q, 2})});
        CHECK_MESSAGE(value->elements[0]->evaluate({{"n", p}, {"m", q}}) == r.results[0].integer_at(0), print(e));
      }
  }
  CHECK(known > 200);
}

TEST_CASE("elements that statements may change are unknown") {
  Definition d("f");
  Tensor a = d.input("a", dtype::i64, {2}), at = d.input("at", dtype::i64, {1});
  Tensor y = d.compute("y", dtype::i64, {2}, [&](Index i) { return a(i); });
  Statements s;
  s.store(y, {at(Expr(0))}, Expr(7));
  d.body({y}, s.finish());
  d.mark_result(y);
  CHECK(text(evaluate_symbolic(d.finish(), std::vector<KnownValue>{list({1, 2}), nullptr})[0]) == "unknown");
}

}  // namespace dlcc::tensor

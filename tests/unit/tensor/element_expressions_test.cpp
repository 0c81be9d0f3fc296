// Elements of small tensors as expressions over scalars.
#include "tensor/element_expressions.h"

#include <doctest/doctest.h>

#include "tensor/builder.h"
#include "tensor/statements.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

KnownElements vector_of(const std::vector<Expr>& elements) {
  return std::make_shared<ElementExpressions>(ElementExpressions{{static_cast<int64_t>(elements.size())}, elements});
}

// The elements of the only result; "-" for those that are not known.
std::string elements_of(const TensorFunction& f, const std::vector<KnownElements>& args) {
  const KnownElements known = element_expressions(f, args)[0];
  if (!known) return "none";
  std::string text;
  for (const Expr& e : known->elements) text += (text.empty() ? "" : ", ") + (e ? print(e) : "-");
  return text;
}

const Var a = make_var("a"), b = make_var("b");

}  // namespace

TEST_CASE("elements of a definition are expressions over those of its parameters") {
  Definition d("f");
  Tensor x = d.input("x", dtype::i64, {2});
  Tensor y = d.compute("y", dtype::i64, {2}, [&](Index i) { return x(i) * Expr(2) + i[0]; });
  d.result("z", dtype::i64, {3}, [&](Index i) { return load(y.buffer(), {i[0]}, Expr(7)); });
  CHECK(elements_of(d.finish(), {vector_of({a, b})}) == "2 * a, 2 * b + 1, 7");
}

TEST_CASE("small reductions are unrolled into element expressions") {
  Definition d("f");
  Tensor x = d.input("x", dtype::i64, {3});
  d.reduce_result("p", dtype::i64, {}, product_of(dtype::i64), {3}, [&](Index, Index k) { return x(k[0]); });
  CHECK(elements_of(d.finish(), {vector_of({a, 5, b})}) == "b * (5 * a)");
}

TEST_CASE("elements that depend on unknown ones are unknown") {
  Definition d("f");
  Tensor x = d.input("x", dtype::i64, {2}), n = d.input("n", dtype::i64, {1});
  d.result("z", dtype::i64, {3}, [&](Index i) {
    return select(i[0] < Expr(2), load(x.buffer(), {i[0]}, Expr(0)), load(x.buffer(), {n(Expr(0))}, Expr(0)));
  });
  const TensorFunction f = d.finish();
  CHECK(elements_of(f, {vector_of({a, {}}), vector_of({b})}) == "a, -, -");  // nor is an index that is no number
  CHECK(elements_of(f, {nullptr, vector_of({b})}) == "none");
}

TEST_CASE("large tensors, symbolic shapes and statement bodies have no element expressions") {
  auto copy = [](const Dim& size) {
    Definition d("f");
    Tensor x = d.input("x", dtype::i64, {1});
    d.result("y", dtype::i64, {size}, [&](Index) { return x(Expr(0)); });
    return d.finish();
  };
  CHECK(elements_of(copy(1), {vector_of({a})}) == "a");
  CHECK(elements_of(copy(65), {vector_of({a})}) == "none");
  CHECK(elements_of(copy(Dim::symbol({"n"})), {vector_of({a})}) == "none");
  Definition d("f");
  Tensor x = d.input("x", dtype::i64, {1}), y = d.declare("y", dtype::i64, {1});
  Statements s;
  s.store(y, {Expr(0)}, x(Expr(0)));
  d.body({y}, s.finish());
  d.mark_result(y);
  CHECK(elements_of(d.finish(), {vector_of({a})}) == "none");
}

TEST_CASE("elements that statements may change are unknown") {
  Definition d("f");
  Tensor x = d.input("x", dtype::i64, {2}), at = d.input("at", dtype::i64, {1});
  Tensor y = d.compute("y", dtype::i64, {2}, [&](Index i) { return x(i); });
  Statements s;
  s.store(y, {at(Expr(0))}, Expr(7));
  d.body({y}, s.finish());
  d.mark_result(y);
  CHECK(elements_of(d.finish(), {vector_of({a, b}), nullptr}) == "none");
}

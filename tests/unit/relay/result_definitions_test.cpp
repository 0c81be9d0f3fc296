// Definitions of single results of operators with several results.
#include <doctest/doctest.h>

#include "relay/passes/result_definitions.h"
#include "tensor/builder.h"

namespace dlcc::relay {
namespace {

using namespace tensor;

// The halves of a vector, its sum, and its elements divided by a sum.
TensorFunction halves_and_quotients(const Attrs&, const Operands&, const Type&) {
  Definition d("f");
  const Tensor x = d.input("x", dtype::f32, {8});
  for (int64_t k : {0, 1})
    d.result(k ? "second" : "first", dtype::f32, {4}, [&](Index i) { return x(i[0] + Expr(4 * k)); });
  const Tensor shared = d.compute("shared", dtype::f32, {8}, [&](Index i) { return exp(x(i)); });
  const Tensor own = d.compute("own", dtype::f32, {8}, [&](Index i) { return tanh(x(i)); });
  d.result("third", dtype::f32, {8}, [&](Index i) { return shared(i) + own(i); });
  d.result("fourth", dtype::f32, {8}, [&](Index i) { return shared(i) - x(i); });
  return d.finish();
}

TEST_CASE("results have the stages that they need, and share none") {
  Operator op{
      .name = "f", .summary = {}, .attributes = {}, .arguments = {}, .values = {}, .variadic = false, .tolerance = 0};
  int computed = 0;
  op.compute_as = [&](const Attrs& attrs, const Operands& operands, const Type& result) {
    ++computed;
    return halves_and_quotients(attrs, operands, result);
  };
  Module module;
  const Binding call{module.fresh("", tuple_type({})), Call{OperatorRef{&op}, {}, {}}, {}};
  ResultDefinitions definitions;
  std::set<Buffer> written;
  for (size_t r : {0, 1, 2, 3, 0}) {
    TensorFunction f = definitions.definition(call, {}, r);
    CHECK(f.results.size() == 1);
    CHECK(f.stages.size() == (r == 0 && computed == 1 ? 1 : r == 1 ? 1 : 6));
    for (const Stage& s : f.stages) CHECK(written.insert(s.results[0]).second);
  }
  CHECK(computed == 4);  // once for both halves, once for each result with a shared stage, once for the repeated half
}

}  // namespace
}  // namespace dlcc::relay

// Programs with sizes computed from elements of inputs.
#include <doctest/doctest.h>

#include "lower/check_plan.h"
#include "lower/evaluate.h"
#include "lower/program_text.h"
#include "lower/run_entry.h"
#include "lower/verify.h"
#include "lowering.h"

using namespace dlcc;
using namespace dlcc::lower;

namespace {

Constant list(const std::vector<int64_t>& numbers) {
  return Constant::of<int64_t>(dtype::i64, {static_cast<int64_t>(numbers.size())}, numbers);
}

}  // namespace

TEST_CASE("the entry defines sizes from elements of inputs before the run") {
  // The inputs of `lowered` have elements 3.
  const Program p = lowered("def @main(%n: Tensor[(2), int64]) { full(1f, %n) }");
  REQUIRE(p.input_sizes.size() == 2);
  CHECK(p.data_sizes.empty());
  CHECK(p.entry.steps.size() == 6);  // two reads, computations and requirements
  CHECK(plan_storage(p).is_stacked() == false);
  lowered("def @main(%n: int64) { full(1f, reshape(%n * 4i64 - 2i64, newshape=[1])) }");
  lowered(
      "def @main(%x: Tensor[(6, 3), float32], %s: Tensor[(2), int64]) { exp(reshape(nn.relu(%x), strided_slice(\n"
      "  concatenate((%s, %s - 4i64)), begin=[1], end=[3]))) }");
}

TEST_CASE("the entry computes sizes, and refuses negative or too large ones") {
  const Program p = lowered("def @main(%n: Tensor[(1), int64]) { sum(exp(full(1f, %n - 1i64))) }");
  REQUIRE(p.input_sizes.size() == 1);
  auto run = [&](int64_t n) {
    Sizes sizes;
    const tensor::Status status = run_entry(p, sizes, [&](const Read&) { return small_number(dtype::i64, n); });
    return status == tensor::Status::ok ? sizes.at(p.input_sizes[0].name) : -static_cast<int64_t>(status);
  };
  const auto refused = -static_cast<int64_t>(tensor::Status::dimension_out_of_range);
  CHECK(run(1) == 0);
  CHECK(run(41) == 40);
  CHECK(run(0) == refused);
  CHECK(run(INT64_MAX) == refused);
  CHECK(run(INT64_MIN) == refused);
  CHECK(evaluate(p, std::vector{list({0})}, 0).status == tensor::Status::dimension_out_of_range);
  CHECK(evaluate(p, std::vector{list({-7})}, 0).status == tensor::Status::dimension_out_of_range);
  CHECK(evaluate(p, std::vector{list({5})}, 0).results[0].number_at(0) == doctest::Approx(4 * 2.718281828));
}

TEST_CASE("sizes computed within an arm are data-dependent and need a bound") {
  const Program p = lowered(R"(def @main(%x: Tensor[(8), float32], %c: bool, %n: Tensor[(1), int64]) {
    if (%c) { exp(strided_slice(%x, full(0i64, shape=[1]), %n, full(1i64, shape=[1]))) } else { %x }
  })");
  CHECK(p.input_sizes.empty());
  REQUIRE(p.data_sizes.size() == 2);
  CHECK(p.data_sizes[0].most == Dim(8));
}

TEST_CASE("sizes computed by pad, tile, broadcast_to and slices of inputs") {
  lowered(R"(def @main(%x: Tensor[(2, 5), float32], %w: Tensor[(2, 2), int64], %r: Tensor[(2), int64]) {
    let %padded = nn.pad(%x, 0f, %w);
    (sum(tile(%padded, %r), axis=[1]), broadcast_to(reshape(%r, newshape=[2, 1]), concatenate((full(2i64, shape=[1]),
      full(3i64, shape=[1])))))
  })");
  lowered(R"(def @main(%x: Tensor[(9, 4), float32], %b: Tensor[(1), int64]) {
    let %rows = strided_slice(%x, %b - 1i64, %b + 4i64, full(2i64, shape=[1]));
    nn.matmul(%rows, full(1f, shape=[4, 3]))
  })");
}

TEST_CASE("the verifier checks the steps of the entry") {
  Program p = lowered("def @main(%n: Tensor[(1), int64]) { full(1f, %n) }");
  auto errors = [](const Program& program) {
    Diagnostics d;
    verify(program, d);
    return d.str();
  };
  CHECK(errors(p) == "");
  Program undefined = p;
  undefined.entry.steps.clear();
  CHECK(errors(undefined).find("the entry does not define the size") != std::string::npos);
  Program copies = p;
  copies.entry.steps.insert(copies.entry.steps.begin(), Copy{0, 0});
  CHECK(errors(copies).find("the entry has a step that is none of") != std::string::npos);
  Program output = p;
  std::get<Read>(output.entry.steps[0]).from = output.outputs[0];
  CHECK(errors(output).find("the entry has a step that is none of") != std::string::npos);
}

TEST_CASE("a tensor that a loop changes does not have the elements that it has before the loop") {
  const Program p = lowered(R"(def @main(%x: Tensor[(64, 2), float32], %n: Tensor[(1), int64]) {
    let %first = %n + 1i64;
    let %loop = fn (%t: int64, %k: Tensor[(1), int64]) -> Tensor[(1), int64] {
      if (%t < 3i64) { %loop(%t + 1i64, %k * 2i64) } else { %k }
    };
    prefix(%x, %loop(0i64, %first))
  })");
  CHECK(p.input_sizes.empty());
  REQUIRE(p.data_sizes.size() == 1);
  CHECK(p.data_sizes[0].most == Dim(64));
}

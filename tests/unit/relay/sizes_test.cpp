// One module with symbolic sizes, evaluated by its definitions with tensors of several sizes.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "frontends/frontend.h"
#include "relay/evaluate.h"

namespace dlcc::relay {
namespace {

using tensor::Status;

Module module_of(const std::string& text) {
  Diagnostics d;
  auto module = frontends::import_relay(text, {}, d);
  REQUIRE_MESSAGE(module, d.str());
  return std::move(*module);
}

tensor::EvaluationResult run(const Module& module, const std::vector<Constant>& args) {
  Diagnostics d;
  auto result = evaluate(module, args, tensor::Precision::specified, d);
  REQUIRE_MESSAGE(result, d.str());
  return std::move(*result);
}

Constant counting(std::vector<int64_t> shape) {
  std::vector<float> values(
      static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies())));
  std::iota(values.begin(), values.end(), 0.0f);
  return Constant::of(dtype::f32, std::move(shape), values);
}

Constant ints(const std::vector<int64_t>& values) {
  return Constant::of(dtype::i64, {static_cast<int64_t>(values.size())}, values);
}

}  // namespace

TEST_CASE("attributes with symbols use the sizes of the run") {
  Module module = module_of(
      "def @main(%x: Tensor[(n, 6), float32]) {\n"
      "  let %rows = reshape(%x, newshape=[n, 2, 3]);\n"
      "  let %wide = broadcast_to(full(1f, shape=[n, 1, 1]), shape=[n, 2, 3]);\n"
      "  strided_slice(%rows + %wide, begin=[0], end=[n - 1])\n}");
  CHECK(str(module.functions.at("main").result_type) == "Tensor[(n - 1, 2, 3), float32]");
  for (int64_t n : {1, 2, 5}) {
    auto r = run(module, {counting({n, 6})});
    REQUIRE(r.status == Status::ok);
    CHECK(r.results[0].shape() == std::vector<int64_t>{n - 1, 2, 3});
    if (n > 1) CHECK(r.results[0].number_at(5) == 6);
  }
}

TEST_CASE("a match_cast checks sizes that come from operands") {
  Module module = module_of(
      "def @main(%x: Tensor[(n, 6), float32], %s: Tensor[(2), int64]) {\n"
      "  let %y = match_cast(reshape(%x, %s), Tensor[(m, n), float32]);\n"
      "  (%y, shape_of(%y, dtype=\"int64\"))\n}");
  auto r = run(module, {counting({4, 6}), ints({-1, 4})});
  REQUIRE(r.status == Status::ok);
  CHECK(r.results[0].shape() == std::vector<int64_t>{6, 4});
  CHECK(r.results[1].integer_at(0) == 6);
  CHECK(run(module, {counting({4, 6}), ints({4, 6})}).status == Status::shape_mismatch);
  CHECK(run(module, {counting({4, 6}), ints({5, 5})}).status == Status::shape_mismatch);
  CHECK(run(module, {counting({0, 6}), ints({0, 0})}).status == Status::dimension_out_of_range);  // n is at least 1
}

TEST_CASE("symbolic sizes broadcast at run time if they are equal or 1") {
  Module module = module_of(
      "def @main(%a: Tensor[(n, 1), float32], %b: Tensor[(m), float32], %c: Tensor[(k), float32]) {\n"
      "  (%a + %b) * %c\n}");
  CHECK(str(module.functions.at("main").result_type) == "Tensor[(n, max(k, m)), float32]");
  for (auto [m, k] : {std::pair<int64_t, int64_t>{3, 3}, {3, 1}, {1, 3}, {1, 1}}) {
    auto r = run(module, {counting({2, 1}), counting({m}), counting({k})});
    CHECK(r.status == Status::ok);
    CHECK(r.results[0].shape() == std::vector<int64_t>{2, std::max(m, k)});
  }
  CHECK(run(module, {counting({2, 1}), counting({3}), counting({2})}).status == Status::shape_mismatch);
}

TEST_CASE("the size of a chain of broadcasts grows by one operand at a time") {
  Module module = module_of(
      "def @rest(%x: Tensor[(k), float32]) { strided_slice(%x, begin=[1], end=[k]) }\n"
      "def @main(%a: Tensor[(p), float32], %b: Tensor[(q), float32], %c: Tensor[(r), float32],"
      "          %d: Tensor[(s), float32]) { (@rest(%a) + @rest(%b)) * (@rest(%c) - @rest(%a) + @rest(%d)) }");
  CHECK(str(module.functions.at("main").result_type) ==
        "Tensor[(min(p - 1, 1) * min(q - 1, 1) * min(r - 1, 1) * min(s - 1, 1) * "
        "max(s - 1, max(r - 1, max(p - 1, q - 1)))), float32]");
  auto run_with = [&](const std::vector<int64_t>& sizes) {
    std::vector<Constant> args;
    for (const int64_t size : sizes) args.push_back(counting({size + 1}));
    return run(module, args);
  };
  for (const auto& sizes : std::vector<std::vector<int64_t>>{
           {3, 3, 3, 3}, {1, 3, 1, 3}, {1, 1, 1, 3}, {0, 1, 0, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}, {1, 1, 1, 1}}) {
    const auto r = run_with(sizes);
    REQUIRE(r.status == Status::ok);
    const bool is_empty = std::ranges::count(sizes, 0) > 0;
    CHECK(r.results[0].shape() == std::vector<int64_t>{is_empty ? 0 : std::ranges::max(sizes)});
  }
  CHECK(run_with({3, 1, 1, 0}).status == Status::shape_mismatch);
  CHECK(run_with({1, 3, 2, 1}).status == Status::shape_mismatch);
}

TEST_CASE("a reshape whose size is not divisible returns shape_mismatch") {
  Module module = module_of("def @main(%x: Tensor[(n, 6), float32]) { reshape(%x, newshape=[-1, 4]) }");
  CHECK(str(module.functions.at("main").result_type) == "Tensor[(floor_div(3 * n, 2), 4), float32]");
  CHECK(run(module, {counting({2, 6})}).results[0].shape() == std::vector<int64_t>{3, 4});
  CHECK(run(module, {counting({3, 6})}).status == Status::shape_mismatch);
}

TEST_CASE("each call of a function binds the symbols of the function anew") {
  Module module = module_of(
      "def @double(%x: Tensor[(n), float32]) -> Tensor[(2 * n), float32] {\n"
      "  reshape(broadcast_to(reshape(%x, newshape=[1, n]), shape=[2, n]), newshape=[2 * n])\n}\n"
      "def @main(%x: Tensor[(n), float32]) { @double(@double(%x)) }");
  auto r = run(module, {counting({3})});
  REQUIRE(r.status == Status::ok);
  CHECK(r.results[0].shape() == std::vector<int64_t>{12});
  CHECK(r.results[0].number_at(11) == 2);
}

TEST_CASE("a function without types has sizes of its own at each use") {
  Module module = module_of(
      "def @pair(%x, %y: Tensor[(n), float32]) { (sum(%x) + sum(%y), concatenate((%y, %y))) }\n"
      "def @main(%a: Tensor[(n, n), float32], %b: Tensor[(m), float32]) { (@pair(%a, %b).0, @pair(1f, %b)) }");
  CHECK(str(module.functions.at("main").result_type) == "(float32, (float32, Tensor[(2 * m), float32]))");
  auto r = run(module, {counting({2, 2}), counting({3})});
  REQUIRE(r.status == Status::ok);
  CHECK(r.results[0].number_at(0) == 9);
  CHECK(r.results[1].number_at(0) == 4);
}

TEST_CASE("a local function binds a parameter of unknown size anew at each call") {
  Module module = module_of(
      "def @main(%a: Tensor[(n), float32]) {\n"
      "  let %f = fn (%x: Tensor[(?), float32]) -> float32 { sum(%x) };\n"
      "  (%f(%a), %f(concatenate((%a, %a))))\n}");
  auto r = run(module, {counting({3})});
  REQUIRE(r.status == Status::ok);
  CHECK(r.results[1].number_at(0) == 6);
}

TEST_CASE("the status of an input that gives a size no value within its bounds") {
  Module doubled =
      module_of("def @main(%x: Tensor[(2 * n), float32], %y: Tensor[(n), float32]) { (sum(%x), sum(%y)) }");
  auto status = [&](int64_t x, int64_t y) { return run(doubled, {counting({x}), counting({y})}).status; };
  CHECK(status(4, 2) == Status::ok);
  CHECK(status(0, 0) == Status::dimension_out_of_range);
  CHECK(status(3, 1) == Status::dimension_out_of_range);
  CHECK(status(4, 1) == Status::shape_mismatch);
}

TEST_CASE("the size of a concatenation of many tensors is their sum") {
  for (const bool are_limited : {false, true}) {
    std::string params, operands, sum;
    for (int k = 100; k < 190; ++k) {
      const std::string separator = k > 100 ? ", " : "";
      params += fmt::format("{}%x{}: Tensor[(s{}), float32]", separator, k, k);
      operands += separator +
                  (are_limited ? fmt::format("strided_slice(%x{}, begin=[0], end=[300])", k) : fmt::format("%x{}", k));
      sum += (k > 100 ? " + " : "") + (are_limited ? fmt::format("min(s{}, 300)", k) : fmt::format("s{}", k));
    }
    Module module = module_of("def @main(" + params + ") { concatenate((" + operands + ")) }");
    CHECK(str(module.functions.at("main").result_type) == "Tensor[(" + sum + "), float32]");
  }
}

TEST_CASE("sizes of two names that an operator needs to be equal are an error, and a match_cast checks them") {
  auto error_of = [](const std::string& text) {
    Diagnostics d;
    CHECK_FALSE(frontends::import_relay(text, {}, d));
    return d.list().empty() ? Diagnostic{} : d.list().front();
  };
  const std::string matrices = "def @main(%x: Tensor[(m, k), float32], %w: Tensor[(n, j), float32]) { ";
  const std::string batches = "def @main(%x: Tensor[(b, m, k), float32], %w: Tensor[(b, n, j), float32]) { ";
  const std::string images = "def @main(%x: Tensor[(1, c, 9, 9), float32], %w: Tensor[(d, e, 3, 3), float32]) { ";
  for (const std::string& text :
       {matrices + "nn.dense(%x, %w) }", matrices + "nn.matmul(%x, %w, transpose_b=True) }",
        batches + "nn.batch_matmul(%x, %w) }", matrices + "einsum((%x, %w), equation=\"mk,nk->mn\") }",
        images + "nn.conv2d(%x, %w, kernel_size=[3, 3]) }",
        images + "nn.conv2d_transpose(%x, %w, kernel_size=[3, 3]) }", matrices + "concatenate((%x, %w)) }"}) {
    CAPTURE(text);
    const Diagnostic error = error_of(text);
    CHECK(error.id == DiagnosticId::shape_mismatch);
    CHECK(error.help ==
          "the two sizes cannot be proved equal; name them with the same symbol or check with match_cast");
  }
  Module checked = module_of(matrices + "nn.dense(match_cast(%x, Tensor[(m, j), float32]), %w) }");
  CHECK(run(checked, {counting({2, 3}), counting({4, 3})}).results[0].shape() == std::vector<int64_t>{2, 4});
  CHECK(run(checked, {counting({2, 3}), counting({4, 2})}).status == Status::shape_mismatch);
}

}  // namespace dlcc::relay

// Statuses of runs whose sizes and indices are not allowed, as data decides: the same in all engines.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>

#include "engines.h"

using namespace dlcc;

TEST_CASE("statuses of sizes that are codes of attributes, and of indices into nothing") {
  const std::string begin = R"(def @main(%x: Tensor[(4, 6), float32]) {
    let %found = nonzero(%x > 1000f);
    let %none = take(%found.1, 0i64);
  )";
  for (const char* result : {"reshape(%x, stack((%none - 3i64, 1i64)))", "reshape(%x, stack((%none - 2i64, 24i64)))",
                             "let %y: Tensor[(24, 1), float32] = reshape(%x, stack((%none - 3i64, 1i64))); %y",
                             "take(prefix(%found.0, %found.1), 0i64)", "take(prefix(%found.0, %found.1), 0i64, axis=0)",
                             "gather(prefix(%found.0, %found.1), full(0i64, shape=[1, 2]), axis=0)"}) {
    CAPTURE(result);
    CHECK(difference_of_engines(0, begin + result + " }", {{dtype::f32, {4, 6}}}) == "");
  }
}

namespace {

Constant number(int64_t value) { return Constant::of<int64_t>(dtype::i64, {}, {value}); }

// 6 numbers, of which the first `count` are not 0.
Constant nonzero(size_t count) {
  std::vector<float> values(6);
  std::fill_n(values.begin(), count, 1.0f);
  return Constant::of(dtype::f32, {6}, values);
}

// The statuses of a function of the number %s, for each of the numbers.
std::string statuses(const std::string& functions, const std::string& body, const std::vector<int64_t>& numbers) {
  std::string found;
  for (int64_t n : numbers)
    found += status_of_engines(functions + "def @main(%s: int64) { " + body + " }", {number(n)}) + " ";
  return found;
}

const std::string first_numbers = "arange(0i64, %s, 1i64, dtype=\"int64\")";

}  // namespace

TEST_CASE("a named size that is computed from an input is at least 1, and an unknown one at least 0") {
  CHECK(statuses("", "let %y: Tensor[(n), int64] = " + first_numbers + "; (%y, sum(%y))", {3, 1, 0, -4}) == "0 0 8 8 ");
  CHECK(statuses("", "let %y = " + first_numbers + "; (%y, sum(%y))", {1, 0, -4}) == "0 0 0 ");
  const std::string defined = "define_sizes(reshape(%s, newshape=[1]), ({0}), (6)); full(1f, shape=[{0}])";
  CHECK(statuses("", fmt::format(fmt::runtime(defined), "n"), {6, 1, 0, -1, 7}) == "0 0 8 8 15 ");
  CHECK(statuses("", fmt::format(fmt::runtime(defined), "?1"), {6, 0, -1, 7}) == "0 0 8 15 ");
}

TEST_CASE("a named size that steps compute is at least 1") {
  auto found = [](size_t count, const std::string& result) {
    return status_of_engines("def @main(%x: Tensor[(6), float32]) { let %all = nonzero(%x); " + result + " }",
                             {nonzero(count)});
  };
  const std::string rows = "let %y: Tensor[(n, 1), int64] = prefix(%all.0, %all.1); (%y, sum(%y))";
  CHECK(found(2, rows) == "0");
  CHECK(found(0, rows) == "8");
  CHECK(found(0, "let %y = prefix(%all.0, %all.1); (%y, sum(%y))") == "0");
  // A scalar that several steps compute.
  const std::string later = R"(let %one = full(1i64, shape=[1]);
    let %y: Tensor[(n, 1), int64] = strided_slice(%all.0, %one, %all.1, %one, axes=[0]); (%y, sum(%y)))";
  CHECK(found(2, later) == "0");
  CHECK(found(1, later) == "8");
}

TEST_CASE("a named size that a branch or a loop defines is at least 1") {
  auto branch = [](size_t count, bool condition) {
    return status_of_engines(R"(def @main(%x: Tensor[(6), float32], %c: bool) {
      let %all = nonzero(%x);
      let %y: Tensor[(n, 1), int64] = if (%c) { prefix(%all.0, %all.1) } else { full(1i64, shape=[3, 1]) };
      (%y, sum(%y))
    })",
                             {nonzero(count), Constant::of<uint8_t>(dtype::boolean, {}, {condition})});
  };
  CHECK(branch(2, true) == "0");
  CHECK(branch(0, false) == "0");
  CHECK(branch(0, true) == "8");
  const std::string sums = R"(let %loop = fn (%i: int64, %sum: int64) -> int64 {
    if (%i < 5i64) {
      let %y: Tensor[(n), int64] = prefix(arange(0i64, 6i64, 1i64, dtype="int64"), reshape(%i - %s, newshape=[1]));
      %loop(%i + 1i64, %sum + sum(%y))
    } else { %sum }
  };
  %loop(2i64, 0i64))";
  CHECK(statuses("", sums, {1, 2, 3}) == "0 8 8 ");
}

TEST_CASE("sizes of arguments below the bounds of a function's sizes, and sizes that are no multiples") {
  auto called = [](const std::string& type, const std::vector<int64_t>& numbers) {
    return statuses("def @f(%x: Tensor[(" + type + "), int64]) { (sum(%x), concatenate((%x, %x))) }\n",
                    "@f(" + first_numbers + ")", numbers);
  };
  CHECK(called("n", {2, 1, 0}) == "0 0 8 ");
  CHECK(called("n + 2", {3, 2, 1, 0}) == "0 8 8 8 ");
  CHECK(called("2 * n", {2, 3, 0}) == "0 7 8 ");
  const std::string local = "let %f = fn (%x: Tensor[(k), int64]) { concatenate((%x, %x)) }; %f(";
  CHECK(statuses("", local + first_numbers + ")", {1, 0}) == "0 8 ");
}

TEST_CASE("operators that need an element or a window") {
  auto found = [](size_t count, const std::string& operation) {
    return status_of_engines(R"(def @main(%x: Tensor[(6), float32]) {
      let %all = nonzero(%x);
      let %y = cast(reshape(prefix(%all.0, %all.1), newshape=[1, 1, -1, 1]), dtype="float32");
      )" + operation + " }",
                             {nonzero(count)});
  };
  for (const char* operation : {"argmax(%y)", "nn.global_avg_pool2d(%y)", "sum(%y)"}) {
    CAPTURE(operation);
    CHECK(found(1, operation) == "0");
    CHECK(found(0, operation) == (operation == std::string("sum(%y)") ? "0" : "8"));
  }
  CHECK(found(2, "nn.max_pool2d(%y, pool_size=[2, 1])") == "0");
  CHECK(found(1, "nn.max_pool2d(%y, pool_size=[2, 1])") == "8");
}

TEST_CASE("a named size is checked where its value is the result of a block") {
  const std::string called = "def @first(%s: int64) -> Tensor[(k), int64] { " + first_numbers + " }\n";
  CHECK(statuses(called, "let %y: Tensor[(n), int64] = @first(%s); %y", {1, 0}) == "0 8 ");
  const std::string chosen = "let %y: Tensor[(n), int64] = if (%s > 5i64) { full(1i64, shape=[2]) } else {"
                             " prefix(full(1i64, shape=[9]), reshape(%s, newshape=[1])) }; %y";
  CHECK(statuses("", chosen, {1, 6, 0}) == "0 0 8 ");
}

TEST_CASE("operators that get a negative size, or one above its bound") {
  for (const char* operation :
       {"full(1f, reshape(%s, newshape=[1]))", "tile(full(1f, shape=[6]), reshape(%s, newshape=[1]))",
        "broadcast_to(full(1f, shape=[1]), reshape(%s, newshape=[1]))",
        "nn.pad(full(1f, shape=[6]), 0f, reshape(stack((%s - 5i64, 0i64)), newshape=[1, 2]))"}) {
    CAPTURE(operation);
    CHECK(statuses("", operation, {3, 0, -2}) == "0 0 8 ");
  }
  const std::string prefix = "prefix(full(1f, shape=[6]), reshape(%s, newshape=[1]))";
  CHECK(statuses("", prefix, {6, 0, 7, -1}) == "0 0 15 8 ");
  CHECK(statuses("", "let %y: Tensor[(3), float32] = " + prefix + "; %y", {3, 2, 7, -1}) == "0 7 15 8 ");
}

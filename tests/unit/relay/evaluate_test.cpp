// Evaluation of functions: captured values, recursion, and loops written as recursion.
#include "relay/evaluate.h"

#include <doctest/doctest.h>

#include "frontends/frontend.h"

namespace dlcc::relay {
namespace {

Constant integer(int64_t v) { return Constant::of<int64_t>(dtype::i64, {}, {v}); }

std::string evaluated(const std::string& text, const std::vector<Constant>& args) {
  Diagnostics d;
  auto module = frontends::import_relay(text, {}, d);
  REQUIRE_MESSAGE(module, d.str());
  auto result = evaluate(*module, args, tensor::Precision::specified, d);
  if (!result) return d.str();
  if (result->status != tensor::Status::ok) return fmt::format("status {}", static_cast<int>(result->status));
  std::string values;
  for (const Constant& c : result->results)
    for (int64_t k = 0; k < c.count(); ++k) values += (values.empty() ? "" : " ") + fmt::format("{}", c.number_at(k));
  return values;
}

// The sum of 0, ..., n - 1, and the number of iterations.
constexpr const char* sum_below_n = R"(
def @main(%n: int64) -> (int64, int64) {
  let %one = 1i64;
  let %loop = fn (%i: int64, %sum: int64) -> (int64, int64) {
    let %more = %i < %n;
    if (%more) { %loop(%i + %one, %sum + %i) } else { (%sum, %i) }
  };
  %loop(0i64, 0i64)
}
)";

}  // namespace

TEST_CASE("a local function captures the values around it") {
  CHECK(evaluated(R"(
def @main(%x: int64) -> int64 {
  let %y = %x * 10i64;
  let %outer = fn (%a: int64) -> int64 {
    let %b = %a + %y;
    let %inner = fn (%c: int64) -> int64 { %a + %b + %c };
    let %unused = %inner(0i64);
    %inner(%y)
  };
  %outer(1i64) + %outer(2i64)
}
)",
                  {integer(5)}) == "206");
}

TEST_CASE("each activation has its own variables") {
  CHECK(evaluated(R"(
def @main(%n: int64) -> int64 {
  let %factorial = fn (%k: int64) -> int64 {
    let %last = %k <= 1i64;
    if (%last) { 1i64 } else {
      let %below = %factorial(%k - 1i64);
      %below * %k
    }
  };
  %factorial(%n)
}
)",
                  {integer(10)}) == "3628800");
}

TEST_CASE("a recursive local function with more iterations than the stack is deep") {
  CHECK(evaluated(sum_below_n, {integer(0)}) == "0 0");
  CHECK(evaluated(sum_below_n, {integer(4)}) == "6 4");
  // More iterations than a stack has room for.
  CHECK(evaluated(sum_below_n, {integer(50000)}) == "1249975000 50000");
}

TEST_CASE("a recursive local function within another one") {
  CHECK(evaluated(R"(
def @main(%n: int64) -> int64 {
  let %rows = fn (%i: int64, %sum: int64) -> int64 {
    let %more = %i < %n;
    if (%more) {
      let %columns = fn (%j: int64, %part: int64) -> int64 {
        let %inside = %j < %i;
        if (%inside) { %columns(%j + 1i64, %part + %i * %j) } else { %part }
      };
      let %with_row = %columns(0i64, %sum);
      %rows(%i + 1i64, %with_row)
    } else { %sum }
  };
  %rows(0i64, 0i64)
}
)",
                  {integer(5)}) == "35");
}

TEST_CASE("mutual recursion of global functions in tail position needs no stack") {
  CHECK(evaluated(R"(
def @even(%n: int64) -> bool { if (%n == 0i64) { True } else { @odd(%n - 1i64) } }
def @odd(%n: int64) -> bool { if (%n == 0i64) { False } else { @even(%n - 1i64) } }
def @main(%n: int64) -> bool { @even(%n) }
)",
                  {integer(50001)}) == "0");
}

TEST_CASE("a violated requirement in a loop ends the evaluation with its status") {
  CHECK(evaluated(R"(
def @main(%x: Tensor[(3), float32]) -> Tensor[(3), float32] {
  let %loop = fn (%i: int64, %y: Tensor[(3), float32]) -> Tensor[(3), float32] {
    let %more = %i < 4i64;
    if (%more) { %loop(%i + 1i64, dynamic_update_slice(%y, 1f, %i)) } else { %y }
  };
  %loop(0i64, %x)
}
)",
                  {Constant::of<float>(dtype::f32, {3}, {0, 0, 0})}) ==
        fmt::format("status {}", static_cast<int>(tensor::Status::index_out_of_range)));
}

TEST_CASE("recursion deeper than the host's stack") {
  CHECK(evaluated(R"(
def @count(%n: int64) -> int64 { if (%n == 0i64) { 0i64 } else { @count(%n - 1i64) + 1i64 } }
def @main(%n: int64) -> int64 { @count(%n) }
)",
                  {integer(200000)}) == "200000");
}

TEST_CASE("a function may be an operand of a function") {
  CHECK(evaluated(R"(
def @main(%n: int64) -> int64 {
  let %twice = fn (%f: fn (int64) -> int64) -> int64 { %f(%f(%n)) };
  let %next = fn (%k: int64) -> int64 { %k + 1i64 };
  %twice(%next)
}
)",
                  {integer(1)}) == "3");
}

TEST_CASE("a function as the result of @main is an error") {
  std::string value = evaluated("def @main(%n: int64) { fn () { %n } }", {integer(1)});
  CHECK_MESSAGE(value.find("the result of @main is no tensor: fn () -> int64") != std::string::npos, value);
}

}  // namespace dlcc::relay

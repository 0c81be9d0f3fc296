// Stages that have a body of statements.
#include "tensor/statements.h"

#include <doctest/doctest.h>

#include "tensor/analysis.h"
#include "tensor/evaluate.h"
#include "tensor/parse.h"
#include "tensor/passes/bind_sizes.h"
#include "tensor/passes/compose.h"
#include "tensor/schedules/schedule.h"
#include "tensor/verify.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

TensorFunction parsed(const std::string& text) {
  Diagnostics d;
  auto ir = parse(text, "t", d);
  REQUIRE_MESSAGE(ir, d.str());
  return ir->functions.at(0);
}

void rejects(const std::string& text, const std::string& message) {
  Diagnostics d;
  CHECK_MESSAGE(!parse(text, "t", d), text);
  CHECK_MESSAGE(d.str().find(message) != std::string::npos, d.str());
}

// The positions of positive elements, followed by -1.
const char* const positions = R"(tensor @positions(x: f32[6]) -> (y: i64[6]) {
  temp next: f32[6]
  next[i < 6] = x[i] + 1.0
  y[i < 6] = -1
  y = {
    alloc local count: i64[]
    count[] = 0
    for i in 6 {
      if next[i] > 1.0 {
        let place = count[]
        y[place] = i
        count[] = place + 1
      }
    }
  }
}
)";

std::vector<int64_t> integers(const Constant& c) {
  std::vector<int64_t> list;
  for (int64_t k = 0; k < c.count(); ++k) list.push_back(c.integer_at(k));
  return list;
}

const Constant six = Constant::of<float>(dtype::f32, {6}, {0, 2, -1, 3, 0, 5});

}  // namespace

TEST_CASE("a statement body prints and parses") {
  TensorFunction f = parsed(positions);
  CHECK(print(f) == positions);
  CHECK(has_body(f));
  CHECK(pattern_of(f) == OpPattern::opaque);
  CHECK(reads(f.stages[2], f.stages[0].results[0]));
}

TEST_CASE("a statement body runs after the stages before it") {
  TensorFunction f = parsed(positions);
  const Constant arguments[] = {six};
  CHECK(integers(evaluate(f, arguments).results[0]) == std::vector<int64_t>{1, 3, 5, -1, -1, -1});
  // No stage is inlined into a statement body, nor is a buffer that a statement body changes.
  inline_stages(f);
  CHECK(print(f) == positions);
}

TEST_CASE("the schedule of a statement body keeps its statements") {
  ScheduleRequest request{parsed(positions), {false}, {Layout{}, Layout{}}, {Machine{}}, {}, {}};
  ScheduledFunction scheduled = schedule(request);
  CHECK(scheduled.in_place.empty());
  const Constant arguments[] = {six};
  CHECK(integers(evaluate(scheduled.variants[0], arguments).results[0]) == std::vector<int64_t>{1, 3, 5, -1, -1, -1});
}

TEST_CASE("a statement body with symbols") {
  TensorFunction f = parsed(R"(tensor @running<n>(x: i64[n]) -> (y: i64[n]) {
  y = {
    alloc local total: i64[]
    total[] = 0
    for i in n {
      total[] = total[] + x[i]
      y[i] = total[]
    }
  }
}
)");
  CHECK(symbols_of(f).size() == 1);
  TensorFunction bound = bind_sizes(f, {{"n", Dim(3)}});
  CHECK(symbols_of(bound).empty());
  const Constant arguments[] = {Constant::of<int64_t>(dtype::i64, {3}, {4, 5, 6})};
  CHECK(integers(evaluate(bound, arguments).results[0]) == std::vector<int64_t>{4, 9, 15});
}

TEST_CASE("the verifier rejects invalid statement bodies") {
  rejects("tensor @f(x: f32[3]) -> (y: f32[3]) { y = { x[0] = 1.0 y[0] = 1.0 } }", "the parameter x is read-only");
  rejects("tensor @f(x: f32[3]) -> (y: f32[3]) { temp t: f32[3] t[i < 3] = x[i] y = { t[0] = 1.0 } }",
          "t is read-only but written");
  rejects("tensor @f(x: f32[3]) -> (y: f32[3]) { temp t: f32[3] y = { y[0] = t[0] } }", "t is read before");
  rejects("tensor @f(x: f32[3]) -> (y: f32[3]) { y = { } }", "the body of a stage is empty");
  rejects("tensor @f(x: f32[3]) -> (y: f32[3]) { y = { y[0] = 1 } }", "a stored value has type int64");
}

TEST_CASE("Statements builds the same body as the text") {
  Definition d("positions");
  Tensor x = d.input("x", dtype::f32, {6});
  Tensor y = d.declare("y", dtype::i64, {6});
  Statements s;
  Tensor count = s.local("count", dtype::i64);
  s.store(count, {}, 0);
  s.loop("i", 6, [&](const Expr& i) {
    s.store(y, {i}, -1);
    s.if_then(
        x(i) > literal(dtype::f32, 0.0),
        [&] {
          Expr at = s.let("place", count());
          s.store(y, {at}, i);
          s.store(count, {}, at + 1);
        },
        [&] { s.require(x(i) <= literal(dtype::f32, 0.0), Status::index_out_of_range); });
  });
  d.body({y}, s.finish());
  d.mark_result(y);
  CHECK(print(d.finish()) == R"(tensor @positions(x: f32[6]) -> (y: i64[6]) {
  y = {
    alloc local count: i64[]
    count[] = 0
    for i in 6 {
      y[i] = -1
      if x[i] > 0.0 {
        let place = count[]
        y[place] = i
        count[] = place + 1
      } else {
        require x[i] <= 0.0 : index_out_of_range
      }
    }
  }
}
)");
}

// The operands whose memory a result may take.
#include "tensor/schedules/in_place.h"

#include <doctest/doctest.h>

#include "harness.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

// The indices of the parameters whose memory the result may take.
static std::vector<int> replaceable(const std::string& body, std::vector<bool> constant = {false, false}) {
  TensorFunction f = parse_function("tensor @f(a: f32[8], b: f32[8]) -> (y: f32[8]) {\n" + body + "}\n");
  std::vector<int> operands;
  for (auto [result, operand] : schedule({f, constant, {{}, {}, {}}, {avx2}}).in_place) operands.push_back(operand);
  return operands;
}

TEST_CASE("a result may replace operands that are read only where it is written") {
  CHECK(replaceable("y[i < 8] = a[i] * b[i]\n") == std::vector{0, 1});
  CHECK(replaceable("y[i < 8] = a[i] * b[i]\n", {false, true}) == std::vector{0});
  CHECK(replaceable("y[i < 8] = a[i] * b[7 - i]\n") == std::vector{0});
  CHECK(replaceable("y[i < 8] = a[i] + a[0] + b[i] * b[7 - i]\n") == std::vector<int>{});
  CHECK(replaceable("temp s: f32[]\ns[] = sum(k < 8) { a[k] }\ny[i < 8] = (a[i] + b[i]) * s[]\n") == std::vector{1});
}

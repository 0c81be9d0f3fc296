// Expand with sizes known at import: the result has the data's shape broadcast with them.
#include "evaluated.h"
#include "support.h"

using namespace dlcc;
using namespace dlcc::frontends::onnx;

namespace {

std::string expanded(const std::vector<std::string>& data, const std::vector<int64_t>& sizes) {
  return body(graph_bytes(value("input", "x", 1, data) + "output { name: 'y' } " + list("s", sizes) +
                          node("Expand", {"x", "s"}, {"y"})));
}

}  // namespace

TEST_CASE("Expand by a constant 1 keeps the data's size") {
  CHECK(expanded({"3", "4"}, {1, 4}) == "  %x\n");
  CHECK(expanded({"3", "4"}, {1}) == "  %x\n");
  CHECK(expanded({"n", "4"}, {1, 4}) == "  %x\n");
  CHECK(expanded({"3", "1"}, {1, 5}) == "  broadcast_to(%x, shape=[1, 5])\n");
  CHECK(expanded({"3", "1"}, {2, 1, 5}) == "  broadcast_to(%x, shape=[2, 1, 5])\n");
}

TEST_CASE("a sum that must have the size of one operand is checked at run time") {
  // y = concatenation of [a] and [a + b] along axis 1, for a of s and b of t elements
  const std::string graph = value("input", "s", 7, {"1"}) + value("input", "t", 7, {"1"}) +
                            "initializer { name: 'one' data_type: 1 dims: 1 float_data: [1] } " + list("axis", {1}) +
                            node("Expand", {"one", "s"}, {"a"}) + node("Expand", {"one", "t"}, {"b"}) +
                            node("Add", {"a", "b"}, {"c"}) + node("Unsqueeze", {"a", "axis"}, {"a1"}) +
                            node("Unsqueeze", {"c", "axis"}, {"c1"}) +
                            node("Concat", {"a1", "c1"}, {"y"}, integer("axis", 1)) + "output { name: 'y' } ";
  auto result = [&](int64_t s, int64_t t) {
    auto size = [](int64_t n) { return Constant::of<int64_t>(dtype::i64, {1}, {n}); };
    return evaluated(graph_bytes(graph), {size(s), size(t)});
  };
  CHECK(result(3, 3) == "(3, 2): 1 2 1 2 1 2");
  CHECK(result(2, 1) == "(2, 2): 1 2 1 2");
  CHECK(result(1, 3) == "status 7");
}

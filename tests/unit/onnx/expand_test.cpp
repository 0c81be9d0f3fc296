// Expand with sizes known at import: the data's shape broadcast with them.
#include "support.h"

using namespace dlcc::frontends::onnx;

namespace {

std::string expanded(const std::vector<std::string>& data, const std::vector<int64_t>& sizes) {
  return body(graph_bytes(value("input", "x", 1, data) + "output { name: 'y' } " + list("s", sizes) +
                          node("Expand", {"x", "s"}, {"y"})));
}

}  // namespace

TEST_CASE("a constant size of 1 keeps the data's size") {
  CHECK(expanded({"3", "4"}, {1, 4}) == "  %x\n");
  CHECK(expanded({"3", "4"}, {1}) == "  %x\n");
  CHECK(expanded({"n", "4"}, {1, 4}) == "  %x\n");
  CHECK(expanded({"3", "1"}, {1, 5}) == "  broadcast_to(%x, shape=[1, 5])\n");
  CHECK(expanded({"3", "1"}, {2, 1, 5}) == "  broadcast_to(%x, shape=[2, 1, 5])\n");
}

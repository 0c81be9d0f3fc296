// Damaged models are imported or rejected with a message; they never crash the importer.
#include <random>

#include "support.h"

using namespace dlcc::frontends;
using namespace dlcc::frontends::onnx;

namespace {

std::vector<std::vector<std::byte>> models() {
  std::string image =
      value("input", "x", 1, {"1", "2", "5", "5"}) + value("input", "c", 9, {}) + value("output", "y", 1, {"1", "50"});
  std::string branch = "g { " + node("Relu", {"b"}, {"r"}) + value("output", "r", 1, {"1", "2", "5", "5"}) + "} } ";
  return {
      graph_bytes(image + "initializer { name: 'w' data_type: 1 dims: [2, 1, 1, 1] float_data: [1, 2] } " +
                  list("s", {1, -1}) +
                  node("Conv", {"x", "w"}, {"a"},
                       integer("group", 2) + text("auto_pad", "SAME_LOWER") + ints("strides", {1, 1})) +
                  node("MaxPool", {"a"}, {"b", "i"}, ints("kernel_shape", {3, 3}) + ints("pads", {1, 1, 1, 1})) +
                  node("If", {"c"}, {"d"},
                       "attribute { name: 'then_branch' type: GRAPH " + branch +
                           "attribute { name: 'else_branch' type: GRAPH " + branch) +
                  node("Reshape", {"d", "s"}, {"y"})),
      graph_bytes(value("input", "x", 1, {"n", "4"}) + value("output", "y", 1, {"2", "2"}) + list("a", {0}) +
                  list("b", {2}) + list("p", {0, 0, 1, 1}) + node("Shape", {"x"}, {"s"}) +
                  node("Gather", {"s", "a"}, {"g"}) + node("Slice", {"x", "a", "b", "a"}, {"t"}) +
                  node("Pad", {"t", "p"}, {"u"}) + node("Split", {"u"}, {"v", "w"}, integer("axis", 1)) +
                  node("ReduceMean", {"v"}, {"m"}, ints("axes", {1})) + node("Softmax", {"m"}, {"y"})),
  };
}

}  // namespace

TEST_CASE("truncated and altered models are imported or refused, without a crash") {
  std::mt19937 random(1);
  for (const auto& model : models()) {
    REQUIRE(!model.empty());
    for (size_t size = 0; size < model.size(); ++size)
      imported({model.begin(), model.begin() + static_cast<ptrdiff_t>(size)});
    for (int k = 0; k < 4000; ++k) {
      auto altered = model;
      for (size_t times = 1 + random() % 4; times > 0; --times)
        altered[random() % altered.size()] = static_cast<std::byte>(random());
      imported(altered);
    }
  }
}

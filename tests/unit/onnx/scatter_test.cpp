// ScatterND with one position: a slice that a loop replaces in place.
#include "evaluated.h"

namespace dlcc::frontends::onnx {
namespace {

constexpr int f32 = 1, i64 = 7;

std::string scatter(const std::vector<std::string>& position, const std::vector<std::string>& updates,
                    const std::string& attributes = {}) {
  return value("input", "x", f32, {"3", "2"}) + value("input", "at", i64, position) +
         value("input", "row", f32, updates) + node("ScatterND", {"x", "at", "row"}, {"y"}, attributes) +
         value("output", "y", f32, {"3", "2"});
}

const Constant x = floats({3, 2}, {1, 2, 3, 4, 5, 6}), row = floats({2}, {8, 9}), rows = floats({1, 2}, {8, 9});

}  // namespace

TEST_CASE("one position of ScatterND is the index of a slice, also from the end") {
  const std::vector<std::byte> one = graph_bytes(scatter({"1"}, {"2"}));
  CHECK(evaluated(one, {x, integers({1}, {0}), row}) == "(3, 2): 8 9 3 4 5 6");
  CHECK(evaluated(one, {x, integers({1}, {-1}), row}) == "(3, 2): 1 2 3 4 8 9");
  const std::vector<std::byte> in_list = graph_bytes(scatter({"1", "1"}, {"1", "2"}));
  CHECK(evaluated(in_list, {x, integers({1, 1}, {-3}), rows}) == "(3, 2): 8 9 3 4 5 6");
  CHECK(evaluated(in_list, {x, integers({1, 1}, {3}), rows}) == "status 5");
  CHECK(evaluated(in_list, {x, integers({1, 1}, {-4}), rows}) == "status 5");
  CHECK(body(in_list).find("dynamic_update_slice") != std::string::npos);
}

TEST_CASE("sums, and positions of elements, are scattered") {
  const std::vector<std::byte> sum = graph_bytes(scatter({"1"}, {"2"}, text("reduction", "add")));
  CHECK(evaluated(sum, {x, integers({1}, {1}), row}) == "(3, 2): 1 2 11 13 5 6");
  const std::vector<std::byte> element = graph_bytes(scatter({"2"}, {}));
  CHECK(evaluated(element, {x, integers({2}, {1, 0}), floats({}, {8})}) == "(3, 2): 1 2 8 4 5 6");
}

TEST_CASE("a loop that scatters one row in each iteration replaces it in place") {
  const std::string body_text =
      value("input", "i", i64, {}) + value("input", "go", 9, {}) + value("input", "y", f32, {"3", "2"}) +
      "initializer { name: 'axis' data_type: 7 dims: 1 int64_data: 0 } " + node("Unsqueeze", {"i", "axis"}, {"at1"}) +
      node("Unsqueeze", {"at1", "axis"}, {"at"}) + node("ScatterND", {"y", "at", "row"}, {"next"}) +
      value("output", "go", 9, {}) + value("output", "next", f32, {"3", "2"});
  const std::vector<std::byte> loop =
      graph_bytes(value("input", "x", f32, {"3", "2"}) + value("input", "row", f32, {"1", "2"}) +
                  "initializer { name: 'n' data_type: 7 int64_data: 2 } " +
                  node("Loop", {"n", "", "x"}, {"all"}, subgraph("body", body_text)) +
                  value("output", "all", f32, {"3", "2"}));
  CHECK(evaluated(loop, {x, rows}) == "(3, 2): 8 9 8 9 5 6");
  CHECK(body(loop).find("less(%i, 0i64)") != std::string::npos);  // of the scalar, not of an element in memory
}

}  // namespace dlcc::frontends::onnx

// Loop: bounds of the number of iterations that follow from the condition.
#include <algorithm>

#include "evaluated.h"

namespace dlcc::frontends::onnx {
namespace {

constexpr int f32 = 1, i32 = 6, i64 = 7, boolean = 9;

std::string number(const std::string& name, int64_t v, int type = i64) {
  return fmt::format("initializer {{ name: '{}' data_type: {} {}: {} }} ", name, type,
                     type == i64 ? "int64_data" : "int32_data", v);
}

// Carries k, first `first`, with 'step' added by each iteration to give 'k2', and returns the rows of all iterations.
// 'm' is the number of rows of x. `condition` computes 'again'.
std::string loop(int64_t first, int64_t step, const std::string& condition, const std::string& change = "Add",
                 const std::string& count = "") {
  const std::string body = value("input", "i", i64, {}) + value("input", "go", boolean, {}) +
                           value("input", "k", i64, {}) + node(change, {"k", "step"}, {"k2"}) + condition +
                           node("Add", {"row", "zero_f"}, {"each"}) + value("output", "again", boolean, {}) +
                           value("output", "k2", i64, {}) + value("output", "each", f32, {"2"});
  return value("input", "x", f32, {"m", "2"}) + node("Shape", {"x"}, {"sizes"}) +
         node("Gather", {"sizes", "zero"}, {"m"}) + node("ReduceSum", {"x", "axis"}, {"row"}, integer("keepdims", 0)) +
         number("zero", 0) + number("first", first) + number("step", step) + number("five", 5) +
         "initializer { name: 'axis' data_type: 7 dims: 1 int64_data: 0 } "
         "initializer { name: 'zero_f' data_type: 1 float_data: 0 } " +
         node("Loop", {count, "", "first"}, {"last", "all"}, subgraph("body", body)) +
         value("output", "all", f32, {"n", "2"});
}

// The largest number of rows of the scan output.
std::string bound(const std::string& graph) {
  const std::string text = imported(graph_bytes(graph)), before = "%scanned: Tensor[(", after = ", 2), float32]";
  const size_t begin = text.find(before);
  if (begin == std::string::npos) return text;
  return text.substr(begin + before.size(), text.find(after, begin) - begin - before.size());
}

bool is_refused(const std::string& graph) {
  return bound(graph).find("error[dynamic-shape]: the number of iterations depends on data") != std::string::npos;
}

}  // namespace

TEST_CASE("a comparison of a counter with a size bounds the iterations") {
  CHECK(bound(loop(0, 1, node("Less", {"k2", "m"}, {"again"}))) == "m");
  CHECK(bound(loop(0, 1, node("Less", {"k2", "five"}, {"again"}))) == "5");
  CHECK(bound(loop(0, 1, node("LessOrEqual", {"k2", "m"}, {"again"}))) == "m + 1");
  CHECK(bound(loop(0, 1, node("Less", {"k", "m"}, {"again"}))) == "m + 1");
  CHECK(bound(loop(2, 1, node("Less", {"k2", "m"}, {"again"}))) == "max(0, m - 3) + 1");
  CHECK(bound(loop(0, 2, node("Less", {"k2", "m"}, {"again"}))) == "floor_div(m + 1, 2)");
  CHECK(bound(loop(9, -2, node("Greater", {"k2", "zero"}, {"again"}))) == "5");  // 7, 5, 3, 1, -1
  CHECK(bound(loop(9, 2, node("GreaterOrEqual", {"k2", "zero"}, {"again"}), "Sub")) == "5");
  CHECK(bound(loop(0, 1, node("Less", {"i", "m"}, {"again"}))) == "m + 1");  // the number of the iteration
  CHECK(bound(loop(0, 1, node("GreaterOrEqual", {"k2", "m"}, {"ends"}) + node("Not", {"ends"}, {"again"}))) == "m");
}

TEST_CASE("parts of a condition bound the iterations") {
  const std::string data = node("Less", {"row", "row"}, {"less"}) + node("ReduceMax", {"large"}, {"most"}) +
                           node("Gather", {"less", "zero"}, {"of_data"}) +
                           "initializer { name: 'large' data_type: 1 float_data: 1 } ";
  const std::string counted = data + node("Less", {"k2", "m"}, {"counts"});
  CHECK(bound(loop(0, 1, counted + node("And", {"counts", "of_data"}, {"again"}))) == "m");
  CHECK(bound(loop(0, 1, counted + node("And", {"of_data", "counts"}, {"again"}))) == "m");
  CHECK(bound(loop(0, 1, counted + node("Less", {"k2", "five"}, {"c5"}) + node("And", {"counts", "c5"}, {"again"}))) ==
        "min(m - 1, 4) + 1");
  CHECK(is_refused(loop(0, 1, counted + node("Or", {"counts", "of_data"}, {"again"}))));
  const std::string negated = node("Not", {"counts"}, {"n1"}) + node("Not", {"of_data"}, {"n2"});
  CHECK(bound(loop(0, 1, counted + negated + node("Or", {"n1", "n2"}, {"n"}) + node("Not", {"n"}, {"again"}))) == "m");
}

TEST_CASE("a counter of another type, of steps that vary or against its limit") {
  const std::string narrow = node("Cast", {"k2"}, {"k3"}, integer("to", i32)) + number("ten", 10, i32);
  CHECK(bound(loop(0, 3, narrow + node("Less", {"k3", "ten"}, {"again"}))) == "4");
  CHECK(is_refused(loop(0, 1, node("Greater", {"k2", "m"}, {"again"}))));
  CHECK(is_refused(loop(0, -1, node("Less", {"k2", "m"}, {"again"}))));
  CHECK(is_refused(loop(1, 2, node("Less", {"k2", "m"}, {"again"}), "Mul")));
  std::string alternating = loop(0, 5, node("Greater", {"k2", "zero"}, {"again"}), "Sub");  // k2 = 5 - k
  const std::string operands = "input: 'k' input: 'step' ";
  REQUIRE(alternating.find(operands) != std::string::npos);
  CHECK(is_refused(alternating.replace(alternating.find(operands), operands.size(), "input: 'step' input: 'k' ")));
  CHECK(is_refused(loop(0, 0, node("Less", {"k2", "m"}, {"again"}))));
}

TEST_CASE("the bounds hold in a run, with the largest integer as the trip count") {
  const Constant x = floats({3, 2}, {1, 2, 1, 2, 1, 2});
  const std::string most = number("trips", INT64_MAX);
  CHECK(evaluated(graph_bytes(loop(0, 1, node("Less", {"k2", "m"}, {"again"}), "Add", "trips") + most), {x}) ==
        "(3, 2): 3 6 3 6 3 6");
  CHECK(evaluated(graph_bytes(loop(9, -4, node("Greater", {"k2", "zero"}, {"again"}), "Add", "trips") + most), {x}) ==
        "(3, 2): 3 6 3 6 3 6");
}

}  // namespace dlcc::frontends::onnx

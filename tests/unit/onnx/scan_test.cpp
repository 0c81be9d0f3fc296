// Scan: axes and directions of its inputs and outputs, several states, and the batches of operator set 8.
#include "evaluated.h"

namespace dlcc::frontends::onnx {
namespace {

constexpr int f32 = 1;

// sum' = sum + x, and sum' as output.
std::string running_sum(const std::vector<std::string>& slice = {}) {
  return subgraph("body", value("input", "sum", f32, slice) + value("input", "x", f32, slice) +
                              node("Add", {"sum", "x"}, {"next"}) + node("Identity", {"next"}, {"each"}) +
                              value("output", "next", f32, slice) + value("output", "each", f32, slice));
}

std::string scan(const std::vector<std::string>& shape, const std::vector<std::string>& slice,
                 const std::string& attributes) {
  return value("input", "start", f32, slice) + value("input", "xs", f32, shape) +
         node("Scan", {"start", "xs"}, {"last", "sums"},
              integer("num_scan_inputs", 1) + attributes + running_sum(slice)) +
         value("output", "last", f32, slice) + value("output", "sums", f32, std::vector<std::string>(shape.size()));
}

}  // namespace

TEST_CASE("Scan reads and writes slices in the directions of its attributes") {
  auto run = [](const std::string& attributes) {
    return evaluated(graph_bytes(scan({"3"}, {}, attributes)), {floats({}, {100}), floats({3}, {1, 2, 3})});
  };
  CHECK(run("") == "(): 106\n(3): 101 103 106");
  CHECK(run(ints("scan_input_directions", {1})) == "(): 106\n(3): 103 105 106");
  CHECK(run(ints("scan_output_directions", {1})) == "(): 106\n(3): 106 103 101");
  CHECK(run(ints("scan_input_directions", {1}) + ints("scan_output_directions", {1})) == "(): 106\n(3): 106 105 103");
}

TEST_CASE("Scan reads and writes slices along the axes of its attributes") {
  auto run = [](const std::string& attributes) {
    return evaluated(graph_bytes(scan({"2", "3"}, {"2"}, ints("scan_input_axes", {-1}) + attributes)),
                     {floats({2}, {100, 200}), floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  };
  CHECK(run("") == "(2): 106 215\n(3, 2): 101 204 103 209 106 215");
  CHECK(run(ints("scan_output_axes", {1})) == "(2): 106 215\n(2, 3): 101 103 106 204 209 215");
  CHECK(run(ints("scan_output_axes", {-2})) == "(2): 106 215\n(3, 2): 101 204 103 209 106 215");
  const std::string text =
      body(graph_bytes(scan({"2", "3"}, {"2"}, ints("scan_input_axes", {-1}) + ints("scan_output_axes", {1}))));
  CHECK(text.find("dynamic_update_slice(%scanned, %next, %i)") != std::string::npos);  // slices are contiguous
  CHECK(text.find("transpose(") > text.find("%results"));
}

TEST_CASE("Scan with several states, inputs and outputs, and a captured value") {
  const std::string body = value("input", "a", f32, {}) + value("input", "b", f32, {}) + value("input", "x", f32, {}) +
                           value("input", "y", f32, {"1"}) + node("Mul", {"x", "factor"}, {"scaled"}) +
                           node("Add", {"a", "scaled"}, {"a2"}) + node("Max", {"b", "x"}, {"b2"}) +
                           node("Add", {"y", "a2"}, {"out"}) + value("output", "a2", f32, {}) +
                           value("output", "b2", f32, {}) + value("output", "out", f32, {"1"}) +
                           value("output", "scaled", f32, {});
  const std::string graph =
      value("input", "zero", f32, {}) + value("input", "factor", f32, {}) + value("input", "xs", f32, {"2"}) +
      value("input", "ys", f32, {"1", "2"}) +
      node("Scan", {"zero", "zero", "xs", "ys"}, {"a_last", "b_last", "outs", "all"},
           integer("num_scan_inputs", 2) + ints("scan_input_axes", {0, 1}) + subgraph("body", body)) +
      value("output", "a_last", f32, {}) + value("output", "b_last", f32, {}) +
      value("output", "outs", f32, {"2", "1"}) + value("output", "all", f32, {"2"});
  CHECK(evaluated(graph_bytes(graph), {floats({}, {0}), floats({}, {10}), floats({2}, {3, 2}),
                                       floats({1, 2}, {5, 7})}) == "(): 50\n(): 3\n(2, 1): 35 57\n(2): 30 20");
}

TEST_CASE("Scan of operator set 8 scans each element of a batch for its own length") {
  const std::string io = value("input", "start", f32, {"2"}) + value("input", "xs", f32, {"2", "3"}) +
                         value("output", "last", f32, {"2"}) + value("output", "sums", f32, {"2", "3"});
  const std::vector<Constant> args = {floats({2}, {100, 200}), floats({2, 3}, {1, 2, 3, 4, 5, 6})};
  auto graph = [&](const std::string& lengths, const std::string& attributes) {
    return io + node("Scan", {lengths, "start", "xs"}, {"last", "sums"},
                     integer("num_scan_inputs", 1) + attributes + running_sum());
  };
  CHECK(evaluated(graph_bytes(graph("", ""), 8), args) == "(2): 106 215\n(2, 3): 101 103 106 204 209 215");
  CHECK(evaluated(graph_bytes(graph("", ints("directions", {1})), 8), args) ==
        "(2): 106 215\n(2, 3): 103 105 106 206 211 215");
  const std::string lengths = list("lengths", {3, 2});
  CHECK(evaluated(graph_bytes(graph("lengths", "") + lengths, 8), args) ==
        "(2): 106 209\n(2, 3): 101 103 106 204 209 0");
}

TEST_CASE("Scan over an empty axis returns the initial state") {
  CHECK(evaluated(graph_bytes(scan({"0"}, {}, "")), {floats({}, {100}), floats({0}, {})}) == "(): 100\n(0):");
}

TEST_CASE("invalid Scan nodes are refused with a message") {
  auto refused = [](const std::string& graph, const std::string& message) {
    const std::string found = imported(graph_bytes(graph));
    CHECK_MESSAGE(found.find(message) != std::string::npos, found);
  };
  refused(scan({"3"}, {}, ints("scan_input_axes", {1})), "error[bad-attribute]: axis 1 is outside [-1, 0]");
  refused(scan({"3"}, {}, ints("scan_output_axes", {-2})), "error[bad-attribute]: axis -2 is outside [-1, 0]");
  refused(scan({"3"}, {}, ints("scan_input_directions", {2})),
          "error[bad-attribute]: attribute 'scan_input_directions' must have 0 (forward) and 1 (reverse), found 2");
  refused(scan({"3", "2"}, {}, ""), "error[dynamic-shape]: the carried value 'next' is float32 [] before an iteration");
  const std::string two =
      value("input", "a", f32, {"3"}) + value("input", "b", f32, {"4"}) + value("output", "sums", f32, {"3"});
  const std::string body = subgraph("body", value("input", "x", f32, {}) + value("input", "y", f32, {}) +
                                                node("Add", {"x", "y"}, {"z"}) + value("output", "z", f32, {}));
  refused(two + node("Scan", {"a", "b"}, {"sums"}, integer("num_scan_inputs", 2) + body),
          "error[shape-mismatch]: scan input 1 has 4 slices, scan input 0 has 3");
  refused(two + node("Scan", {"a", "b"}, {"sums"}, integer("num_scan_inputs", 3) + body),
          "error[bad-attribute]: num_scan_inputs is 3 with 2 inputs");
  refused(two + node("Scan", {"a"}, {"sums"}, integer("num_scan_inputs", 1) + body),
          "error[wrong-arity]: the body must have 1 inputs, found 2");
}

}  // namespace dlcc::frontends::onnx

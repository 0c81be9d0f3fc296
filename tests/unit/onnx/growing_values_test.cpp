// Loop: carried values that change their size along one axis.
#include "evaluated.h"

namespace dlcc::frontends::onnx {
namespace {

constexpr int f32 = 1, i64 = 7, boolean = 9;

std::string integers_named(const std::string& name, const std::string& dims, const std::string& data) {
  return fmt::format("initializer {{ name: '{}' data_type: 7 dims: [{}] int64_data: [{}] }} ", name, dims, data);
}
const std::string counter_and_condition = value("input", "i", i64, {}) + value("input", "go", boolean, {});
std::string concat(const std::string& a, const std::string& b, const std::string& to, int axis) {
  return node("Concat", {a, b}, {to}, integer("axis", axis));
}

// In each iteration, [1, 2] rows of x * i are appended to y along the axis. `nodes` are part of the body.
std::string appending_loop(int axis, const std::vector<std::string>& initial, const std::string& nodes = {}) {
  const std::string body = counter_and_condition + value("input", "y", f32, {"", ""}) + nodes +
                           node("Cast", {"i"}, {"number"}, integer("to", f32)) + node("Mul", {"x", "number"}, {"row"}) +
                           concat("y", "row", "next", axis) + value("output", "go", boolean, {}) +
                           value("output", "next", f32, {"", ""});
  return value("input", "x", f32, {"1", "2"}) + value("input", "first", f32, initial) +
         node("Loop", {"n", "", "first"}, {"last"}, subgraph("body", body)) +
         value("output", "last", f32, {"rows", "columns"});
}
const Constant x = floats({1, 2}, {1, 2});
const std::string too_large = fmt::format("status {}", static_cast<int>(tensor::Status::capacity_exceeded));

}  // namespace

TEST_CASE("a Loop whose iterations append a row to a carried value") {
  const std::string three = appending_loop(0, {"1", "2"}) + integers_named("n", "", "3");
  CHECK(evaluated(graph_bytes(three), {x, floats({1, 2}, {7, 8})}) == "(4, 2): 7 8 0 0 1 2 2 4");
  const std::string text = imported(graph_bytes(three));
  CHECK_MESSAGE(text.find("%y: Tensor[(4, 2), float32]") != std::string::npos, text);
  const std::string from_nothing = appending_loop(0, {"0", "2"}) + integers_named("n", "", "2");
  CHECK(evaluated(graph_bytes(from_nothing), {x, floats({0, 2}, {})}) == "(2, 2): 0 0 1 2");
  const std::string never = appending_loop(0, {"1", "2"}) + integers_named("n", "", "0");
  CHECK(evaluated(graph_bytes(never), {x, floats({1, 2}, {7, 8})}) == "(1, 2): 7 8");
  const std::string doubled = counter_and_condition + value("input", "y", f32, {"", ""}) + concat("y", "y", "next", 1) +
                              value("output", "go", boolean, {}) + value("output", "next", f32, {"", ""});
  const std::string never_doubled = value("input", "x", f32, {"k", "2"}) + integers_named("n", "", "0") +
                                    node("Loop", {"n", "", "x"}, {"last"}, subgraph("body", doubled)) +
                                    value("output", "last", f32, {"", ""});
  CHECK(evaluated(graph_bytes(never_doubled), {x}) == "(1, 2): 1 2");
  const std::string wider = appending_loop(1, {"1", "1"}) + integers_named("n", "", "2");
  CHECK(evaluated(graph_bytes(wider), {x, floats({1, 1}, {7})}) == "(1, 5): 7 0 0 1 2");
}

TEST_CASE("the trip count and the initial size may be run-time values") {
  const std::string graph = appending_loop(0, {"m", "2"}) + value("input", "n", i64, {});
  ImportOptions options;
  options.dims["m"].low = 0;
  auto at = [&](int64_t m, int64_t n) {
    const std::vector<float> first(static_cast<size_t>(m * 2), 5);
    return evaluated(graph_bytes(graph), {x, floats({m, 2}, first), integers({}, {n})}, options);
  };
  CHECK(at(2, 3) == "(5, 2): 5 5 5 5 0 0 1 2 2 4");
  CHECK(at(0, 2) == "(2, 2): 0 0 1 2");
  CHECK(at(1, 0) == "(1, 2): 5 5");
  CHECK(at(1, -7) == "(1, 2): 5 5");
}

TEST_CASE("the final size of a growing value is an expression of the trip count") {
  const std::string three = imported(graph_bytes(appending_loop(0, {"1", "2"}) + integers_named("n", "", "3")));
  CHECK_MESSAGE(three.find("output_names=[\"last\"]) -> Tensor[(4, 2), float32]") != std::string::npos, three);
  // An inner loop appends two rows in each of three iterations.
  const std::string inner = counter_and_condition + value("input", "z", f32, {"", ""}) + concat("z", "x", "z2", 0) +
                            value("output", "go", boolean, {}) + value("output", "z2", f32, {"", ""});
  const std::string outer = value("input", "j", i64, {}) + value("input", "again", boolean, {}) +
                            value("input", "y", f32, {"", ""}) +
                            node("Loop", {"two", "", "y"}, {"y2"}, subgraph("body", inner)) +
                            value("output", "again", boolean, {}) + value("output", "y2", f32, {"", ""});
  const std::string graph = value("input", "x", f32, {"1", "2"}) + value("input", "first", f32, {"m", "2"}) +
                            integers_named("two", "", "2") + integers_named("n", "", "3") +
                            node("Loop", {"n", "", "first"}, {"last"}, subgraph("body", outer)) +
                            value("output", "last", f32, {"rows", "2"});
  CHECK(evaluated(graph_bytes(graph), {x, floats({1, 2}, {7, 8})}) == "(7, 2): 7 8 1 2 1 2 1 2 1 2 1 2 1 2");
  const std::string text = imported(graph_bytes(graph));
  CHECK_MESSAGE(text.find("-> Tensor[(m + 6, 2), float32]") != std::string::npos, text);
}

TEST_CASE("a growing value whose loop ends early by its condition") {
  const std::string body =
      counter_and_condition + value("input", "y", f32, {"", ""}) + node("Less", {"i", "limit"}, {"again"}) +
      concat("y", "x", "next", 0) + node("ReduceSum", {"next"}, {"sum"}, integer("keepdims", 0)) +
      value("output", "again", boolean, {}) + value("output", "next", f32, {"", ""}) + value("output", "sum", f32, {});
  const std::string graph = value("input", "x", f32, {"1", "2"}) + value("input", "limit", i64, {}) +
                            integers_named("n", "", "5") +
                            node("Loop", {"n", "", "x"}, {"last", "sums"}, subgraph("body", body)) +
                            value("output", "last", f32, {"rows", "2"}) + value("output", "sums", f32, {"count"});
  CHECK(evaluated(graph_bytes(graph), {x, integers({}, {1})}) == "(3, 2): 1 2 1 2 1 2\n(2): 6 9");
  CHECK(evaluated(graph_bytes(graph), {x, integers({}, {9})}) == "(6, 2): 1 2 1 2 1 2 1 2 1 2 1 2\n(5): 6 9 12 15 18");
}

TEST_CASE("a row that an iteration appends is written into the buffer") {
  auto graph = [](const std::string& concatenation, const std::string& next = "next") {
    const std::string body = counter_and_condition + value("input", "y", f32, {"", ""}) +
                             value("input", "z", f32, {"", ""}) + concatenation +
                             node("ReduceSum", {"next"}, {"sum"}, integer("keepdims", 0)) +
                             value("output", "go", boolean, {}) + value("output", "next", f32, {"", ""}) +
                             value("output", next, f32, {"", ""}) + value("output", "sum", f32, {});
    return value("input", "x", f32, {"1", "2"}) + value("input", "first", f32, {"0", "2"}) +
           integers_named("n", "", "2") +
           node("Loop", {"n", "", "first", "first"}, {"last", "other", "sums"}, subgraph("body", body)) +
           value("output", "last", f32, {"", ""}) + value("output", "other", f32, {"", ""}) +
           value("output", "sums", f32, {"count"});
  };
  const Constant none = floats({0, 2}, {});
  auto buffers_of = [](const std::string& text) {
    auto count = [&](const std::string& part) {
      size_t found = 0;
      for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
      return found;
    };
    return std::pair(count(" dynamic_update_slice("), count(" concatenate("));
  };
  const std::string twice = graph(concat("y", "x", "next", 0) + concat("z", "x", "next2", -2), "next2");
  CHECK(evaluated(graph_bytes(twice), {x, none}) == "(2, 2): 1 2 1 2\n(2, 2): 1 2 1 2\n(2): 3 6");
  CHECK(buffers_of(imported(graph_bytes(twice))) == std::pair(size_t{3}, size_t{0}));  // two values, and the sums
  const std::string same = graph(concat("y", "x", "next", 0));
  CHECK(evaluated(graph_bytes(same), {x, none}) == "(2, 2): 1 2 1 2\n(2, 2): 1 2 1 2\n(2): 3 6");
  CHECK(buffers_of(imported(graph_bytes(same))) == std::pair(size_t{2}, size_t{0}));

  SUBCASE("not two rows, a row before the others, or twice the value") {
    const std::string two = graph(concat("x", "x", "rows", 0) + concat("y", "rows", "next", 0));
    CHECK(evaluated(graph_bytes(two), {x, none}) == "(4, 2): 1 2 1 2 1 2 1 2\n(4, 2): 1 2 1 2 1 2 1 2\n(2): 6 12");
    CHECK(buffers_of(imported(graph_bytes(two))).first == 1);
    const std::string before = graph(concat("x", "y", "next", 0));
    CHECK(buffers_of(imported(graph_bytes(before))).first == 1);
    const std::string other = graph(concat("z", "x", "next", 0));
    CHECK(evaluated(graph_bytes(other), {x, none}) == "(2, 2): 1 2 1 2\n(2, 2): 1 2 1 2\n(2): 3 6");
  }
  SUBCASE("up to the bound of the user") {
    ImportOptions options;
    options.bounds["y"] = 1;
    CHECK(evaluated(graph_bytes(same), {x, none}, options) == too_large);
    options.bounds["y"] = 2;
    CHECK(evaluated(graph_bytes(same), {x, none}, options) == "(2, 2): 1 2 1 2\n(2, 2): 1 2 1 2\n(2): 3 6");
  }
}

TEST_CASE("values that grow by equal numbers of rows share one length") {
  // The weighted sum of the rows of v by the products of x with the rows of k: both have one row more in every
  // iteration.
  const std::string body = counter_and_condition + value("input", "k", f32, {"", ""}) +
                           value("input", "v", f32, {"", ""}) + value("input", "sum", f32, {"1", "2"}) +
                           concat("k", "x", "k2", 0) + concat("v", "x", "v2", 0) + node("Transpose", {"k2"}, {"kt"}) +
                           node("MatMul", {"x", "kt"}, {"scores"}) + node("MatMul", {"scores", "v2"}, {"weighted"}) +
                           node("Add", {"sum", "weighted"}, {"sum2"}) + value("output", "go", boolean, {}) +
                           value("output", "k2", f32, {"", ""}) + value("output", "v2", f32, {"", ""}) +
                           value("output", "sum2", f32, {"1", "2"});
  const std::string graph = value("input", "x", f32, {"1", "2"}) + value("input", "first", f32, {"0", "2"}) +
                            integers_named("n", "", "3") +
                            node("Loop", {"n", "", "first", "first", "x"}, {"ks", "vs", "y"}, subgraph("body", body)) +
                            value("output", "y", f32, {"1", "2"});
  // The sum of x * (x . x) * rows for 1, 2 and 3 rows, and x.
  CHECK(evaluated(graph_bytes(graph), {x, floats({0, 2}, {})}) == "(1, 2): 31 62");
  const std::string text = imported(graph_bytes(graph));
  const size_t first = text.find("define_sizes"), second = text.find("define_sizes", first + 1);
  CHECK_MESSAGE(second > text.find("%loop("), text);  // the one of an iteration, and the one after the loop
}

TEST_CASE("values of unequal initial sizes have separate lengths") {
  const std::string body = counter_and_condition + value("input", "a", f32, {"", ""}) +
                           value("input", "b", f32, {"", ""}) + concat("a", "x", "a2", 0) + concat("b", "x", "b2", 0) +
                           value("output", "go", boolean, {}) + value("output", "a2", f32, {"", ""}) +
                           value("output", "b2", f32, {"", ""});
  const std::string graph = value("input", "x", f32, {"1", "2"}) + value("input", "none", f32, {"0", "2"}) +
                            integers_named("n", "", "2") +
                            node("Loop", {"n", "", "none", "x"}, {"as", "bs"}, subgraph("body", body)) +
                            value("output", "as", f32, {"", ""}) + value("output", "bs", f32, {"", ""});
  CHECK(evaluated(graph_bytes(graph), {x, floats({0, 2}, {})}) == "(2, 2): 1 2 1 2\n(3, 2): 1 2 1 2 1 2");
}

TEST_CASE("a Loop whose iterations remove a row from a carried value") {
  const std::string body = counter_and_condition + value("input", "y", f32, {"", ""}) +
                           node("Slice", {"y", "one", "many", "zero"}, {"next"}) + value("output", "go", boolean, {}) +
                           value("output", "next", f32, {"", ""});
  const std::string graph =
      value("input", "first", f32, {"4", "1"}) + value("input", "n", i64, {}) + integers_named("one", "1", "1") +
      integers_named("zero", "1", "0") + integers_named("many", "1", "100") +
      node("Loop", {"n", "", "first"}, {"last"}, subgraph("body", body)) + value("output", "last", f32, {"rows", "1"});
  const Constant first = floats({4, 1}, {1, 2, 3, 4});
  CHECK(evaluated(graph_bytes(graph), {first, integers({}, {3})}) == "(1, 1): 4");
  CHECK(evaluated(graph_bytes(graph), {first, integers({}, {0})}) == "(4, 1): 1 2 3 4");
  std::string symbolic = graph;
  symbolic.replace(symbolic.find("dim_value: 4"), 12, "dim_param: 'm'");
  for (int64_t least : {1, 0}) {  // rows before the loop
    ImportOptions options;
    options.dims["m"].low = least;
    CHECK(evaluated(graph_bytes(symbolic), {first, integers({}, {3})}, options) == "(1, 1): 4");
    CHECK(evaluated(graph_bytes(symbolic), {first, integers({}, {9})}, options) == "(0, 1):");
  }
}

TEST_CASE("a carried size without a derivable bound needs --bound") {
  const std::string body = counter_and_condition + value("input", "y.1", f32, {"", ""}) +
                           concat("y.1", "y.1", "next", 0) + value("output", "go", boolean, {}) +
                           value("output", "next", f32, {"", ""});
  const std::string graph = value("input", "first", f32, {"m", "1"}) + value("input", "n", i64, {}) +
                            node("Loop", {"n", "", "first"}, {"last"}, subgraph("body", body)) +
                            value("output", "last", f32, {"rows", "1"});
  const std::string refused = imported(graph_bytes(graph));
  CHECK_MESSAGE(refused.find("error[dynamic-shape]: the iterations change the size of axis 0 of the carried value "
                             "'y.1', float32 [m, 1] before the loop, and nothing bounds it") != std::string::npos,
                refused);
  CHECK_MESSAGE(refused.find("--bound last=100") != std::string::npos, refused);
  for (const char* bounded : {"last", "y_1"}) {
    ImportOptions options;
    options.bounds[bounded] = 6;
    auto at = [&](int64_t m, int64_t n) {
      const std::vector<float> first(static_cast<size_t>(m), 5);
      return evaluated(graph_bytes(graph), {floats({m, 1}, first), integers({}, {n})}, options);
    };
    CHECK(at(1, 2) == "(4, 1): 5 5 5 5");
    CHECK(at(3, 1) == "(6, 1): 5 5 5 5 5 5");
    CHECK(at(1, 3) == too_large);
    CHECK(at(7, 0) == too_large);
  }
}

TEST_CASE("a bound by a name in the body applies to the loops that need one, and may mean one of them only") {
  // The first loop ends by a condition. The second has `trips` iterations, or also ends by one.
  auto graph = [](const std::string& trips) {
    auto loop = [](const std::string& trips, const std::string& to, const std::string& again) {
      const std::string body = counter_and_condition + value("input", "y", f32, {""}) +
                               node("Less", {"i", "limit"}, {"again"}) + concat("y", "x", "z", 0) +
                               value("output", again, boolean, {}) + value("output", "z", f32, {""});
      return node("Loop", {trips, "", "x"}, {to}, subgraph("body", body)) + value("output", to, f32, {""});
    };
    return graph_bytes(value("input", "x", f32, {"1"}) + value("input", "limit", i64, {}) +
                       integers_named("three", "", "3") + loop("", "one", "again") +
                       loop(trips, "two", trips.empty() ? "again" : "go"));
  };
  auto with = [&](const std::string& trips, const std::map<std::string, int64_t>& bounds) {
    ImportOptions options;
    options.bounds = bounds;
    return evaluated(graph(trips), {floats({1}, {7}), integers({}, {1})}, options);
  };
  CHECK(with("three", {{"i", 2}}) == "(3): 7 7 7\n(4): 7 7 7 7");
  CHECK(with("", {{"one", 3}, {"two", 4}}) == "(3): 7 7 7\n(3): 7 7 7");
  CHECK(with("", {{"one", 3}, {"two", 2}}) == too_large);
  for (const char* name : {"i", "y"}) {
    const std::string refused = with("", {{name, 4}});
    CHECK_MESSAGE(refused.find(fmt::format("error[duplicate-definition]: --bound {}=4 names a value in the body of this "
                                           "loop and one in the body of another loop",
                                           name)) != std::string::npos,
                  refused);
  }
  CHECK(with("", {{"y", 4}}).find("by the name of an output of its node, here: --bound two=4") != std::string::npos);
}

// `n` iterations, in each of which `nodes` compute z, the next value of y, from y and inputs of the model. `dims` are
// the dimensions of y and z that the body declares.
std::string changing_loop(const std::string& nodes, const std::vector<std::string>& dims = {"", ""}) {
  const std::string body = counter_and_condition + value("input", "y", f32, dims) + nodes +
                           value("output", "go", boolean, {}) + value("output", "z", f32, dims);
  return node("Loop", {"n", "", "first"}, {"last"}, subgraph("body", body)) +
         value("output", "last", f32, {"rows", "columns"});
}

TEST_CASE("a Loop with an If that appends to a carried value in one branch") {
  const std::string appends = concat("y", "x", "longer", 0) + value("output", "longer", f32, {"", ""});
  const std::string keeps = node("Identity", {"y"}, {"same"}) + value("output", "same", f32, {"", ""});
  const std::string nodes =
      node("Gather", {"appends", "i"}, {"now"}) +
      node("If", {"now"}, {"z"}, subgraph("then_branch", appends) + subgraph("else_branch", keeps));
  const std::string graph = value("input", "first", f32, {"m", "2"}) + value("input", "x", f32, {"1", "2"}) +
                            value("input", "appends", boolean, {"4"}) + changing_loop(nodes);
  auto appending = [](const std::vector<uint8_t>& v) { return Constant::of<uint8_t>(dtype::boolean, {4}, v); };
  const Constant first = floats({2, 2}, {7, 8, 9, 9});
  const std::string four = graph + integers_named("n", "", "4");
  CHECK(evaluated(graph_bytes(four), {first, x, appending({1, 0, 1, 0})}) == "(4, 2): 7 8 9 9 1 2 1 2");
  CHECK(evaluated(graph_bytes(four), {first, x, appending({0, 0, 0, 0})}) == "(2, 2): 7 8 9 9");
  CHECK(evaluated(graph_bytes(four), {x, x, appending({1, 1, 1, 1})}) == "(5, 2): 1 2 1 2 1 2 1 2 1 2");
  const std::string text = imported(graph_bytes(four));
  CHECK_MESSAGE(text.find("%y: Tensor[(m + 4, 2), float32]") != std::string::npos, text);
  const std::string by_input = graph + value("input", "n", i64, {});
  CHECK(evaluated(graph_bytes(by_input), {first, x, appending({0, 1, 0, 0}), integers({}, {2})}) ==
        "(3, 2): 7 8 9 9 1 2");
  ImportOptions options;
  options.bounds["y"] = 3;
  CHECK(evaluated(graph_bytes(four), {first, x, appending({0, 0, 1, 0})}, options) == "(3, 2): 7 8 9 9 1 2");
  CHECK(evaluated(graph_bytes(four), {first, x, appending({1, 1, 1, 0})}, options) == too_large);
}

TEST_CASE("a Loop that keeps the rows of a carried value that fulfil a condition") {
  // y becomes the rows of y + x whose first element is below 8.
  const std::string nodes =
      node("Add", {"y", "x"}, {"sum"}) + node("Gather", {"sum", "zero"}, {"heads"}, integer("axis", 1)) +
      node("Less", {"heads", "eight"}, {"small"}) + node("Compress", {"sum", "small"}, {"z"}, integer("axis", 0));
  const std::string graph = value("input", "first", f32, {"m", "2"}) + value("input", "x", f32, {"1", "2"}) +
                            value("input", "n", i64, {}) + changing_loop(nodes) + integers_named("zero", "", "0") +
                            "initializer { name: 'eight' data_type: 1 float_data: 8 } ";
  auto after = [&](int64_t n) {
    return evaluated(graph_bytes(graph), {floats({3, 2}, {5, 0, 6, 0, 7, 0}), x, integers({}, {n})});
  };
  CHECK(after(0) == "(3, 2): 5 0 6 0 7 0");
  CHECK(after(1) == "(2, 2): 6 2 7 2");
  CHECK(after(2) == "(1, 2): 7 4");
  CHECK(after(5) == "(0, 2):");
}

TEST_CASE("a Loop whose iterations give a carried value a size that does not depend on it") {
  const std::string graph = value("input", "first", f32, {"m", "2"}) + value("input", "x", f32, {"k", "2"}) +
                            value("input", "n", i64, {}) + changing_loop(concat("x", "x", "z", 0));
  auto after = [&](int64_t n) {
    return evaluated(graph_bytes(graph), {floats({1, 2}, {7, 8}), floats({2, 2}, {1, 2, 3, 4}), integers({}, {n})});
  };
  CHECK(after(0) == "(1, 2): 7 8");
  CHECK(after(1) == "(4, 2): 1 2 3 4 1 2 3 4");
  CHECK(after(3) == "(4, 2): 1 2 3 4 1 2 3 4");
}

TEST_CASE("a Loop whose iterations append the last rows of a carried value") {
  auto graph = [](const std::string& begin, const std::string& end, const std::string& rows) {
    const std::string last = node("Slice", {"y", "begin", "end", "zero"}, {"rows"});
    return value("input", "first", f32, {"m", "1"}) + value("input", "n", i64, {}) +
           integers_named("begin", "1", begin) + integers_named("end", "1", end) + integers_named("zero", "1", "0") +
           changing_loop(last + rows);
  };
  ImportOptions options;
  options.dims["m"].low = 0;
  auto after = [&](const std::vector<std::byte>& bytes, const std::vector<float>& first, int64_t n) {
    return evaluated(bytes, {floats({static_cast<int64_t>(first.size()), 1}, first), integers({}, {n})}, options);
  };
  const std::string to_end = "9223372036854775807", append = concat("y", "rows", "z", 0);
  const std::vector<std::byte> one = graph_bytes(graph("-1", to_end, append));
  CHECK(after(one, {7, 8}, 0) == "(2, 1): 7 8");
  CHECK(after(one, {7, 8}, 2) == "(4, 1): 7 8 8 8");
  CHECK(after(one, {}, 2) == "(0, 1):");
  // A value that begins with a row, and never loses one, gets a row in each iteration: it is written into the buffer.
  const std::string text = imported(one);
  CHECK_MESSAGE(text.find("output_names=[\"last\"]) -> Tensor[(?1 + m, 1), float32]") != std::string::npos, text);
  CHECK(text.find("dynamic_update_slice(") != std::string::npos);
  CHECK(evaluated(one, {floats({2, 1}, {7, 8}), integers({}, {2})}) == "(4, 1): 7 8 8 8");
  const std::vector<std::byte> two = graph_bytes(graph("-2", to_end, append));
  CHECK(after(two, {7}, 3) == "(6, 1): 7 7 7 7 7 7");
  CHECK(after(two, {7, 8, 9}, 2) == "(7, 1): 7 8 9 8 9 8 9");
  const std::vector<std::byte> inner = graph_bytes(graph("-2", "-1", append));
  CHECK(after(inner, {7}, 3) == "(1, 1): 7");
  CHECK(after(inner, {7, 8}, 2) == "(4, 1): 7 8 7 8");
  // A sliding window has no more rows however often the loop runs.
  const std::string window = node("Mul", {"y", "y"}, {"squares"}) + concat("y", "squares", "both", 0) +
                             node("Slice", {"both", "begin", "end", "zero"}, {"z"});
  const std::vector<std::byte> sliding = graph_bytes(graph("-3", to_end, window));
  CHECK(after(sliding, {2}, 0) == "(1, 1): 2");
  CHECK(after(sliding, {2}, 2) == "(3, 1): 4 4 16");
  CHECK(imported(sliding).find("max(m, 3)") != std::string::npos);
}

TEST_CASE("a Loop whose iterations change two axes of a carried value") {
  const std::string graph = value("input", "first", f32, {"m", "w"}) + value("input", "x", f32, {"1", "2"}) +
                            integers_named("n", "", "1") +
                            changing_loop(node("Transpose", {"y"}, {"turned"}) + concat("turned", "turned", "z", 0));
  ImportOptions options;
  options.bounds["y"] = 6;
  CHECK(evaluated(graph_bytes(graph), {floats({1, 3}, {7, 8, 9}), x}, options) == "(6, 1): 7 8 9 7 8 9");
  CHECK(evaluated(graph_bytes(graph), {floats({1, 4}, {7, 8, 9, 0}), x}, options) == too_large);
}

TEST_CASE("the increment of a carried value may be the size of another one") {
  // v gets the rows of k, and k one row more, in each iteration.
  const std::string of_k = concat("k", "x", "k2", 0), of_other_size = concat("k", "v", "k2", 0);
  auto graph = [](const std::string& nodes) {
    const std::string body = counter_and_condition + value("input", "k", f32, {"", ""}) +
                             value("input", "v", f32, {"", ""}) + concat("v", "k", "v2", 0) + nodes +
                             value("output", "go", boolean, {}) + value("output", "k2", f32, {"", ""}) +
                             value("output", "v2", f32, {"", ""});
    return value("input", "x", f32, {"1", "1"}) + value("input", "n", i64, {}) +
           node("Loop", {"n", "", "x", "x"}, {"ks", "vs"}, subgraph("body", body)) +
           value("output", "ks", f32, {"", ""}) + value("output", "vs", f32, {"", ""});
  };
  CHECK(evaluated(graph_bytes(graph(of_k)), {floats({1, 1}, {5}), integers({}, {2})}) ==
        "(3, 1): 5 5 5\n(4, 1): 5 5 5 5");
  // If k gets the rows of v, too, the sizes are those of Fibonacci's sequence.
  const std::string refused = imported(graph_bytes(graph(of_other_size)));
  CHECK_MESSAGE(refused.find("of the carried value 'k', float32 [1, 1] before the loop, and nothing bounds it") !=
                    std::string::npos,
                refused);
}

TEST_CASE("a size that the body declares to be kept is required to be equal") {
  // y: [1, m] becomes the positions of its elements that are not 0.
  auto graph = [&](const std::vector<std::string>& dims) {
    const std::string nodes = node("Squeeze", {"y", "zero"}, {"line"}) + node("NonZero", {"line"}, {"found"}) +
                              node("Cast", {"found"}, {"z"}, integer("to", f32));
    return value("input", "first", f32, {"1", "m"}) + value("input", "n", i64, {}) + integers_named("zero", "1", "0") +
           changing_loop(nodes, dims);
  };
  const std::vector<Constant> inputs = {floats({1, 3}, {7, 0, 9}), integers({}, {1})};
  CHECK(evaluated(graph_bytes(graph({"", ""})), inputs) == "(1, 2): 0 2");
  CHECK(evaluated(graph_bytes(graph({"", "k"})), inputs) ==
        fmt::format("status {}", static_cast<int>(tensor::Status::shape_mismatch)));
}

// ---- loops that only a condition ends

TEST_CASE("a bound of the number of iterations bounds a growing value and the scan outputs") {
  const std::string body =
      counter_and_condition + value("input", "y", f32, {"", ""}) + node("Less", {"i", "limit"}, {"again"}) +
      concat("y", "x", "next", 0) + node("ReduceSum", {"next"}, {"sum"}, integer("keepdims", 0)) +
      value("output", "again", boolean, {}) + value("output", "next", f32, {"", ""}) + value("output", "sum", f32, {});
  auto graph = [&](const std::string& length) {
    return value("input", "x", f32, {"1", "2"}) + value("input", "limit", i64, {}) +
           node("Loop", {"", "", "x"}, {"last", "sums"}, subgraph("body", body)) +
           value("output", "last", f32, {"rows", "2"}) + value("output", "sums", f32, {length});
  };
  const std::string refused = imported(graph_bytes(graph("count")));
  CHECK_MESSAGE(refused.find("--bound sums=100") != std::string::npos, refused);
  auto at = [&](int64_t limit, const std::string& bounded, const std::string& length = "count") {
    ImportOptions options;
    options.bounds[bounded] = 4;
    return evaluated(graph_bytes(graph(length)), {x, integers({}, {limit})}, options);
  };
  for (const char* bounded : {"i", "sums"}) {  // by the name of the body's counter, or of the scan output
    CHECK(at(1, bounded) == "(3, 2): 1 2 1 2 1 2\n(2): 6 9");
    CHECK(at(3, bounded) == "(5, 2): 1 2 1 2 1 2 1 2 1 2\n(4): 6 9 12 15");
    CHECK(at(4, bounded) == too_large);
  }
  // The size that the model declares for the scan output, and a bound of the growing value.
  CHECK(at(2, "y", "3") == "(4, 2): 1 2 1 2 1 2 1 2\n(3): 6 9 12");
  CHECK(at(3, "y", "3") == too_large);
  CHECK(at(3, "y", "9") == too_large);
}

TEST_CASE("a scan output whose slices differ in size is refused") {
  const std::string body = counter_and_condition + value("input", "y", f32, {"", ""}) + concat("y", "x", "next", 0) +
                           node("Neg", {"y"}, {"each"}) + value("output", "go", boolean, {}) +
                           value("output", "next", f32, {"", ""}) + value("output", "each", f32, {"", ""});
  const std::string graph = value("input", "x", f32, {"1", "2"}) + integers_named("n", "", "3") +
                            node("Loop", {"n", "", "x"}, {"last", "all"}, subgraph("body", body)) +
                            value("output", "last", f32, {"", ""}) + value("output", "all", f32, {"", "", ""});
  const std::string refused = imported(graph_bytes(graph));
  CHECK_MESSAGE(refused.find("error[dynamic-shape]: the slices of the scan output 'each' are") != std::string::npos,
                refused);
}

}  // namespace dlcc::frontends::onnx

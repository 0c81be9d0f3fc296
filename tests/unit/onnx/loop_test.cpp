// Loop: the parameters of its local function, its end, and its results.
#include "evaluated.h"

namespace dlcc::frontends::onnx {
namespace {

constexpr int f32 = 1, i64 = 7, boolean = 9;

std::string scalar_constant(const std::string& name, int64_t v) {
  return fmt::format("initializer {{ name: '{}' data_type: 7 int64_data: {} }} ", name, v);
}
std::string true_constant(const std::string& name, bool v = true) {
  return fmt::format("initializer {{ name: '{}' data_type: 9 int32_data: {} }} ", name, v ? 1 : 0);
}
std::string inputs_of_body(const std::string& carried) {
  return value("input", "i", i64, {}) + value("input", "go", boolean, {}) + value("input", carried, f32, {"2"});
}

// y' = y + x, and y' as scan output if it is wanted; `condition` computes 'again'.
std::string adding_loop(const std::string& m, const std::string& cond, const std::string& condition,
                        bool scans = false) {
  std::string body = inputs_of_body("y") + condition + node("Add", {"y", "x"}, {"next"}) +
                     value("output", "again", boolean, {}) + value("output", "next", f32, {"2"});
  if (scans) body += node("Identity", {"next"}, {"each"}) + value("output", "each", f32, {"2"});
  std::vector<std::string> outputs = {"last"};
  if (scans) outputs.push_back("all");
  std::string graph = value("input", "x", f32, {"2"}) + node("Loop", {m, cond, "x"}, outputs, subgraph("body", body)) +
                      value("output", "last", f32, {"2"});
  return graph + (scans ? value("output", "all", f32, {"n", "2"}) : "");
}
const std::string goes_on = node("Identity", {"go"}, {"again"});

const Constant x = floats({2}, {1, 2});

// The number of rows of 'all_rows' as 'rows'.
const std::string count_of_rows = value("input", "all_rows", f32, {"n", "1"}) + scalar_constant("first", 0) +
                                  node("Shape", {"all_rows"}, {"sizes"}) + node("Gather", {"sizes", "first"}, {"rows"});
const std::string first_of_less = node("Gather", {"less", "first"}, {"again"});

}  // namespace

TEST_CASE("a Loop with a constant trip count tests only the count") {
  const std::string graph = adding_loop("n", "c", goes_on, true) + scalar_constant("n", 3) + true_constant("c");
  CHECK(
      body(graph_bytes(graph)) ==
      R"(  let %loop = fn (%i: int64, %y: Tensor[(2), float32], %scanned: Tensor[(3, 2), float32]) -> (Tensor[(2), float32], Tensor[(3, 2), float32]) {
    let %less: bool = less(%i, 3i64);
    if (%less) {
      let %next: Tensor[(2), float32] = add(%y, %x);
      let %dynamic_update_slice: Tensor[(3, 2), float32] = dynamic_update_slice(%scanned, %next, %i);
      let %add: int64 = add(%i, 1i64);
      %loop(%add, %next, %dynamic_update_slice)
    } else {
      (%y, %scanned)
    }
  };
  let %results: (Tensor[(2), float32], Tensor[(3, 2), float32]) = %loop(0i64, %x, meta[relay.Constant][0]);
  let %last: Tensor[(2), float32] = %results.0;
  let %all: Tensor[(3, 2), float32] = %results.1;
  (%last, %all)
)");
  CHECK(evaluated(graph_bytes(graph), {x}) == "(2): 4 8\n(3, 2): 2 4 3 6 4 8");
}

TEST_CASE("a Loop with a scan output of large slices") {
  const std::string body = value("input", "i", i64, {}) + value("input", "go", boolean, {}) +
                           node("Add", {"x", "x"}, {"each"}) + value("output", "go", boolean, {}) +
                           value("output", "each", f32, {"3000"});
  const std::string graph = value("input", "x", f32, {"3000"}) + scalar_constant("n", 2) +
                            node("Loop", {"n", ""}, {"all"}, subgraph("body", body)) +
                            value("output", "all", f32, {"2", "3000"});
  const std::string found = evaluated(graph_bytes(graph), {floats({3000}, std::vector<float>(3000, 2))});
  CHECK_MESSAGE(found.starts_with("(2, 3000): 4 4 4 "), found.substr(0, 100));
}

TEST_CASE("a Loop whose trip count is a run-time value") {
  const std::string graph = value("input", "n", i64, {"1"}) + adding_loop("n", "", goes_on);
  CHECK(evaluated(graph_bytes(graph), {integers({1}, {3}), x}) == "(2): 4 8");
  CHECK(evaluated(graph_bytes(graph), {integers({1}, {0}), x}) == "(2): 1 2");
  CHECK(evaluated(graph_bytes(graph), {integers({1}, {-5}), x}) == "(2): 1 2");
}

TEST_CASE("a trip count that is a size of an input is the size of the scan outputs") {
  const std::string graph = count_of_rows + adding_loop("rows", "c", goes_on, true) + true_constant("c");
  ImportOptions options;
  options.dims["n"].low = 0;
  CHECK(imported(graph_bytes(graph), options).find("%scanned: Tensor[(n, 2), float32]") != std::string::npos);
  auto at = [&](const std::string& model, int64_t n) {
    return evaluated(graph_bytes(model), {floats({n, 1}, std::vector<float>(static_cast<size_t>(n))), x}, options);
  };
  CHECK(at(graph, 3) == "(2): 4 8\n(3, 2): 2 4 3 6 4 8");
  CHECK(at(graph, 0) == "(2): 1 2\n(0, 2):");
  const std::string fewer = count_of_rows + node("Sub", {"rows", "two"}, {"fewer"}) + scalar_constant("two", 2) +
                            adding_loop("fewer", "", goes_on, true);
  CHECK(at(fewer, 3) == "(2): 2 4\n(1, 2): 2 4");
  CHECK(at(fewer, 1) == "(2): 1 2\n(0, 2):");
  const std::string once = count_of_rows + adding_loop("rows", "", node("Not", {"go"}, {"again"}), true);
  CHECK(at(once, 3) == "(2): 2 4\n(1, 2): 2 4");
  CHECK(at(once, 0) == "(2): 1 2\n(0, 2):");
}

TEST_CASE("a Loop ends by the condition that its body computes") {
  const std::string until_ten = node("ReduceSum", {"y"}, {"sum"}, integer("keepdims", 0)) +
                                node("Less", {"sum", "ten"}, {"again"}) +
                                "initializer { name: 'ten' data_type: 1 float_data: 10 } ";
  const std::string only_condition = adding_loop("", "", until_ten);
  CHECK(body(graph_bytes(only_condition)) ==
        R"(  let %loop = fn (%again: bool, %y: Tensor[(2), float32]) -> Tensor[(2), float32] {
    if (%again) {
      let %sum: float32 = sum(%y);
      let %again_1: bool = less(%sum, 10f);
      let %next: Tensor[(2), float32] = add(%y, %x);
      %loop(%again_1, %next)
    } else {
      %y
    }
  };
  %loop(True, %x)
)");
  CHECK(evaluated(graph_bytes(only_condition), {x}) == "(2): 5 10");
  const std::string both =
      adding_loop("n", "c", until_ten) + scalar_constant("n", 2) + value("input", "c", boolean, {});
  CHECK(evaluated(graph_bytes(both), {x, truth(true)}) == "(2): 3 6");
  CHECK(evaluated(graph_bytes(both), {x, truth(false)}) == "(2): 1 2");
}

TEST_CASE("omitted scan outputs need no bound of the trip count") {
  std::string graph = adding_loop("n", "", goes_on, true) + value("input", "n", i64, {});
  for (const std::string& gone : {std::string("output: 'all' "), value("output", "all", f32, {"n", "2"})})
    graph.erase(graph.find(gone), gone.size());
  CHECK(evaluated(graph_bytes(graph), {x, integers({}, {2})}) == "(2): 3 6");
}

TEST_CASE("a Loop with an initial condition and a trip count") {
  const std::string graph =
      adding_loop("n", "c", goes_on) + scalar_constant("n", 2) + value("input", "c", boolean, {"1"});
  auto condition = [](bool v) { return Constant::of<uint8_t>(dtype::boolean, {1}, {v}); };
  CHECK(evaluated(graph_bytes(graph), {x, condition(true)}) == "(2): 3 6");
  CHECK(evaluated(graph_bytes(graph), {x, condition(false)}) == "(2): 1 2");
}

TEST_CASE("a Loop without iterations leaves no code") {
  const std::string none = adding_loop("n", "", goes_on, true) + scalar_constant("n", 0);
  CHECK(imported(graph_bytes(none)).find("fn (") == std::string::npos);
  CHECK(evaluated(graph_bytes(none), {x}) == "(2): 1 2\n(0, 2):");
  const std::string never = adding_loop("", "c", goes_on, true) + true_constant("c", false);
  CHECK(evaluated(graph_bytes(never), {x}) == "(2): 1 2\n(0, 2):");
}

TEST_CASE("a Loop whose condition is false after one iteration") {
  const std::string ends = node("Not", {"go"}, {"again"});
  CHECK(evaluated(graph_bytes(adding_loop("", "", ends, true)), {x}) == "(2): 2 4\n(1, 2): 2 4");
  const std::string counted = adding_loop("n", "", ends) + value("input", "n", i64, {});
  CHECK(evaluated(graph_bytes(counted), {x, integers({}, {7})}) == "(2): 2 4");
  CHECK(evaluated(graph_bytes(counted), {x, integers({}, {0})}) == "(2): 1 2");

  // A run decides whether the loop begins: the scan output has at most one slice.
  const std::string begins = value("input", "c", boolean, {});
  const std::string huge_count = scalar_constant("n", INT64_MAX), count = value("input", "n", i64, {});
  for (const std::string& graph :
       {adding_loop("", "c", ends, true) + begins, adding_loop("n", "c", ends, true) + begins + huge_count}) {
    CHECK(evaluated(graph_bytes(graph), {x, truth(true)}) == "(2): 2 4\n(1, 2): 2 4");
    CHECK(evaluated(graph_bytes(graph), {x, truth(false)}) == "(2): 1 2\n(0, 2):");
  }
  const std::string text = imported(graph_bytes(adding_loop("n", "c", ends, true) + begins + count));
  CHECK_MESSAGE(text.find(", (?1), (1))") != std::string::npos, text);
}

TEST_CASE("carried values that the body returns unchanged are captured") {
  const std::string inner =
      value("input", "i", i64, {"1"}) + value("input", "go", boolean, {}) + value("input", "w", f32, {"2"}) +
      value("input", "y", f32, {"2"}) + node("Identity", {"w"}, {"same"}) + node("Mul", {"y", "w"}, {"scaled"}) +
      node("Cast", {"i"}, {"number"}, integer("to", f32)) + node("Add", {"scaled", "number"}, {"next"}) +
      value("output", "go", boolean, {}) + value("output", "same", f32, {"2"}) + value("output", "next", f32, {"2"});
  const std::string graph = value("input", "x", f32, {"2"}) + scalar_constant("n", 3) +
                            "initializer { name: 'two' data_type: 1 dims: 2 float_data: [2, 3] } " +
                            node("Loop", {"n", "", "two", "x"}, {"weights", "last"}, subgraph("body", inner)) +
                            value("output", "last", f32, {"2"}) + value("output", "weights", f32, {"2"});
  const std::string text = imported(graph_bytes(graph));
  CHECK_MESSAGE(text.find("let %y: ") == std::string::npos, text);
  CHECK_MESSAGE(text.find("multiply(%y, meta[relay.Constant][0])") != std::string::npos, text);
  CHECK(evaluated(graph_bytes(graph), {x}) == "(2): 12 59\n(2): 2 3");
}

TEST_CASE("a Loop in a Loop captures values of all outer graphs") {
  const std::string inner = value("input", "j", i64, {}) + value("input", "go2", boolean, {}) +
                            value("input", "z", f32, {"2"}) + node("Add", {"z", "y"}, {"zy"}) +
                            node("Add", {"zy", "x"}, {"znext"}) + value("output", "go2", boolean, {}) +
                            value("output", "znext", f32, {"2"});
  const std::string outer = inputs_of_body("y") + node("Loop", {"i", "", "y"}, {"next"}, subgraph("body", inner)) +
                            value("output", "go", boolean, {}) + value("output", "next", f32, {"2"});
  const std::string graph = value("input", "x", f32, {"2"}) + scalar_constant("n", 3) +
                            node("Loop", {"n", "", "x"}, {"last"}, subgraph("body", outer)) +
                            value("output", "last", f32, {"2"});
  // y: 1, after no inner iteration 1, after one 1 + 1 + 1 = 3, after two 3 + 2 * (3 + 1) = 11.
  CHECK(evaluated(graph_bytes(graph), {x}) == "(2): 11 22");
}

TEST_CASE("a function named Identity changes a carried value") {
  const std::string negated = node("Identity", {"y"}, {"next"}, "domain: 'f' ");
  const std::string body =
      inputs_of_body("y") + negated + value("output", "go", boolean, {}) + value("output", "next", f32, {"2"});
  const std::string graph = value("input", "x", f32, {"2"}) + scalar_constant("n", 3) +
                            node("Loop", {"n", "", "x"}, {"last"}, subgraph("body", body)) +
                            value("output", "last", f32, {"2"});
  const std::string model =
      "ir_version: 9 opset_import { version: 17 } opset_import { domain: 'f' version: 1 } "
      "functions { name: 'Identity' domain: 'f' input: 'a' output: 'b' " +
      node("Neg", {"a"}, {"b"}) + "} graph { " + graph + "}";
  CHECK(evaluated(model_bytes(model), {x}) == "(2): -1 -2");
}

TEST_CASE("a sparse initializer of a body may have the name of a value that is computed from the Loop's output") {
  const std::string body = inputs_of_body("y") +
                           "sparse_initializer { values { name: 'w' data_type: 1 dims: 1 float_data: 5 } "
                           "indices { data_type: 7 dims: 1 int64_data: 1 } dims: 2 } " +
                           node("Add", {"y", "w"}, {"next"}) + value("output", "go", boolean, {}) +
                           value("output", "next", f32, {"2"});
  const std::string graph = value("input", "x", f32, {"2"}) + scalar_constant("n", 2) +
                            node("Loop", {"n", "", "x"}, {"last"}, subgraph("body", body)) +
                            node("Neg", {"last"}, {"w"}) + value("output", "w", f32, {"2"});
  CHECK(evaluated(graph_bytes(graph), {x}) == "(2): -1 -12");
}

TEST_CASE("names in a body may equal the names of the Loop's outputs") {
  std::string graph = adding_loop("n", "", goes_on) + scalar_constant("n", 1);
  for (size_t at = graph.find("'next'"); at != std::string::npos; at = graph.find("'next'"))
    graph.replace(at, 6, "'last'");
  CHECK(evaluated(graph_bytes(graph), {x}) == "(2): 2 4");
}

TEST_CASE("a trip count that is an input gives the size of the scan outputs") {
  const std::string graph = adding_loop("n", "", goes_on, true) + value("input", "n", i64, {});
  CHECK(evaluated(graph_bytes(graph), {x, integers({}, {3})}) == "(2): 4 8\n(3, 2): 2 4 3 6 4 8");
  CHECK(evaluated(graph_bytes(graph), {x, integers({}, {-5})}) == "(2): 1 2\n(0, 2):");
}

TEST_CASE("Loops of one trip count have scan outputs of one size, also in each other") {
  const auto loop = [](const std::string& body, const std::string& results) {
    return node("Loop", {"n", "", "x"}, {"last_" + results, results}, subgraph("body", body));
  };
  auto body = [](const std::string& id, const std::string& each) {
    return value("input", "i" + id, i64, {}) + value("input", "go" + id, boolean, {}) +
           value("input", "y" + id, f32, {"2"}) + node("Add", {"y" + id, "x"}, {"next" + id}) +
           (each.empty() ? node("Identity", {"next" + id}, {"each" + id}) : each) +
           value("output", "go" + id, boolean, {}) + value("output", "next" + id, f32, {"2"}) +
           value("output", "each" + id, f32, {});
  };
  const std::string inner = loop(body("1", ""), "inner") + node("Add", {"inner", "first"}, {"each2"});
  const std::string graph = value("input", "x", f32, {"2"}) + value("input", "n", i64, {}) +
                            loop(body("0", ""), "first") + loop(body("2", inner), "all") +
                            value("output", "all", f32, {"a", "b", "2"});
  const std::string text = imported(graph_bytes(graph));
  CHECK_MESSAGE(text.find("-> Tensor[(?1, ?1, 2), float32]") != std::string::npos, text);
  CHECK(evaluated(graph_bytes(graph), {x, integers({}, {2})}) == "(2, 2, 2): 4 8 6 12 4 8 6 12");
  CHECK(evaluated(graph_bytes(graph), {x, integers({}, {0})}) == "(0, 0, 2):");

  // The inner loop is the first one that needs the size; and its scan output is appended to a carried tensor.
  const std::string inputs = value("input", "x", f32, {"2"}) + value("input", "n", i64, {});
  const std::string nested =
      inputs + loop(body("2", loop(body("1", ""), "each2")), "all") + value("output", "all", f32, {"a", "b", "2"});
  CHECK(evaluated(graph_bytes(nested), {x, integers({}, {2})}) == "(2, 2, 2): 2 4 3 6 2 4 3 6");
  const std::string appended = value("input", "i", i64, {}) + value("input", "go", boolean, {}) +
                               value("input", "rows", f32, {"r", "2"}) + loop(body("1", ""), "more") +
                               node("Concat", {"rows", "more"}, {"longer"}, integer("axis", 0)) +
                               value("output", "go", boolean, {}) + value("output", "longer", f32, {"s", "2"});
  const std::string growing = inputs + value("input", "rows0", f32, {"t", "2"}) +
                              node("Loop", {"n", "", "rows0"}, {"last"}, subgraph("body", appended)) +
                              value("output", "last", f32, {"u", "2"});
  CHECK(evaluated(graph_bytes(growing), {x, integers({}, {2}), floats({1, 2}, {7, 8})}) ==
        "(5, 2): 7 8 2 4 3 6 2 4 3 6");
}

TEST_CASE("a scan output has as many slices as iterations ran") {
  // The loop ends when an element of y is at least 4; its trip count bounds the scan output.
  const std::string test = scalar_constant("first", 0) + node("Less", {"next", "four"}, {"less"}) + first_of_less +
                           "initializer { name: 'four' data_type: 1 dims: 1 float_data: 4 } ";
  const std::string graph = adding_loop("n", "", test, true);
  for (int64_t most : {2, 3, 9})
    CHECK(evaluated(graph_bytes(graph + scalar_constant("n", most)), {x}) ==
          (most == 2 ? "(2): 3 6\n(2, 2): 2 4 3 6" : "(2): 4 8\n(3, 2): 2 4 3 6 4 8"));
  // A trip count that is an input is a bound, too.
  const std::vector<std::byte> counted = graph_bytes(graph + value("input", "n", i64, {}));
  CHECK(evaluated(counted, {x, integers({}, {2})}) == "(2): 3 6\n(2, 2): 2 4 3 6");
  CHECK(evaluated(counted, {x, integers({}, {9})}) == "(2): 4 8\n(3, 2): 2 4 3 6 4 8");
}

TEST_CASE("invalid Loop nodes are refused with a message") {
  auto error = [](const std::string& graph) { return imported(graph_bytes(graph)); };
  auto has = [&](const std::string& graph, const std::string& message) {
    const std::string found = error(graph);
    CHECK_MESSAGE(found.find(message) != std::string::npos, found);
  };
  has(adding_loop("", "", node("Less", {"y", "y"}, {"less"}) + first_of_less, true) + scalar_constant("first", 0),
      "error[dynamic-shape]: the number of iterations depends on data, and with it the size of the scan outputs");
  has(adding_loop("", "", goes_on), "error[malformed-model]: the loop never ends");
  has(adding_loop("x", "", goes_on), "error[type-mismatch]: M must be one integer, found float32 [2]");
  has(adding_loop("", "x", goes_on), "error[type-mismatch]: cond must be one bool, found float32 [2]");
  has(adding_loop("n", "", node("Identity", {"y"}, {"again"})) + scalar_constant("n", 1),
      "error[type-mismatch]: the body's first output, the condition, must be one bool, found float32 [2]");
  has(value("input", "x", f32, {"2"}) + node("Loop", {"", "", "x"}, {"last"}) + value("output", "last", f32, {"2"}),
      "error[bad-attribute]: attribute 'body' is missing");
  auto carried = [&](const std::string& nodes, const std::string& message) {
    has(value("input", "x", f32, {"2"}) + scalar_constant("n", 2) +
            node("Loop", {"n", "", "x"}, {"last"},
                 subgraph("body", inputs_of_body("y") + nodes + value("output", "go", boolean, {}) +
                                      value("output", "next", f32, {"2"}))) +
            value("output", "last", f32, {"2"}),
        message);
  };
  carried(node("Concat", {"y", "y"}, {"next"}, integer("axis", 0)),
          "error[dynamic-shape]: the iterations change the size of axis 0 of the carried value 'y', float32 [2] before "
          "the loop, and nothing bounds it");
  carried(
      node("Unsqueeze", {"y", "zero"}, {"next"}) + "initializer { name: 'zero' data_type: 7 dims: 1 int64_data: 0 } ",
      "error[dynamic-shape]: the carried value 'next' is float32 [2] before an iteration and float32 [1, 2] after");
  carried(node("Cast", {"y"}, {"next"}, integer("to", i64)),
          "error[type-mismatch]: the carried value 'next' is float32 [2] before an iteration and int64 [2] after it");
  carried(value("output", "more", f32, {}) + node("Identity", {"y"}, {"next"}), "error[undefined-value]: ");
}

}  // namespace dlcc::frontends::onnx

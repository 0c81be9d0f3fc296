// Sizes that only a run knows, and that must fit each other: the run ends with a status where they do not.
#include "evaluated.h"

using namespace dlcc;
using namespace dlcc::frontends::onnx;

namespace {

constexpr int f32 = 1, i64 = 7;
const std::string mismatch = fmt::format("status {}", static_cast<int>(tensor::Status::shape_mismatch));

}  // namespace

TEST_CASE("axes of Einsum with equal labels have equal sizes") {
  auto result = [](const std::string& equation, std::vector<int64_t> x, std::vector<int64_t> w) {
    std::vector<std::string> of_x, of_w;
    for (size_t k = 0; k < x.size(); ++k) of_x.push_back(fmt::format("x{}", k));
    for (size_t k = 0; k < w.size(); ++k) of_w.push_back(fmt::format("w{}", k));
    return evaluated(
        graph_bytes(value("input", "x", f32, of_x) + value("input", "w", f32, of_w) +
                    node("Einsum", {"x", "w"}, {"y"}, text("equation", equation)) + "output { name: 'y' } "),
        {counting(std::move(x)), counting(std::move(w))});
  };
  CHECK(result("bij,bj->bi", {2, 1, 3}, {2, 3}) == "(2, 1): 5 50");
  CHECK(result("bij,bj->bi", {2, 1, 3}, {3, 2}) == mismatch);
  CHECK(result("ij,jk->ik", {1, 2}, {2, 1}) == "(1, 1): 1");
  CHECK(result("ij,jk->ik", {1, 2}, {1, 2}) == mismatch);
  CHECK(result("ij,ji->i", {2, 3}, {3, 2}) == "(2): 10 40");
  CHECK(result("ij,ji->i", {2, 3}, {2, 3}) == mismatch);
  CHECK(result("ij,ij->ij", {1, 4}, {2, 2}) == mismatch);
}

TEST_CASE("the sizes of Split that are an input add up to the axis") {
  const std::string graph = value("input", "x", f32, {"n"}) + value("input", "sizes", i64, {"2"}) +
                            node("Split", {"x", "sizes"}, {"y", "z"}) + "output { name: 'y' } output { name: 'z' } ";
  auto result = [&](const std::vector<int64_t>& sizes) {
    return evaluated(graph_bytes(graph), {counting({5}), integers({2}, sizes)});
  };
  CHECK(result({2, 3}) == "(2): 0 1\n(3): 2 3 4");
  CHECK(result({0, 5}) == "(0):\n(5): 0 1 2 3 4");
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{7, 2}, {1, 1}, {6, -1}, {-1, 6}, {5, 1}, {0, 4}, {5, INT64_MAX}})
    CHECK(result(sizes) == mismatch);
}

TEST_CASE("the sizes of Expand are 1 or those of the result") {
  const std::string x = value("input", "x", f32, {"n", "3"}), y = "output { name: 'y' } ";
  auto by_shape = [&](std::vector<int64_t> of_w) {
    return evaluated(graph_bytes(x + value("input", "w", f32, {"m", "q"}) + node("Shape", {"w"}, {"s"}) +
                                 node("Expand", {"x", "s"}, {"y"}) + y),
                     {counting({2, 3}), counting(std::move(of_w))});
  };
  const std::string same = "(2, 3): 0 1 2 3 4 5";
  CHECK(by_shape({2, 3}) == same);
  CHECK(by_shape({1, 1}) == same);
  CHECK(by_shape({2, 4}) == mismatch);
  CHECK(by_shape({3, 3}) == mismatch);

  auto by_input = [&](int64_t rows, const std::vector<int64_t>& sizes) {
    return evaluated(graph_bytes(x + value("input", "s", i64, {"2"}) + node("Expand", {"x", "s"}, {"y"}) + y),
                     {counting({rows, 3}), integers({2}, sizes)});
  };
  CHECK(by_input(2, {2, 3}) == same);
  CHECK(by_input(2, {1, 1}) == same);
  CHECK(by_input(1, {2, 3}) == "(2, 3): 0 1 2 0 1 2");
  CHECK(by_input(2, {1, 3}) == same);
  CHECK(by_input(2, {2, 1}) == same);
  CHECK(by_input(2, {2, 7}) == mismatch);
  CHECK(by_input(2, {5, 3}) == mismatch);
}

TEST_CASE("sizes of different names that must be equal are checked at run time") {
  const std::string y = "output { name: 'y' } ", x = value("input", "x", f32, {"a", "b"});
  auto gemm = [&](std::vector<int64_t> c) {
    return evaluated(graph_bytes(x + value("input", "w", f32, {"c", "2"}) + value("input", "b", f32, {"d", "e"}) +
                                 node("Gemm", {"x", "w", "b"}, {"y"}) + y),
                     {counting({2, 1}), counting({1, 2}), counting(std::move(c))});
  };
  CHECK(gemm({2, 2}) == "(2, 2): 0 1 2 4");
  CHECK(gemm({1, 1}) == "(2, 2): 0 0 0 1");
  CHECK(gemm({3, 2}) == mismatch);
  CHECK(gemm({2, 3}) == mismatch);

  auto convolution = [&](int64_t channels) {
    return evaluated(graph_bytes(value("input", "x", f32, {"1", "c", "3"}) + value("input", "w", f32, {"1", "2", "2"}) +
                                 node("Conv", {"x", "w"}, {"y"}) + y),
                     {counting({1, channels, 3}), counting({1, 2, 2})});
  };
  CHECK(convolution(2) == "(1, 1, 2): 19 25");
  CHECK(convolution(3) == mismatch);

  auto scattered = [&](int64_t updates) {
    return evaluated(graph_bytes(value("input", "x", f32, {"a"}) + value("input", "i", i64, {"b"}) +
                                 value("input", "u", f32, {"c"}) + node("ScatterElements", {"x", "i", "u"}, {"y"}) + y),
                     {counting({3}), integers({2}, {2, 1}), counting({updates})});
  };
  CHECK(scattered(2) == "(3): 0 1 0");
  CHECK(scattered(3) == mismatch);

  const std::string body = value("input", "p", f32, {}) + value("input", "q", f32, {}) +
                           node("Add", {"p", "q"}, {"r"}) + value("output", "r", f32, {});
  auto scan = [&](int64_t slices) {
    return evaluated(
        graph_bytes(value("input", "x", f32, {"t"}) + value("input", "w", f32, {"u"}) +
                    node("Scan", {"x", "w"}, {"y"}, integer("num_scan_inputs", 2) + subgraph("body", body)) + y),
        {counting({3}), counting({slices})});
  };
  CHECK(scan(3) == "(3): 0 2 4");
  CHECK(scan(2) == mismatch);

  auto normalized = [&](const std::string& op, std::vector<std::string> dims, std::vector<int64_t> shape,
                        int64_t scales) {
    return evaluated(graph_bytes(value("input", "x", f32, dims) + value("input", "s", f32, {"c"}) +
                                 value("input", "b", f32, {"c"}) + node(op, {"x", "s", "b"}, {"y"}) + y),
                     {counting(std::move(shape)), counting({scales}), floats({scales}, std::vector<float>(scales, 4))});
  };
  CHECK(normalized("LayerNormalization", {"a", "b"}, {1, 1}, 1) == "(1, 1): 4");
  CHECK(normalized("LayerNormalization", {"a", "b"}, {1, 2}, 3) == mismatch);
  CHECK(normalized("InstanceNormalization", {"1", "b", "n"}, {1, 2, 1}, 2) == "(1, 2, 1): 4 4");
  CHECK(normalized("InstanceNormalization", {"1", "b", "n"}, {1, 2, 1}, 3) == mismatch);
}

TEST_CASE("an axis that Squeeze removes has size 1") {
  auto squeezed = [](int64_t rows) {
    return evaluated(graph_bytes(value("input", "x", f32, {"n", "2"}) +
                                     node("Squeeze", {"x"}, {"y"}, ints("axes", {0})) + "output { name: 'y' } ",
                                 11),
                     {counting({rows, 2})});
  };
  CHECK(squeezed(1) == "(2): 0 1");
  CHECK(squeezed(2) == mismatch);
}

TEST_CASE("a Range whose length overflows has no result") {
  const std::vector<std::byte> model =
      graph_bytes(value("input", "a", i64, {}) + value("input", "b", i64, {}) + value("input", "c", i64, {}) +
                  node("Range", {"a", "b", "c"}, {"y"}) + "output { name: 'y' } ");
  auto arguments = [](int64_t start, int64_t limit, int64_t delta) {
    return std::vector<Constant>{integers({}, {start}), integers({}, {limit}), integers({}, {delta})};
  };
  CHECK(evaluated(model, arguments(3, 8, 2)) == "(3): 3 5 7");
  CHECK(evaluated(model, arguments(8, 3, 2)) == "(0):");

  Diagnostics d;
  auto module = frontends::import_onnx(model, {.file = "m"}, d);
  REQUIRE(module);
  const auto define_sizes = std::ranges::find(relay::all_passes(), "define-sizes", &relay::PassInfo::name);
  relay::PassContext context{.diagnostics = &d};
  *module = define_sizes->run(std::move(*module), context);
  const std::string out_of_range = fmt::format("status {}", static_cast<int>(tensor::Status::dimension_out_of_range));
  CHECK(results_of(*module, arguments(-2, INT64_MAX, 1), d) == out_of_range);
  CHECK(results_of(*module, arguments(INT64_MIN, INT64_MAX, 1), d) == out_of_range);
  CHECK(results_of(*module, arguments(INT64_MAX, INT64_MIN, -1), d) == out_of_range);
  CHECK(results_of(*module, arguments(0, INT64_MIN, INT64_MIN), d) == out_of_range);
}

TEST_CASE("slices of a scan output have the sizes that the body declares") {
  auto slices = [](const std::string& end, std::vector<std::string> declared) {
    const std::string body = value("input", "i", i64, {}) + value("input", "c", 9, {}) + list("one", {1}) +
                             list("two", {2}) + list("shape", {1}) + node("Reshape", {"i", "shape"}, {"from"}) +
                             node("Add", {"from", end}, {"to"}) + node("Slice", {"x", "from", "to"}, {"row"}) +
                             node("Identity", {"c"}, {"again"}) + value("output", "again", 9, {}) +
                             value("output", "row", f32, std::move(declared));
    return evaluated(graph_bytes(value("input", "x", f32, {"3", "2"}) +
                                 "initializer { name: 'trips' data_type: 7 int64_data: [3] } " +
                                 node("Loop", {"trips", ""}, {"y"}, subgraph("body", body)) + "output { name: 'y' } "),
                     {counting({3, 2})});
  };
  CHECK(slices("one", {"1", "2"}) == "(3, 1, 2): 0 1 2 3 4 5");
  CHECK(slices("two", {"2", "2"}) == mismatch);  // the last slice has one row
  CHECK(slices("one", {"k", "2"}).find("sizes may differ between iterations") != std::string::npos);
}

TEST_CASE("slices of a scan output may have sizes that values before the loop decide") {
  // The body computes `row` from x, the iteration number i, and k, an input of the model.
  auto slices = [](const std::string& row, int64_t k) {
    const std::string body = value("input", "i", i64, {}) + value("input", "c", 9, {}) + list("one", {1}) +
                             list("zero", {0}) + node("Cast", {"i"}, {"number"}, "attribute { name: 'to' i: 1 } ") +
                             row + node("Identity", {"c"}, {"again"}) + value("output", "again", 9, {}) +
                             value("output", "row", f32, {"r"});
    return evaluated(graph_bytes(value("input", "x", f32, {"n"}) + value("input", "k", i64, {"1"}) +
                                 "initializer { name: 'trips' data_type: 7 int64_data: [2] } " +
                                 node("Loop", {"trips", ""}, {"y"}, subgraph("body", body)) + "output { name: 'y' } "),
                     {counting({3}), integers({1}, {k})});
  };
  const std::string expand = node("Expand", {"number", "k"}, {"row"});
  CHECK(slices(expand, 3) == "(2, 3): 0 0 0 1 1 1");
  CHECK(slices(expand, 0) == "(2, 0):");
  const std::string sliced = node("Add", {"x", "number"}, {"sum"}) + node("Mul", {"k", "k"}, {"end"}) +
                             node("Slice", {"sum", "zero", "end"}, {"part"}) +
                             node("Concat", {"part", "part"}, {"row"}, integer("axis", 0));
  CHECK(slices(sliced, 1) == "(2, 2): 0 0 1 1");
  CHECK(slices(sliced, 2) == "(2, 6): 0 1 2 0 1 2 1 2 3 1 2 3");
  const std::string counted = node("Gather", {"x", "k"}, {"few"}) + node("NonZero", {"few"}, {"where"}) +
                              node("Squeeze", {"where", "zero"}, {"found"}) +
                              node("Cast", {"found"}, {"row"}, "attribute { name: 'to' i: 1 } ");
  CHECK(slices(counted, 0) == "(2, 0):");
  CHECK(slices(counted, 2) == "(2, 1): 0 0");
  // Sizes that depend on the iteration number may differ.
  const std::string growing = node("Reshape", {"i", "one"}, {"to"}) + node("Slice", {"x", "zero", "to"}, {"row"});
  CHECK(slices(growing, 1).find("sizes may differ between iterations") != std::string::npos);
}

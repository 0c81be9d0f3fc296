// Slice with negative steps, and TopK with a number of elements that is a run-time value.
#include "evaluated.h"

namespace dlcc::frontends::onnx {
namespace {

constexpr int f32 = 1, i64 = 7;

// The slice of x with one start, end and step along its only axis, of 4 elements: with constants, or with the symbolic
// size n, or with starts and ends, or all lists, as inputs.
std::vector<std::string> slices(int64_t start, int64_t end, int64_t step) {
  const std::string slice =
      node("Slice", {"x", "start", "end", "axis", "step"}, {"y"}) + list("axis", {0}) + value("output", "y", f32, {""});
  const std::string start_and_end = list("start", {start}) + list("end", {end}), of_step = list("step", {step});
  const std::string inputs = value("input", "start", i64, {"1"}) + value("input", "end", i64, {"1"});
  const Constant x = floats({4}, {0, 1, 2, 3}), from = integers({1}, {start}), to = integers({1}, {end});
  ImportOptions options;
  options.dims["n"].low = 0;
  const std::string symbolic = value("input", "x", f32, {"n"}) + slice;
  return {
      evaluated(graph_bytes(value("input", "x", f32, {"4"}) + slice + start_and_end + of_step), {x}),
      evaluated(graph_bytes(symbolic + start_and_end + of_step), {x}),
      evaluated(graph_bytes(symbolic + start_and_end + of_step), {x}, options),
      evaluated(graph_bytes(symbolic + inputs + of_step), {x, from, to}),
      evaluated(graph_bytes(symbolic + inputs + value("input", "step", i64, {"1"})),
                {x, from, to, integers({1}, {step})}),
  };
}

void check_slices(int64_t start, int64_t end, int64_t step, const std::string& expected) {
  for (const std::string& found : slices(start, end, step)) CHECK(found == expected);
}

}  // namespace

TEST_CASE("a slice with a negative step begins at the first element where its start is before it") {
  check_slices(-6, -9, -1, "(1): 0");
  check_slices(-5, -9, -2, "(1): 0");
  check_slices(-6, -4, -1, "(0):");
  check_slices(-4, -9, -1, "(1): 0");
  check_slices(INT64_MIN, INT64_MIN, -1, "(1): 0");
  check_slices(-INT64_MAX, INT64_MIN, -1, "(1): 0");
  check_slices(0, INT64_MAX, INT64_MAX, "(1): 0");
  check_slices(-1, INT64_MIN, -INT64_MAX, "(1): 3");
  check_slices(-1, -9, -2, "(2): 3 1");
  check_slices(9, -9, -3, "(2): 3 0");
  check_slices(INT64_MAX, INT64_MIN, -1, "(4): 3 2 1 0");
  check_slices(INT64_MIN, INT64_MIN, -1, "(1): 0");
  check_slices(-9, -6, 1, "(0):");
  check_slices(-9, 2, 1, "(2): 0 1");
}

TEST_CASE("slices of an empty axis with a negative step are empty") {
  const std::string graph = value("input", "x", f32, {"n"}) +
                            node("Slice", {"x", "start", "end", "axis", "step"}, {"y"}) + list("axis", {0}) +
                            list("start", {-3}) + list("end", {-9}) + list("step", {-1}) +
                            value("output", "y", f32, {""});
  ImportOptions options;
  options.dims["n"].low = 0;
  CHECK(evaluated(graph_bytes(graph), {floats({0}, {})}, options) == "(0):");
  CHECK(evaluated(graph_bytes(graph), {floats({2}, {5, 6})}, options) == "(1): 5");
}

TEST_CASE("TopK of more elements than the axis has is a status, or an error where both numbers are known") {
  auto graph = [](const std::string& size, const std::string& k) {
    return value("input", "x", f32, {size}) + node("TopK", {"x", "k"}, {"y", "at"}) + k +
           value("output", "y", f32, {""}) + value("output", "at", i64, {""});
  };
  const Constant x = floats({3}, {1, 3, 2});
  const std::string by_input = graph("n", value("input", "k", i64, {"1"}));
  CHECK(evaluated(graph_bytes(by_input), {x, integers({1}, {2})}) == "(2): 3 2\n(2): 1 2");
  CHECK(evaluated(graph_bytes(by_input), {x, integers({1}, {0})}) == "(0):\n(0):");
  auto status_of = [&](int64_t k) {  // of the compiled form, which defines the sizes
    Diagnostics d;
    auto module = import_onnx(graph_bytes(by_input), {.file = "m"}, d);
    relay::PassContext context{.diagnostics = &d};
    return results_of(relay::define_sizes(std::move(*module), context), {x, integers({1}, {k})}, d);
  };
  CHECK(status_of(4) == fmt::format("status {}", static_cast<int>(tensor::Status::capacity_exceeded)));
  CHECK(status_of(-1) == fmt::format("status {}", static_cast<int>(tensor::Status::dimension_out_of_range)));
  const std::string four = list("k", {4});
  CHECK(evaluated(graph_bytes(graph("n", four)), {x}) ==
        fmt::format("status {}", static_cast<int>(tensor::Status::shape_mismatch)));
  CHECK(imported(graph_bytes(graph("3", four))).find("k is 4, the axis has 3 elements") != std::string::npos);
}

}  // namespace dlcc::frontends::onnx

// Sizes of inputs: the values of --dim, and sizes computed from the shapes of inputs.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "shape/caller_sizes.h"
#include "shape/size_range.h"
#include "shape/solve_sizes.h"

namespace dlcc {
namespace {

// The range as text, or the reason why it is refused.
std::string parsed(const std::string& text) {
  std::string problem;
  auto range = parse_size_range(text, problem);
  CHECK(range.has_value() == problem.empty());
  return range ? range->str() : problem;
}

std::string text_of(const InputDim& d) {
  const std::string high = d.symbol.high == INT64_MAX ? "" : std::to_string(d.symbol.high);
  return d.size().str() + " " + std::to_string(d.symbol.low) + ".." + high;
}

InputDim dim_of(const std::string& name, const std::string& range, const std::set<std::string>& taken = {}) {
  std::string problem;
  return input_dim(name, parse_size_range(range, problem).value(), taken);
}

// The values of the symbols, or the reason why the shapes are refused.
std::string solved(const std::vector<InputDim>& dims, const std::vector<GivenShape>& inputs) {
  std::string text;
  auto values = solve_sizes(dims, inputs, text);
  CHECK(values.has_value() == text.empty());
  if (!values) return text;
  for (const auto& [name, value] : *values) text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return text;
}

}  // namespace

TEST_CASE("a size is a number or a range, with a multiple and a typical value") {
  for (const char* text : {"0", "8", "1..64", "0..", "1..", "8..64:8", "1..64@16", "16..:16@32", "8@8"})
    CHECK(parsed(text) == text);
  CHECK(parsed("1..100:32") == "32..96:32");  // rounded to multiples
  CHECK(parsed("0..7:8") == "0:8");
  CHECK(parsed("4..4") == "4");
  std::string problem;
  CHECK(parse_size_range("1..10:8", problem)->is_number());
}

TEST_CASE("a size that no number satisfies is refused with the reason") {
  for (const char* text : {"", "x", "1x", "1.5", "1...3", "..4", "1..2..3", "1..x", "1..4:", "1..4:x", "1..4@", "@4",
                           ":2", "+1", "9223372036854775808", "1:2:3", "1@2@3", "4@2:2"})
    CHECK_MESSAGE(parsed(text) == "the value is neither a size nor a range of sizes", text);
  CHECK(parsed("-1") == "a size cannot be negative");
  CHECK(parsed("-3..4") == "a size cannot be negative");
  CHECK(parsed("1..64:0") == "sizes cannot be multiples of 0");
  CHECK(parsed("1..64:-8") == "sizes cannot be multiples of -8");
  CHECK(parsed("9..8") == "the lower bound 9 is above the upper bound 8");
  CHECK(parsed("1..7:8") == "no size in this range is a multiple of 8");
  CHECK(parsed("9:8") == "no size in this range is a multiple of 8");
  CHECK(parsed("9223372036854775807..:2") == "no size in this range is a multiple of 2");
  CHECK(parsed("1..64@65") == "the typical size 65 is not in the range");
  CHECK(parsed("1..64:8@12") == "the typical size 12 is no multiple of 8");
  CHECK(parsed("1..64@0") == "the typical size 0 is not in the range");
}

TEST_CASE("an axis with a multiple is the multiple times its symbol") {
  CHECK(text_of(dim_of("n", "1..")) == "n 1..");
  CHECK(text_of(dim_of("n", "0..64")) == "n 0..64");
  const InputDim h = dim_of("h", "30..1000:32@64", {"h_by_32"});
  CHECK(text_of(h) == "32 * h_by_32_ 1..31");
  CHECK(h.low() == 32);
  CHECK(h.high() == 992);
  CHECK(h.typical == 64);
  CHECK(dim_of("h", "8..:8").high() == INT64_MAX);
}

TEST_CASE("the symbol of a size is an identifier that nothing else has") {
  auto symbol = [](const std::string& name, const std::set<std::string>& taken = {}) {
    return dim_of(name, "1..", taken).symbol.name;
  };
  CHECK(symbol("n", {"n"}) == "n");
  CHECK(symbol("_1") == "_1");
  CHECK(symbol("past + seq") == "past_seq");
  CHECK(symbol("past + seq", {"past_seq", "past_seq_"}) == "past_seq__");
  CHECK(symbol("?") == "d_");
  CHECK(symbol("?1") == "d_1");
  CHECK(symbol("1") == "d1");
  const InputDim sum = dim_of("past + seq", "1..");
  CHECK(in_caller_sizes(sum.size() * 2 + 1, {sum}).str() == "2 * past + seq + 1");
}

TEST_CASE("texts of sizes have the caller's numbers, not the divided symbols") {
  const InputDim n = dim_of("n", "1..64"), h = dim_of("h", "8..:8"), w = dim_of("w", "4..64:4");
  const Dim half = Dim::symbol(h.symbol);
  auto text = [&](const Dim& d) { return in_caller_sizes(d, {n, h, w}).str(); };
  CHECK(text(n.size() * 3 + h.size()) == "h + 3 * n");
  CHECK(text(h.size() * h.size()) == "h * h");
  CHECK(text(h.size() * w.size() * 2) == "2 * h * w");
  CHECK(text(half + 1) == "floor_div(h, 8) + 1");
  CHECK(text(half * 4) == "4 * floor_div(h, 8)");
  CHECK(text(max(half, n.size())) == "max(n, floor_div(h, 8))");
  CHECK(text(7) == "7");
  CHECK(in_caller_sizes(Dim::overflow(), {h}).is_overflow());
  CHECK(bounds_of(n) == "in [1, 64]");
  CHECK(bounds_of(h) == "at least 8 and a multiple of 8");
}

TEST_CASE("as_linear accepts only dims that are linear in one symbol") {
  const Dim n = size_symbol("n"), m = size_symbol("m");
  auto axis = as_linear(n * 3 + 2);
  REQUIRE(axis);
  CHECK(axis->symbol.name == "n");
  CHECK(axis->scale == 3);
  CHECK(axis->offset == 2);
  CHECK(as_linear(n)->scale == 1);
  for (const Dim& d : {Dim(4), n * n, n + m, Dim(7) - n, floor_div(n, 2), max(n, 4), Dim::overflow()})
    CHECK(!as_linear(d));
}

TEST_CASE("sizes are found from the shapes of inputs") {
  const InputDim n = dim_of("n", "1..64"), h = dim_of("h", "8..:8");
  const Shape x = {n.size(), h.size() + 1}, y = {n.size() * h.size(), 3};
  CHECK(solved({n, h}, {{"x", x, {2, 17}}, {"y", y, {32, 3}}}) == "h_by_8=2 n=2");
  CHECK(solved({n, h}, {{"y", y, {32, 3}}, {"x", x, {2, 17}}}) == "h_by_8=2 n=2");
  CHECK(solved({}, {{"x", {4}, {4}}}) == "");
  CHECK(solved({}, {{"x", {4}, {5}}}) == "axis 0 of input 'x' is 5 instead of 4");
}

TEST_CASE("sizes that disagree or are out of bounds name the axes") {
  const InputDim n = dim_of("n", "1..64"), h = dim_of("h", "8..:8");
  CHECK(solved({n}, {{"x", {n.size(), 3}, {2, 3}}, {"y", {3, n.size()}, {3, 5}}}) ==
        "axis 1 of input 'y' is 5 instead of 2: axis 0 of input 'x' gives n = 2");
  for (int64_t size : {0, 65})
    CHECK(solved({n}, {{"x", {n.size()}, {size}}}) ==
          fmt::format("axis 0 of input 'x' is {}, but it is declared as n, where n is in [1, 64]", size));
  for (int64_t size : {0, 12})
    CHECK(solved({h}, {{"x", {h.size()}, {size}}}) ==
          fmt::format("axis 0 of input 'x' is {}, but it is declared as h, where h is at least 8 and a multiple of 8",
                      size));
  for (int64_t size : {0, 1, 6, 131})
    CHECK(solved({n}, {{"x", {n.size() * 2 + 1}, {size}}}) ==
          fmt::format("axis 0 of input 'x' is {}, but it is declared as 2 * n + 1, where n is in [1, 64]", size));
  CHECK(solved({h}, {{"x", {h.size()}, {16}}, {"y", {h.size() * 2}, {16}}}) ==
        "axis 0 of input 'y' is 16 instead of 32: axis 0 of input 'x' gives h = 16");
  CHECK(solved({n}, {{"x", {n.size() * n.size()}, {4}}}) == "no axis of an input gives the size 'n'");
}

}  // namespace dlcc

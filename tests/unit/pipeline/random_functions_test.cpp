// Random Relay programs whose functions are large and call each other, through the whole pipeline, in all engines, with
// sizes that are numbers and with a size n that the inputs give.
// DLCC_RANDOM_PROGRAMS=N in the environment tries N programs of each kind.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <random>

#include "engines.h"
#include "relay/shared_calls.h"

using namespace dlcc;

namespace {

class Generator {
 public:
  Generator(unsigned seed, bool symbolic) : random_(seed), rows_(symbolic ? "n" : "5") {}

  std::string program() {
    std::string text;
    for (int k = 0, count = 1 + draw(4); k < count; ++k) text += function();
    current_rows_ = rows_;
    std::vector<std::string> visible = {"%x", "%y"};
    std::string body = calls(visible, 3 + draw(3), "  ");
    body += branch(visible);
    body += loop(visible);
    body += local_function(visible);
    return text + fmt::format("def @main(%x: {0}, %y: {0}, %c: bool, %i: int64) {{\n{1}  ({2}, {3})\n}}\n",
                              table(rows_), body, visible.back(), visible[visible.size() - 2]);
  }

 private:
  int draw(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  const std::string& any(const std::vector<std::string>& list) { return list[random_() % list.size()]; }
  std::string fresh() { return fmt::format("%v{}", next_++); }
  static std::string table(const std::string& rows) { return fmt::format("Tensor[({}, 8), float32]", rows); }

  // The sizes of some functions are their own; these call only such functions. Some second results are operands.
  std::string function() {
    const bool is_generic = functions_ == 0 || (has_generic_callees_ && draw(2));
    const std::string rows = current_rows_ = is_generic ? "k" : rows_;
    std::vector<std::string> visible = {"%a", "%b"};
    const int operations = static_cast<int>(relay::least_operations) - 2 + draw(6);
    std::string body = functions_ > 0 && draw(3) ? calls(visible, 1 + draw(3), "  ") : "";
    for (int k = 0; k < operations; ++k) body += statement(visible);
    if (draw(2)) body += decision(visible);
    const std::string second = draw(2) ? visible[visible.size() - 2] : "%a";
    std::string text = fmt::format("def @f{0}(%a: {1}, %b: {1}) -> ({1}, {1}) {{\n{2}  ({3}, {4})\n}}\n", functions_++,
                                   table(rows), body, visible.back(), second);
    has_generic_callees_ &= is_generic;
    return text;
  }

  // An operation that is not fused with the one before.
  std::string statement(std::vector<std::string>& visible) {
    const std::string& from = draw(4) ? visible.back() : any(visible);
    const char* operations[] = {"nn.softmax({})", "nn.softmax({} * 0.5f)", "cumsum({}, axis=1)",
                                "nn.softmax({}, axis=0)"};
    const std::string value = fmt::format(fmt::runtime(operations[draw(4)]), from);
    visible.push_back(fresh());
    return fmt::format("  let {} = {};\n", visible.back(), value);
  }

  // A branch whose condition is an element of a tensor in memory.
  std::string decision(std::vector<std::string>& visible) {
    const std::string condition = fresh(), name = fresh();
    std::string text = fmt::format("  let {} = less(max({}), 0.5f);\n", condition, any(visible));
    text += fmt::format("  let {} = if ({}) {{ cumsum({}, axis=0) }} else {{ {} }};\n", name, condition, visible.back(),
                        any(visible));
    visible.push_back(name);
    return text;
  }

  std::string calls(std::vector<std::string>& visible, int count, const std::string& indent) {
    std::string lines;
    while (count-- > 0) {
      const std::string pair = fresh(), first = fresh(), second = fresh();
      lines +=
          fmt::format("{}let {} = @f{}({}, {});\n", indent, pair, draw(functions_), any(visible), operand(visible));
      lines += fmt::format("{0}let {1} = {2}.0;\n{0}let {3} = nn.softmax({2}.1 + {1});\n", indent, first, pair, second);
      visible.push_back(first), visible.push_back(second);
    }
    return lines;
  }

  // A variable, or a constant: then the function has a body for it.
  std::string operand(const std::vector<std::string>& visible) {
    if (current_rows_ != "5" || draw(4) > 0) return any(visible);
    return fmt::format("full({}f, shape=[5, 8], dtype=\"float32\")", draw(2));
  }

  std::string branch(std::vector<std::string>& visible) {
    if (draw(2)) return "";
    std::vector<std::string> then_visible = visible, else_visible = visible;
    const std::string name = fresh(), then_lines = calls(then_visible, 1, "    "),
                      else_lines = calls(else_visible, 2, "    ");
    std::string text = fmt::format("  let {} = if (%c) {{\n{}    {}\n  }} else {{\n{}    {}\n  }};\n", name, then_lines,
                                   then_visible.back(), else_lines, else_visible.back());
    visible.push_back(name);
    return text;
  }

  std::string loop(std::vector<std::string>& visible) {
    if (draw(2)) return "";
    const std::string loop = fresh(), state = fresh(), result = fresh();
    std::vector<std::string> inner = visible;
    inner.push_back(state);
    const std::string body = calls(inner, 2, "      ");
    std::string text = fmt::format(
        "  let {0} = fn (%t: int64, {1}: {2}) -> {2} {{\n"
        "    if (less(%t, %i)) {{\n{3}      {0}(%t + 1i64, {4})\n    }} else {{ {1} }}\n"
        "  }};\n  let {5} = {0}(0i64, {6});\n",
        loop, state, table(rows_), body, inner.back(), result, any(visible));
    visible.push_back(result);
    return text;
  }

  // A local function with a size of its own, called at two sizes. It may be a loop.
  std::string local_function(std::vector<std::string>& visible) {
    if (draw(2)) return "";
    const std::string f = fresh(), rows = fresh(), result = fresh();
    std::vector<std::string> inner = {"%s"};
    std::string body;
    for (int k = 0, count = 1 + draw(3); k < count; ++k) body += "  " + statement(inner);
    body += draw(2) ? fmt::format("    if (less(%t, %i)) {{ {}(%t + 1i64, {}) }} else {{ %s }}\n", f, inner.back())
                    : fmt::format("    {}\n", inner.back());
    std::string text = fmt::format("  let {0} = fn (%t: int64, %s: {1}) -> {1} {{\n{2}  }};\n", f, table("q"), body);
    text += fmt::format("  let {} = {}(0i64, concatenate(({}, {}), axis=0));\n", rows, f, any(visible), any(visible));
    text += fmt::format("  let {} = {}(1i64, {}) + sum({});\n", result, f, visible.back(), rows);
    visible.push_back(result);
    return text;
  }

  std::mt19937 random_;
  std::string rows_, current_rows_;  // of @main; of the function that is made
  int next_ = 0, functions_ = 0;
  bool has_generic_callees_ = true;
};

}  // namespace

TEST_CASE("random programs with called functions give equal results in all engines") {
  const char* wanted = std::getenv("DLCC_RANDOM_PROGRAMS");
  const unsigned count = wanted ? static_cast<unsigned>(std::atoi(wanted)) : 12;
  for (unsigned seed = 0; seed < count; ++seed)
    for (bool symbolic : {false, true}) {
      CAPTURE(seed);
      CAPTURE(symbolic);
      const std::string text = Generator(seed, symbolic).program();
      const RandomInput x{dtype::f32, {5, 8}};
      const std::string difference = difference_of_engines(seed, text, {x, x, {dtype::boolean, {}}, {dtype::i64, {}}});
      REQUIRE_MESSAGE(difference == "", difference << "\n" << text);
    }
}

namespace {

// A function of operations that are not fused; its body begins with `first`, which defines %v0.
std::string large_function(const std::string& params, const std::string& first) {
  std::string body;
  const int operations = static_cast<int>(relay::least_operations);
  for (int k = 1; k <= operations; ++k)
    body += fmt::format("  let %v{} = {}(%v{}, axis=1);\n", k, k % 2 ? "cumsum" : "nn.softmax", k - 1);
  return fmt::format("def @f({}) {{\n  let %v0 = {};\n{}  %v{}\n}}\n", params, first, body, operations);
}

}  // namespace

TEST_CASE("a called function works beside the live values of its caller") {
  for (const char* rows : {"5", "n"}) {
    const std::string source = large_function(fmt::format("%a: Tensor[({}, 8), float32]", rows), "nn.softmax(%a)") +
                               fmt::format(
                                   "def @main(%x: Tensor[({}, 8), float32], %y: Tensor[(64, 64), float32]) {{\n"
                                   "  let %large = cumsum(%y, axis=1);\n"
                                   "  let %p = @f(%x);\n"
                                   "  let %q = @f(%p);\n"
                                   "  (%q, cumsum(%large, axis=0))\n}}\n",
                                   rows);
    for (unsigned seed : {1u, 4u})
      CHECK(difference_of_engines(seed, source, {{dtype::f32, {5, 8}}, {dtype::f32, {64, 64}}}) == "");
  }
}

TEST_CASE("a violated requirement in a called function ends the run") {
  const std::string source =
      large_function("%a: Tensor[(5, 8), float32], %i: Tensor[(5), int64]", "take(%a, %i, axis=0, mode=\"strict\")") +
      "def @main(%x: Tensor[(5, 8), float32], %i: Tensor[(5), int64]) {\n"
      "  let %p = @f(%x, %i);\n"
      "  @f(%p, %i)\n}\n";
  for (unsigned seed = 1; seed <= 8; ++seed)  // of the random indices 0 to 5, the last one is out of range
    CHECK(difference_of_engines(seed, source, {{dtype::f32, {5, 8}}, {dtype::i64, {5}}}) == "");
}

// Random Relay programs with loops, branches and scalars through the whole pipeline, in all engines.
// DLCC_RANDOM_PROGRAMS=N in the environment tries N programs.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <random>

#include "engines.h"

using namespace dlcc;

namespace {

// Variables that are visible, by type.
struct Scope {
  std::vector<std::string> rows{"%x"};      // Tensor[(1, 4), float32]
  std::vector<std::string> tables{"%t"};    // Tensor[(5, 4), float32]
  std::vector<std::string> integers{"%n"};  // int64
  std::vector<std::string> numbers{"%f"};   // float32
};

constexpr const char* row = "Tensor[(1, 4), float32]";
constexpr const char* table = "Tensor[(5, 4), float32]";

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::string program() {
    Scope scope;
    std::string body = statements(scope, 3, 2, "  ");
    return fmt::format(
        R"(#[version = "0.0.5"]
tensor @update(data: f32[5, 4], slice: f32[1, 4], i: i64[]) -> (y: f32[5, 4]) {{
  y[t < 5, j < 4] = t == i[] ? slice[0, j] : data[t, j]
}}

def @main(%x: {}, %t: {}, %n: int64, %f: float32, %c: bool) {{
{}  ({}, {}, {}, {})
}}
)",
        row, table, body, scope.rows.back(), scope.tables.back(), scope.integers.back(), scope.numbers.back());
  }

 private:
  size_t draw(size_t n) { return random_() % n; }
  const std::string& any(const std::vector<std::string>& list) { return list[draw(list.size())]; }
  std::string fresh(const char* stem) { return fmt::format("%{}{}", stem, next_++); }

  // Lines of bindings; what they bind is added to the scope. Loops and branches nest up to `depth`.
  std::string statements(Scope& scope, size_t count, int depth, const std::string& indent) {
    std::string lines;
    for (size_t k = 0; k < count; ++k) {
      size_t kind = draw(depth > 0 ? 14 : 10);
      if (kind >= 12)
        lines += loop(scope, depth - 1, indent);
      else if (kind >= 10)
        lines += branch(scope, depth - 1, indent);
      else
        lines += statement(kind, scope, indent);
    }
    return lines;
  }

  std::string statement(size_t kind, Scope& scope, const std::string& indent) {
    auto bind = [&](std::vector<std::string>& list, const char* stem, const char* type, const std::string& value) {
      list.push_back(fresh(stem));
      return fmt::format("{}let {}: {} = {};\n", indent, list.back(), type, value);
    };
    std::string r = any(scope.rows), t = any(scope.tables), i = any(scope.integers), f = any(scope.numbers);
    if (kind == 0) return bind(scope.rows, "r", row, fmt::format("tanh({} + {})", r, any(scope.rows)));
    if (kind == 1)
      return bind(scope.rows, "r", row, fmt::format("reshape(take({}, {}, axis=0), newshape=[1, 4])", t, i));
    if (kind == 2) return bind(scope.rows, "r", row, fmt::format("tanh({} * {})", r, f));
    if (kind == 3) return bind(scope.tables, "t", table, fmt::format("call_tensor(@update, {}, {}, {})", t, r, i));
    if (kind == 4) return bind(scope.tables, "t", table, fmt::format("tanh({} + {})", t, r));
    if (kind == 5) {
      const char* ops[] = {"add", "subtract", "multiply", "minimum", "floor_mod"};
      return bind(scope.integers, "k", "int64", fmt::format("{}({}, {})", ops[draw(5)], i, any(scope.integers)));
    }
    if (kind == 9)
      return bind(scope.tables, "t", table,
                  fmt::format("concatenate(({}, {}, {}, {}, {}), axis=0)", r, any(scope.rows), any(scope.rows),
                              any(scope.rows), any(scope.rows)));
    if (kind == 6) return bind(scope.numbers, "f", "float32", fmt::format("max({})", draw(2) ? r : t));
    if (kind == 7)
      return bind(scope.numbers, "f", "float32",
                  fmt::format("tanh({} - cast({}, dtype=\"float32\"))", f, any(scope.integers)));
    return bind(scope.rows, "r", row,
                fmt::format("where(less({}, {}), {} * {}, {})", i, any(scope.integers), r, f, any(scope.rows)));
  }

  std::string branch(Scope& scope, int depth, const std::string& indent) {
    const std::string name = fresh("b");
    std::string text = fmt::format("{}let {} = if ({}) {{\n", indent, name, condition(scope));
    for (int arm = 0; arm < 2; ++arm) {
      Scope inner = scope;
      text += statements(inner, 1 + draw(2), depth, indent + "  ");
      text += fmt::format("{}  ({}, {}, {})\n{}}}{}", indent, inner.rows.back(), inner.integers.back(),
                          inner.numbers.back(), indent, arm ? ";\n" : " else {\n");
    }
    for (auto [list, stem] : {std::pair(&scope.rows, "r"), {&scope.integers, "k"}, {&scope.numbers, "f"}}) {
      list->push_back(fresh(stem));
      text += fmt::format("{}let {} = {}.{};\n", indent, list->back(), name,
                          list == &scope.rows       ? 0
                          : list == &scope.integers ? 1
                                                    : 2);
    }
    return text;
  }

  std::string condition(const Scope& scope) {
    return draw(3) ? fmt::format("less({}, {})", any(scope.integers), any(scope.integers)) : "%c";
  }

  // Carries a row, a table, an integer and a number, and sometimes two rows that change places.
  std::string loop(Scope& scope, int depth, const std::string& indent) {
    const std::string f = fresh("loop"), i = fresh("i"), a = fresh("a"), b = fresh("b"), ys = fresh("ys"),
                      k = fresh("c"), s = fresh("s"), in = indent + "    ";
    std::string limit = draw(2) ? fmt::format("{}i64", draw(6)) : fmt::format("minimum({}, 6i64)", any(scope.integers));
    Scope inner = scope;
    for (const auto& [list, name] : {std::pair(&inner.rows, a),
                                     {&inner.rows, b},
                                     {&inner.tables, ys},
                                     {&inner.integers, i},
                                     {&inner.integers, k},
                                     {&inner.numbers, s}})
      list->push_back(name);
    std::string body = statements(inner, 2 + draw(3), depth, in);
    std::string next = ys, update;
    if (draw(2)) {
      next = fresh("next");
      const char* form[] = {"dynamic_update_slice({0}, reshape({1}, newshape=[4]), {2})",
                            "call_tensor(@update, {0}, {1}, {2})"};
      std::string value =
          fmt::format(fmt::runtime(form[draw(2)]), ys, inner.rows.back(), draw(3) ? i : any(inner.integers));
      update = fmt::format("{}let {}: {} = {};\n", in, next, table, value);
    } else {
      next = inner.tables.back();
    }
    const bool swaps = draw(2);
    const std::string last = fresh("last");
    std::string result = fmt::format("let {0} = {1} + minimum({2}, {3}i64);\n{4}({5}, {6}, {7}, {0}, {8})", last, k, i,
                                     draw(6), in, a, b, ys, s);
    std::string text = fmt::format(
        "{0}let {1} = fn ({2}: int64, {3}: {8}, {4}: {8}, {5}: {9}, {6}: int64, {7}: float32) -> ({8}, {8}, {9}, "
        "int64, "
        "float32) {{\n{0}  if (less({2}, {10})) {{\n",
        indent, f, i, a, b, ys, k, s, row, table, limit);
    text += body + update + in;
    std::string end = fmt::format("{}({} + 1i64, {}, {}, {}, {}, {})", f, i, swaps ? b : inner.rows.back(),
                                  swaps ? inner.rows.back() : b, next, inner.integers.back(), inner.numbers.back());
    if (draw(2))  // a second exit
      end = fmt::format("if ({}) {{ ({}, {}, {}, {}, {}) }} else {{ {} }}", condition(inner), b, inner.rows.back(), next,
                        inner.integers.back(), s, end);
    if (draw(3) == 0)  // a second recursive call
      end = fmt::format("if ({}) {{ {}({} + 2i64, {}, tanh({}), {}, {}, {}) }} else {{ {} }}", condition(inner), f, i,
                        inner.rows.back(), a, ys, k, inner.numbers.back(), end);
    text += fmt::format("{}\n{}  }} else {{ {} }}\n{}}};\n", end, indent, result, indent);
    const std::string r = fresh("res");
    text += fmt::format("{}let {} = {}({}i64, {}, {}, {}, {}, {});\n", indent, r, f, draw(3), any(scope.rows),
                        any(scope.rows), any(scope.tables), any(scope.integers), any(scope.numbers));
    int field = 0;
    for (auto [list, stem] : {std::pair(&scope.rows, "r"),
                              {&scope.rows, "r"},
                              {&scope.tables, "t"},
                              {&scope.integers, "k"},
                              {&scope.numbers, "f"}}) {
      list->push_back(fresh(stem));
      text += fmt::format("{}let {} = {}.{};\n", indent, list->back(), r, field++);
    }
    return text;
  }

  std::mt19937 random_;
  int next_ = 0;
};

}  // namespace

TEST_CASE("random programs with loops give the results of their definitions") {
  const char* more = std::getenv("DLCC_RANDOM_PROGRAMS");
  int count = more ? std::atoi(more) : 60;
  const std::vector<RandomInput> inputs = {
      {dtype::f32, {1, 4}}, {dtype::f32, {5, 4}}, {dtype::i64, {}}, {dtype::f32, {}}, {dtype::boolean, {}}};
  for (int seed = 1; seed <= count; ++seed) {
    std::string text = Generator(static_cast<unsigned>(seed)).program();
    std::string problem = difference_of_engines(static_cast<unsigned>(seed), text, inputs);
    if (!problem.empty()) FAIL_CHECK("seed " << seed << ": " << problem << "\n" << text);
  }
}

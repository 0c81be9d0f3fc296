// Parsing, inference, printing and interpretation take linear time. The limits are several times what a slow machine needs; an
// algorithm of quadratic time exceeds them by far.
#include <doctest/doctest.h>

#include <ctime>

#include "frontends/frontend.h"
#include "frontends/relay/parser.h"
#include "relay/check_matches.h"
#include "relay/interpret.h"
#include "support/deep_stack.h"

namespace dlcc::relay {
namespace {

constexpr int size = 100'000;

std::string repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// The seconds of processor time that the text takes from parsing to printing. `printed` gets the result.
double seconds(const std::string& text, size_t& printed) {
  const std::clock_t begin = std::clock();
  on_deep_stack([&] {
    Diagnostics d;
    auto module = frontends::relay_text::parse(text, {.file = "t", .outside_constant = {}}, d);
    REQUIRE_MESSAGE(module, d.str());
    const bool good = infer_types(*module, d) && verify(*module, d) && check_matches(*module, d);
    REQUIRE_MESSAGE(good, d.str());
    printed = print(*module).size();
  });
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

void check_time(const std::string& text, double limit) {
  size_t printed = 0;
  const double time = seconds(text, printed);
  MESSAGE(text.size() << " bytes of text: " << time << " s");
  CHECK(time < limit);
  CHECK(printed > 0);
}

}  // namespace

TEST_CASE("a hundred thousand bindings") {
  std::string text = "def @main(%x0: Tensor[(8, 8), float32]) {\n";
  for (int i = 0; i < size; ++i) text += fmt::format("let %x{} = nn.relu(%x{});\n", i + 1, i);
  check_time(text + fmt::format("%x{} }}", size), 10);
}

TEST_CASE("types nested a hundred thousand deep") {
  check_time("def @main(%x: " + repeat("(", size) + "int32" + repeat(",)", size) + ") { %x }", 10);
  check_time("def @main(%x: " + repeat("fn (int32) -> ", size) + "int32) { let %y = %x; %y }", 10);
}

TEST_CASE("expressions whose types are nested deep") {
  constexpr int levels = 20'000;
  check_time("def @main(%x: int32) {" + repeat("(", levels) + "%x" + repeat(",)", levels) + "}", 10);
  check_time("def @main(%x: int32) {" + repeat("Some(", levels) + "%x" + repeat(")", levels) + "}", 10);
  check_time("def @main(%x: int32) {" + repeat("ref(", levels) + "%x" + repeat(")", levels) + "}", 10);
}

TEST_CASE("expressions nested a hundred thousand deep") {
  check_time("def @main(%x: int32) {" + repeat("(", size) + "%x" + repeat(")", size) + "}", 10);
  check_time("def @main(%x: float32) {" + repeat("nn.relu(", size) + "%x" + repeat(")", size) + "}", 10);
  check_time("def @main(%x: int32) {" + repeat("(%x + ", size) + "%x" + repeat(")", size) + "}", 10);
  check_time(
      "def @main(%c: bool, %x: int32) {" + repeat("if (%c) {", size) + "%x" + repeat("} else { %x }", size) + "}", 10);
}

TEST_CASE("a match over ten thousand constructors") {
  std::string type = "type T {", arms;
  for (int i = 0; i < size / 10; ++i) {
    type += fmt::format("C{}(int32),", i);
    arms += fmt::format("C{}(%x) => %x + {},\n", i, i);
  }
  check_time(type + "}\ndef @main(%t: T) -> int32 { match (%t) {" + arms + "} }", 5);
  std::string pairs;
  for (int i = 0; i < size / 10; ++i) pairs += fmt::format("(C{}(%x), C{}(_)) => %x + {},\n", i, i, i);
  check_time(type + "}\ndef @main(%t: (T, T)) -> int32 { match (%t) {" + pairs + "_ => 0} }", 2);
}

TEST_CASE("functions and lists of attributes nested a hundred thousand deep") {
  check_time("def @main(%x: int32) {" + repeat("fn () { ", size) + "%x" + repeat(" }()", size) + "}", 10);
  check_time("def @main(%x: int32, A=" + repeat("[", size) + repeat("]", size) + ") { %x }", 2);
}

TEST_CASE("values with many names, and functions without types in each other") {
  std::string names = "type List[A] { Cons(A, List[A]), Nil } def @main(%y: int32) { let %x0 = Nil; ";
  for (int i = 0; i < size / 10; ++i) names += fmt::format("let %x{} = %x{}; ", i + 1, i);
  check_time(names + fmt::format("Cons(%y, %x{}) }}", size / 10), 2);
  check_time("def @main() {" + repeat("let %f = fn (%x) { ", size / 10) + "%x" + repeat(" }; %f(1)", size / 10) + "}", 2);
}

TEST_CASE("a fold over a list of a million scalars") {
  Diagnostics d;
  auto module = frontends::import_relay(R"(
def @list(%n: int32, %rest: List[int32]) -> List[int32] { if (%n == 0) { %rest } else { @list(%n - 1, Cons(%n, %rest)) } }
def @main() { @foldl(fn (%sum: int64, %x: int32) { %sum + cast(%x, dtype="int64") }, 0i64, @list(1000000, Nil)) }
)",
                                       {}, d);
  REQUIRE_MESSAGE(module, d.str());
  const std::clock_t begin = std::clock();
  const auto result = interpret(*module, {}, tensor::Precision::specified, d);
  const double time = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  MESSAGE("a list is built and folded: " << time << " s");
  REQUIRE_MESSAGE(result, d.str());
  CHECK(str(result->value) == "500000500000i64");
  CHECK(time < 10);
}

// Each function has two uses of the one before: only what a use needs is inferred, and once for each type.
TEST_CASE("a chain of functions without types, each of which uses the one before twice") {
  std::string text = "def @main(%x: Tensor[(2), float32], %n: int32) {\nlet %f0 = fn (%x) { %x + %x };\n";
  for (int i = 0; i < 200; ++i) text += fmt::format("let %f{} = fn (%x) {{ %f{}(%f{}(%x)) }};\n", i + 1, i, i);
  check_time(text + "(%f200(%x), %f200(%n)) }", 10);
}

TEST_CASE("a match with too many combinations of patterns is not checked, with a warning") {
  constexpr int columns = 50, rows = 200;
  std::string text = "type T { A, B, C }\ndef @main(%x: (" + repeat("T, ", columns) + ")) { match (%x) {";
  for (int row = 0; row < rows; ++row) {
    std::vector<std::string> patterns(columns, "_");
    patterns[static_cast<size_t>(7 * row % columns)] = "ABC"[row % 3];
    patterns[static_cast<size_t>((11 * row + 5) % columns)] = "ABC"[row / 3 % 3];
    text += fmt::format("({}) => {},", fmt::join(patterns, ", "), row);
  }
  on_deep_stack([&] {
    Diagnostics d;
    auto module = frontends::relay_text::parse(text + "} }", {.file = "t", .outside_constant = {}}, d);
    REQUIRE_MESSAGE(module, d.str());
    CHECK(check_matches(*module, d));
    CHECK_MESSAGE(d.str().find("it is not known whether this match has an arm for every value") != std::string::npos, d.str());
  });
}

}  // namespace dlcc::relay

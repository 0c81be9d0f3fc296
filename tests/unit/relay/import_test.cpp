// import_relay: what it accepts, and that it reports independent problems together.
#include <doctest/doctest.h>

#include "frontends/frontend.h"

using namespace dlcc;

namespace {

std::string errors_of(const std::string& text, Diagnostics& diagnostics) {
  frontends::ImportOptions options;
  options.file = "t";
  const bool is_imported = frontends::import_relay(text, options, diagnostics).has_value();
  CHECK(is_imported != diagnostics.has_errors());
  return diagnostics.str();
}

std::string errors_of(const std::string& text) {
  Diagnostics diagnostics;
  return errors_of(text, diagnostics);
}

}  // namespace

TEST_CASE("a byte order mark before the text is skipped") {
  CHECK(errors_of("\xEF\xBB\xBF"
                  "def @main(%x: Tensor[(2), float32]) { %x }")
            .empty());
  CHECK(errors_of("\xEF\xBB\xBF"
                  "def main")
            .starts_with("t:1:5: "));
}

TEST_CASE("errors have the source line, also those of type inference and of tensor functions") {
  for (const char* line : {"  nn.softmax(%x, axis=7)", "  nn.softmax(%x", "  nn.sofmax(%x)"}) {
    Diagnostics diagnostics;
    errors_of(fmt::format("def @main(%x: Tensor[(2), float32]) {{\n{}\n}}", line), diagnostics);
    REQUIRE(!diagnostics.list().empty());
    const Diagnostic& d = diagnostics.list()[0];
    CHECK((d.location.line == 3 ? d.source_line == "}" : d.source_line == line));
  }
  Diagnostics diagnostics;
  errors_of("// a comment\n tensor @f(x: f32[4]) -> (y: f32[4]) { y[i < 4] = x[i, 0] }\ndef @main() { 1 }",
            diagnostics);
  REQUIRE(!diagnostics.list().empty());
  CHECK(diagnostics.list()[0].source_line.starts_with(" tensor @f"));
}

TEST_CASE("unknown operators and variables do not hide other problems") {
  const std::string text = errors_of(
      "def @main(%image: Tensor[(2, 3), float32], %b: Tensor[(5), float32]) {\n"
      "  let %a = nn.sofmax(%image);\n"
      "  let %c = nn.relu(%imge);\n"
      "  let %d = nn.relu(%a) + %c;\n"
      "  let %e = nn.softmax(%image, axis=9);\n"
      "  let %f = nn.softmax(%image, axes=1);\n"
      "  let %g = %image + %b;\n"
      "  (%d, %e, %f, %g)\n"
      "}");
  CHECK(text ==
        "t:2:12: error[unsupported-operator]: there is no operator or constructor 'nn.sofmax'\n"
        "    help: did you mean 'nn.softmax'?\n"
        "t:3:20: error[undefined-value]: %imge is not defined here\n"
        "    help: did you mean '%image'?\n"
        "t:5:12: error[bad-attribute]: nn.softmax: axis must be in [-2, 1], found 9\n"
        "    data     %image       Tensor[(2, 3), float32]\n"
        "t:6:12: error[bad-attribute]: nn.softmax: there is no attribute 'axes'\n"
        "    data     %image       Tensor[(2, 3), float32]\n"
        "    help: did you mean 'axis'?\n"
        "t:7:19: error[shape-mismatch]: add: shapes (2, 3) and (5) cannot be broadcast: sizes 3 and 5 differ and "
        "neither is 1\n"
        "    lhs      %image       Tensor[(2, 3), float32]\n"
        "    rhs      %b           Tensor[(5), float32]\n"
        "    help: shapes are aligned at their last dimensions; reshape or expand_dims one of them\n");
}

TEST_CASE("what follows from an unknown name is not reported") {
  CHECK(errors_of("def @main(%x: Tensor[(2), float32]) { let %a = qqqq(%x); (nn.relu(%a), %a + %x, @g(%a)) }\n"
                  "def @g(%y: Tensor[(2), float32]) { %y }") ==
        "t:1:48: error[unsupported-operator]: there is no operator or constructor 'qqqq'\n"
        "    help: variables are written %name, functions @name; 'dlcc ops' lists the operators\n");
}

TEST_CASE("misspelled functions have suggestions") {
  const std::string text =
      errors_of("def @forward(%x: Tensor[(2), float32]) { %x }\ndef @main(%x: Tensor[(2), float32]) { @foward(%x) }");
  CHECK(text == "t:2:39: error[undefined-value]: there is no function @foward\n    help: did you mean '@forward'?\n");
}

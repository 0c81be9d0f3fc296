// import_relay: the accepted texts, and the report of independent problems together.
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

TEST_CASE("messages name type variables of the text") {
  const std::string app = "def @app(%g: fn [B](B, _) -> B) { 1 }\n";
  const std::string text = errors_of(app + "def @main() { @app(fn [A](%x: A, %y: List[A]) -> int32 { 1 }) }");
  CHECK_MESSAGE(text.find("found fn [A](A, List[A]) -> int32") != std::string::npos, text);
  CHECK_MESSAGE(text.find("[]") == std::string::npos, text);
}

TEST_CASE("functions that are generic in shapes are no values") {
  const std::string take = "def @f(%f: fn [S: Shape](Tensor[S, float32]) -> Tensor[S, float32]) { %f(1f) }\n";
  for (const char* function : {"@id", "fn [S: Shape](%x: Tensor[S, float32]) { %x }"}) {
    const std::string text = errors_of(take + fmt::format("def @main() {{ @f({}) }}", function));
    CHECK_MESSAGE(text.find("help: a function that is generic in shapes or element types has a copy for each use") !=
                      std::string::npos,
                  text);
  }
}

TEST_CASE("a message tells that equal names have different meanings") {
  const std::string text = errors_of("def @f[A](%x: A) { let %g = fn [A](%y: A) -> A { %x }; 1 } def @main() { 1 }");
  CHECK_MESSAGE(text.find("expected A, found A\n    t:1:46: the result is declared here: A\n"
                          "    both types are written A, but the names in them differ in meaning: each function has its own") !=
                    std::string::npos,
                text);
}

TEST_CASE("problems of data types and of values without names are at their locations") {
  CHECK(errors_of("type W { MkW(int32, _) } def @main() { 1 }").starts_with("t:1:10: error[cannot-infer]: the types of"));
  CHECK(errors_of("def @main() { (fn (%x: int32) -> int32 { %x })(True) }").find("%:") == std::string::npos);
  CHECK(errors_of("def @main(%x: Tensor[(2, 3), float32]) { reshape(%x, newshape=[-2, -9]) }")
            .starts_with("t:1:42: error[unsupported-attribute]: reshape: newshape[1] is -9"));
  CHECK(errors_of("type List[A] { MyCons(A) }\ndef @maps() { 1 }\ndef @main() { @map(1, 2) }")
            .find("help: the text has its own type List") != std::string::npos);
  const std::string uses = "def @main() { (@length(Cons(1, Nil)), @size(Rose(1, Nil))) }";
  CHECK(errors_of("type List[B] { Cons(B, List[B]), Nil }\ntype Tree[A] { Rose(A, List[Tree[A]]) }\n" + uses).empty());
  CHECK(errors_of("type List[B] { Nil, Cons(B, List[B]) }\n" + uses).find("help: the text has its own type List") !=
        std::string::npos);
}

TEST_CASE("braces in strings and comments of functions of TVM's tensor IR") {
  CHECK(errors_of("@f = primfn (x: handle) -> ()\n  attr = {\"a}\": \"{\"} { // }\n /* { */ x }\n"
                  "@g = /* c */ primfn(x: handle) -> () { \"\\\"{\" }\ndef @main() { 1 }")
            .empty());
}

TEST_CASE("a hole is a size that is not known") {
  CHECK(errors_of("def @main(%x: Tensor[(3), float32]) { let %y: Tensor[(_), float32] = %x; add(%y, %y) }").empty());
  CHECK(errors_of("def @f(%x: Tensor[(_), float32], %y: Tensor[(_), float32]) { 1 }\n"
                  "def @main(%x: Tensor[(3), float32], %y: Tensor[(2), float32]) { @f(%x, %y) }")
            .empty());
}

TEST_CASE("attributes of calls that are no operators' are ignored, with a warning") {
  CHECK(errors_of("def @f(%x: int32) { %x } def @main() { (@f(1, axis=2), @f(1, attrs_type_key=\"A\", axis=2)) }") ==
        "t:1:41: warning[bad-attribute]: attribute 'axis' is ignored: only calls of operators have attributes\n");
  CHECK(errors_of("def @main(%x: float32) { nn.sofmax(%x, axis=1) }").find("warning") == std::string::npos);
  CHECK(errors_of("def @main(%x: Tensor[(3, 4), float32]) {\n"
                  "  let %f = nn.softmax; %f(%x, axis=0, attrs_type_key=\"relay.attrs.SoftmaxAttrs\") }")
            .empty());
}

TEST_CASE("the result of a call has no negative size") {
  const std::string function =
      "def @f(%x: Tensor[(n), float32]) -> Tensor[(n - 4), float32] { strided_slice(%x, begin=[0], end=[n - 4]) }\n";
  CHECK(errors_of(function + "def @main(%x: Tensor[(6), float32]) { @f(%x) }").empty());
  CHECK(errors_of(function + "def @main(%x: Tensor[(3), float32]) { @f(%x) }") ==
        "t:2:39: error[shape-mismatch]: the result would be Tensor[(-1), float32]\n    a size is negative for these "
        "arguments\n");
}

TEST_CASE("a size that only the result of an annotation's function type names is unknown") {
  Diagnostics diagnostics;
  const auto module = frontends::import_relay(
      "def @double(%x: Tensor[(m), float32]) { %x + %x }\n"
      "def @main(%c: bool, %x: Tensor[(n), float32]) {\n"
      "  let %f: fn (Tensor[(n), float32]) -> Tensor[(k), float32] = if (%c) { @double } else { @id };\n  %f(%x)\n}",
      {}, diagnostics);
  REQUIRE_MESSAGE(module, diagnostics.str());
  const std::string text = print(*module, false);
  CHECK_MESSAGE(text.find("let %f: fn (Tensor[(n), float32]) -> Tensor[(?), float32]") != std::string::npos, text);
  const auto again = frontends::import_relay(text, {}, diagnostics);
  REQUIRE_MESSAGE(again, diagnostics.str());
  CHECK(print(*again, false) == text);
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

TEST_CASE("consequences of an unknown name are not reported") {
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

namespace {

// The type of @main's first parameter, and the sizes that the caller gives.
std::string sizes_of(const std::string& text, std::map<std::string, SizeRange> dims = {}) {
  Diagnostics diagnostics;
  frontends::ImportOptions options{.dims = std::move(dims), .file = "t", .folder = ""};
  auto module = frontends::import_relay(text, options, diagnostics);
  if (!module) return diagnostics.str();
  std::string result = relay::str(module->functions.at("main").params.at(0)->type);
  for (const InputDim& d : module->dims)
    result += fmt::format(" {}={} of [{}, {}]", d.name, d.size().str(), d.low(), d.is_bounded() ? d.high() : -1);
  return result;
}

SizeRange range(const std::string& text) {
  std::string problem;
  return parse_size_range(text, problem).value();
}

}  // namespace

TEST_CASE("the sizes of @main's inputs have the bounds of --dim, in order of appearance") {
  const std::string text = "def @main(%x: Tensor[(m, n), float32], %y: Tensor[(k, m), float32]) { nn.relu(%x) }";
  CHECK(sizes_of(text) == "Tensor[(m, n), float32] m=m of [1, -1] n=n of [1, -1] k=k of [1, -1]");
  CHECK(sizes_of(text, {{"n", 5}, {"k", range("0..9")}}) == "Tensor[(m, 5), float32] m=m of [1, -1] k=k of [0, 9]");
  CHECK(sizes_of(text, {{"n", range("1..64:8")}, {"m", range("2..")}}) ==
        "Tensor[(m, 8 * n_by_8), float32] m=m of [2, -1] n=8 * n_by_8 of [8, 64] k=k of [1, -1]");
}

TEST_CASE("an unknown axis of an input is named after the input") {
  CHECK(sizes_of("def @main(%x: Tensor[(?, 3, ?), float32], %y: Tensor[(x_2), float32]) { nn.relu(%x) }") ==
        "Tensor[(x_0, 3, x_2_), float32] x_0=x_0 of [1, -1] x_2_=x_2_ of [1, -1] x_2=x_2 of [1, -1]");
  CHECK(sizes_of("def @main(%x: (Tensor[(?), float32], Tensor[(?), float32])) { %x.0 }", {{"x_1", 4}}) ==
        "(Tensor[(x_0), float32], Tensor[(4), float32]) x_0=x_0 of [1, -1]");
}

TEST_CASE("a range of --dim applies to @main's inputs only") {
  const std::string text =
      "def @main(%x: Tensor[(n), float32]) { @f(%x) }\n"
      "def @f(%a: Tensor[(n), float32]) -> Tensor[(n), float32] { nn.relu(%a) }";
  Diagnostics diagnostics;
  frontends::ImportOptions options{.dims = {{"n", range("8..64:8")}}, .file = "t", .folder = ""};
  auto module = frontends::import_relay(text, options, diagnostics);
  REQUIRE_MESSAGE(module, diagnostics.str());
  CHECK(relay::str(module->functions.at("main").params[0]->type) == "Tensor[(8 * n_by_8), float32]");
  CHECK(relay::str(module->functions.at("f").params[0]->type) == "Tensor[(n), float32]");
}

TEST_CASE("a size may be part of an expression if an axis determines it") {
  CHECK(sizes_of("def @main(%x: Tensor[(2 * n + 1), float32]) { nn.relu(%x) }") ==
        "Tensor[(2 * n + 1), float32] n=n of [1, -1]");
  CHECK(sizes_of("def @main(%x: Tensor[(n * m, n), float32], %y: Tensor[(3 * m), float32]) { nn.relu(%x) }") ==
        "Tensor[(m * n, n), float32] m=m of [1, -1] n=n of [1, -1]");
  CHECK(
      sizes_of("def @main(%x: Tensor[(floor_div(n, 2)), float32]) { nn.relu(%x) }") ==
      "t:1:5: error[dynamic-shape]: the shapes of the inputs do not determine the size 'n' in floor_div(n, 2) of input "
      "'x'\n    help: declare an axis of an input as n, or as a multiple of it such as 2 * n + 1; or give it a value: "
      "--dim n=N\n");
}

TEST_CASE("a product of sizes does not determine its factors") {
  CHECK(sizes_of("def @main(%x: Tensor[(n * m), float32], %y: Tensor[(n), float32]) { nn.relu(%x) }") ==
        "t:1:5: error[dynamic-shape]: the shapes of the inputs do not determine the size 'm' in m * n of input 'x'\n"
        "    help: a product such as m * n does not give its factors; declare an axis of an input as m, or as a multiple "
        "of it such as 2 * m + 1; or give it a value: --dim m=N\n");
}

TEST_CASE("--dim sets a size of the module in a tensor function") {
  const std::string iota =
      "tensor @iota<m>() -> (result: i64[m]) {\n  result[i < m] = i\n}\n"
      "tensor @twice<m>(x: f32[m]) -> (result: f32[m]) {\n  result[i < m] = x[i] + x[i]\n}\n";
  Diagnostics diagnostics;
  const frontends::ImportOptions options{.dims = {{"m", 4}}, .file = "t", .folder = ""};
  auto module = frontends::import_relay(iota + "def @main(%x: Tensor[(3), float32]) { (call_tensor(@iota), "
                                               "call_tensor(@twice, %x)) }", options, diagnostics);
  REQUIRE_MESSAGE(module, diagnostics.str());
  CHECK(str(module->tensor_functions.at("iota").results[0]->shape) == "(4)");
  CHECK(str(module->tensor_functions.at("twice").results[0]->shape) == "(m)");
}

TEST_CASE("--dim with an unknown name is an error with a suggestion") {
  const std::string text = "def @main(%batch: Tensor[(batch, seq), float32]) { nn.relu(%batch) }";
  CHECK(sizes_of(text, {{"bach", 2}}) ==
        "t: error[undefined-value]: --dim bach=2: no type has a dimension of this name\n"
        "    help: did you mean 'batch'? there are: batch, seq\n");
  CHECK(sizes_of(text, {{"bach", range("1..4")}}) ==
        "t: error[undefined-value]: --dim bach=1..4: no input of @main has a dimension of this name\n"
        "    help: did you mean 'batch'? there are: batch, seq\n");
}

TEST_CASE("after a syntax error the next definitions are checked") {
  const std::string text = errors_of(
      "def @a(%x: int32) {\n"
      "  %x +\n"
      "}\n"
      "def @b(%x: int32) {\n"
      "  %y\n"
      "}\n"
      "def @c(%x: int32) { let = 1; %x }\n"
      "def @main(%x: int32) { @a(%x) }\n");
  CHECK(text ==
        "t:3:1: error[syntax-error]: expected an expression, found '}'\n"
        "t:5:3: error[undefined-value]: %y is not defined here\n"
        "    help: defined here: %x\n"
        "t:7:25: error[syntax-error]: expected a variable, %name, found '='\n");
  // A definition that is not closed ends at the next one. The constructors of a malformed type are unknown.
  CHECK(errors_of("def @a() {\n  1\ndef @main() {\n  ]\n}\n") ==
        "t:3:1: error[syntax-error]: expected '}' after the block's value, found 'def'\n"
        "t:4:3: error[syntax-error]: expected an expression, found ']'\n");
  CHECK(errors_of("type T {\n  A(int32,\n  B[\n}\ndef @main() {\n  B\n}\n").find("t:6:") == std::string::npos);
}

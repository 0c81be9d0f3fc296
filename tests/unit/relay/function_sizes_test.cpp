// Functions that are values and find sizes at each call, and results whose sizes their functions define.
#include "calculus.h"

namespace dlcc::relay {

TEST_CASE("functions that are values find sizes at each call") {
  const std::string calls = R"(
    let %x = concatenate((full(0, shape=[2]), full(5, shape=[3])));
    (sum(%f(%x)), sum(%f(full(1, shape=[2])))) }
)";
  const std::string body = "{ prefix(%x, nonzero(%x).1) }\n";
  const std::string params = "(%x: Tensor[(k), int32])";
  const std::string expected = "(5, 2)", define = "def @f" + params + body;
  CHECK(result_of("def @make() { fn " + params + body + " } def @main() { let %f = @make();" + calls, {}) == expected);
  CHECK(result_of(define + "def @main() { let %r = ref(@f); let %f = ref_read(%r);" + calls, {}) == expected);
  CHECK(result_of(define + "def @first[A, B](%t: (A, B)) { %t.0 } def @main() { let %f = @first((@f, 1));" + calls, {}) ==
        expected);
  CHECK(result_of("def @main() { let %g: fn (Tensor[(q), int32]) -> _ = negative; @map(%g, Cons(full(3, shape=[2]), Nil)) }",
                  {}) == "Cons(Tensor[(2), int32]{-3, -3}, Nil)");
}

TEST_CASE("functions of any size in several data values") {
  const std::vector<std::string> passes = {"inline-higher-order", "eta-expand", "compile-matches"};
  const std::string f = "def @f(%x: Tensor[(n), int32]) { concatenate((%x, %x)) }\n";
  CHECK(result_of(f + R"(def @main() {
    let %o = Some(@f);
    let %p = Some(@f);
    let %r = ref(@f);
    let %l = Cons(@f, Nil);
    let %x = full(1, shape=[3]);
    let %y = match (%o) { Some(%g) => %g(%x), None => %x };
    match (%p) { Some(%g) => sum(%g(%y)) * 1000 + sum(@hd(%l)(%x)) + sum(ref_read(%r)(%y)), None => 0 }
  })",
                  passes) == "12018");
}

TEST_CASE("functions of any size: sizes are checked where they are applied") {
  check_result(R"(
type Both { MakeBoth(Tensor[(?), int32], Tensor[(?), int32]) }
def @apply_both(%f: fn (Tensor[(n), int32]) -> Tensor[(n), int32], %b: Both) -> (int32, int32) {
  match (%b) { MakeBoth(%x, %y) => (sum(%x), sum(%y)) }
}
def @twice(%f: fn (Tensor[(n), int32]) -> Tensor[(n), int32], %x: Tensor[(n), int32]) -> Tensor[(n), int32] {
  %f(%f(%x))
}
def @main() {
  let %y = full(3, shape=[2]);
  let %f = fn (%x: Tensor[(2), int32]) -> Tensor[(2), int32] { %x + %y };
  let %g = fn (%x: Tensor[(3), int32]) -> Tensor[(3), int32] { %x * 2 };
  (@twice(%f, full(1, shape=[2])), @twice(%g, full(1, shape=[3])), @apply_both(%f, MakeBoth(%y, full(1, shape=[5]))))
}
)",
               "(Tensor[(2), int32]{7, 7}, Tensor[(3), int32]{4, 4, 4}, (6, 5))");
}

TEST_CASE("an if or a match selects functions of which one is of any size") {
  const std::string types = "Tensor[(3), int32]", add = "def @add(%x: Tensor[(n), int32], %y: Tensor[(n), int32]) { %x + %y }\n";
  const std::string fixed = "fn (%x: " + types + ") -> " + types + " { %x * 10 }", any = "fn (%x) { @add(%x, %x) }";
  const std::string call = "; %f(full(1, shape=[3])) }\n";
  auto selected = [&](const std::string& condition, const std::string& one, const std::string& other) {
    return add + "def @f(%c: bool) { let %f = if (%c) { " + one + " } else { " + other + " }" + call +
           "def @main() { sum(@f(" + condition + ")) }";
  };
  check_result(selected("True", any, fixed), "6");
  check_result(selected("False", any, fixed), "30");
  check_result(selected("True", fixed, any), "30");
  check_result(selected("False", fixed, any), "6");
  Diagnostics d;
  auto module = import_text(selected("True", any, fixed), d);
  REQUIRE_MESSAGE(module, d.str());
  const std::string printed = print(*module);
  CHECK_MESSAGE(printed.find("-> Tensor[(3), int32] {\n      %v(%x_1)\n") != std::string::npos, printed);
  check_result(add + "type Color { Red, Green, Blue }\n" + "def @f(%c: Color) { let %p = match (%c) { Red => { (" + fixed +
                   ", 1) }, Green => { (" + any + ", 2) }, _ => { (fn (%x: Tensor[(k), int32]) { %x }, 3) } };" +
                   " sum(%p.0(full(1, shape=[3]))) * 10 + %p.1 }\ndef @main() { (@f(Red), @f(Green), @f(Blue)) }",
               "(301, 62, 33)");
  check_result(R"(
def @f(%c: bool, %a: Tensor[(3), int32], %b: Tensor[(2), int32]) {
  let %f = if (%c) { fn (%x: Tensor[(n), int32], %y: Tensor[(2), int32]) { prefix(%x, nonzero(%x).1) } }
           else { fn (%x: Tensor[(3), int32], %y: Tensor[(m), int32]) { %y } };
  %f(%a, %b)
}
def @main() { (sum(@f(True, full(4, shape=[3]), full(5, shape=[2]))), sum(@f(False, full(4, shape=[3]), full(5, shape=[2])))) }
)",
               "(12, 10)");
  const std::string named = "def @id(%x: Tensor[(n), int32]) { %x }\ndef @f(%c: bool) { let %any: fn (Tensor[(w), int32]) -> "
                            "Tensor[(w), int32] = @id; let %fixed = " + fixed + "; let %f = if (%c) { ONE } else { OTHER }" +
                            call + "def @main() { (sum(@f(True)), sum(@f(False))) }";
  auto with_names = [&](std::string one, std::string other) {
    std::string text = named;
    text.replace(text.find("ONE"), 3, one);
    return text.replace(text.find("OTHER"), 5, other);
  };
  check_result(with_names("%any", "%fixed"), "(3, 30)");
  check_result(with_names("%fixed", "%any"), "(30, 3)");
}

TEST_CASE("the printed text of selected functions is read as it was written") {
  check_text(R"(
def @main(%c: bool, %a: Tensor[(3), int32]) {
  let %f = if (%c) { negative } else { fn (%x: Tensor[(3), int32]) { prefix(%x, nonzero(%x).1) } };
  let %p = ((fn (%x: Tensor[(k), int32]) { %x }, 1), 2);
  let %q: (fn (Tensor[(3), int32]) -> Tensor[(3), int32], int32) = %p.0;
  (%f(%a), %q.0(%a))
}
)");
}

TEST_CASE("a tuple of functions of any size has a type at certain sizes") {
  check_result(R"(
def @add(%x: Tensor[(n), int32], %y: Tensor[(n), int32]) { %x + %y }
def @twice(%p: (fn (Tensor[(3), int32], Tensor[(3), int32]) -> Tensor[(3), int32], int32), %x: Tensor[(3), int32]) {
  sum(%p.0(%x, %x)) + %p.1
}
def @main() {
  let %q: (int32, fn (Tensor[(2), int32]) -> Tensor[(2), int32]) = (7, fn (%x) { @add(%x, %x) });
  let %p = (@add, 2);
  (@twice(%p, full(1, shape=[3])), sum(%q.1(full(1, shape=[2]))) + %q.0)
}
)",
               "(8, 11)");
}

TEST_CASE("functions whose results have sizes of their own at each call, under several names") {
  const std::string found = "fn (%x: Tensor[(k), int32]) { prefix(%x, nonzero(%x).1) }";
  const std::string begin = "def @main() { let %a = concatenate((full(1, shape=[2]), full(5, shape=[1]))); ";
  const std::string end = "; (sum(%q(%a)), sum(%q(%a - 1))) }", expected = "(7, 0)";
  check_result(begin + "let %q: fn (Tensor[(3), int32]) -> Tensor[(?), int32] = " + found + end, expected);
  check_result(begin + "let %p = " + found + "; let %q = %p" + end, expected);
  check_result(begin + "let %p = (" + found + ", 1); let %q = %p.0" + end, expected);
  const std::string tuple = "let %t: (fn (Tensor[(3), int32]) -> Tensor[(?), int32], int32) = %p; let %q = %t.0";
  check_result(begin + "let %p = (" + found + ", 1); " + tuple + end, expected);
}

TEST_CASE("a function of any size in a tuple that an if selects is a value of a function in the other one") {
  const std::string text = R"(
def @add(%x: Tensor[(n), int32], %y: Tensor[(n), int32]) { %x + %y }
def @f(%c: bool, %a: Tensor[(3), int32]) {
  let %p = if (%c) { (@add, 1) } else { (fn (%x: Tensor[(k), int32], %y: Tensor[(j), int32]) { %x }, 2) };
  sum(%p.0(%a, %a)) + %p.1
}
def @main() { (@f(True, full(1, shape=[3])), @f(False, full(1, shape=[3]))) }
)";
  check_result(text, "(7, 5)");
  CHECK(result_of(text, {"instantiate-sizes"}) == "(7, 5)");
}

TEST_CASE("functions of any size in a list are refused") {
  Diagnostics d;
  auto module = import_text(R"(
def @apply_all(%fs: List[fn (Tensor[(n), int32]) -> Tensor[(n), int32]], %x: Tensor[(n), int32]) -> Tensor[(n), int32] {
  match (%fs) { Cons(%f, %rest) => @apply_all(%rest, %f(%x)), Nil => %x }
}
def @main() {
  @apply_all(Cons(fn (%x: Tensor[(2), int32]) -> Tensor[(2), int32] { %x + %x }, Nil), full(1, shape=[2]))
}
)",
                            d);
  REQUIRE_MESSAGE(module, d.str());
  CHECK_FALSE(after(std::move(*module), {"monomorphize"}, d));
  CHECK_MESSAGE(d.str().find("are in data, whose types have no sizes that are names") != std::string::npos, d.str());
}

TEST_CASE("functions that return functions of any size are selected in either order") {
  const std::string any = "fn (%s: int32) { fn (%x: Tensor[(k), int32]) { %x * %s } }";
  const std::string twice = "fn (%s: int32) { fn (%x: Tensor[(k), int32]) { concatenate((%x, %x + %s)) } }";
  const std::string fixed = "fn (%s: int32) { fn (%x: Tensor[(3), int32]) { %x + %s } }";
  const std::string globals = "def @scaled(%s: int32) { " + any + "(%s) }\ndef @moved(%s: int32) { " + fixed + "(%s) }\n" +
                              "def @repeated(%s: int32) { " + twice + "(%s) }\n";
  auto selected = [&](const std::string& one, const std::string& other, const std::string& sizes) {
    std::string calls;
    for (const char size : sizes) calls += fmt::format("sum(%f(full(1, shape=[{}]))), ", size);
    return globals + "def @f(%c: bool) { let %made = if (%c) { " + one + " } else { " + other +
           " }; let %f = %made(7); (" + calls + ") }\ndef @main() { (@f(True), @f(False)) }";
  };
  check_result(selected(any, fixed, "3"), "((21,), (24,))");
  check_result(selected(fixed, any, "3"), "((24,), (21,))");
  check_result(selected(any, twice, "34"), "((21, 28), (27, 36))");
  check_result(selected(fixed, twice, "3"), "((24,), (27,))");
  check_result(selected("@scaled", "@moved", "3"), "((21,), (24,))");
  check_result(selected("@moved", "@scaled", "3"), "((24,), (21,))");
  check_result(selected("@scaled", "@repeated", "34"), "((21, 28), (27, 36))");
}

TEST_CASE("a function that selects one of its parameters, both of any size, gives a function of any size") {
  check_result(R"(
def @select(%c: bool, %f: fn (Tensor[(k), int32]) -> Tensor[(k), int32], %g: fn (Tensor[(j), int32]) -> Tensor[(j), int32]) {
  if (%c) { %f } else { %g }
}
def @f(%c: bool) {
  let %h = @select(%c, fn (%x: Tensor[(k), int32]) { %x * 5 }, fn (%x: Tensor[(k), int32]) { negative(%x) });
  (sum(%h(full(1, shape=[3]))), sum(%h(full(1, shape=[4]))))
}
def @main() { (@f(True), @f(False)) }
)",
               "((15, 20), (-3, -4))");
}

TEST_CASE("a function that calls itself has no sizes of its own in a result without a declared type") {
  const std::string begin = "def @begin(%x: Tensor[(n), int32]) { let %p = nonzero(%x > 0); prefix(%x, %p.1) }\n";
  const std::string body = " { if (%i > 0) { let %r = NAME(%i - 1, %x - 1); concatenate((%r, %r)) } else { @begin(%x) } }";
  auto program = [&](const std::string& result, bool is_local) {
    const std::string name = is_local ? "%loop" : "@loop";
    std::string function = "(%i: int32, %x: Tensor[(n), int32])" + result + body;
    function.replace(function.find("NAME"), 4, name);
    const std::string call = "%x = concatenate((full(1, shape=[2]), full(5, shape=[3]))); " + name + "(2, %x) }";
    if (is_local) return begin + "def @main() { let %loop = fn " + function + "; let " + call;
    return begin + "def @loop" + function + "\ndef @main() { let " + call;
  };
  const std::string expected = "Tensor[(12), int32]{-1, -1, 3, -1, -1, 3, -1, -1, 3, -1, -1, 3}";
  for (const bool is_local : {false, true}) {
    CHECK(result_of(program(" -> Tensor[(?), int32]", is_local), {}) == expected);
    Diagnostics d;
    CHECK_FALSE(import_text(program("", is_local), d));
    CHECK_MESSAGE(d.str().find("write the result's type, such as -> Tensor[(?), int32]") != std::string::npos, d.str());
  }
}

TEST_CASE("functions of any size in a result have sizes of their own") {
  const std::string call = "(%t.0(full(1, shape=[2])), %t.1(full(1, shape=[3])))";
  const std::string expected = "(Tensor[(2), int32]{2, 2}, Tensor[(3), int32]{2, 2, 2})";
  const std::string twice = "let %f = fn (%x: Tensor[(n), int32]) { %x * 2 }; ";
  check_result("def @pair() { " + twice + "(%f, %f) }\ndef @main() { let %t = @pair(); " + call + " }", expected);
  check_result("def @more(%f: fn (Tensor[(n), int32]) -> Tensor[(n), int32]) {\n"
               "  fn (%x: Tensor[(n), int32]) { %f(concatenate((%x, %x))) }\n}\n"
               "def @main() { " + twice + "let %g = @more(%f); (%g(full(1, shape=[1])), %g(full(1, shape=[2]))) }",
               "(Tensor[(2), int32]{2, 2}, Tensor[(4), int32]{2, 2, 2, 2})");
  const std::string make = "def @make() { " + twice + "ref(%f) }\n";
  const std::string read = "let %g = ref_read(%r); let %t = (%g, %g); " + call;
  CHECK(result_of(make + "def @main() { let %r = @make(); " + read + " }", {}) == expected);
  CHECK(result_of(make + "def @main() { let %r = if (True) { @make() } else { @make() }; " + read + " }", {}) == expected);
}

TEST_CASE("arguments of any size, and what another function is named, do not share a size") {
  check_result("def @main() { @compose(fn (%x: Tensor[(n), int32]) { %x * 2 }, fn (%x: Tensor[(n), int32]) { "
               "concatenate((%x, %x)) })(full(1, shape=[2])) }",
               "Tensor[(4), int32]{2, 2, 2, 2}");
  check_result("def @id(%x: Tensor[(k), int32]) { %x }\ndef @main() { let %h = @id; "
               "let %f = fn (%g: fn (Tensor[(k), int32]) -> Tensor[(?), int32]) { %g(full(2, shape=[3])) }; "
               "%f(fn (%x: Tensor[(3), int32]) { %x }) }",
               "Tensor[(3), int32]{2, 2, 2}");
}

TEST_CASE("a list of functions has the least precise result of its functions") {
  const std::string text = R"(
def @main() {
  let %any = fn (%x: Tensor[(k), int32]) { %x };
  let %few = fn (%x: Tensor[(3), int32]) { prefix(%x, nonzero(%x).1) };
  @map(fn (%f) { sum(%f(full(2, shape=[3]))) }, Cons(%any, Cons(%few, Nil)))
}
)";
  check_text(text);
  CHECK(result_of(text, {"eta-expand"}) == "Cons(6, Cons(6, Nil))");
}

TEST_CASE("an unknown size in the result of a function in a reference is another one at each call") {
  check_result(R"(
def @f(%r: ref(fn (Tensor[(3), int32]) -> Tensor[(?), int32])) {
  let %f = ref_read(%r);
  sum(%f(full(1, shape=[3]))) * 10 + sum(%f(full(0, shape=[3])))
}
def @main() {
  let %r: ref(fn (Tensor[(3), int32]) -> Tensor[(?), int32]) =
    ref(fn (%x: Tensor[(3), int32]) { concatenate((prefix(%x, nonzero(%x).1), full(1, shape=[1]))) });
  @f(%r)
}
)",
               "41");
}

TEST_CASE("a name for two sizes requires that they are equal") {
  auto named = [](const std::string& size) {
    return "def @f(%x: Tensor[(m), int32], %w: Tensor[(k), int32]) { let %y: Tensor[(n), int32] = %x; "
           "let %z: Tensor[(n), int32] = %w; sum(%y) + sum(%z) }\n"
           "def @main() { @f(full(1, shape=[3]), full(1, shape=[" + size + "])) }";
  };
  CHECK(result_of(named("3"), {}) == "6");
  CHECK(result_of(named("4"), {}) == "status 7");
  const std::string other = "def @main() { let %f = fn (%x: Tensor[(m), int32]) { let %y: Tensor[(n), int32] = %x; sum(%y) }; "
                            "let %z: Tensor[(n), int32] = full(1, shape=[4]); sum(%z) + %f(full(1, shape=[3])) }";
  CHECK(result_of(other, {}) == "7");
  const std::string few = "prefix(%x, nonzero(%x).1)";
  check_result("def @f(%x: Tensor[(3), int32]) { let %p = " + few + "; let %y: Tensor[(n), int32] = %p; " +
                   "let %z: Tensor[(n), int32] = " + few + "; sum(%y + %z) }\ndef @main() { @f(full(1, shape=[3])) }",
               "6");
  CHECK(result_of("def @main() { let %x = full(1, shape=[3]); let %p = " + few + "; let %y: Tensor[(n), int32] = %p; " +
                      "let %z: Tensor[(n), int32] = prefix(%x, nonzero(%x - 1).1); (%y, %z) }", {}) == "status 7");
}

TEST_CASE("a size that no tensor of the parameters has cannot be checked") {
  auto refused = [](const std::string& text) {
    Diagnostics d;
    CHECK_FALSE(import_text(text, d));
    return d.str().find("is not known here: no tensor of the function's parameters has it") != std::string::npos;
  };
  const std::string rest = ", %y: Tensor[(?), int32]) -> Tensor[(n), int32] { %y }\ndef @main() { 0 }";
  CHECK(refused("def @f(%f: fn (int32) -> Tensor[(n), int32]" + rest));
  CHECK(refused("def @f(%f: ref(Tensor[(n), int32])" + rest));
  CHECK(refused("def @f(%f: List[Tensor[(n), int32]]" + rest));
  CHECK(refused("def @f(%r: ref(Tensor[(?), int32])) { ref_write(%r, full(1, shape=[7])) }\ndef @main() { 0 }"));
  check_result("def @f(%r: ref(Tensor[(n), int32]), %x: Tensor[(n), int32], %y: Tensor[(?), int32]) -> Tensor[(n), int32] { "
               "ref_write(%r, %x); %y }\n"
               "def @main() { sum(@f(ref(full(1, shape=[2])), full(2, shape=[2]), full(3, shape=[2]))) }",
               "6");
}

TEST_CASE("calls before the result has a type have the sizes of the function, or are refused") {
  auto refused = [](const std::string& text) {
    Diagnostics d;
    CHECK_FALSE(import_text(text, d));
    return d.str().find("which calls itself, cannot be inferred") != std::string::npos;
  };
  const std::string f = "def @f(%x: Tensor[(n), int32], %i: int32)", end = "\ndef @main() { @f(full(1, shape=[2]), 2) }";
  const std::string grows = " { if (%i == 0) { %x } else { @f(concatenate((%x, %x)), %i - 1) } }";
  CHECK(refused(f + grows + end));
  check_result(f + " -> Tensor[(?), int32]" + grows + end, "Tensor[(8), int32]{1, 1, 1, 1, 1, 1, 1, 1}");
  check_result(f + " { if (%i == 0) { %x } else { @f(%x + %x, %i - 1) } }" + end, "Tensor[(2), int32]{4, 4}");
  check_result(f + " { let %y = if (%i == 0) { 7 } else { @f(%x, %i - 1) }; 5 }" + end, "5");
  CHECK(refused(f + " { if (%i == 0) { full(1, shape=[4]) } else { if (%i == 1) { %x } else { @f(%x, %i - 1) } } }" + end));
  const std::string g = "\ndef @g(%x: Tensor[(NAME), int32], %i: int32) { if (%i == 0) { %x } else { @f(%x, %i - 1) } }";
  for (const std::string name : {"n", "m"}) {
    std::string other = g;
    other.replace(other.find("NAME"), 4, name);
    CHECK(refused(f + " { if (%i == 0) { %x } else { @g(%x, %i - 1) } }" + other + end));
  }
}

TEST_CASE("a size of the function around a function or a parameter is one size at all of its calls") {
  const std::string g = "%g: fn (Tensor[(k), int32]) -> Tensor[(k), int32]", x = "%x: Tensor[(k), int32]";
  auto main = [](const std::string& f, const std::string& size) {
    return "def @main() { let %f = " + f + "; %f(fn (%y: Tensor[(u), int32]) { %y * 2 }, full(1, shape=[" + size + "])) }";
  };
  for (const std::string body : {"%g(full(4, shape=[2]))",
                                 "let %w = fn (%z: Tensor[(j), int32]) { %g(%z) }; %w(full(4, shape=[2]))",
                                 "let %w = fn (%z: Tensor[(k), int32]) { %g(%z) + %x - %x }; %w(full(4, shape=[2]))"}) {
    const std::string f = "fn (" + g + ", " + x + ") { " + body + " }";
    check_result(main(f, "2"), "Tensor[(2), int32]{8, 8}");
    check_result(main(f, "3"), "status 7");
  }
  check_result("def @main() { let %f = fn (" + x + ", %i: int32) -> Tensor[(?), int32] { if (%i == 0) { %x } else { "
               "%f(concatenate((%x, %x)), %i - 1) } }; %f(full(1, shape=[2]), 1) }",
               "Tensor[(4), int32]{1, 1, 1, 1}");
  const std::string joined = "fn (%c: bool) { let %q = fn (" + g + ", " + x + ") { %g(%x) }; let %two = fn (%g: fn (Tensor[(j), "
                             "int32]) -> Tensor[(j), int32], %x: Tensor[(m), int32]) { %g(full(4, shape=[2])) }; ";
  for (const std::string order : {"if (%c) { %two } else { %q }", "if (%c) { %q } else { %two }"})
    for (const std::string size : {"2", "3"})
      CHECK(result_of("def @main() { let %f = " + joined + "let %h = " + order + "; %h(fn (%y: Tensor[(u), int32]) { %y * 2 }, "
                      "full(1, shape=[" + size + "])) }; (sum(%f(True)), sum(%f(False))) }", {}) ==
            (size == "3" ? "status 7" : order.starts_with("if (%c) { %two }") ? "(16, 4)" : "(4, 16)"));
}

TEST_CASE("a bound that shows that an operation fails is no error before the operation is executed") {
  const std::string few = "let %p = nonzero(full(1, shape=[2])); let %few = prefix(full(1, shape=[2]), %p.1); ";
  const std::string never = "reshape(%few, newshape=[3])";
  CHECK(result_of("def @main() { " + few + never + " }", {"define-sizes"}) == "status 7");
  CHECK(result_of("def @main() { " + few + "if (sum(%few) > 2) { sum(" + never + ") } else { 4 } }", {"define-sizes"}) == "4");
}

}  // namespace dlcc::relay

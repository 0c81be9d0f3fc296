// The passes of the calculus on every program of the golden tests, and what they must keep: effects, results, failures.
#include "calculus.h"

#include <filesystem>
#include <set>

#include "text_file.h"

namespace dlcc::relay {

TEST_CASE("no closure, type variable or nested pattern is left in a program of the golden tests") {
  // These have no first-order form.
  const std::set<std::string> refused = {"error_endless_instances.rly",     "error_function_as_input.rly",
                                         "error_polymorphic_field.rly",
                                         "error_polymorphic_parameter.rly", "error_polymorphic_result.rly",
                                         "error_reference_in_closure.rly",  "error_references_in_data.rly"};
  int programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(DLCC_GOLDEN_FOLDER)) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    Diagnostics d;
    auto module = import_text(read_text(entry.path()), d);
    if (!module) continue;
    auto changed = after(std::move(*module), to_first_order, d);
    CHECK_MESSAGE(changed.has_value() != refused.contains(name), d.str());
    if (!changed) continue;
    CHECK_MESSAGE(first_order_violation(*changed).empty(), first_order_violation(*changed) << "\n" << print(*changed));
    ++programs;
  }
  CHECK(programs > 50);
}

TEST_CASE("the order of effects, and functions that share a reference") {
  check_result(R"(
def @main() {
  let %r = ref(1);
  let %step = fn (%x: int32) -> int32 { ref_write(%r, ref_read(%r) * 2 + %x); ref_read(%r) };
  let %again = fn (%f: fn (int32) -> int32) -> int32 { %f(1) * 100 + %f(2) };
  (%again(%step), %step(3), ref_read(%r))
}
)",
               "(308, 19, 19)");
}

TEST_CASE("a local function that calls itself and is a value within another") {
  check_result(R"(
def @both(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%x) + %f(%x - 1) }
def @main() {
  let %k = 3;
  let %fib = fn (%n: int32) -> int32 {
    if (%n < 2) { %k } else { let %inner = fn (%m: int32) -> int32 { @both(%fib, %m) }; %inner(%n - 1) }
  };
  %fib(7)
}
)",
               "63");
}

TEST_CASE("the first arm that fits is taken, and a match without one fails") {
  const std::string types = "type List[A] { Cons(A, List[A]), Nil }\n";
  check_result(types + R"(
def @f(%p: (List[int32], List[int32])) -> int32 {
  match (%p) {
    (Cons(_, Cons(%x, _)), Nil) => %x,
    (Cons(%x, _), Cons(%y, Nil)) => %x * %y,
    (Cons(%x, Nil), %ys) => match (%ys) { Cons(%y, _) => %x - %y, Nil => %x },
    _ => -1,
  }
}
def @main() {
  (@f((Cons(1, Cons(2, Nil)), Nil)), @f((Cons(3, Nil), Cons(4, Nil))), @f((Cons(5, Nil), Cons(6, Cons(7, Nil)))),
   @f((Nil, Nil)), @f((Cons(8, Nil), Nil)), @f((Cons(8, Cons(9, Nil)), Cons(1, Cons(2, Nil)))))
}
)",
               "(2, 12, -1, -1, 8, -1)");
  check_result(types + R"(
def @main() { match? ((Cons(1, Nil), Cons(2, Nil))) { (Nil, _) => 1, (Cons(_, Cons(_, _)), Nil) => 2 } }
)",
               "fails");
}

TEST_CASE("only the result of a call decides the instance") {
  check_result(R"(
def @none[A](%n: int32) -> Option[A] { None }
def @main() {
  let %a: Option[int32] = @none(1);
  let %b: Option[(bool, bool)] = @none(2);
  (@option_or(%a, 3), @option_or(%b, (True, False)))
}
)",
               "(3, (True, False))");
}

TEST_CASE("the sizes of an instance within another are its own") {
  const std::string main = R"(
def @sizes(%a: Tensor[(n), int32], %b: Tensor[(k), int32]) -> (Tensor[(n), int32], Tensor[(k), int32]) {
  @f(2, %a, %b)
}
def @main() { @sizes(full(1, shape=[2]), full(2, shape=[3])) }
)";
  const std::string values = "(Tensor[(2), int32]{1, 1}, Tensor[(3), int32]{2, 2, 2})";
  check_result(main + R"(
def @f[A](%n: int32, %x: A, %y: Tensor[(m), int32]) -> (A, Tensor[(m), int32]) {
  let %g = fn [B](%z: B) -> B { %z };
  if (%n == 0) { (%g(%x), %g(%y)) } else { @f(%n - 1, %g(%x), %g(%y)) }
}
)",
               values);
  check_result(main + R"(
def @f[A, B](%n: int32, %x: A, %y: B) -> (A, B) {
  let %swap = fn [A, B](%p: (A, B)) -> (B, A) { (%p.1, %p.0) };
  %swap(%swap((%x, %y)))
}
)",
               values);
}

TEST_CASE("arms whose patterns have sizes of their own for one field") {
  check_result(R"(
type T { A(Tensor[(?), int32]), B, }
def @f(%t: T, %u: T) -> int32 {
  match ((%t, %u)) {
    (A(%x), B) => sum(ones(shape_of(%x, dtype="int64"), dtype="int32")),
    (A(%y), A(%z)) => sum(full(2, shape_of(%y, dtype="int64"))) + sum(full(3, shape_of(%z, dtype="int64"))),
    (B, _) => 5,
  }
}
def @main() {
  let %a = A(full(2, shape=[3]));
  let %b = A(full(1, shape=[2]));
  (@f(%a, B), @f(%a, %b), @f(%b, %a), @f(B, %a))
}
)",
               "(3, 12, 13, 5)");
}

TEST_CASE("the fields of tuples are checked where sizes are lost") {
  const std::string text = R"(
def @f(%p: (Tensor[(3), int32], (int32, Tensor[(3), int32]))) -> int32 { sum(%p.0) + %p.1.0 + sum(%p.1.1) }
def @g(%x: Tensor[(n), int32]) -> int32 {
  let %q: (Tensor[(3), int32], int32) = (%x, 10);
  @f((%x, (%q.1, %q.0)))
}
)";
  check_result(text + "def @main() { @g(full(1, shape=[3])) }", "16");
  CHECK(result_of(text + "def @main() { @g(full(1, shape=[4])) }", to_first_order) == "status 7");
  check_result(R"(
type P[A] { Pair(A, A), }
def @first[A](%p: P[A]) -> A { match (%p) { Pair(%x, _) => %x } }
def @pairs(%a: Tensor[(m), int32], %b: Tensor[(k), int32]) -> (Tensor[(m), int32], Tensor[(k), int32]) {
  let %z = @first(Pair((%a, %b), (%a, %b)));
  (%z.0 + %a, %z.1 + %b)
}
def @main() { @pairs(full(1, shape=[2]), full(2, shape=[3])) }
)",
               "(Tensor[(2), int32]{2, 2}, Tensor[(3), int32]{4, 4, 4})");
}

TEST_CASE("a local function that is called once and is a value, too") {
  check_result(R"(
def @twice(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) }
def @main() { let %f = fn (%x: int32) -> int32 { %x * 3 }; (%f(1), @twice(%f, 2)) }
)",
               "(3, 18)");
}

TEST_CASE("generic functions and constructors are arguments of generic functions") {
  const std::string functions = R"(
    type Pair[A, B] { P(A, B) }
    def @flip[A, B, C](%f: fn (A, B) -> C) { fn (%b: B, %a: A) { %f(%a, %b) } }
    def @app[A, B](%f: fn (A) -> B, %x: A) { %f(%x) }
  )";
  check_result(functions + "def @main() { (@app(@id, 1), @app(Some, 2), @app(@id, @id)(3)) }", "(1, Some(2), 3)");
  check_result(functions + "def @main() { @flip(P)(True, 1) }", "P(1, True)");
  check_result(functions + "def @main() { @flip(@flip(P))(2, 2f) }", "P(2, 2f)");
  check_result(functions + R"(def @main() {
    let %xs = Cons(1, Cons(2, Nil));
    (@foldr(Cons, Nil, %xs), @compose(@hd, @rev)(%xs), @hd(@map(Some, %xs)), @hd(@map(@length, Cons(%xs, Nil))))
  })",
               "(Cons(1, Cons(2, Nil)), 2, Some(1), 2)");
}

TEST_CASE("generic functions are results, arguments and other names") {
  check_result("def @f[A](%x: A) { fn [B](%y: B) -> (A, B) { (%x, %y) } } def @main() { let %g = @f(1); (%g(True), %g(2f)) }",
               "((1, True), (1, 2f))");
  check_result("def @both(%g: fn [A](A) -> A) { (%g(1), %g(True)) } def @main() { let %h = @id; let %i = %h; @both(%i) }",
               "(1, True)");
  check_result("def @main() { let %g = fn [A](%x: A) -> A { %x }; let %t = (%g, %g); let %h = %t.1; (%h(1), %t.0(True)) }",
               "(1, True)");
}

TEST_CASE("a generic function is an argument whose type is a variable") {
  check_result("def @p[A](%f: fn [B](B) -> B, %x: A) { %f(%x) } def @main() { @p(@id, @id)(1) }", "1");
  check_result(R"(
def @p[A](%f: fn [B](A, B) -> (A, B), %x: A) { %f(%x, %x) }
def @pair[X, Y](%x: X, %y: Y) { (%x, %y) }
def @main() { let %t = @p(@pair, @pair); %t.0((), ()) }
)",
               "((), ())");
}

TEST_CASE("fields of data with sizes of one name, and a match that defines the sizes of its result") {
  const std::string text = R"(
type Sized { MakeSized(Tensor[(n), int32], Tensor[(2 * n), int32]) }
def @sums(%s: Sized) { match (%s) { MakeSized(%a, %b) => (concatenate((%a, %a)) + %b, concatenate((%a, %b))) } }
def @main() {
  let %x = @sums(MakeSized(full(1, shape=[2]), full(2, shape=[4])));
  let %y = @sums(MakeSized(full(1, shape=[1]), full(3, shape=[2])));
  (sum(%x.0), sum(%x.1), sum(%y.0), sum(%y.1))
}
)";
  CHECK(result_of(text, {"require-sizes", "compile-matches"}) == "(12, 10, 8, 7)");
  const std::string functions = R"(
type Operation { Unary(fn (Tensor[(k), int32]) -> Tensor[(k), int32]), Nothing }
def @run(%o: Operation, %x: Tensor[(n), int32]) { match (%o) { Unary(%f) => %f(%x), Nothing => %x } }
def @main() { (sum(@run(Unary(negative), full(1, shape=[2]))), sum(@run(Nothing, full(3, shape=[1])))) }
)";
  CHECK(result_of(functions, {"inline-functions", "compile-matches"}) == "(-2, 3)");
  const std::string lists = R"(
def @found(%x: Tensor[(n), int32]) -> List[Tensor[(?1), int32]] { Cons(prefix(%x, nonzero(%x).1), Nil) }
def @main() {
  let %a = @found(full(1, shape=[2]));
  let %b = @found(full(0, shape=[1]));
  (%b, match (%a) { Cons(%x, _) => sum(%x), _ => 0 })
}
)";
  CHECK(result_of(lists, {"compile-matches", "eta-expand"}) == "(Cons(Tensor[(0), int32]{}, Nil), 2)");
  check_result(text, "(12, 10, 8, 7)");
}

TEST_CASE("statuses of the interpreter are those of definitions") {
  CHECK(result_of("def @main() { let %n = nonzero(False).1; take(prefix(full(1, shape=[1]), %n), 0) }", {}) ==
        "status 5");
  const std::string code = "let %w = nonzero(False).1; reshape(full(1, shape=[2, 3]), concatenate((%w - 3i64, %w + 1i64)))";
  CHECK(result_of("def @main() { " + code + " }", {}) == "status 8");
}

TEST_CASE("what is known after folding may be an error of the program, which is one at run time") {
  const std::string two = "prefix(full(1, shape=[2]), nonzero(full(1, shape=[2])).1)";
  auto folded = [&](const std::string& value) {
    return result_of("def @main() { let %none = nonzero(0).1; " + value + " }", {"fold-constants"});
  };
  CHECK(folded("take(prefix(full(1, shape=[2]), %none), 0)") == "status 5");
  CHECK(folded("add(" + two + ", full(1, shape=[3]))") == "status 7");
  CHECK(folded("reshape(" + two + ", newshape=[3, -1])") == "status 7");
  CHECK(folded("sum(add(" + two + ", full(1, shape=[2])))") == "4");
  CHECK(folded("let %p: Tensor[(rows), int32] = " + two + "; sum(add(%p, full(1, shape=[3])))") == "status 7");
  CHECK(folded("let %p: Tensor[(rows), int32] = " + two + "; let %r = ref(%p); sum(ref_read(%r))") == "2");
}

TEST_CASE("a generic function that calls itself at another type has the type of each call") {
  const std::string text = "def @last[A](%x: A, %n: int32) { if (%n == 0) { %x } else { let %b = @last(True, %n - 1); (if (%b) { %x } else { %x }) } }\n";
  check_result(text + "def @main() { @last(2f, 3) }", "2f");
  const std::string local = "def @main() { let %k = fn [A](%f: A) { fn [B](%a: B) { %f } }; let %h = fn [B](%y: B, %n: int32) { let %q = %k(%y); if (%n == 0) { %q(1) } else { let %r = %h(True, %n - 1); %q(%r) } }; %h(2f, 1) }";
  check_text(local);
  CHECK(result_of(local, {"eliminate-common-subexpressions"}) == "2f");
}

TEST_CASE("a generic function that calls itself at larger and larger types is refused") {
  Diagnostics d;
  auto module = import_text(
      "def @f[A](%x: A, %n: int32) -> int32 { if (%n == 0) { 0 } else { @f((%x, %x), %n - 1) } }\n"
      "def @main() { @f(True, 3) }\n",
      d);
  REQUIRE_MESSAGE(module, d.str());
  CHECK_FALSE(after(std::move(*module), {"monomorphize"}, d));
  CHECK_MESSAGE(d.str().find("@f is used at too many types") != std::string::npos, d.str());
}

TEST_CASE("merged tail calls keep results and the order of effects") {
  const std::string text = R"(
    def @f(%log: ref(List[int32]), %i: int32, %x: int32) -> (int32, int32) {
      let %_ = ref_write(%log, Cons(%i, ref_read(%log)));
      if (%i > 6) { (%i, %x) } else {
        let %y = %i + 10 * %x;
        let %_ = ref_write(%log, Cons(0 - %i, ref_read(%log)));
        if (%i == 5) {
          let %_ = ref_write(%log, Cons(100, ref_read(%log)));
          (%i, %y)
        } else {
          if (%i == 3) { @f(%log, %i + 2, %x) } else { @f(%log, %i + 1, %y) }
        }
      }
    }
    def @main() {
      let %log = ref(Nil);
      let %result = @f(%log, 1, 0);
      (%result, ref_read(%log), @f(%log, 7, 8))
    }
  )";
  const std::string expected =
      "((5, 125), "
      "Cons(100, Cons(-5, Cons(5, Cons(-3, Cons(3, Cons(-2, Cons(2, Cons(-1, Cons(1, Nil))))))))), (7, 8))";
  CHECK(result_of(text, {}) == expected);
  CHECK(result_of(text, {"localize-recursion", "merge-tail-calls"}) == expected);
  Diagnostics d;
  auto merged = after(*import_text(text, d), {"localize-recursion", "merge-tail-calls"}, d);
  REQUIRE_MESSAGE(merged, d.str());
  CHECK(print(*merged).find("%state") != std::string::npos);
}

TEST_CASE("one instance at a deep type and at a large one") {
  std::string deep = "int32", value = "1", wide = "0";
  for (int k = 0; k < 100; ++k) deep = "(" + deep + ",)", value = "(" + value + ",)";
  for (int k = 1; k < 5000; ++k) wide += ", 0";
  const std::string id = "def @id[A](%x: A) -> A { %x }\n";
  check_result(
      id + "def @main() { let %local = fn [A](%x: A) -> A { %x }; (@id(" + value + "), %local(" + value + ")) }",
      "(" + value + ", " + value + ")");
  check_result("def @main() { let %o: Option[" + deep + "] = Some(" + value + "); %o }", "Some(" + value + ")");
  check_result("def @main() { match (Some((" + wide + "))) { Some(%t) => %t.4999, None => 1 } }", "0");
}

TEST_CASE("a value whose size may be negative stays in the branch of a loop that computes it") {
  check_result(R"(
def @main() {
  let %f = fn (%x: Tensor[(n), float32], %i: int32) -> float32 {
    if (%i > 3) { sum(%x) } else {
      if (%i < 0) { %f(%x, %i + 5) } else {
        let %c = nn.conv1d(reshape(%x, newshape=[1, 1, -1]), ones(shape=[1, 1, 5], dtype="float32"));
        if (sum(%c) > 5f) { max(%c) } else { %f(%x, %i + 1) }
      }
    }
  };
  (%f(ones(shape=[2], dtype="float32"), 7), %f(full(2f, shape=[6]), -3))
}
)",
               "(2f, 10f)");
}

}  // namespace dlcc::relay

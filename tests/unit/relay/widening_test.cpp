// Type variables that stand for tensors of several sizes at one call: accumulators that grow, and functions without
// types over data with tensors of any sizes.
#include "calculus.h"

namespace dlcc::relay {

static const std::string twos = "full(2, shape=[2])", threes = "full(3, shape=[3])";
static const std::string any = "Tensor[(?), int32]";
static const std::string list = "let %none: List[" + any + "] = Nil; let %l = Cons(" + twos + ", Cons(" + threes + ", %none)); ";

TEST_CASE("an accumulator grows") {
  const std::string all = "Tensor[(6), int32]{1, 2, 2, 3, 3, 3}";
  const std::string append = "fn (%acc: " + any + ", %x: " + any + ") { concatenate((%acc, %x)) }";
  check_result("def @main() { " + list + "@foldl(" + append + ", full(1, shape=[1]), %l) }", all);
  check_result("def @append(%a: " + any + ", %b: " + any + ") -> " + any + " { concatenate((%a, %b)) }\ndef @main() { " + list +
                   "@foldl(@append, full(1, shape=[1]), %l) }",
               all);
  check_result("def @main() { " + list + "@foldr(fn (%x: " + any + ", %acc: " + any + ") { concatenate((%acc, %x)) }, full(1, shape=[1]), %l) }",
               "Tensor[(6), int32]{1, 3, 3, 3, 2, 2}");
  check_result("def @main() { " + list + "@foldl(fn (%acc: " + any + ", %x) { concatenate((%acc, %x)) }, full(1, shape=[1]), %l) }", all);
  check_result("def @main() { " + list + "@foldl(fn (%s: (" + any + ", int32), %x: " + any + ") { (concatenate((%s.0, %x)), %s.1 + 1) }, (full(1, shape=[1]), 0), %l) }",
               "(" + all + ", 2)");
}

TEST_CASE("another function without types takes the accumulator as it is") {
  check_result("def @p[A, B](%f: fn (A, B) -> A, %g: fn (A) -> int32, %z: A, %l: List[B]) -> int32 { %g(@foldl(%f, %z, %l)) }\ndef @main() { " +
                   list + "@p(fn (%a: " + any + ", %x) { concatenate((%a, %x)) }, fn (%a) { sum(%a) }, full(1, shape=[1]), %l) }",
               "14");
}

TEST_CASE("a function that gives other sizes than it takes is repeated") {
  const std::string twice = "def @twice(%x: Tensor[(n), int32]) { concatenate((%x, %x)) }\n";
  const std::string eight = "Tensor[(8), int32]{1, 1, 1, 1, 1, 1, 1, 1}";
  check_result(twice + "def @main() { let %f = @iterate(@twice, 3); %f(full(1, shape=[1])) }", eight);
  check_result(twice + "def @repeat[A](%f: fn (A) -> A, %x: A, %n: int32) -> A { if (%n > 0) { @repeat(%f, %f(%x), %n - 1) } else { %x } }\n" +
                   "def @main() { @repeat(@twice, full(1, shape=[1]), 3) }",
               eight);
}

TEST_CASE("a part of an accumulator grows") {
  const std::string rows = "let %none: List[Tensor[(?, 2), int32]] = Nil; let %l = Cons(full(2, shape=[2, 2]), Cons(full(3, shape=[3, 2]), %none)); ";
  check_result("def @main() { " + rows + "@foldl(fn (%acc: Tensor[(k, q), int32], %x: Tensor[(j, q), int32]) { concatenate((%acc, %x)) }, full(1, shape=[1, 2]), %l) }",
               "Tensor[(6, 2), int32]{1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3}");
  check_result("def @main() { " + list + "@foldl(fn (%s: (" + any + ", " + any + "), %x: " + any + ") { (concatenate((%s.0, %x)), %s.1) }, (full(1, shape=[1]), full(7, shape=[1])), %l) }",
               "(Tensor[(6), int32]{1, 2, 2, 3, 3, 3}, Tensor[(1), int32]{7})");
}

TEST_CASE("sizes that only functions change are other ones in an instance") {
  check_result("def @steps[A](%g: fn (A) -> A, %x: A, %done: fn (A) -> bool) -> int32 { if (%done(%x)) { 0 } else { 1 + @steps(%g, %g(%x), %done) } }\ndef @main() { @steps(fn (%a: Tensor[(n), int32]) { concatenate((%a, %a)) }, full(1, shape=[1]), fn (%a: Tensor[(n), int32]) { sum(%a) > 9 }) }",
               "4");
}

TEST_CASE("an accumulator without a type keeps its size") {
  Diagnostics d;
  CHECK_FALSE(import_text("def @main() { " + list + "@foldl(fn (%acc, %x) { concatenate((%acc, %x)) }, full(1, shape=[1]), %l) }", d));
  CHECK_MESSAGE(d.str().find("expected Tensor[(1), int32]") != std::string::npos, d.str());
}

TEST_CASE("where sizes stay, the type variable has the size of the argument") {
  Diagnostics d;
  const auto module = import_text("def @main(%z: Tensor[(3), int32], %l: List[Tensor[(3), int32]]) { @foldl(fn (%a: " + any + ", %b: Tensor[(3), int32]) { %a }, %z, %l) }", d);
  REQUIRE_MESSAGE(module, d.str());
  const std::string type = "-> Tensor[(3), int32] {\n", text = print(*module);
  CHECK_MESSAGE(text.find(type) != std::string::npos, text);
  const auto instance = after(*module, {"monomorphize"}, d);
  REQUIRE_MESSAGE(instance, d.str());
  const std::string printed = print(*instance);
  CHECK_MESSAGE(printed.find(type, printed.find("def @main")) != std::string::npos, printed);
}

TEST_CASE("a call whose arguments have several sizes of a type variable is specialized") {
  check_result("def @pair[A](%l: List[A], %x: A, %y: A) -> (A, A) { (%x, %y) }\ndef @main() { " + list + "@pair(%l, " + twos + ", " + threes + ") }",
               "(Tensor[(2), int32]{2, 2}, Tensor[(3), int32]{3, 3, 3})");
}

TEST_CASE("a list that is an input of the program has tensors of any sizes") {
  const std::string text = "def @main(%l: List[" + any + "]) { @map(fn (%x) { %x + 1 }, Cons(" + twos + ", %l)) }";
  check_text(text);
  Diagnostics d;
  const auto module = import_text(text, d);
  REQUIRE_MESSAGE(module, d.str());
  CHECK(str(type_of(*module, GlobalRef{"main"})) == "fn (List[" + any + "]) -> List[" + any + "]");
}

TEST_CASE("functions without types take the tensors of a list as they are") {
  const std::string main = "def @main() { " + list;
  const std::string doubled = "Cons(Tensor[(4), int32]{2, 2, 2, 2}, Cons(Tensor[(6), int32]{3, 3, 3, 3, 3, 3}, Nil))";
  check_result(main + "@map(fn (%x) { concatenate((%x, %x)) }, %l) }", doubled);
  check_result(main + "@hd(@map(fn (%x) { @map(fn (%y) { concatenate((%x, %y)) }, %l) }, %l)) }",
               "Cons(Tensor[(4), int32]{2, 2, 2, 2}, Cons(Tensor[(5), int32]{2, 2, 3, 3, 3}, Nil))");
  const std::string twice = "def @twice(%x) { concatenate((%x, %x)) }\n" + main + "(@map(@twice, %l), @twice(full(1, shape=[1]))) }";
  Diagnostics d;
  const auto module = import_text(twice, d);
  REQUIRE_MESSAGE(module, d.str());
  CHECK(str(type_of(*module, GlobalRef{"main"})) == "fn () -> (List[" + any + "], Tensor[(2), int32])");
  check_result(twice,
               "(" + doubled + ", Tensor[(2), int32]{1, 1})");
  check_result(main + "let %f = fn (%x) { let %p = nonzero(%x - 2); prefix(%x, %p.1) }; @map(%f, %l) }",
               "Cons(Tensor[(0), int32]{}, Cons(Tensor[(3), int32]{3, 3, 3}, Nil))");
  check_result(main + "match (@map(fn (%x) { %x + 1 }, %l)) { Cons(%a, Cons(%b, _)) => concatenate((%a, %b)), _ => full(0, shape=[0]) } }",
               "Tensor[(5), int32]{3, 3, 4, 4, 4}");
}

TEST_CASE("functions without types in functions without types have any sizes") {
  const std::string main = "def @main() { " + list;
  const std::string lists = "let %no: List[List[" + any + "]] = Nil; let %lists = Cons(%l, %no); ";
  const std::string two = "Tensor[(2), int32]{2, 2}", three = "Tensor[(3), int32]{3, 3, 3}", four = "Tensor[(4), int32]{2, 2, 2, 2}";
  const std::string doubled = "Cons(" + four + ", Cons(Tensor[(6), int32]{3, 3, 3, 3, 3, 3}, Nil))";
  check_result(main + lists + "@hd(@map(fn (%x) { @map(fn (%y) { concatenate((%y, %y)) }, %x) }, %lists)) }", doubled);
  check_result("def @both(%f, %g, %l) { @map(%f, @map(%g, %l)) }\n" + main + "@both(fn (%x) { concatenate((%x, %x)) }, fn (%x) { %x * 1 }, %l) }", doubled);
  check_result(main + "@map(@compose(fn (%x) { concatenate((%x, %x)) }, fn (%x) { %x * 1 }), %l) }", doubled);
  check_result(main + "@map(fn (%x) { @foldl(fn (%a, %y) { %a + %y }, %x, Cons(%x, Nil)) }, %l) }",
               "Cons(Tensor[(2), int32]{4, 4}, Cons(Tensor[(3), int32]{6, 6, 6}, Nil))");
  check_result(main + "@hd(@foldr(fn (%x, %rows) { Cons(@map(fn (%y) { concatenate((%x, %y)) }, %l), %rows) }, Nil, Cons(" + twos + ", Nil))) }",
               "Cons(" + four + ", Cons(Tensor[(5), int32]{2, 2, 3, 3, 3}, Nil))");
}

TEST_CASE("data without types that a function takes and gives have tensors of any sizes") {
  const std::string main = "def @main() { " + list;
  const std::string two = "Tensor[(2), int32]{2, 2}", three = "Tensor[(3), int32]{3, 3, 3}", reversed = "Cons(" + three + ", Cons(" + two + ", Nil))";
  check_result(main + "@foldl(fn (%found, %x) { Cons(%x, %found) }, Nil, %l) }", reversed);
  check_result(main + "@foldl(fn (%found, %x) { Cons(%x, %found) }, %none, %l) }", reversed);
  check_result(main + "@foldl(fn (%s, %x) { (Cons(%x, %s.0), %s.1 + sum(%x)) }, (Nil, 0), %l) }", "(" + reversed + ", 13)");
  check_result(main + "@foldl(fn (%found, %x) { if (sum(%x) > 5) { Cons(%x, %found) } else { %found } }, Nil, %l) }", "Cons(" + three + ", Nil)");
  check_result(main + "@foldl(fn (%last, %x) { Some(%x) }, None, %l) }", "Some(" + three + ")");
  check_result(main + "let %f = fn (%found, %x) { Cons(%x, %found) }; (@foldl(%f, Nil, %l), @foldl(%f, %none, %l), @hd(@foldl(%f, Nil, Cons(1, Nil)))) }",
               "(" + reversed + ", " + reversed + ", 1)");
  check_result("def @reverse(%l) { @foldl(fn (%found, %x) { Cons(%x, %found) }, Nil, %l) }\n" + main + "(@reverse(%l), @hd(@reverse(Cons(1, Nil)))) }",
               "(" + reversed + ", 1)");
}

TEST_CASE("data of one size are added to data of any sizes") {
  const std::string main = "def @main() { " + list, three = "Tensor[(3), int32]{3, 3, 3}";
  check_result(main + "@hd(@foldl(fn (%found, %x) { Cons(Some(%x), %found) }, Nil, %l)) }", "Some(" + three + ")");
  check_result(main + "@hd(@foldl(fn (%found: List[Option[" + any + "]], %x: " + any + ") { Cons(Some(%x), %found) }, Nil, %l)) }", "Some(" + three + ")");
  check_result(main + "@foldl(fn (%found, %x) { let %p = nonzero(%x - 2); Cons(prefix(%x, %p.1), %found) }, Nil, %l) }",
               "Cons(" + three + ", Cons(Tensor[(0), int32]{}, Nil))");
}

TEST_CASE("a function without types that calls itself has one type") {
  const std::string reverse = " { match (%l) { Nil => %found, Cons(%x, %rest) => @reverse(%rest, Cons(%x, %found)) } }\n";
  const std::string main = "def @main() { " + list + "@reverse(%l, Nil) }";
  Diagnostics d;
  CHECK_FALSE(import_text("def @reverse(%l, %found)" + reverse + main, d));
  CHECK_MESSAGE(d.str().find("the types of functions without types cannot be inferred from their uses") != std::string::npos, d.str());
  check_result("def @reverse(%l: List[" + any + "], %found: List[" + any + "]) -> List[" + any + "]" + reverse + main,
               "Cons(Tensor[(3), int32]{3, 3, 3}, Cons(Tensor[(2), int32]{2, 2}, Nil))");
  check_result("def @reverse(%l, %found)" + reverse + "def @main() { @reverse(Cons(" + twos + ", Nil), Nil) }", "Cons(Tensor[(2), int32]{2, 2}, Nil)");
}

TEST_CASE("a value outside of a function has none of its sizes") {
  for (const char* text : {"let %r = ref(Nil); let %u = @map(fn (%x) { let %d = ref_write(%r, Cons(%x, ref_read(%r))); 1 }, %l); ref_read(%r)",
                           "@map(fn (%g) { %g(full(1, shape=[1])) }, @map(fn (%x) { fn (%y) { concatenate((%x, %y)) } }, %l))"}) {
    Diagnostics d;
    CHECK_FALSE(import_text("def @main() { " + list + text + " }", d));
    CHECK_MESSAGE(d.str().find("the sizes of this value are those of another function") != std::string::npos, d.str());
  }
  check_result("def @main() { " + list + "let %r: ref(List[" + any + "]) = ref(Nil); let %u = @map(fn (%x) { let %d = ref_write(%r, Cons(%x, ref_read(%r))); 1 }, %l); ref_read(%r) }",
               "Cons(Tensor[(3), int32]{3, 3, 3}, Cons(Tensor[(2), int32]{2, 2}, Nil))");
}

}  // namespace dlcc::relay

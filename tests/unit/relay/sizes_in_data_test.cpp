// Sizes of tensors in data: "?" is another size in each value, and data of one size are data of any sizes.
#include "calculus.h"

namespace dlcc::relay {

static const std::string found = "def @found(%x: Tensor[(n), int32]) { let %p = nonzero(%x); prefix(%x, %p.1) }\n";
static const std::string any = "List[Tensor[(?), int32]]";
static const std::string ones = "full(1, shape=[2])", fours = "full(4, shape=[3])";

TEST_CASE("a list has tensors of any sizes") {
  const std::string main = "def @main() { @f(Cons(full(0, shape=[3]), Cons(" + fours + ", Nil))) }";
  const std::string each = "Cons(Tensor[(0), int32]{}, Cons(Tensor[(3), int32]{4, 4, 4}, Nil))";
  check_result(found + "def @f(%xs: List[Tensor[(3), int32]]) -> " + any +
                   " { match (%xs) { Cons(%x, %rest) => Cons(@found(%x), @f(%rest)), Nil => Nil } }\n" + main,
               each);
  check_result(found + "def @f(%xs) { @map(fn (%x: Tensor[(3), int32]) { @found(%x) }, %xs) }\n" + main, each);
  const std::string functions = found + "def @main() { @map(fn (%f) { %f(" + fours + ") }, Cons(fn (%x: Tensor[(3), int32]) " +
                                "{ %x + 1 }, Cons(fn (%x: Tensor[(3), int32]) { @found(%x - 4) }, Nil))) }";
  check_text(functions);
  CHECK(result_of(functions, {}) == "Cons(Tensor[(3), int32]{5, 5, 5}, Cons(Tensor[(0), int32]{}, Nil))");
  check_result("def @main() { let %none: " + any + " = Nil; Cons(" + ones + ", Cons(" + fours + ", %none)) }",
               "Cons(Tensor[(2), int32]{1, 1}, Cons(Tensor[(3), int32]{4, 4, 4}, Nil))");
}

TEST_CASE("data of one size are data of any sizes where these are expected") {
  const std::string same = "def @same(%xs: " + any + ") -> " + any + " { %xs }\n";
  check_result(same + "def @main() { @same(Cons(" + fours + ", Nil)) }", "Cons(Tensor[(3), int32]{4, 4, 4}, Nil)");
  check_result("def @main() { let %xs: " + any + " = Cons(" + ones + ", Nil); Cons(" + fours + ", %xs) }",
               "Cons(Tensor[(3), int32]{4, 4, 4}, Cons(Tensor[(2), int32]{1, 1}, Nil))");
  check_result("def @f(%c: bool) { if (%c) { (Cons(" + ones + ", Nil), 1) } else { (Cons(" + fours + ", Nil), 2) } }\n" +
                   "def @main() { (@f(True).0, @f(False).0) }",
               "(Cons(Tensor[(2), int32]{1, 1}, Nil), Cons(Tensor[(3), int32]{4, 4, 4}, Nil))");
  check_result("def @f(%c: bool) { let %f = fn (%x: Tensor[(k), int32]) { Cons(prefix(%x, nonzero(%x).1), Nil) }; let %g = fn (" +
                   std::string("%x: Tensor[(3), int32]) { Cons(%x, Nil) }; let %h = if (%c) { %f } else { %g }; %h(" + fours +
                   ") }\ndef @main() { (@f(True), @f(False)) }"),
               "(Cons(Tensor[(3), int32]{4, 4, 4}, Nil), Cons(Tensor[(3), int32]{4, 4, 4}, Nil))");
  auto message = [](const std::string& text) {
    Diagnostics d;
    CHECK_FALSE(import_text(text + "\ndef @main() { 1 }", d));
    return d.str();
  };
  const std::string list = "List[Tensor[(3), int32]]";
  auto disagrees = [&](const std::string& text, const std::string& expected, const std::string& given) {
    const std::string found = message(text), wanted = "expected " + expected + ", found " + given;
    CHECK_MESSAGE(found.find(wanted) != std::string::npos, found);
  };
  disagrees("def @f(%r: ref(" + any + ")) { 1 }\ndef @g(%r: ref(" + list + ")) { @f(%r) }", "ref(" + any + ")", "ref(" + list + ")");
  disagrees("def @f(%x: " + list + ") { 1 }\ndef @g(%x: " + any + ") { @f(%x) }", list, any);
  disagrees("def @f(%x: List[Tensor[(k), int32]]) { 1 }\ndef @g(%x: " + any + ") { @f(%x) }", "List[Tensor[(?1), int32]]", any);
  const std::string box = "type Box[A] { Box(ref(A)) }\ndef @f() { let %b = Box(ref(" + ones + ")); let %c = Box(ref(" + fours + ")); ";
  disagrees(box + "let %d: Box[Tensor[(?), int32]] = %b; 1 }", "Box[Tensor[(?), int32]]", "Box[Tensor[(2), int32]]");
  CHECK(message(box + "let %d = if (True) { %b } else { %c }; 1 }").find("the branches of `if` have different types") !=
        std::string::npos);
}

TEST_CASE("a function of any size takes the tensors of a list as it is") {
  check_result("def @main() { let %none: " + any + " = Nil; sum(stack((@hd(@map(fn (%x: Tensor[(?), int32]) { sum(%x) }, Cons(" + ones +
                   ", Cons(" + fours + ", %none)))), 7))) }",
               "9");
  check_text("type F { F(fn (Tensor[(?), int32]) -> Tensor[(?), int32]) }\ndef @main() { F(fn (%x: Tensor[(k), int32]) { %x }) }");
}

TEST_CASE("elements of one list may have different sizes") {
  const std::string sum = "def @sum(%xs: " + any + ") { match (%xs) { Cons(%a, Cons(%b, _)) => %a + %b, _ => full(0, shape=[1]) } }\n";
  check_result(sum + "def @main() { let %none: " + any + " = Nil; @sum(Cons(" + ones + ", Cons(" + fours + ", %none))) }",
               "status 7");
  check_result(sum + "def @main() { @sum(Cons(" + ones + ", Cons(" + ones + ", Nil))) }", "Tensor[(2), int32]{2, 2}");
}

}  // namespace dlcc::relay

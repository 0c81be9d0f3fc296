// The interpreter: values of every type, polymorphic functions, captured variables, references, and recursion and data
// beyond the stack of the host. The expected values are those of the same programs by hand or by a closed formula.
#include "relay/interpret.h"

#include <doctest/doctest.h>

#include "frontends/frontend.h"

namespace dlcc::relay {
namespace {

// The text of the result of @main, or the problem.
std::string interpreted(const std::string& text, const std::vector<Value>& args = {}) {
  Diagnostics d;
  auto module = frontends::import_relay(text, {}, d);
  REQUIRE_MESSAGE(module, d.str());
  auto result = interpret(*module, args, tensor::Precision::specified, d);
  if (!result) return d.str();
  if (result->status != tensor::Status::ok) return fmt::format("status {}", static_cast<int>(result->status));
  return str(result->value);
}

const std::string list = "type List[A] { Cons(A, List[A]), Nil }\n";
const std::string fold = R"(
def @foldl[A, B](%f: fn (A, B) -> A, %acc: A, %xs: List[B]) -> A {
  match (%xs) { Cons(%x, %rest) => @foldl(%f, %f(%acc, %x), %rest), Nil => %acc }
}
)";
const std::string map = R"(
def @map[A, B](%f: fn (A) -> B, %xs: List[A]) -> List[B] {
  match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil }
}
)";
const std::string iota = R"(
def @iota(%n: int32) -> List[int32] {
  let %loop = fn (%k: int32, %xs: List[int32]) -> List[int32] {
    if (%k == 0) { %xs } else { %loop(%k - 1, Cons(%k, %xs)) }
  };
  %loop(%n, Nil)
}
)";

}  // namespace

TEST_CASE("values of every type are printed as text") {
  CHECK(interpreted("def @main() { (1, 2f, True, 3i64, ()) }") == "(1, 2f, True, 3i64, ())");
  CHECK(interpreted("def @main() { (full(1f, shape=[2], dtype=\"float32\"),) }") == "(Tensor[(2), float32]{1, 1},)");
  CHECK(interpreted("def @main() { cast(7, dtype=\"uint8\") }") == "uint8{7}");
  CHECK(interpreted("def @main() { (ref(ref(1)), fn () { 1 }) }") == "(ref(ref(1)), <function>)");
  CHECK(interpreted("def @main() { let %r = ref(1); (%r, %r) }") == "(ref(1), ref(1))");
  CHECK(interpreted("type L { E, R(ref(L)) } def @main() { let %r = ref(E); ref_write(%r, R(%r)); (%r, %r) }") ==
        "(ref(R(ref(...))), ref(R(ref(...))))");
  CHECK(interpreted(list + "def @main() { Cons(1, Cons(2, Nil)) }") == "Cons(1, Cons(2, Nil))");
}

TEST_CASE("the text of a value is an expression with this value") {
  for (const std::string value :
       {"(Tensor[(2, 2), float32]{1, -2.5, inf, nan}, Cons(int8{-7}, Nil), ())",
        "(Tensor[(3), float32]{0.10000000149011612, 1e-45, 3.4028234663852886e+38}, ref(Tensor[(0), int64]{}))",
        "(Tensor[(5), int4]{-8, -1, 0, 1, 7}, Tensor[(5), uint2]{0, 1, 2, 3, 1}, Tensor[(3), float4_e2m1fn]{6, -0.5, 0})",
        "(Tensor[(2), uint64]{0, 18446744073709551615}, Tensor[(1), float64]{5e-324}, bfloat16{0.1}, Some(uint8{255}))"}) {
    const std::string once = interpreted("def @main() { " + value + " }");
    CHECK(interpreted("def @main() { " + once + " }") == once);
    if (value.find("0.1}") == std::string::npos && value.find("1e-45") == std::string::npos) CHECK(once == value);
  }
}

TEST_CASE("operands that attributes repeat may be values of the run") {
  const std::string range = R"(
    def @range(%stop: float32, %step: float32) { arange(0f, %stop, %step, dtype="float32") }
    def @main() { (@range(2f, 0.5f), @range(1f, 0.5f)) }
  )";
  CHECK(interpreted(range) == "(Tensor[(4), float32]{0, 0.5, 1, 1.5}, Tensor[(2), float32]{0, 0.5})");
}

TEST_CASE("sizes that elements of operands decide differ between evaluations of an operation") {
  const std::string two = "Cons(Tensor[(3), int32]{0, 1, 2}, Cons(Tensor[(3), int32]{0, 0, 5}, Nil))";
  CHECK(interpreted("def @main() { @map(fn (%x: Tensor[(3), int32]) { argwhere(%x) }, " + two + ") }") ==
        "Cons(Tensor[(2, 1), int32]{1, 2}, Cons(Tensor[(1, 1), int32]{2}, Nil))");
  const std::string scaled = "fn (%s: float32) { dyn.nn.upsampling(full(1f, shape=[1, 1, 2, 1]), %s, 1f) }";
  CHECK(interpreted("def @main() { @map(" + scaled + ", Cons(1.5f, Cons(0.5f, Nil))) }") ==
        "Cons(Tensor[(1, 1, 3, 1), float32]{1, 1, 1}, Cons(Tensor[(1, 1, 1, 1), float32]{1}, Nil))");
  CHECK(interpreted("def @main() { @map(" + scaled + ", Cons(1.5f, Cons(-1f, Nil))) }") == "status 8");
  const std::string largest = "fn (%k: int32) { dyn.topk(Tensor[(3), int32]{5, 9, 7}, %k, ret_type=\"values\") }";
  CHECK(interpreted("def @main() { @map(" + largest + ", Cons(1, Cons(2, Nil))) }") ==
        "Cons(Tensor[(1), int32]{9}, Cons(Tensor[(2), int32]{9, 7}, Nil))");
}

TEST_CASE("polymorphic functions apply to data types") {
  CHECK(interpreted(list + map + fold + R"(
def @main() {
  let %xs = Cons(1, Cons(2, Cons(3, Nil)));
  (@map(fn (%x: int32) { %x * 10 }, %xs), @foldl(fn (%a: int32, %x: int32) { %a - %x }, 100, %xs))
}
)") == "(Cons(10, Cons(20, Cons(30, Nil))), 94)");
}

TEST_CASE("constructors and global functions are values") {
  CHECK(interpreted(list + map +
                    "type Box { Box1(int32) }\ndef @next(%x: int32) { %x + 1 }\n"
                    "def @main() { (@map(Box1, Cons(1, Nil)), @map(@next, Cons(1, Nil))) }") ==
        "(Cons(Box1(1), Nil), Cons(2, Nil))");
}

TEST_CASE("a closure keeps the variables of an activation that has ended") {
  CHECK(interpreted(R"(
def @adder(%n: int32) { fn (%x: int32) { %x + %n } }
def @main() { let %one = @adder(1); let %ten = @adder(10); (%one(5), %ten(5), %one(%ten(0))) }
)") == "(6, 15, 11)");
}

TEST_CASE("a local function may recurse and be a result") {
  CHECK(interpreted(R"(
def @make(%k: int32) {
  let %power = fn (%n: int32) -> int32 { if (%n == 0) { 1 } else { %k * %power(%n - 1) } };
  %power
}
def @main() { let %f = @make(3); %f(4) }
)") == "81");
}

TEST_CASE("references are shared, and recursion through references works") {
  CHECK(interpreted(R"(
def @main() {
  let %r = ref(1);
  let %s = %r;
  ref_write(%s, ref_read(%r) + 41);
  let %f = ref(fn (%n: int32) -> int32 { %n });
  ref_write(%f, fn (%n: int32) -> int32 {
    if (%n == 0) { 1 } else { let %g = ref_read(%f); %n * %g(%n - 1) }
  });
  let %h = ref_read(%f);
  (ref_read(%r), %h(5))
}
)") == "(42, 120)");
}

TEST_CASE("a match takes the first arm that fits, also with nested patterns") {
  const std::string text = list + R"(
def @f(%p: (List[int32], List[int32])) -> int32 {
  match (%p) {
    (Cons(%a, Nil), Cons(%b, _)) => %a + %b,
    (_, Nil) => 1,
    (Nil, _) => 2,
    _ => 3,
  }
}
def @main() {
  (@f((Cons(10, Nil), Cons(20, Nil))), @f((Nil, Nil)), @f((Nil, Cons(1, Nil))), @f((Cons(1, Cons(2, Nil)), Cons(1, Nil))))
}
)";
  CHECK(interpreted(text) == "(30, 1, 2, 3)");
}

TEST_CASE("a value that no arm of a match? fits is an error with its location") {
  std::string text = interpreted(list + "def @main() {\n  match? (Cons(1, Nil)) { Nil => 0 }\n}");
  CHECK_MESSAGE(text.find("no arm of this match fits Cons(1, Nil)") != std::string::npos, text);
  CHECK_MESSAGE(text.find(":3:") != std::string::npos, text);
}

TEST_CASE("an error in the prelude names the last call from the program") {
  for (const auto& [body, call] : {std::pair{"\n  @hd(@tl(Cons(1, Nil))) + 1", ":2:3: called here"},
                                   {"\n  @hd(Nil)", ":2:3: called here"},
                                   // @nth calls @hd and itself in tail position
                                   {"\n  if (True) {\n    @nth(Cons(1, Nil), 3)\n  } else { 0 }", ":3:5: called here"},
                                   // a function of the program that the prelude calls
                                   {"\n  @length(@map(fn (%xs: List[int32]) {\n    @hd(%xs) + 1\n  }, Cons(Nil, Nil)))",
                                    ":3:5: called here"}}) {
    const std::string text = interpreted(fmt::format("def @main() -> int32 {{{}\n}}", body));
    CHECK_MESSAGE(text.find("<prelude>:") != std::string::npos, text);
    CHECK_MESSAGE(text.find(call) != std::string::npos, text);
  }
  const std::string own =
      interpreted("def @main() { @map(fn (%xs: List[int32]) { match? (%xs) { Cons(%x, _) => %x } }, Cons(Nil, Nil)) }");
  CHECK_MESSAGE(own.find("no arm of this match fits Nil") != std::string::npos, own);
  CHECK_MESSAGE(own.find("called here") == std::string::npos, own);
}

TEST_CASE("only the beginning of a large value is in a message") {
  std::string text =
      "type T { L, N(T, T), }\ndef @main() {\n  let %t0 = L;\n";  // of 2^60 leaves, which share their parts
  for (int k = 1; k <= 60; ++k) text += fmt::format("  let %t{} = N(%t{}, %t{});\n", k, k - 1, k - 1);
  text = interpreted(text + "  match? (%t60) { L => 1 }\n}");
  CHECK_MESSAGE(text.find("N(N(N(") != std::string::npos, text);
  CHECK(text.size() < 1000);
  CHECK(str(tensor_value(Constant::of<int64_t>(dtype::i64, {3}, {1, 2, 3})), 23) == "Tensor[(3), int64]{1, 2...");
}

TEST_CASE("a defined size is at most 2^40, also if no tensor has it") {
  const std::string text = "def @main(%n: Tensor[(1), int64]) { let %s = define_sizes(%n, (?1), (?)); 7 }";
  auto result = [&](int64_t size) {
    return interpreted(text, {tensor_value(Constant::of<int64_t>(dtype::i64, {1}, {size}))});
  };
  CHECK(result(int64_t{1} << 40) == "7");
  const std::string out_of_range = fmt::format("status {}", static_cast<int>(tensor::Status::dimension_out_of_range));
  CHECK(result((int64_t{1} << 40) + 1) == out_of_range);
  CHECK(result(INT64_MAX) == out_of_range);
  CHECK(result(-1) == out_of_range);
}

TEST_CASE("data and recursion deeper than the host's stack") {
  const std::string text = list + iota + map + fold + R"(
def @main(%n: int32) {
  let %xs = @map(fn (%x: int32) { %x * 2 }, @iota(%n));
  @foldl(fn (%a: int64, %x: int32) { %a + cast(%x, dtype="int64") }, 0i64, %xs)
}
)";
  const int64_t n = 200000;
  CHECK(interpreted(text, {tensor_value(Constant::of<int32_t>(dtype::i32, {}, {n}))}) ==
        fmt::format("{}i64", n * (n + 1)));
}

TEST_CASE("the list functions of the prelude") {
  const std::string main = R"(
def @main() {
  let %xs = Cons(1, Cons(2, Cons(3, Nil)));
  let %minus = fn (%a: int32, %b: int32) -> int32 { %a - %b };
  RESULT
}
)";
  auto result = [&](const std::string& expression) {
    std::string text = main;
    return interpreted(text.replace(text.find("RESULT"), 6, expression));
  };
  CHECK(result("(@hd(%xs), @tl(%xs), @length(%xs))") == "(1, Cons(2, Cons(3, Nil)), 3)");
  CHECK(result("@rev(%xs)") == "Cons(3, Cons(2, Cons(1, Nil)))");
  CHECK(result("@concat(@tl(%xs), %xs)") == "Cons(2, Cons(3, Cons(1, Cons(2, Cons(3, Nil)))))");
  CHECK(result("@map(fn (%x: int32) { (%x, True) }, @tl(%xs))") == "Cons((2, True), Cons((3, True), Nil))");
  CHECK(result("@filter(fn (%x: int32) { %x != 2 }, %xs)") == "Cons(1, Cons(3, Nil))");
  CHECK(result("@zip(%xs, @tl(%xs))") == "Cons((1, 2), Cons((2, 3), Nil))");
  CHECK(result("(@nth(%xs, 2), @update(%xs, 1, 9))") == "(3, Cons(1, Cons(9, Cons(3, Nil))))");
  CHECK(result("(@foldl(%minus, 10, %xs), @foldr(%minus, 10, %xs))") == "(4, -8)");
}

TEST_CASE("the prelude's functions on functions, options, trees and natural numbers") {
  CHECK(interpreted(R"(
def @main() {
  let %next = fn (%x: int32) -> int32 { %x + 1 };
  let %twice = fn (%x: int32) -> int32 { %x * 2 };
  let %both = @compose(%next, %twice);
  let %ten = @iterate(%next, 10);
  (@id(7), %both(5), %ten(1))
}
)") == "(7, 11, 11)");
  CHECK(interpreted("def @main() { (@option_map(fn (%x: int32) { %x * 2 }, Some(3)), @option_or(None, 5), "
                    "@option_or(Some(6), 5)) }") == "(Some(6), 5, 6)");
  CHECK(interpreted("def @main() { let %t = Rose(1, Cons(Rose(2, Nil), Cons(Rose(3, Nil), Nil))); "
                    "(@size(%t), @tmap(fn (%x: int32) { %x * 2 }, %t)) }") ==
        "(3, Rose(2, Cons(Rose(4, Nil), Cons(Rose(6, Nil), Nil))))");
  CHECK(interpreted("def @main() { (@nat_add(S(Z), S(S(Z))), @nat_to_int(@int_to_nat(300000))) }") ==
        "(S(S(S(Z))), 300000)");
}

TEST_CASE("a function is applied no times for a negative number") {
  CHECK(interpreted("def @main() { @iterate(fn (%x: int32) { %x + 1 }, -1)(5) }") == "5");
}

TEST_CASE("the prelude's types in signatures; definitions of the text take precedence") {
  CHECK(interpreted("def @first(%x: Option[int32]) -> int32 { match (%x) { Some(%y) => %y, None => 0 } }\n"
                    "def @main() { @first(Some(4)) }") == "4");
  CHECK(interpreted("def @length(%x: int32) { %x }\ndef @main() { (@length(3), @rev(Cons(1, Nil))) }") ==
        "(3, Cons(1, Nil))");
  CHECK(interpreted("type Pair { Cons(int32, int32) }\ndef @main() { Cons(1, 2) }") == "Cons(1, 2)");
}

TEST_CASE("a split into one part is a tuple of one tensor") {
  const std::string split = "split(Tensor[(2), int32]{3, 4}, indices_or_sections=1)";
  CHECK(interpreted("def @main() { " + split + " }") == "(Tensor[(2), int32]{3, 4},)");
  CHECK(interpreted("def @main() { let %parts = " + split + "; %parts.0 }") == "Tensor[(2), int32]{3, 4}");
}

TEST_CASE("a limit of steps ends an evaluation") {
  auto steps_suffice = [](const std::string& text, int64_t steps) {
    Diagnostics d;
    auto module = frontends::import_relay(text, {}, d);
    REQUIRE_MESSAGE(module, d.str());
    const bool ends = interpret(*module, {}, tensor::Precision::specified, d, steps).has_value();
    if (!ends) CHECK(d.str().find(fmt::format("the program needs more than {} steps", steps)) != std::string::npos);
    return ends;
  };
  CHECK_FALSE(steps_suffice("def @main() -> int32 { @main() }", 1000));
  const std::string sum = "def @main() { sum(ones(shape=[10, 100], dtype=\"int32\")) }";
  CHECK(steps_suffice(sum, 5000));
  CHECK_FALSE(steps_suffice(sum, 1999));  // 1,000 elements are written, then read
  CHECK_FALSE(steps_suffice("def @main() { ones(shape=[1000000, 1000000], dtype=\"int8\") }", 1000000));
}

TEST_CASE("a list of 300000 elements is printed") {
  const std::string text = interpreted(list + iota + "def @main() { @iota(300000) }");
  CHECK(text.starts_with("Cons(1, Cons(2, "));
  CHECK(text.ends_with("Cons(300000, Nil" + std::string(300000, ')')));
}

}  // namespace dlcc::relay

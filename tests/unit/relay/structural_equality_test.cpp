// Modules that are the same program under other names, and modules that differ in one thing.
#include "relay/structural_equality.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "frontends/frontend.h"
#include "frontends/relay/parser.h"
#include "relay/passes/passes.h"

namespace dlcc::relay {
namespace {

Module parsed(const std::string& text) {
  Diagnostics d;
  auto module = frontends::relay_text::parse(text, {}, d);
  REQUIRE_MESSAGE(module, text << "\n" << d.str());
  return std::move(*module);
}

bool same(const std::string& a, const std::string& b) {
  const bool there = structurally_equal(parsed(a), parsed(b)), back = structurally_equal(parsed(b), parsed(a));
  CHECK(there == back);
  return there;
}

}  // namespace

TEST_CASE("names of variables, type variables and sizes do not count") {
  CHECK(same("def @main(%x: Tensor[(n, 2 * n), float32]) { let %y = nn.relu(%x); (%y, %x) }",
             "def @main(%a: Tensor[(k, 2 * k), float32]) { let %b = nn.relu(%a); (%b, %a) }"));
  CHECK(same("def @f[A, B](%x: A, %g: fn (A) -> B) -> B { %g(%x) }", "def @f[X, Y](%y: X, %h: fn (X) -> Y) -> Y { %h(%y) }"));
  CHECK(same("type L[A] { C(A, L[A]), N } def @main(%l: L[int32]) { match (%l) { C(%h, _) => %h, N => 0 } }",
             "type L[T] { C(T, L[T]), N } def @main(%m: L[int32]) { match (%m) { C(%first, _) => %first, N => 0 } }"));
  CHECK(same("def @main() { let %f = fn (%n: int32) { if (%n == 0) { 0 } else { %f(%n - 1) } }; %f(3) }",
             "def @main() { let %g = fn (%k: int32) { if (%k == 0) { 0 } else { %g(%k - 1) } }; %g(3) }"));
}

TEST_CASE("two functions that bind the same type variable are two functions with a variable each") {
  const std::string twice = "def @f(%n: int32) { let %g = fn [A](%x: A) { (%x, %x) }; (%g(%n), %g(True)) }\n"
                            "def @main() { (@f(1), @f(2)) }";
  Diagnostics d;
  auto module = frontends::import_relay(twice, {}, d);
  REQUIRE_MESSAGE(module, d.str());
  PassContext context{.diagnostics = &d};
  for (const PassInfo& pass : all_passes())
    if (pass.name == "inline-functions") *module = pass.run(std::move(*module), context);
  auto again = frontends::import_relay(print(*module), {}, d);
  REQUIRE_MESSAGE(again, d.str());
  CHECK_MESSAGE(structurally_equal(*module, *again), print(*module));
}

TEST_CASE("attributes with their default values do not count") {
  CHECK(same("def @main(%x: Tensor[(2, 4), int32], %b: Tensor[(4), int32]) { nn.bias_add(%x, %b, axis=1) }",
             "def @main(%x: Tensor[(2, 4), int32], %b: Tensor[(4), int32]) { nn.bias_add(%x, %b) }"));
}

TEST_CASE("everything else counts") {
  struct Pair {
    const char *a, *b;
  };
  static constexpr Pair pairs[] = {
      {"def @main(%x: Tensor[(n, m), float32]) { %x }", "def @main(%x: Tensor[(n, n), float32]) { %x }"},
      {"def @main(%x: Tensor[(n, 2 * n), float32]) { %x }", "def @main(%x: Tensor[(n, 3 * n), float32]) { %x }"},
      {"def @main(%x: Tensor[(n), float32]) { %x }", "def @main(%x: Tensor[(n), int32]) { %x }"},
      {"def @main(%x: Tensor[(n), float32]) { %x }", "def @main(%x) { %x }"},
      {"def @main(%x: int32, %y: int32) { %x - %y }", "def @main(%x: int32, %y: int32) { %y - %x }"},
      {"def @main(%x: int32, %y: int32) { (%x, %x) }", "def @main(%x: int32, %y: int32) { (%x, %y) }"},
      {"def @main(%x: Tensor[(2, 3), int32]) { sum(%x, axis=[0]) }", "def @main(%x: Tensor[(2, 3), int32]) { sum(%x, axis=[1]) }"},
      {"def @main() { 1 }", "def @main() { 2 }"},
      {"def @main() { 1 }", "def @main() { 1i64 }"},
      {"def @main() { let %r = ref(1); let %a = ref_write(%r, 2); let %b = ref_read(%r); %b }",
       "def @main() { let %r = ref(1); let %b = ref_read(%r); let %a = ref_write(%r, 2); %b }"},
      {"def @main(%x: (int32, int32)) { %x.0 }", "def @main(%x: (int32, int32)) { %x.1 }"},
      {"def @main(%c: bool) { if (%c) { 1 } else { 2 } }", "def @main(%c: bool) { if (%c) { 2 } else { 1 } }"},
      {"type L { C(int32), N } def @main(%l: L) { match (%l) { C(_) => 1, N => 2 } }",
       "type L { C(int32), N } def @main(%l: L) { match (%l) { N => 2, C(_) => 1 } }"},
      {"type L { C(int32), N } def @main(%l: L) { match (%l) { C(%x) => 1, N => 2 } }",
       "type L { C(int32), N } def @main(%l: L) { match? (%l) { C(%x) => 1, N => 2 } }"},
      {"type L { C(int32), N } def @main() { 1 }", "type L { C(int64), N } def @main() { 1 }"},
      {"def @f() { 1 } def @main() { @f() }", "def @f() { 1 } def @g() { 1 } def @main() { @f() }"},
      {"def @f() { 1 } def @g() { 1 } def @main() { @f() }", "def @f() { 1 } def @g() { 1 } def @main() { @g() }"},
      {"def @main(%x: int32, Primitive=1) { %x }", "def @main(%x: int32) { %x }"},
      {"def @main[A](%f: fn [B](B) -> B, %x: A) -> A { %x }", "def @main[A](%f: fn (A) -> A, %x: A) -> A { %x }"},
  };
  for (const Pair& pair : pairs) CHECK_MESSAGE(!same(pair.a, pair.b), pair.a << "\n" << pair.b);
  for (const Pair& pair : pairs) CHECK(same(pair.a, pair.a));
}

TEST_CASE("layouts and tensor functions count") {
  Diagnostics d;
  auto module = frontends::import_relay("def @main(%x: Tensor[(1, 16, 8, 8), float32]) { nn.relu(nn.max_pool2d(%x, pool_size=[2, 2])) }", {}, d);
  REQUIRE_MESSAGE(module, d.str());
  auto run = [&](Module m, const std::string& name) {
    const auto pass = std::ranges::find(all_passes(), name, &PassInfo::name);
    PassContext context{.diagnostics = &d, .channel_block = 16};
    return pass->run(std::move(m), context);
  };
  const Module fused = run(run(*module, "fuse"), "eliminate-dead-code"), again = run(run(*module, "fuse"), "eliminate-dead-code");
  CHECK(structurally_equal(fused, again));
  CHECK_FALSE(structurally_equal(fused, *module));
  Module blocked = fused;
  for (Binding& b : blocked.functions.at("main").body.bindings)
    if (CallTensor* call = std::get_if<CallTensor>(&b.op)) call->layouts.resize(call->args.size() + 1);
  CHECK_FALSE(structurally_equal(fused, blocked));
  Module other = fused;
  REQUIRE(!other.tensor_functions.empty());
  other.tensor_functions.begin()->second.stages.clear();
  CHECK_FALSE(structurally_equal(fused, other));
}

}  // namespace dlcc::relay

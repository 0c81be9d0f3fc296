// Modules that cannot be compiled are refused with a source location, before any pass runs.
#include "lower/check_module.h"

#include <doctest/doctest.h>

#include "frontends/frontend.h"
#include "lower/lower.h"
#include "support/deep_stack.h"

namespace dlcc::lower {
namespace {

// The diagnostics for a well-typed program.
std::string complaints(const std::string& text) {
  Diagnostics d;
  auto module = frontends::import_relay(text, {.file = "m.rly"}, d);
  REQUIRE_MESSAGE(module, d.str());
  if (check_module(*module, {.file = "m.rly"}, d)) lower(*module, {{.vector_bytes = 16}}, {}, d);
  return d.str();
}

}  // namespace

TEST_CASE("a module without @main, or whose inputs are not tensors, is refused") {
  CHECK(complaints("def @f(%x: int32) { %x }") ==
        "m.rly: error[undefined-value]: there is no function @main\n"
        "    help: name the function that is to be compiled @main instead of @f\n");
  CHECK(complaints("def @main(%r: (int32, ref(int32))) { %r.0 }") ==
        "m.rly:1:5: error[unsupported-construct]: input 'r' has type ref(int32), which cannot be compiled to native "
        "code\n    help: 'dlcc run --interpret' runs the program\n");
  CHECK(complaints("type L { Nil, C(int32) }\ndef @main(%l: L) { 1 }").starts_with("m.rly:2:5: "));
  CHECK(complaints("def @main(%f: fn (int32) -> int32) { %f(1) }").starts_with("m.rly:1:5: "));
  CHECK(complaints("def @f(%x: int32) { %x }\ndef @main() { @f }").starts_with("m.rly:2:5: "));
}

TEST_CASE("blocks are nested at most 1000 levels deep") {
  std::string nested = "%x";
  for (int k = 0; k < 1000; ++k) nested = "if (%c) { " + nested + " } else { 1 }";
  auto main = [](const std::string& body) { return "def @main(%c: bool, %x: int32) {\n" + body + " }"; };
  auto complaints_on_deep_stack = [](const std::string& text) {
    std::string all;
    on_deep_stack([&] {
      Diagnostics d;
      auto module = frontends::import_relay(text, {.file = "m.rly"}, d);
      REQUIRE_MESSAGE(module, d.str());
      check_module(*module, {.file = "m.rly"}, d);
      all = d.str();
    });
    return all;
  };
  CHECK(complaints_on_deep_stack(main(nested)) == "");
  CHECK(complaints_on_deep_stack(main("if (%c) { " + nested + " } else { 1 }")) ==
        "m.rly:2:10001: error[too-large]: blocks nested deeper than 1000 levels cannot be compiled to native code\n");
}

TEST_CASE("sizes that do not follow from those of the inputs are refused, in tuples too") {
  CHECK(complaints("def @main(%t: (Tensor[(n, 4), float32], int32)) { %t.1 }") == "");
  CHECK(complaints("def @main(%x: Tensor[(6,), float32], %s: Tensor[(2,), int64]) { reshape(%x, %s) }")
            .find("error[dynamic-shape]: the dimension '?") != std::string::npos);
  CHECK(complaints("def @main(%x: Tensor[(6,), float32], %s: Tensor[(2,), int64]) {\n"
                   "  match_cast(reshape(%x, %s), Tensor[(m, 2), float32])\n}")
            .find("the dimension 'm'") != std::string::npos);
  CHECK(complaints("def @main(%t: (Tensor[(3000000, 3000000), float32],)) { 1 }").find("error[too-large]") !=
        std::string::npos);
  CHECK(complaints("def @main(%x: Tensor[(n, 2000000, 1), float32], %y: Tensor[(1, 2000000), float32]) { %x * %y }")
            .find("which is more than 2^40 elements for all sizes") != std::string::npos);
}

}  // namespace dlcc::lower

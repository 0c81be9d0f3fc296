// Errors with remedies for Relay text in the syntax of other languages.
#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "frontends/frontend.h"
#include "frontends/relay/remedies.h"
#include "relay/operator.h"

using namespace dlcc;
using namespace dlcc::frontends::relay_text;

namespace {

std::string first_remedy(const std::string& text) {
  Diagnostics diagnostics;
  CHECK_FALSE(frontends::import_relay(text, {.file = "t"}, diagnostics));
  return diagnostics.list().empty() ? "" : diagnostics.list().front().help;
}

}  // namespace

TEST_CASE("syntax of other languages is an error with a remedy") {
  const std::pair<std::string, std::string> remedies[] = {
      {"def main(%x: Tensor[(2), float32]) { %x }", "names of functions begin with '@': @main"},
      {"def @main(x: Tensor[(2), float32]) { %x }", "names of variables begin with '%': %x"},
      {"def @main(%x: Tensor(2, 3)) { %x }", "a type of tensors is written Tensor[(2, 3), float32]"},
      {"def @main(%x: Tensor[(2, 3)]) { %x }", "a type of tensors is written Tensor[(2, 3), float32]"},
      {"def @main(%x: float32[2]) { %x }", "a type of tensors is written Tensor[(2, 3), float32]"},
      {"def @main(%x: float32): float32 { %x }", "the type of the result follows '->'"},
      {"def @main(%x: bool) { if (%x) { %x } }",
       "an 'if' is a value, so it has both branches: if (...) { ... } else { ... }"},
      {"def @main(%x: bool) { return %x }", "the value of a block is its last expression: write it without 'return'"},
      {"def @main(%x: bool) { %x && %x }", "write logical_and(%a, %b)"},
      {"def @main(%x: float32) { %x + 1e3 }", "write 1e3f for float32, 1e3f64 or 1e3f16; an integer has no fraction"},
      {"def @f(%x: bool) { %x } def @main(%x: bool) { f(%x) }", "did you mean '@f'?"},
      {"def @main(%n: int32) { %n -1 }", "a '-' before a digit is the number's sign: put a space between them, as in %x - 1"},
      {"def @main(%n: int32) { cast(%n, dtype=int64) }", "words are in quotes: dtype=\"int64\""},
  };
  for (const auto& [text, remedy] : remedies) {
    CAPTURE(text);
    CHECK(first_remedy(text) == remedy);
  }
}

TEST_CASE("operator and type names of other frameworks have Relay's names as remedy") {
  for (const char* name : {"sub",      "cat",    "linear",  "mm",        "bmm",  "flatten", "conv",        "max_pool",
                           "avg_pool", "bn",     "permute", "unsqueeze", "view", "slice",   "interpolate", "range",
                           "astype",   "select", "expand",  "embedding", "mul",  "div",     "pow",         "neg"}) {
    CAPTURE(name);
    const auto meant = operator_named_elsewhere(name);
    REQUIRE(meant);
    CHECK(relay::operators().find(*meant));
  }
  CHECK(operator_named_elsewhere("nn.relu") == std::nullopt);
  for (const char* name : {"f32", "bf16", "half", "u8", "long", "boolean"}) {
    CAPTURE(name);
    const auto meant = element_type_named_elsewhere(name);
    REQUIRE(meant);
    CHECK(dtype_named(*meant));
  }
}

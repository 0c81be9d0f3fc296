// Functions without types that nothing uses.
#include "calculus.h"

namespace dlcc::relay {

static std::string printed(const std::string& text, Diagnostics& d) {
  auto module = import_text(text, d);
  REQUIRE_MESSAGE(module, d.str());
  CHECK(!d.has_errors());
  return print(*module);
}

TEST_CASE("a function that nothing uses has its principal type") {
  Diagnostics d;
  CHECK(printed("def @pair(%x, %y) { ((%x, %x), %y) }\ndef @main() { 1 }", d).find(
            "def @pair[A1, A2](%x: A1, %y: A2) -> ((A1, A1), A2) {") != std::string::npos);
  CHECK(printed("def @main() { let %f = fn (%x) { Cons(%x, Nil) }; 1 }", d).find(
            "let %f = fn [A1](%x: A1) -> List[A1] {") != std::string::npos);
  CHECK(d.str() == "");
  for (const std::string text :
       {"def @pair(%x, %y) { ((%x, %x), %y) }\ndef @main() { 1 }", "def @main() { let %f = fn (%x) { Cons(%x, Nil) }; 1 }",
        "def @same(%x) { %x }\ndef @twice(%x) { (@same(%x), @same(%x)) }\ndef @main() { 1 }",
        "def @main() { let %f = fn (%x) { let %g = fn (%y) { (%x, %y) }; %x }; 1 }",
        "def @f(%x) { @f(%x) }\ndef @main() { 1 }"})
    check_result(text, "1");
}

TEST_CASE("a function that nothing uses is left out if the types of its operators depend on its uses") {
  for (const std::string text : {"def @double(%x) { %x + %x }\ndef @main() { 1 }", "def @main() { let %f = fn (%x) { %x + %x }; 1 }",
                                 "def @double(%x) { %x + %x }\ndef @four(%x) { @double(@double(%x)) }\ndef @main() { 1 }",
                                 "def @add(%x: Tensor[_, float32]) { %x }\ndef @main() { 1 }"}) {
    Diagnostics d;
    const std::string left = printed(text, d);
    CHECK(left.find("add") == std::string::npos);
    CHECK_MESSAGE(d.str().find(" is left out: nothing uses it, and its operators need to know the types") != std::string::npos, d.str());
    check_result(text, "1");
  }
  Diagnostics d;
  CHECK_FALSE(import_text("def @f(%x) { (%x + %x, 1 + True) }\ndef @main() { 1 }", d));
  CHECK_FALSE(import_text("def @main(%x) { %x + %x }", d));
}

}  // namespace dlcc::relay

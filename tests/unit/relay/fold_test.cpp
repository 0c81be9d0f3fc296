// Constant folding of programs of which some values cannot be folded.
#include "calculus.h"

using namespace dlcc;
using namespace dlcc::relay;

namespace {

// In the arm that is taken if `condition` holds, sizes that do not fit become known by folding.
std::string program(const std::string& condition) {
  return R"(
    def @six() { 2f * 3f }
    def @main() {
      let %two = prefix(full(1, shape=[2]), nonzero(full(1, shape=[2])).1);
      let %wrong = if (ref_read(ref()" +
         condition + R"())) { sum(add(%two, full(1, shape=[3]))) } else { 0 };
      (%wrong, @six(), 2f - 9f, sum(full(2f, shape=[5])))
    })";
}

}  // namespace

TEST_CASE("values beside one that would be an error are folded") {
  Diagnostics d;
  auto module = import_text(program("True"), d);
  REQUIRE_MESSAGE(module, d.str());
  auto folded = after(std::move(*module), {"fold-constants"}, d);
  REQUIRE_MESSAGE(folded, d.str());
  const std::string text = print(*folded);
  for (const char* folded_operation : {"multiply(", "subtract(", "full("}) {
    CAPTURE(folded_operation);
    CHECK(text.find(folded_operation) == std::string::npos);
  }
  CHECK(text.find("nonzero(") != std::string::npos);  // its value would give %two a size that does not fit
  CHECK(text.find("-7f, 10f)") != std::string::npos);
  CHECK(result_of(program("False"), {"fold-constants"}) == "(0, 6f, -7f, 10f)");
  CHECK(result_of(program("True"), {"fold-constants"}) == "status 7");
}

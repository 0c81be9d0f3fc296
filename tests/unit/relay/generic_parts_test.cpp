// Closure conversion refuses modules that are generic, and tells which part is.
#include "calculus.h"

using namespace dlcc;
using namespace dlcc::relay;

namespace {

std::string refused(const std::string& text) {
  Diagnostics d;
  auto module = import_text(text, d);
  REQUIRE_MESSAGE(module, d.str());
  CHECK_FALSE(after(std::move(*module), {"convert-closures"}, d));
  REQUIRE(d.list().size() == 1);
  const Diagnostic& error = d.list().front();
  CHECK(error.help == "run monomorphize first: --passes=monomorphize,convert-closures");
  return fmt::format("{}:{}: {}", error.location.line, error.location.column, error.message);
}

}  // namespace

TEST_CASE("closure conversion names the part of a module that is generic") {
  const std::string reason = " is generic: a data type has the functions of one type";
  CHECK(refused("def @main(%n: int32) { @same(%n) }\n"
                "def @same[A](%x: A) -> A { %x }") == "2:5: the function @same" + reason);
  CHECK(refused("def @main(%n: int32) {\n"
                "  let %same = fn [A](%x: A) -> A { %x };\n"
                "  (%same(%n), %same(True))\n}") == "2:15: the local function %same" + reason);
  CHECK(refused("type Box[A] { Put(A) }\n"
                "def @main(%n: int32) {\n"
                "  if (%n == 0) { Put(%n) } else { Put(1) }\n}") == "3:3: the type Box[int32]" + reason);
  CHECK(refused("type Box[A] { Put(A) }\n"
                "def @main(%box: Box[int32]) { match (%box) { Put(%n) => %n } }") ==
        "2:5: the type Box[int32] of %box" + reason);
  CHECK(refused("type Box[A] { Put(A) }\n"
                "def @main(%n: int32) { %n }") == "0:0: the type Box" + reason);
}

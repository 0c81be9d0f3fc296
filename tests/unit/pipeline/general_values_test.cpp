// Values of types that only the interpreter has: messages of the compilation to native code.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engines.h"

using namespace dlcc;

TEST_CASE("data and references are refused with their type, their location and a remedy") {
  struct Case {
    const char *body, *location, *type;
  };
  for (const Case& c : {
           Case{"@length(Cons(1, Nil))", "1:40", "List[int32]"},
           {"let %o = if (%x > 3i64) { Some(%x) } else { None }; match (%o) { Some(%v) => %v, None => %x }", "1:50",
            "Option[int64]"},
           {"match (@int_to_nat(3)) { Z => 1, S(_) => 2 }", "1:31", "Nat"},
           {"let %r = ref(%x); ref_write(%r, 3i64); ref_read(%r)", "1:33", "ref(int64)"},
           {"let %r = ref(fn (%y: int64) { %y + %x }); let %f = ref_read(%r); %f(%x)", "1:33", "ref(fn (int64) -> int64)"},
       }) {
    const std::string error = difference_of_engines(0, fmt::format("def @main(%x: int64) {{ {} }}", c.body), {{dtype::i64, {}}});
    const std::string expected = fmt::format(
        "{}: error[unsupported-construct]: a value of type {} cannot be compiled to native code", c.location, c.type);
    CHECK_MESSAGE(error.find(expected) != std::string::npos, error);
    CHECK_MESSAGE(error.find("'dlcc run --interpret' runs the program") != std::string::npos, error);
  }
}

// Statuses of runs whose sizes and indices are not allowed, as data decides: the same in all engines.
#include <doctest/doctest.h>

#include "engines.h"

using namespace dlcc;

TEST_CASE("statuses of sizes that are codes of attributes, and of indices into nothing") {
  const std::string begin = R"(def @main(%x: Tensor[(4, 6), float32]) {
    let %found = argwhere(%x > 1000f);
    let %none = take(%found.1, 0i64);
  )";
  for (const char* result : {"reshape(%x, stack((%none - 3i64, 1i64)))", "reshape(%x, stack((%none - 2i64, 24i64)))",
                             "let %y: Tensor[(24, 1), float32] = reshape(%x, stack((%none - 3i64, 1i64))); %y",
                             "take(prefix(%found.0, %found.1), 0i64)", "take(prefix(%found.0, %found.1), 0i64, axis=0)",
                             "gather(prefix(%found.0, %found.1), full(0i64, shape=[1, 2]), axis=0)"}) {
    CAPTURE(result);
    CHECK(difference_of_engines(0, begin + result + " }", {{dtype::f32, {4, 6}}}) == "");
  }
}

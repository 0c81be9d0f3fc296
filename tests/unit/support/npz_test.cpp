// Archives of arrays (.npz).
#include "support/npz.h"

#include <doctest/doctest.h>

using namespace dlcc;

namespace {

Constant numbers(const std::vector<int64_t>& shape, const std::vector<float>& values) {
  return Constant::of<float>(dtype::f32, shape, values);
}

}  // namespace

TEST_CASE("an archive that was written is read, and equal arrays give equal bytes") {
  const std::vector<NamedArray> arrays = {{"x", numbers({2, 3}, {1, 2, 3, 4, 5, 6})}, {"a/b", numbers({0}, {})}};
  const std::vector<std::byte> bytes = write_npz(arrays);
  CHECK(bytes == write_npz(arrays));
  Diagnostics diagnostics;
  auto read = read_npz(bytes, {}, diagnostics);
  REQUIRE_MESSAGE(read, diagnostics.str());
  REQUIRE(read->size() == 2);
  CHECK(read->at(0).name == "x");
  CHECK(read->at(0).value.same_as(arrays[0].value));
  CHECK(read->at(1).name == "a/b");
  CHECK(read->at(1).value.shape() == std::vector<int64_t>{0});
}

TEST_CASE("every truncated or changed archive is read or refused with an error") {
  const std::vector<std::byte> whole = write_npz({{"x", numbers({2, 2}, {1, 2, 3, 4})}});
  for (size_t size = 0; size < whole.size(); ++size) {
    Diagnostics diagnostics;
    CHECK_FALSE(read_npz(std::span(whole).first(size), {}, diagnostics));
    CHECK(diagnostics.has_errors());
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::byte> changed = whole;
    changed[at] ^= std::byte{0x81};
    Diagnostics diagnostics;
    const bool is_read = read_npz(changed, {}, diagnostics).has_value();
    CHECK(is_read == !diagnostics.has_errors());
  }
}

// Random inputs of models with symbolic sizes.
#include "pipeline/random_inputs.h"

#include <doctest/doctest.h>

using namespace dlcc;

namespace {

emit::Interface interface() {
  const InputDim n{"n", {"n_by_4", 1, 16}, 4, 8}, m{"m", {"m", 1}, 1, 0};
  emit::Interface i;
  i.inputs = {{"x", "x", dtype::f32, {n.size(), 3}}, {"y", "y", dtype::i64, {m.size() + 1, n.size() * 2}}};
  i.dims = {{n, "n"}, {m, "m"}};
  return i;
}

std::string errors(const std::map<std::string, int64_t>& sizes) {
  Diagnostics diagnostics;
  CHECK(!random_inputs(interface(), sizes, diagnostics));
  return diagnostics.str();
}

}  // namespace

TEST_CASE("random inputs have the sizes that the user gives, else the typical ones") {
  Diagnostics diagnostics;
  auto inputs = random_inputs(interface(), {{"n", 12}, {"m", 5}}, diagnostics);
  REQUIRE_MESSAGE(inputs, diagnostics.str());
  CHECK(inputs->at(0).shape() == std::vector<int64_t>{12, 3});
  CHECK(inputs->at(1).shape() == std::vector<int64_t>{6, 24});
  CHECK(inputs->at(1).dtype() == dtype::i64);
  inputs = random_inputs(interface(), {{"m", 5}}, diagnostics);
  REQUIRE_MESSAGE(inputs, diagnostics.str());
  CHECK(inputs->at(0).shape() == std::vector<int64_t>{8, 3});
}

TEST_CASE("sizes that are unknown, misspelled or not allowed are refused") {
  CHECK(errors({}) ==
        "dlcc: error[bad-option]: the size 'm' of the random inputs is not known\n"
        "    help: --size m=1, or a typical size: --dim m=1..@1\n");
  CHECK(errors({{"m", 1}, {"k", 1}}) ==
        "dlcc: error[bad-option]: --size k=1: no input has a symbolic size of this name\n    help: there are: n, m\n");
  for (int64_t n : {0, 6, 68})
    CHECK(errors({{"m", 1}, {"n", n}}) ==
          fmt::format("dlcc: error[bad-option]: --size n={}: the size must be in [4, 64] and a multiple of 4\n", n));
  for (int64_t m : {int64_t{1} << 40, INT64_MAX})
    CHECK(errors({{"m", m}}) ==
          "dlcc: error[bad-option]: input 'y' would have more than 2^40 elements at these sizes\n");
}

// The choice between register tiles of channels and of pixels, for convolutions of dense images.
#include "tensor/schedules/dense_result.h"

#include <doctest/doctest.h>

#include "harness.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

TEST_CASE("convolutions whose result stays dense") {
  auto stays_dense = [](const Conv& shape, const ScheduleOptions& options = {}) {
    const TensorFunction f = convolution(shape);
    const std::vector<Layout> dense(f.params.size() + 1);
    const std::vector<bool> constant = {false, true, true, false};
    const bool is_dense = prefers_dense_result(f, constant, options, avx512);
    if (is_dense) check_schedule(f, constant, dense, options);
    return is_dense;
  };
  const Conv short_sums = {.c = 1, .h = 8, .w = 48, .o = 20};
  CHECK(stays_dense(short_sums));
  CHECK(stays_dense({.c = 24, .h = 8, .w = 48, .o = 17, .k = 5, .pad = 2}));        // 17 of 32 channels
  CHECK_FALSE(stays_dense({.c = 48, .h = 8, .w = 48, .o = 32, .k = 5, .pad = 2}));  // all channels, long sums
  CHECK_FALSE(stays_dense({.c = 24, .h = 8, .w = 5, .o = 20, .k = 5, .pad = 2}));   // 5 of 8 pixels
  CHECK_FALSE(stays_dense({.c = 64, .h = 32, .w = 32, .o = 64}));                   // Winograd
  CHECK_FALSE(stays_dense({.c = 24, .h = 8, .w = 48, .o = 34, .k = 5, .pad = 2, .groups = 2}));
  CHECK_FALSE(stays_dense({.c = 24, .h = 8, .w = 48, .o = 14, .k = 5, .pad = 2, .groups = 2}));
  CHECK_FALSE(stays_dense(short_sums, {.strict = true}));
  // Fewer channels than half a block: 24 of 32 pixels, and 5 of 16, are used, of channels 7 of 16.
  CHECK(stays_dense({.c = 24, .h = 8, .w = 24, .o = 7, .k = 5, .pad = 2}));
  CHECK_FALSE(stays_dense({.c = 24, .h = 8, .w = 5, .o = 7, .k = 5, .pad = 2}));
  // The 49 pixels of a 1x1 convolution are one row; with a stride they are not.
  CHECK(stays_dense({.c = 16, .h = 7, .w = 7, .o = 20, .k = 1, .pad = 0}));
  CHECK_FALSE(stays_dense({.c = 64, .h = 13, .w = 13, .o = 31, .k = 1, .stride = 2, .pad = 0}));
}

// 3x3 convolutions by Winograd's algorithm.
#include "tensor/schedules/winograd.h"

#include <doctest/doctest.h>

#include "harness.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

// Checks that the convolution is scheduled as F(tile x tile, 3 x 3), or not by Winograd if `tile` is 0, and computes
// its definition.
void check_winograd(const Conv& p, int64_t tile, const ScheduleOptions& options = {}, const Machine& machine = avx512) {
  TensorFunction f = convolution(p);
  std::vector<bool> constant = weights_constant(f);
  std::vector<Layout> layouts = halo_layouts(f, constant, options, machine);
  auto plan = plan_winograd(f, layouts, constant, options, machine);
  REQUIRE(plan.has_value() == (tile != 0));
  if (plan) CHECK(plan->tile == tile);
  check_schedule(f, constant, layouts, options, {machine, avx2, neon, machine});
}

}  // namespace

TEST_CASE("3x3 convolutions are computed by Winograd's algorithm") {
  check_winograd({.h = 16, .w = 16}, 4);
  check_winograd({.c = 48, .h = 14, .w = 14, .o = 64}, 4, {}, streaming);
  check_winograd({.c = 128, .h = 14, .w = 14, .o = 128}, 2);  // reads of weights would bound F(4x4)
  check_winograd({.n = 2, .c = 32, .h = 13, .w = 29, .o = 48, .epilogue = false}, 4);
  check_winograd({.c = 32, .h = 17, .w = 15, .o = 48, .pad = 0}, 4);
  check_winograd({.c = 32, .h = 17, .w = 15, .o = 48, .smooth = true}, 4);
  check_winograd({.c = 128, .h = 7, .w = 7, .o = 128}, 2, {.strict = true}, streaming);
  check_winograd({.c = 64, .h = 14, .w = 14, .o = 64}, 2, {.strict = true});
  check_winograd({.h = 14, .w = 14}, 0, {.small = true});
  check_winograd({.h = 14, .w = 14, .stride = 2}, 0);
  check_winograd({.c = 32, .h = 14, .w = 14, .groups = 2}, 0);
  check_winograd({.c = 24, .h = 14, .w = 14}, 0);
  check_winograd({.h = 14, .w = 14, .k = 5, .pad = 2}, 0);
}

TEST_CASE("threads share Winograd tiles when the weights fit the cache or tiles are many, else the panels") {
  auto plan = [](const Conv& p, int threads) {
    TensorFunction f = convolution(p);
    std::vector<bool> constant = weights_constant(f);
    ScheduleOptions options{.threads = threads};
    return *plan_winograd(f, halo_layouts(f, constant, options), constant, options, avx512);
  };
  Conv near{.c = 32, .h = 13, .w = 29, .o = 64};  // 32 tiles
  CHECK(plan(near, 2).workers == 2);
  CHECK(plan(near, 2).panel_shares == 1);
  CHECK(plan(near, 16).workers == 16);
  Conv far{.c = 128, .h = 14, .w = 14, .o = 256};  // 49 tiles of 2 x 2
  CHECK(plan(far, 2).workers == 2);
  CHECK(plan(far, 6).workers == 6);
  CHECK(plan(far, 8).workers == 1);
  CHECK(plan(far, 8).panel_shares == 8);
  CHECK(plan(far, 7).panel_shares == 1);  // 8 panels
  for (int threads : {2, 3, 5}) {
    check_winograd(near, 4, {.threads = threads});
    check_winograd({.n = 2, .c = 32, .h = 17, .w = 15, .o = 48, .pad = 0, .smooth = true}, 4, {.threads = threads});
    check_winograd(far, 2, {.threads = threads});
  }
}

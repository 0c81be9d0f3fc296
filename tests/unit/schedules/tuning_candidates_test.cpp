// Tuning candidates and the keys of tuning records.
#include <doctest/doctest.h>

#include <set>

#include "harness.h"
#include "tensor/layout.h"
#include "tensor/schedules/schedule.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

// Checks that every candidate of the function computes its definition; returns the candidates as text.
static std::set<std::string> check_candidates(const TensorFunction& f, const std::vector<bool>& constant,
                                              const std::vector<Layout>& layouts, const ScheduleOptions& options = {}) {
  std::vector<Machine> machines = {avx2, avx512};
  std::set<std::string> texts;
  for (const TuningConfig& config : tuning_candidates({f, constant, layouts, machines, options, {}})) {
    CAPTURE(str(config));
    texts.insert(str(config));
    check_schedule(f, constant, layouts, options, machines, config);
  }
  return texts;
}

TEST_CASE("every tuning candidate computes the definition") {
  auto conv = [](const Conv& p, const ScheduleOptions& options = {}) {
    TensorFunction f = convolution(p);
    std::vector<bool> constant = weights_constant(f);
    return check_candidates(f, constant, halo_layouts(f, constant, options), options);
  };
  std::set<std::string> winograd = conv({.c = 32, .h = 16, .w = 12, .o = 96}),
                        strict = conv({.c = 32, .o = 32}, {.strict = true}),
                        pointwise = conv({.c = 48, .h = 40, .w = 14, .o = 96, .k = 1, .pad = 0}),
                        deep = conv({.c = 528, .h = 5, .o = 32, .k = 1, .pad = 0}),
                        grouped = conv({.c = 64, .h = 5, .w = 6, .o = 96, .groups = 2}),
                        small = conv({.c = 32, .h = 8, .w = 8, .o = 32}, {.small = true});
  CHECK(winograd.contains("winograd_tile_size 1"));
  CHECK(winograd.contains("winograd_tile_size 2") !=
        winograd.contains("winograd_tile_size 4"));  // the other is the estimate
  CHECK(winograd.contains("panel_width 48"));
  CHECK(winograd.contains("k_unroll 8"));
  CHECK_FALSE(strict.contains("winograd_tile_size 4"));
  CHECK_FALSE(small.contains("winograd_tile_size 2"));
  CHECK(pointwise.contains("m_blocking 1"));
  CHECK(deep.contains("k_blocking 1"));
  CHECK_FALSE(grouped.contains("panel_width 32"));  // N of a group is 48

  TensorFunction image = depthwise({}, DepthwiseEpilogue::bounds);
  Layout blocked = channels16(image, 0), result = channels16(image, 4);
  CHECK(check_candidates(image, {false, true, true, false}, {blocked, {}, {}, result, result})
            .contains("accumulators 4"));
}

TEST_CASE("a configuration changes the storage of all CPU levels, but the loops of the best level only") {
  TensorFunction f = convolution({.c = 48, .h = 12, .w = 14, .o = 96, .k = 1, .pad = 0, .epilogue = false});
  auto text = [&](const TuningConfig& config) {
    ScheduleRequest r{f, {false, true}, {channels16(f, 0), {}, channels16(f, 2)}, {avx2, avx512}, {}, config};
    return print(schedule(r).variants[0]);
  };
  CHECK(text({.m_blocking = 1, .k_unroll = 8}) == text({}));
  CHECK(text({.panel_width = 48}) != text({}));
}

TEST_CASE("the hash of a tuning record depends on the definition, layouts, best machine and options") {
  auto function = [](const std::string& name, const std::string& k) {
    return parse_function("tensor @" + name + "(x: f32[4, 8], w: f32[8, 16]) -> (y: f32[4, 16]) {\n" +
                          "y[i < 4, j < 16] = sum(k < " + k + ") { x[i, k] * w[k, j] }\n}\n");
  };
  ScheduleRequest r{function("a", "8"), {false, true}, {{}, {}, {}}, {avx2, avx512}, {}, {}};
  const uint64_t known = 7387491761051174677u;  // equal on every host: the key of tuning records
  CHECK(hash_of(r) == known);
  auto with = [&](auto change) {
    ScheduleRequest other = r;
    change(other);
    return hash_of(other);
  };
  CHECK(with([&](auto& o) { o.function = function("b", "8"); }) == known);
  CHECK(with([&](auto& o) { o.machines = {neon, avx512}; }) == known);
  CHECK(with([&](auto& o) { o.config.panel_width = 16; }) == known);
  CHECK(with([&](auto& o) { o.function = function("a", "7"); }) != known);
  CHECK(with([&](auto& o) { o.constant[1] = false; }) != known);
  CHECK(with([&](auto& o) { o.layouts[0] = blocked_layout({4, 8}, 1, 4, Layout::Tail::zero); }) != known);
  CHECK(with([&](auto& o) { o.machines.back() = streaming; }) != known);
  CHECK(with([&](auto& o) { o.options.strict = true; }) != known);
  CHECK(with([&](auto& o) { o.options.threads = 2; }) != known);
}

// What all schedules share: memory that results may replace, choices, hashes of requests.
#include "tensor/schedules/schedule.h"

#include <doctest/doctest.h>

#include <set>

#include "harness.h"
#include "tensor/layout.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

// Which operands the result may replace, as numbers of parameters.
static std::vector<int> replaceable(const std::string& body, std::vector<bool> constant = {false, false}) {
  TensorFunction f = parse_function("tensor @f(a: f32[8], b: f32[8]) -> (y: f32[8]) {\n" + body + "}\n");
  std::vector<int> operands;
  for (auto [result, operand] : schedule({f, constant, {{}, {}, {}}, {avx2}}).in_place) operands.push_back(operand);
  return operands;
}

TEST_CASE("a result may replace operands that are read only where it is written") {
  CHECK(replaceable("y[i < 8] = a[i] * b[i]\n") == std::vector{0, 1});
  CHECK(replaceable("y[i < 8] = a[i] * b[i]\n", {false, true}) == std::vector{0});
  CHECK(replaceable("y[i < 8] = a[i] * b[7 - i]\n") == std::vector{0});
  CHECK(replaceable("y[i < 8] = a[i] + a[0] + b[i] * b[7 - i]\n") == std::vector<int>{});
  CHECK(replaceable("temp s: f32[]\ns[] = sum(k < 8) { a[k] }\ny[i < 8] = (a[i] + b[i]) * s[]\n") == std::vector{1});
}

// Every candidate of the function computes what it defines. Gives what may be chosen, as text.
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

TEST_CASE("whatever a schedule chooses, it computes the definition") {
  auto conv = [](const Conv& p, const ScheduleOptions& options = {}) {
    TensorFunction f = convolution(p);
    std::vector<bool> constant = weights_constant(f);
    return check_candidates(f, constant, halo_layouts(f, constant, options), options);
  };
  std::set<std::string> filtered = conv({.c = 32, .h = 16, .w = 12, .o = 96}),
                        strict = conv({.c = 32, .o = 32}, {.strict = true}),
                        pointwise = conv({.c = 48, .h = 40, .w = 14, .o = 96, .k = 1, .pad = 0}),
                        deep = conv({.c = 528, .h = 5, .o = 32, .k = 1, .pad = 0}),
                        grouped = conv({.c = 64, .h = 5, .w = 6, .o = 96, .groups = 2}),
                        small = conv({.c = 32, .h = 8, .w = 8, .o = 32}, {.small = true});
  CHECK(filtered.contains("winograd_tile_size 1"));
  CHECK(filtered.contains("winograd_tile_size 2") != filtered.contains("winograd_tile_size 4"));  // one is the estimate
  CHECK(filtered.contains("panel_width 48"));
  CHECK(filtered.contains("k_unroll 8"));
  CHECK_FALSE(strict.contains("winograd_tile_size 4"));
  CHECK_FALSE(small.contains("winograd_tile_size 2"));
  CHECK(pointwise.contains("m_blocking 1"));
  CHECK(deep.contains("k_blocking 1"));
  CHECK_FALSE(grouped.contains("panel_width 32"));  // a group has 48 columns

  TensorFunction image = depthwise({}, Behind::bounds);
  Layout blocked = channels16(image, 0), result = channels16(image, 4);
  CHECK(check_candidates(image, {false, true, true, false}, {blocked, {}, {}, result, result})
            .contains("accumulators 4"));
}

TEST_CASE("another machine's schedule follows the config only where it concerns storage") {
  TensorFunction f = convolution({.c = 48, .h = 12, .w = 14, .o = 96, .k = 1, .pad = 0, .epilogue = false});
  auto text = [&](const TuningConfig& config) {
    ScheduleRequest r{f, {false, true}, {channels16(f, 0), {}, channels16(f, 2)}, {avx2, avx512}, {}, config};
    return print(schedule(r).variants[0]);
  };
  CHECK(text({.m_blocking = 1, .k_unroll = 8}) == text({}));
  CHECK(text({.panel_width = 48}) != text({}));
}

TEST_CASE("the hash of a request") {
  auto function = [](const std::string& name, const std::string& terms) {
    return parse_function("tensor @" + name + "(x: f32[4, 8], w: f32[8, 16]) -> (y: f32[4, 16]) {\n" +
                          "y[i < 4, j < 16] = sum(k < " + terms + ") { x[i, k] * w[k, j] }\n}\n");
  };
  ScheduleRequest r{function("a", "8"), {false, true}, {{}, {}, {}}, {avx2, avx512}, {}, {}};
  const uint64_t known = 9978808653578001306u;  // on every host: records in files have it
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

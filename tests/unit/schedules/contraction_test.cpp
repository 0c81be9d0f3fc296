// Sums of products: register tiles over packed panels.
#include "tensor/schedules/contraction.h"

#include <doctest/doctest.h>

#include <array>

#include "harness.h"
#include "tensor/analysis.h"
#include "tensor/builder.h"
#include "tensor/schedules/tap_axes.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

void check_conv(const Conv& p) {
  TensorFunction f = convolution(p);
  REQUIRE(find_contraction(f, std::vector<bool>(f.params.size(), false)));
  size_t results = f.params.size();
  std::vector<Layout> dense(results + 1), blocked(results + 1), first(results + 1);
  first[results] = blocked[results] = channels16(f, results);
  blocked[0] = channels16(f, 0);
  if (p.epilogue) blocked[3] = channels16(f, 3);
  std::vector<bool> weights_known(results, false), nothing_known(results, false);
  weights_known[1] = true;
  if (p.epilogue) weights_known[2] = true;
  for (const auto& constant : {weights_known, nothing_known})
    for (const auto& layouts : {dense, blocked, first}) check_schedule(f, constant, layouts);
}

// a[m, k] times b[k, n].
TensorFunction product(int64_t m, int64_t k, int64_t n) {
  Definition d("matmul");
  Tensor a = d.input("a", dtype::f32, {m, k});
  Tensor b = d.input("b", dtype::f32, {k, n});
  d.mark_result(
      d.reduce("p", {m, n}, sum_of(dtype::f32), {k}, [&](Index i, Index r) { return a(i[0], r[0]) * b(r[0], i[1]); }));
  return d.finish();
}

}  // namespace

TEST_CASE("register tiles leave registers for the factors, and for products where there is no FMA") {
  auto tile = [](const Machine& m, int64_t panel_width) {
    RegisterTile t = choose_register_tile(m, m.lanes(32), panel_width);
    return std::pair(t.rows, t.vectors);
  };
  CHECK(tile(avx512, 32) == std::pair<int64_t, int64_t>(14, 2));
  CHECK(tile(avx512, 48) == std::pair<int64_t, int64_t>(9, 3));
  CHECK(tile(avx2, 32) == std::pair<int64_t, int64_t>(6, 2));
  CHECK(tile(neon, 32) == std::pair<int64_t, int64_t>(5, 4));  // 20 accumulators, 4 weights, 5 rows of data
  CHECK(tile(sse, 32) == std::pair<int64_t, int64_t>(4, 2));   // three registers hold a product and the next factors
  const RegisterTile pairs = choose_register_tile(sse, sse.lanes(32) / 2, 8, 2);
  CHECK(pairs.rows * pairs.vectors == 6);  // five registers hold a product and the factors of the next two
}

TEST_CASE("tiles of byte products without vectors fit the general registers") {
  const Machine m{
      .vector_bytes = 4, .general_registers = 13, .byte_products = ByteProducts::scalar_pairs, .prefetch_streams = 0};
  auto tile = [&](int64_t max_rows) {
    const RegisterTile t = choose_register_tile(m, 1, 16, 4, true, max_rows);
    return std::pair(t.rows, t.vectors);
  };
  CHECK(tile(100) == std::pair<int64_t, int64_t>(2, 2));
  CHECK(tile(1) == std::pair<int64_t, int64_t>(1, 4));  // weights need no registers from one output to the next
  // Factors of sixteen bytes are in vector registers, and accumulators in every second general register.
  const RegisterTile vectors = choose_register_tile(m, 1, 16, 16, true);
  CHECK(std::pair(vectors.rows, vectors.vectors) == std::pair<int64_t, int64_t>(3, 2));
}

TEST_CASE("a tile of few rows spans several panels, so that weights are read in several streams") {
  auto vectors = [](const Machine& m, int64_t rows, int64_t panel_width) -> int64_t {
    auto tile = tile_of_few_rows(m, rows, m.lanes(32), panel_width);
    return tile ? tile->vectors : 0;
  };
  CHECK(vectors(avx512, 1, 32) == 8);
  CHECK(vectors(avx512, 1, 80) == 20);
  CHECK(vectors(avx512, 3, 32) == 8);
  CHECK(vectors(avx512, 4, 32) == 0);  // eight accumulators in one panel
  CHECK(vectors(avx2, 1, 32) == 12);   // three panels: 16 registers have no room for four
  CHECK(vectors(sse, 1, 32) == 0);
}

TEST_CASE("schedules use fused multiply-add exactly on machines that have it") {
  TensorFunction f = convolution({.epilogue = false});
  for (const Machine& m : {avx512, sse}) {
    Kernel kernel = schedule({f, {false, true}, {{}, {}, {}}, {m}}).variants[0];
    CHECK((print(kernel).find("fma(") != std::string::npos) == m.has_fma);
  }
}

TEST_CASE("contraction schedules of convolutions compute the definition") {
  check_conv({});
  check_conv({.epilogue = false});
  check_conv({.c = 3, .h = 17, .w = 19, .o = 24, .stride = 2});
  check_conv({.c = 24, .h = 7, .w = 7, .o = 40, .k = 1, .pad = 0});
  check_conv({.n = 2, .c = 20, .h = 6, .w = 35, .o = 48, .k = 3, .pad = 1});
  check_conv({.c = 64, .h = 5, .w = 5, .o = 64, .k = 3, .groups = 2});
  check_conv({.c = 32, .h = 8, .w = 8, .o = 32, .k = 3, .groups = 32});
  check_conv({.c = 16, .h = 8, .w = 8, .o = 3, .k = 5, .pad = 2});
  check_conv({.c = 16, .h = 5, .w = 31, .o = 80, .k = 1, .pad = 0, .smooth = true});
}

TEST_CASE("taps that read padding for all pixels of a tile are left out") {
  auto has_branches = [](const Conv& p) {
    TensorFunction f = convolution(p);
    const std::vector<bool> constant = weights_constant(f);
    const std::vector<Layout> layouts = halo_layouts(f, constant, {});
    check_schedule(f, constant, layouts);
    const auto plan = plan_contraction(f, layouts, constant, {}, avx512, false);
    return print(schedule_contraction(*plan, avx512)).find("if ") != std::string::npos;
  };
  CHECK(has_branches({.h = 7, .w = 7, .o = 48}));          // tiles of one row
  CHECK_FALSE(has_branches({.h = 40, .w = 14, .o = 32}));  // little padding
  CHECK_FALSE(has_branches({.h = 7, .w = 7, .o = 48, .pad = 0}));
  CHECK(has_branches({.h = 7, .w = 7, .o = 32, .k = 7, .pad = 6, .dilation = 2}));
  CHECK(has_branches({.h = 40, .w = 40, .o = 32, .pad = 24, .dilation = 24}));
  CHECK(has_branches({.c = 20, .h = 7, .w = 6, .o = 40, .k = 5, .stride = 2, .pad = 4, .dilation = 2}));
}

TEST_CASE("dense images of floats are copied into channel blocks where that saves products") {
  auto is_copied = [](const Conv& p) {
    const TensorFunction f = convolution(p);
    const std::vector<bool> constant = weights_constant(f);
    const std::vector<Layout> dense(f.params.size() + 1);
    check_schedule(f, constant, dense);
    const auto plan = plan_contraction(f, dense, constant, {}, avx512, false);
    return plan->data_copy && plan->data_copy->name == "blocks";
  };
  CHECK(
      is_copied({.c = 32, .h = 7, .w = 7, .o = 32, .k = 7, .pad = 6, .dilation = 2}));  // half of the taps are padding
  CHECK(is_copied({.c = 32, .h = 40, .w = 40, .o = 24, .pad = 0}));                     // pairs of channels
  CHECK(is_copied({.c = 32, .h = 6, .w = 6, .o = 64, .k = 5, .pad = 2, .groups = 2}));
  CHECK_FALSE(is_copied({.c = 32, .h = 40, .w = 40, .o = 32}));                                 // little padding
  CHECK_FALSE(is_copied({.c = 32, .h = 40, .w = 40, .o = 24, .k = 1, .pad = 0}));               // few products
  CHECK_FALSE(is_copied({.c = 24, .h = 7, .w = 7, .o = 32, .k = 7, .pad = 6, .dilation = 2}));  // half a block
}

TEST_CASE("the share of taps that read padding") {
  auto shares = [](const Conv& p, int64_t count) {
    const TensorFunction f = convolution(p);
    const Stage& stage = f.stages[0];
    std::vector<double> found;
    for (const TapAxis& w : tap_axes(find_contraction(f, weights_constant(f))->data, stage))
      found.push_back(share_of_padding(w, stage, count));
    return found;
  };
  CHECK(shares({.h = 7, .w = 14}, 1) == std::vector{2. / 21, 2. / 42});
  CHECK(shares({.h = 7, .w = 14}, 2) == std::vector{0., 0.});
  CHECK(shares({.h = 9, .w = 9, .pad = 0}, 1).empty());
  // Rows 0, 2, 4 and 6 of taps at -6, -4, .. 6.
  CHECK(shares({.h = 7, .w = 7, .k = 7, .stride = 2, .pad = 6, .dilation = 2}, 1) == std::vector{12. / 28, 12. / 28});
  CHECK(shares({.h = 3, .w = 3, .k = 3, .pad = 1}, 5) == std::vector{0., 0.});  // more pixels than there are
}

TEST_CASE("convolutions of images with halos need no copy of the data") {
  for (const Conv& p :
       {Conv{.stride = 2}, Conv{.c = 32, .h = 6, .w = 35, .k = 5, .pad = 2}, Conv{.n = 2, .c = 24, .k = 1, .pad = 0}}) {
    TensorFunction f = convolution(p);
    std::vector<bool> constant = weights_constant(f);
    std::vector<Layout> layouts = halo_layouts(f, constant, {});
    CHECK_FALSE(plan_contraction(f, layouts, constant, {}, avx512, false)->data_copy);
    check_schedule(f, constant, layouts);
  }
}

TEST_CASE("the weights of a convolution without constants are its kernel") {
  for (const Conv& p : {Conv{}, Conv{.c = 3, .h = 17, .w = 19, .o = 24, .stride = 2}, Conv{.n = 2, .c = 20, .o = 40},
                        Conv{.c = 64, .h = 5, .w = 5, .o = 64, .groups = 2}, Conv{.c = 8, .o = 20, .k = 5, .pad = 2}}) {
    TensorFunction f = convolution(p);
    const std::vector<bool> constant(f.params.size(), false);
    CHECK(channel_axis(f, constant, channel_block) == 1);
    std::vector<Layout> layouts(f.params.size() + 1);
    const auto plan = plan_contraction(f, layouts, constant, {}, avx512, false);
    REQUIRE(plan);
    CHECK(plan->contraction.weights.buffer == f.params[1]);
    CHECK(plan->packs_at_run_time);
    check_schedule(f, constant, layouts);
    if (p.c % channel_block == 0) layouts[0] = channels16(f, 0);
    layouts.back() = channels16(f, f.params.size());
    check_schedule(f, constant, layouts);
  }
}

TEST_CASE("a product of matrices without constants is not stored in blocks of rows") {
  Definition d("product");
  const Tensor a = d.input("a", dtype::f32, {20, 9}), b = d.input("b", dtype::f32, {9, 24, 33});
  d.mark_result(d.reduce("y", {20, 24, 33}, sum_of(dtype::f32), {9},
                         [&](Index i, Index r) { return a(i[0], r[0]) * b(r[0], i[1], i[2]); }));
  const TensorFunction f = d.finish();
  CHECK(find_contraction(f, {false, false})->weights.buffer == f.params[1]);
  CHECK(channel_axis(f, {false, false}, channel_block) == -1);
  check_schedule(f, {false, false});
}

TEST_CASE("K-interleaved packing is chosen for few output channels, except with strict accuracy") {
  for (const Conv& p : {Conv{.c = 32, .h = 7, .o = 24}, Conv{.c = 72, .h = 5, .w = 31, .o = 40, .k = 1, .pad = 0},
                        Conv{.c = 36, .h = 5, .w = 5, .o = 20, .stride = 2}, Conv{.c = 64, .h = 5, .w = 5, .o = 8},
                        Conv{.c = 32, .o = 24, .smooth = true}}) {
    TensorFunction f = convolution(p);
    std::vector<Layout> layouts = {channels16(f, 0), {}, {}, channels16(f, 3), channels16(f, 4)};
    std::vector<bool> constant = {false, true, true, false};
    CHECK(plan_contraction(f, layouts, constant, {}, avx512, false)->k_interleave == 2);
    CHECK(plan_contraction(f, layouts, constant, {}, avx512, true)->k_interleave == 1);
    check_schedule(f, constant, layouts);
    check_schedule(f, constant, layouts, {.strict = true});
    layouts[4] = {};
    check_schedule(f, constant, layouts);
  }
}

TEST_CASE("threads have equal shares of the panels of a small image") {
  auto width = [](int64_t n, int64_t height, int threads) {
    TensorFunction f = convolution({.c = 32, .h = height, .w = height, .o = n, .k = 1, .pad = 0});
    std::vector<Layout> layouts = {channels16(f, 0), {}, {}, channels16(f, 3), channels16(f, 4)};
    check_schedule(f, weights_constant(f), layouts, {.threads = threads});
    return plan_contraction(f, layouts, weights_constant(f), {.threads = threads}, avx512, false)->panel_width;
  };
  CHECK(width(96, 7, 1) == 32);
  CHECK(width(96, 7, 2) == 48);
  CHECK(width(96, 7, 3) == 32);
  CHECK(width(160, 7, 2) == 80);
  CHECK(width(96, 14, 2) == 32);
}

TEST_CASE("convolutions with strict accuracy compute the definition") {
  for (const Conv& p : {Conv{.c = 80, .h = 5, .w = 5}, Conv{.c = 67, .h = 5, .w = 9, .k = 5, .pad = 2},
                        Conv{.c = 528, .k = 1, .pad = 0}, Conv{.c = 32, .h = 2, .w = 470, .o = 16}}) {
    TensorFunction f = convolution(p);
    std::vector<bool> constant = weights_constant(f);
    check_schedule(f, constant, halo_layouts(f, constant, {.strict = true}), {.strict = true});
    check_schedule(f, constant, {}, {.strict = true});
  }
}

TEST_CASE("convolutions with K-blocking compute the definition") {
  // More than half of the small cache's 8 KiB: panels of 32 N indices and 33 K indices.
  check_conv({.c = 40, .h = 7, .w = 15});
  check_conv({.c = 67, .h = 40, .w = 14, .k = 1, .pad = 0});
}

TEST_CASE("K of large panels that few tiles read is blocked early, and the next K range is prefetched") {
  auto schedule = [](int64_t channels, int64_t height, int64_t columns) {
    TensorFunction f = convolution({.c = channels, .h = height, .w = height, .o = columns, .k = 1, .pad = 0});
    std::vector<Layout> layouts = {channels16(f, 0), {}, {}, channels16(f, 3), channels16(f, 4)};
    return print(schedule_contraction(*plan_contraction(f, layouts, weights_constant(f), {}, avx512, false), avx512));
  };
  auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  CHECK(has(schedule(1152, 7, 64), "k_range in"));
  CHECK_FALSE(has(schedule(1152, 14, 64), "k_range in"));
  CHECK_FALSE(has(schedule(512, 7, 64), "k_range in"));
  CHECK(has(schedule(2048, 14, 64), "k_range in"));
  CHECK(has(schedule(1152, 7, 64), "prefetch panels[floordiv(32 * panel, 32), floordiv(256 * k_range + 256, 16)"));
  CHECK(has(schedule(1152, 7, 32), "prefetch panels[1, floordiv(256 * k_range, 16)"));
}

TEST_CASE("strided pixels that many panels read are gathered") {
  auto gathered = [](const Conv& p, bool blocked) {
    TensorFunction f = convolution(p);
    std::vector<Layout> layouts(5);
    if (blocked) layouts = {channels16(f, 0), {}, {}, channels16(f, 3), channels16(f, 4)};
    check_schedule(f, weights_constant(f), layouts);
    auto plan = plan_contraction(f, layouts, weights_constant(f), {}, avx512, false);
    return plan->data_copy ? static_shape(plan->data_copy->shape) : std::vector<int64_t>();
  };
  for (bool blocked : {false, true}) {
    CHECK(gathered({.n = 2, .c = 20, .h = 5, .w = 4, .o = 1024, .k = 1, .stride = 2, .pad = 0}, blocked) ==
          std::vector<int64_t>{2, 20, 3, 2});
    CHECK(gathered({.c = 20, .h = 5, .w = 4, .o = 512, .k = 1, .stride = 2, .pad = 0}, blocked).empty());
    CHECK(gathered({.c = 20, .h = 5, .w = 4, .o = 1024, .k = 1, .pad = 0}, blocked).empty());
    CHECK(gathered({.c = 4, .h = 5, .w = 4, .o = 1024, .k = 3, .stride = 2, .pad = 0}, blocked).empty());
  }
}

TEST_CASE("large operands of the epilogue, or else a large result, are prefetched for the next tile") {
  auto prefetches = [](const Conv& p, size_t param) {
    TensorFunction f = convolution(p);
    std::vector<Layout> layouts = {channels16(f, 0), {}};
    for (size_t k = 2; k < f.params.size(); ++k) layouts.push_back(k == 3 ? channels16(f, 3) : Layout());
    layouts.push_back(channels16(f, f.params.size()));
    auto plan = plan_contraction(f, layouts, weights_constant(f), {}, avx512, false);
    const std::string& name = (param < f.params.size() ? f.params[param] : f.results[0])->name;
    return print(schedule_contraction(*plan, avx512)).find("prefetch " + name + "[") != std::string::npos;
  };
  Conv residual{.h = 56, .w = 56, .o = 128, .k = 1, .pad = 0}, plain = residual, small = residual;
  plain.epilogue = false, small.h = 7;
  CHECK(prefetches(residual, 3));
  CHECK(prefetches(plain, 2));
  CHECK_FALSE(prefetches(residual, 4));
  CHECK_FALSE(prefetches(small, 3));
  plain.h = 14;
  CHECK_FALSE(prefetches(plain, 2));
}

TEST_CASE("the loop order (panels or M blocks outermost) is the one that reads fewer bytes") {
  auto m_blocks_first = [](int64_t columns, int64_t taps, int64_t stride) {
    TensorFunction f =
        convolution({.c = 128, .h = 56, .w = 56, .o = columns, .k = taps, .stride = stride, .pad = taps / 2});
    auto plan = plan_contraction(f, halo_layouts(f, weights_constant(f), {}), weights_constant(f), {}, avx512, false);
    return print(schedule_contraction(*plan, avx512)).starts_with("parallel block in");
  };
  CHECK(m_blocks_first(128, 1, 1));
  CHECK_FALSE(m_blocks_first(32, 1, 1));  // one panel
  // The weights exceed half of the cache: each of the 14 or 4 M blocks reads them again.
  CHECK_FALSE(m_blocks_first(128, 3, 1));
  CHECK(m_blocks_first(128, 3, 2));
}

TEST_CASE("contraction schedules of matrix products compute the definition") {
  for (auto [m, k, n] : std::vector<std::array<int64_t, 3>>{{1, 33, 10}, {5, 16, 64}, {31, 7, 100}, {8, 64, 1000}})
    for (bool transposed : {false, true}) {
      Definition d("matmul");
      Tensor a = d.input("a", dtype::f32, {m, k});
      Tensor b = d.input("b", dtype::f32, transposed ? Shape{n, k} : Shape{k, n});
      Tensor y = d.reduce("p", {m, n}, sum_of(dtype::f32), {k}, [&](Index i, Index r) {
        return a(i[0], r[0]) * (transposed ? b(i[1], r[0]) : b(r[0], i[1]));
      });
      d.mark_result(y);
      TensorFunction f = d.finish();
      check_schedule(f, {false, true});
      check_schedule(f, {false, false});
    }
}

TEST_CASE("run-time weights are read as they are stored if they are small or the rows are few") {
  auto is_packed = [](const Dim& m, int64_t k, int64_t n) {
    Definition d("matmul");
    Tensor a = d.input("a", dtype::f32, {m, k}), b = d.input("b", dtype::f32, {k, n});
    d.mark_result(d.reduce("p", {m, n}, sum_of(dtype::f32), {k},
                           [&](Index i, Index r) { return a(i[0], r[0]) * b(r[0], i[1]); }));
    const TensorFunction f = d.finish();
    return plan_contraction(f, std::vector<Layout>(3), {false, false}, {}, avx512, false)->packs_at_run_time;
  };
  CHECK_FALSE(is_packed(1, 1024, 1000));
  CHECK_FALSE(is_packed(20, 1024, 1024));
  CHECK(is_packed(21, 1024, 1024));
  CHECK_FALSE(is_packed(200, 64, 197));
  CHECK_FALSE(is_packed(Dim::symbol({"m", 1, 512}), 1024, 1024));
  CHECK(is_packed(Dim::symbol({"m", 1, 512}), 1024, 1000));
}

TEST_CASE("products of few rows: panels per tile, no prefetch, all panels shared among threads") {
  for (auto [m, k, n] :
       std::vector<std::array<int64_t, 3>>{{1, 70, 300}, {1, 64, 10}, {1, 75, 144}, {2, 67, 161}, {3, 100, 33}})
    for (int threads : {1, 3}) check_schedule(product(m, k, n), {false, true}, {}, {.threads = threads});
  auto text = [](ScheduleOptions options) {
    return print(schedule({product(1, 64, 256), {false, true}, {{}, {}, {}}, {avx512}, options}).variants[0]);
  };
  CHECK(text({}).find("parallel panel in 2 {") != std::string::npos);
  CHECK(text({}).find("prefetch") == std::string::npos);
  CHECK(text({.threads = 2}).find("parallel panel in 8 {") != std::string::npos);
}

TEST_CASE("all elements of a result have the same number of accumulators") {
  auto has_partial_sums = [](int64_t n) {
    Kernel kernel = schedule({product(1, 64, n), {false, true}, {{}, {}, {}}, {avx512}}).variants[0];
    return print(kernel).find("partial") != std::string::npos;
  };
  CHECK(has_partial_sums(16));
  CHECK_FALSE(has_partial_sums(128));
  CHECK_FALSE(has_partial_sums(144));  // a tile of eight vectors and one of a single vector
}

TEST_CASE("a grouped convolution of one pixel: no tile spans panels of several groups") {
  check_conv({.c = 128, .h = 1, .w = 1, .o = 128, .k = 1, .pad = 0, .groups = 4});
}

TEST_CASE("a batched matrix product of integers") {
  Definition d("batched");
  Tensor a = d.input("a", dtype::i32, {3, 5, 6});
  Tensor b = d.input("b", dtype::i32, {3, 6, 20});
  Tensor y = d.reduce("p", {3, 5, 20}, sum_of(dtype::i32), {6},
                      [&](Index i, Index r) { return a(i[0], i[1], r[0]) * b(i[0], r[0], i[2]); });
  d.mark_result(y);
  check_schedule(d.finish(), {false, false});
}

// Convolutions and poolings of images of symbolic height and width: their kernels compute the definition at all sizes,
// in the layouts that a network gives them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "harness.h"
#include "tensor/builder.h"
#include "tensor/layout.h"
#include "tensor/schedules/winograd.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

const Dim h = Dim::symbol({"h", 1}), w = Dim::symbol({"w", 1});
const std::vector<int64_t> sizes = {1, 2, 3, 7, 9, 15, 29};

void check_conv(const Conv& shape, const ScheduleOptions& options = {}) {
  const TensorFunction f = convolution(shape);
  const std::vector<bool> constant = weights_constant(f);
  if (options.small) check_symbolic_schedule(f, constant, {}, options, sizes);
  check_symbolic_schedule(f, constant, halo_layouts(f, constant, options), options, sizes);
}

std::string kernel_of(const TensorFunction& f, const std::vector<bool>& constant, const std::vector<Layout>& layouts) {
  return print(schedule({f, constant, layouts, {avx512}}).variants[0]);
}

}  // namespace

const ScheduleOptions direct = {.small = true};  // no Winograd

TEST_CASE("convolutions of images of symbolic height and width") {
  check_conv({.h = h, .w = w}, direct);
  check_conv({.c = 24, .h = h, .w = w, .o = 40, .stride = 2}, direct);
  check_conv({.c = 3, .h = h, .w = w, .k = 7, .stride = 2, .pad = 3}, direct);
  check_conv({.h = h, .w = w, .k = 1, .pad = 0}, direct);
  check_conv({.c = 32, .h = h, .w = w, .k = 1, .stride = 2, .pad = 0, .smooth = true}, direct);
  check_conv({.c = 32, .h = h, .w = w, .o = 64, .groups = 2}, direct);
  check_conv({.h = h, .w = 5}, direct);
  check_conv({.h = 6, .w = w}, direct);
  check_conv({.h = h, .w = h}, direct);
}

TEST_CASE("a symbolic image whose bounds allow one size of the result only") {
  const Dim nine_or_ten = Dim::symbol({"h", 9, 10});
  const TensorFunction f = convolution({.c = 3, .h = nine_or_ten, .w = nine_or_ten, .o = 64, .stride = 2});
  CHECK(is_static(f.results[0]->shape));
  check_conv({.c = 3, .h = nine_or_ten, .w = nine_or_ten, .o = 64, .stride = 2}, direct);
}

TEST_CASE("convolutions of symbolic images with strict accuracy, and on threads") {
  check_conv({.c = 48, .h = h, .w = w}, {.strict = true, .small = true});
  check_conv({.h = h, .w = w}, {.small = true, .threads = 4});
}

TEST_CASE("Winograd convolutions of images of symbolic height and width") {
  for (const ScheduleOptions& options : {ScheduleOptions{}, ScheduleOptions{.strict = true}, {.threads = 3}}) {
    check_conv({.h = h, .w = w}, options);
    check_conv({.h = h, .w = 6, .smooth = true}, options);
  }
  // Several blocks of tiles, the last of which is not full.
  const TensorFunction f = convolution({.c = 128, .h = h, .w = w, .epilogue = false});
  const std::vector<bool> constant = weights_constant(f);
  check_symbolic_schedule(f, constant, halo_layouts(f, constant, {}), {}, {29, 33});
}

TEST_CASE("Winograd's scratch has no more tiles than the image") {
  const TensorFunction f = convolution({.c = 128, .h = h, .w = w, .epilogue = false});
  const std::vector<bool> constant = weights_constant(f);
  const WinogradPlan plan = *plan_winograd(f, halo_layouts(f, constant, {}), constant, {}, avx512);
  REQUIRE(plan.tile == 4);
  auto tiles_at = [&](int64_t height, int64_t width) {
    return plan.products->shape[1].evaluate({{"h", height}, {"w", width}});
  };
  CHECK(tiles_at(5, 9) == 2 * 3);
  CHECK(tiles_at(224, 224) == plan.tiles_per_block);
  CHECK(*plan.transformed->shape[3].evaluate({{"h", 224}, {"w", 224}}) % 2 == 1);
}

TEST_CASE("convolutions without padding of symbolic images that are at least as large as the window") {
  const Dim height = Dim::symbol({"h", 3}), width = Dim::symbol({"w", 5});
  check_conv({.h = height, .w = width, .pad = 0, .epilogue = false});
}

TEST_CASE("depthwise convolutions of images of symbolic height and width") {
  for (const Depthwise& shape : {Depthwise{.h = h, .w = w}, Depthwise{.c = 24, .h = h, .w = w, .stride = 2},
                                 Depthwise{.h = h, .w = w, .k = 5, .pad = 2}})
    for (DepthwiseEpilogue epilogue : {DepthwiseEpilogue::bounds, DepthwiseEpilogue::sigmoid}) {
      const TensorFunction f = depthwise(shape, epilogue);
      const std::vector<bool> constant = {false, true, true, false};
      check_symbolic_schedule(f, constant, {}, {}, sizes);
      check_symbolic_schedule(f, constant, halo_layouts(f, constant, {}), {}, sizes);
    }
}

TEST_CASE("max pooling and means of symbolic images in channel blocks") {
  Definition d("pool");
  const Dim rows = floor_div(h + Dim(1), 2), columns = floor_div(w + Dim(1), 2);
  Tensor x = d.input("x", dtype::f32, {1, 24, h, w});
  d.reduce_result("y", dtype::f32, {1, 24, rows, columns}, max_of(dtype::f32), {3, 3}, [&](Index i, Index r) {
    return x.at_or({i[0], i[1], i[2] * 2 + r[0] - 1, i[3] * 2 + r[1] - 1}, lowest(dtype::f32));
  });
  TensorFunction pool = d.finish();
  check_symbolic_schedule(pool, {}, {channels16(pool, 0), channels16(pool, 1)}, {}, sizes);
  const Layout haloed = with_halo(channels16(pool, 0), pool.params[0]->shape, {{0, 0}, {0, 0}, {1, 1}, {2, 0}});
  check_symbolic_schedule(pool, {}, {haloed, channels16(pool, 1)}, {}, sizes);

  Definition m("mean");
  Tensor image = m.input("x", dtype::f32, {1, 24, h, w});
  m.reduce_result("y", dtype::f32, {1, 24}, sum_of(dtype::f32), {h, w},
                  [&](Index i, Index r) { return image(i[0], i[1], r[0], r[1]); });
  TensorFunction mean = m.finish();
  check_symbolic_schedule(mean, {}, {haloed, {}}, {}, sizes);
}

TEST_CASE("halos of symbolic images cover the reads of all taps at all sizes") {
  auto halo = [](const Conv& shape, const ScheduleOptions& options) {
    const TensorFunction f = convolution(shape);
    std::string text;
    for (const Halo& side : wanted_halo(f, 0, weights_constant(f), options, avx512))
      text += fmt::format("{}+{} ", side.before, side.after);
    return text;
  };
  CHECK(halo({.h = h, .w = w}, direct) == "0+0 0+0 1+1 1+1 ");
  CHECK(halo({.h = h, .w = w, .stride = 2}, direct) == "0+0 0+0 1+1 1+1 ");
  CHECK(halo({.h = h, .w = floor_div(w + Dim(1), 2), .k = 7, .stride = 2, .pad = 3}, direct) == "0+0 0+0 3+3 3+3 ");
  CHECK(halo({.h = h, .w = w, .k = 1, .pad = 0}, direct) == "");
  // The last tiles of F(4x4) compute up to three pixels outside of the image, and read one more.
  CHECK(halo({.h = h, .w = floor_div(w + Dim(1), 2)}, {}) == "0+0 0+0 1+4 1+4 ");
}

TEST_CASE("kernels of symbolic images with halos have no predicated loads or guarded stores") {
  for (int64_t stride : {1, 2}) {
    const TensorFunction conv = convolution({.h = floor_div(h + Dim(1), 2), .w = w, .stride = stride}),
                         channels = depthwise({.h = floor_div(h + Dim(1), 2), .w = w, .stride = stride},
                                              DepthwiseEpilogue::residual);
    for (const TensorFunction& f : {conv, channels}) {
      const std::vector<bool> constant = {false, true, true, false};
      const std::string text = kernel_of(f, constant, halo_layouts(f, constant, {}));
      CAPTURE(text);
      CHECK(text.find(" else ") == std::string::npos);
      CHECK(text.find(" and ") == std::string::npos);
    }
  }
}

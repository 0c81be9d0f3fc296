// Separable windows: pooling of dense images, first along the columns and then along the rows.
#include "tensor/schedules/separable_window.h"

#include <doctest/doctest.h>

#include "harness.h"
#include "tensor/builder.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

struct Pooling {
  Shape image = {5, 24, 40};
  std::vector<int64_t> window = {3, 3};
  int64_t stride = 1, pad = 1, dilation = 1;
  DType type = dtype::f32;
  bool has_epilogue = false;
};

// The window is as high as each axis but the first, that of the channels.
TensorFunction pooling(const Pooling& p, const Reducer& reducer, const Expr& outside) {
  Definition d("pool");
  Tensor x = d.input("x", p.type, p.image), scale = d.input("scale", dtype::f32, {});
  Shape shape = {p.image[0]}, window;
  for (size_t k = 0; k < p.window.size(); ++k) {
    window.emplace_back(p.window[k]);
    shape.push_back(floor_div(p.image[k + 1] + 2 * p.pad - p.dilation * (p.window[k] - 1) - 1, p.stride) + 1);
  }
  auto value = [&](Index i, Index r) {
    std::vector<Expr> at = {i[0]};
    for (size_t k = 0; k < p.window.size(); ++k) at.push_back(i[k + 1] * p.stride + r[k] * p.dilation - p.pad);
    return p.pad == 0 ? x(at) : x.at_or(at, outside);
  };
  if (!p.has_epilogue) {
    d.reduce_result("y", p.type, shape, reducer, window, value);
    return d.finish();
  }
  Tensor total = d.reduce("total", shape, reducer, window, value);
  d.result("y", dtype::f32, shape, [&](Index i) { return total(i) * scale({}); });
  return d.finish();
}

size_t stages_of(TensorFunction f, const Machine& machine = avx512) {
  separate_windows(f, {}, machine);
  return f.stages.size();
}

TensorFunction max_pooling(const Pooling& p) { return pooling(p, max_of(p.type), lowest(p.type)); }

void check_separated(const TensorFunction& f) {
  CAPTURE(print(f));
  CHECK(stages_of(f) == f.stages.size() + 1);
  check_schedule(f, std::vector<bool>(f.params.size(), false));
}

}  // namespace

TEST_CASE("windows of dense images are reduced along the columns, then along the rows") {
  for (int64_t width : {14, 33, 57, 130})
    for (int64_t stride : {1, 2, 3}) {
      check_separated(max_pooling({.image = {3, 29, width}, .window = {5, 5}, .stride = stride, .pad = 2}));
      check_separated(pooling({.image = {2, 28, width}, .stride = stride, .pad = 0, .has_epilogue = true},
                              sum_of(dtype::f32), literal(dtype::f32, 0.0)));
    }
  check_separated(max_pooling({.image = {1, 17, 21}, .window = {4, 3}, .dilation = 2}));
  check_separated(max_pooling({.image = {2, 9, 11, 24}, .window = {2, 3, 3}}));
  check_separated(max_pooling({.image = {3, 40, 50}, .type = dtype::i8}));
  check_separated(pooling({.image = {3, 40, 50}, .type = dtype::f64}, min_of(dtype::f64), highest(dtype::f64)));
}

TEST_CASE("a block of partial results is on the stack") {
  TensorFunction f = max_pooling({.image = {2, 120, 57}, .window = {5, 5}, .stride = 3, .pad = 2});
  const ScheduledFunction scheduled =
      schedule({f, std::vector<bool>(2, false), std::vector<Layout>(3), {avx512}, ScheduleOptions{}, {}});
  const Kernel& kernel = scheduled.variants[0];
  for (const Parameter& p : kernel.params) CHECK(p.access != Access::scratch);  // no padded copy either
  std::vector<std::vector<int64_t>> shapes;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const Allocate* a = as<Allocate>(s);
    if (a && a->buffer->scope == Scope::local) shapes.push_back(static_shape(a->buffer->shape));
  });
  REQUIRE(shapes.size() == 1);
  CHECK(shapes[0] == std::vector<int64_t>{1, 1, 20, 59});
}

TEST_CASE("windows of images of symbolic height and width have no blocks") {
  const Dim h = Dim::symbol({"h", 1}), w = Dim::symbol({"w", 1});
  for (const Shape& image : {Shape{3, h, w}, Shape{3, 20, w}, Shape{3, h, 33}}) {
    for (const Pooling& p : {Pooling{.image = image}, {.image = image, .window = {5, 5}, .stride = 3, .pad = 2}}) {
      const TensorFunction f = max_pooling(p);
      CHECK(stages_of(f) == 2);
      check_symbolic_schedule(f, {}, {}, {}, {1, 2, 3, 7, 16, 40, 70});
      const std::string text = print(schedule({f, {false, false}, std::vector<Layout>(3), {avx512}}).variants[0]);
      CAPTURE(text);
      CHECK(text.find("] else ") == std::string::npos);  // no lane tests its index
    }
    check_symbolic_schedule(
        pooling({.image = image, .has_epilogue = true}, sum_of(dtype::f32), literal(dtype::f32, 0.0)), {}, {}, {},
        {1, 2, 9, 24, 67});
  }
}

TEST_CASE("channels of symbolic size share the memory of their partial results, except among threads") {
  const Dim h = Dim::symbol({"h", 1}), w = Dim::symbol({"w", 1});
  const TensorFunction f = max_pooling({.image = {3, h, w}});
  auto scratch = [&](int threads) {
    const ScheduledFunction scheduled =
        schedule({f, {false, false}, std::vector<Layout>(3), {avx512}, {.threads = threads}});
    Shape shape;
    for (const Parameter& p : scheduled.variants[0].params)
      if (p.access == Access::scratch) shape = p.buffer->shape;
    return shape;
  };
  CHECK(scratch(1) == Shape{1, h, w + 2});
  CHECK(scratch(2) == Shape{3, h, w + 2});
}

TEST_CASE("windows that are reduced in one stage") {
  CHECK(stages_of(max_pooling({.window = {2, 2}, .stride = 2, .pad = 0})) == 1);  // no element is read twice
  CHECK(stages_of(max_pooling({.window = {1, 5}})) == 1);                         // one row
  CHECK(stages_of(max_pooling({.window = {7, 7}, .stride = 4, .pad = 3})) == 1);  // a vector would be a gather
  CHECK(stages_of(max_pooling({.image = {4, 37, 4000}})) == 1);                   // a row exceeds a loop's scratch
  // The value outside of the image takes part in the reduction.
  CHECK(stages_of(pooling({}, max_of(dtype::f32), literal(dtype::f32, 0.5))) == 1);
  CHECK(stages_of(depthwise({.c = 6, .w = 37}, DepthwiseEpilogue::nothing)) == 1);
}

// Line-buffer fusion: contractions and the window reductions that read them, band by band.
#include "tensor/schedules/line_buffer.h"

#include <doctest/doctest.h>

#include "harness.h"
#include "tensor/analysis.h"
#include "tensor/builder.h"
#include "tensor/layout.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

const Machine medium_cache{.vector_bytes = 64, .vector_registers = 32, .l2_bytes = 32 << 10};
const Machine microcontroller{.vector_bytes = 4,
                              .vector_registers = 32,
                              .general_registers = 13,
                              .prefetch_streams = 0,
                              .memory_is_scarce = true};

struct Window {
  int64_t k = 3, stride = 1, dilation = 1, pad = 1;
};
Dim reach(const Dim& extent, const Window& w) {
  return floor_div(extent + Dim(2 * w.pad - (w.k - 1) * w.dilation - 1), w.stride) + Dim(1);
}

TensorFunction pooling(const Shape& in, const Window& w, const Reducer& reducer, const Expr& outside) {
  Definition d("pool");
  Tensor x = d.input("x", dtype::f32, in);
  Shape out = {in[0], in[1], reach(in[2], w), reach(in[3], w)};
  Tensor y = d.reduce("y", out, reducer, {w.k, w.k}, [&](Index i, Index r) {
    auto at = [&](const Expr& point, const Expr& tap) {
      return point * Expr(w.stride) + tap * Expr(w.dilation) - Expr(w.pad);
    };
    std::vector<Expr> index = {i[0], i[1], at(i[2], r[0]), at(i[3], r[1])};
    return w.pad == 0 ? x(index) : x.at_or(index, outside);
  });
  d.mark_result(y);
  return d.finish();
}

struct Operands {
  std::vector<bool> constant;   // of each parameter
  std::vector<Layout> layouts;  // of the parameters and the result
};

// The weights of both parts are constants; images but the first are stored in blocks of channels.
Operands operands_of(const TensorFunction& f) {
  Operands all;
  for (size_t k = 0; k < f.params.size(); ++k) {
    bool image =
        k == 0 || f.params[k]->shape == f.results[0]->shape || f.params[k]->shape == f.stages[0].results[0]->shape;
    all.constant.push_back(!image);
    all.layouts.push_back(image && k > 0 ? channels16(f, k) : Layout());
  }
  all.layouts.push_back(channels16(f, f.params.size()));
  return all;
}

// Checks that line-buffer fusion applies to the function and computes its definition, for bands of several heights and
// one to three workers.
void check_line_buffer(const TensorFunction& f) {
  const auto [constant, layouts] = operands_of(f);
  for (int workers : {1, 2, 3}) {
    ScheduleOptions options{.threads = workers};
    for (const Machine& machine : {avx512, medium_cache, small_cache}) {
      CAPTURE(print(f));
      REQUIRE(plan_line_buffer(f, layouts, constant, options, machine));
      check_schedule(f, constant, layouts, options, {avx512, avx2, neon, machine});
    }
    std::vector<Layout> blocked = layouts;
    blocked[0] = channels16(f, 0);
    CHECK(plan_line_buffer(f, blocked, constant, options, medium_cache)->producer.panel_width % channel_block == 0);
    check_schedule(f, constant, blocked, options, {medium_cache});
  }
}

// The same for an image of symbolic height or width: bands of one row, of some rows, and of more rows than the image.
void check_symbolic_line_buffer(const TensorFunction& f) {
  const auto [constant, layouts] = operands_of(f);
  for (int64_t l2_bytes : {int64_t{8} << 10, int64_t{512} << 10, int64_t{4} << 20}) {
    Machine machine = avx512;
    machine.l2_bytes = l2_bytes;
    for (int workers : {1, 3}) {
      const ScheduleOptions options{.threads = workers};
      REQUIRE(plan_line_buffer(f, layouts, constant, options, machine));
      check_symbolic_schedule(f, constant, layouts, options, {1, 2, 5, 9, 30}, {avx2, machine});
    }
  }
}

TensorFunction expansion(const Conv& c, Depthwise w, DepthwiseEpilogue epilogue = DepthwiseEpilogue::bounds) {
  TensorFunction first = convolution(c);
  const Shape& passed = first.results[0]->shape;
  w.n = passed[0].value(), w.c = passed[1].value(), w.h = passed[2], w.w = passed[3];
  return chain(first, depthwise(w, epilogue));
}

void check_expansion(const Conv& c, const Depthwise& w, DepthwiseEpilogue epilogue = DepthwiseEpilogue::bounds) {
  check_line_buffer(expansion(c, w, epilogue));
}

// The same where memory is scarce and images are stored with the channels last. The line buffer holds all rows of some
// channels.
void check_scarce_line_buffer(const TensorFunction& f, const Dim& lines_rows) {
  auto [constant, layouts] = operands_of(f);
  for (size_t k = 0; k < layouts.size(); ++k)
    if (k == constant.size() || !constant[k])
      layouts[k] = layout_with_last(k == constant.size() ? f.results[0]->shape : f.params[k]->shape, 1);
  CAPTURE(print(f));
  const auto plan = plan_line_buffer(f, layouts, constant, {}, microcontroller);
  REQUIRE(plan);
  CHECK(plan->rows == plan->result_rows().value());
  CHECK(plan->line_buffer->shape[2] == lines_rows);
  CHECK(line_buffer_bytes(f, constant, {}, microcontroller));
  check_schedule(f, constant, layouts, {}, {microcontroller});
}

std::vector<bool> all_but_image(const TensorFunction& f) {
  std::vector<bool> constant(f.params.size(), true);
  constant[0] = false;
  return constant;
}

}  // namespace

TEST_CASE("line-buffer fusion of an expansion and its depthwise convolution") {
  Conv wide{.c = 8, .h = 14, .w = 11, .o = 40, .k = 1, .pad = 0};
  for (DepthwiseEpilogue b :
       {DepthwiseEpilogue::nothing, DepthwiseEpilogue::bounds, DepthwiseEpilogue::sigmoid, DepthwiseEpilogue::residual})
    check_expansion(wide, {}, b);
  check_expansion(wide, {.stride = 2});
  check_expansion(wide, {.k = 5, .stride = 2, .pad = 2});
  check_expansion(wide, {.dilation = 2, .pad = 2});
  check_expansion(wide, {.pad = 0});
  check_expansion({.n = 2, .c = 5, .h = 13, .w = 7, .o = 72, .k = 1, .pad = 0, .smooth = true}, {});
  check_expansion({.c = 4, .h = 5, .w = 6, .o = 112, .k = 1, .pad = 0}, {});  // the last panel is narrower
  check_expansion({.c = 16, .h = 2, .w = 3, .o = 16, .k = 1, .pad = 0}, {.k = 5, .pad = 2});
  check_expansion({.c = 64, .h = 9, .w = 7, .o = 24, .k = 1, .pad = 0}, {});  // alone it would be K-interleaved
}

TEST_CASE("line-buffer fusion where memory is scarce") {
  const Conv wide{.c = 8, .h = 14, .w = 11, .o = 48, .k = 1, .pad = 0};
  for (DepthwiseEpilogue b : {DepthwiseEpilogue::nothing, DepthwiseEpilogue::bounds, DepthwiseEpilogue::residual})
    check_scarce_line_buffer(expansion(wide, {}, b), 16);
  check_scarce_line_buffer(expansion(wide, {.stride = 2}), 15);
  check_scarce_line_buffer(expansion(wide, {.k = 5, .stride = 2, .pad = 2}), 17);
  check_scarce_line_buffer(expansion(wide, {.pad = 0}), 14);
  check_scarce_line_buffer(expansion({.c = 5, .h = 13, .w = 7, .o = 37, .k = 1, .pad = 0}, {.dilation = 2, .pad = 2}),
                           17);
  check_scarce_line_buffer(expansion({.n = 2, .c = 4, .h = 5, .w = 6, .o = 33, .k = 1, .pad = 0}, {}), 7);
  const TensorFunction first = convolution({.c = 8, .h = 9, .w = 8, .o = 36, .k = 1, .pad = 0});
  const Shape& passed = first.results[0]->shape;
  check_scarce_line_buffer(chain(first, pooling(passed, {.stride = 2}, max_of(dtype::f32), lowest(dtype::f32))), 11);
}

TEST_CASE("line-buffer fusion of a convolution and its pooling") {
  TensorFunction stem = convolution({.c = 3, .h = 27, .w = 26, .o = 24, .stride = 2});
  const Shape& passed = stem.results[0]->shape;
  Expr zero = literal(dtype::f32, 0.0);
  check_line_buffer(chain(stem, pooling(passed, {.stride = 2}, max_of(dtype::f32), lowest(dtype::f32))));
  check_line_buffer(chain(stem, pooling(passed, {.k = 2, .stride = 2, .pad = 0}, max_of(dtype::f32), zero)));
  check_line_buffer(chain(stem, pooling(passed, {.k = 3, .stride = 3}, sum_of(dtype::f32), zero)));
  check_line_buffer(chain(stem, pooling(passed, {.k = 13, .pad = 0}, sum_of(dtype::f32), zero)));
}

TEST_CASE("line-buffer fusion of images of symbolic height and width") {
  const Dim h = Dim::symbol({"h", 1}), w = Dim::symbol({"w", 1});
  const Conv wide{.c = 8, .h = h, .w = w, .o = 40, .k = 1, .pad = 0};
  check_symbolic_line_buffer(expansion(wide, {}));
  check_symbolic_line_buffer(expansion(wide, {.stride = 2}, DepthwiseEpilogue::sigmoid));
  check_symbolic_line_buffer(expansion(wide, {.k = 5, .pad = 2}, DepthwiseEpilogue::residual));
  check_symbolic_line_buffer(expansion({.c = 8, .h = h, .w = 9, .o = 16, .k = 1, .pad = 0}, {}));
  check_symbolic_line_buffer(expansion({.c = 8, .h = 9, .w = w, .o = 16, .k = 1, .pad = 0}, {}));
  check_symbolic_line_buffer(expansion({.n = 2, .c = 8, .h = h, .w = h, .o = 16, .k = 1, .pad = 0}, {}));
  const TensorFunction stem = convolution({.c = 3, .h = h, .w = w, .o = 24, .k = 7, .stride = 2, .pad = 3});
  const Shape& passed = stem.results[0]->shape;
  check_symbolic_line_buffer(chain(stem, pooling(passed, {.stride = 2}, max_of(dtype::f32), lowest(dtype::f32))));
}

TEST_CASE("the line buffer of a symbolic image is as wide as the image, and its rows suit the typical size") {
  const Dim h = Dim::symbol({"h", 1}), w = Dim::symbol({"w", 1});
  auto plan_of = [&](const Dim& height, const Dim& width) {
    const TensorFunction f = expansion({.c = 8, .h = height, .w = width, .o = 32, .k = 1, .pad = 0}, {});
    const auto [constant, layouts] = operands_of(f);
    return *plan_line_buffer(f, layouts, constant, {}, avx512);
  };
  const LineBufferPlan symbolic = plan_of(h, w), typical = plan_of(224, 224);
  CHECK(symbolic.rows == typical.rows);
  CHECK(symbolic.line_buffer->shape == Shape{1, 32, symbolic.rows_read(), w});
  CHECK(symbolic.bands().evaluate({{"h", 224}, {"w", 224}}) == typical.bands().value());
}

TEST_CASE("loads from the line buffer of a symbolic image have no predicate") {
  const Dim h = Dim::symbol({"h", 1}), w = Dim::symbol({"w", 1});
  for (const Depthwise& window : {Depthwise{}, {.stride = 2}, {.k = 5, .pad = 2}}) {
    const TensorFunction f = expansion({.c = 8, .h = h, .w = w, .o = 40, .k = 1, .pad = 0, .epilogue = false}, window);
    const auto [constant, layouts] = operands_of(f);
    const std::string text = print(schedule({f, constant, layouts, {medium_cache}, {.threads = 2}}).variants[0]);
    CAPTURE(text);
    CHECK(text.find(" else 0.0") == std::string::npos);  // no predicated load
  }
}

TEST_CASE("bands have as many rows as fit the cache budget, in equal numbers if possible") {
  auto rows = [](int64_t height, const Machine& machine) {
    TensorFunction f = chain(convolution({.c = 8, .h = height, .w = 11, .o = 32, .k = 1, .pad = 0, .epilogue = false}),
                             depthwise({.c = 32, .h = height, .w = 11}, DepthwiseEpilogue::nothing));
    std::vector<Layout> layouts(f.params.size() + 1);
    layouts.back() = channels16(f, f.params.size());
    return plan_line_buffer(f, layouts, all_but_image(f), {}, machine)->rows;
  };
  CHECK(rows(14, avx512) == 14);
  CHECK(rows(14, medium_cache) == 7);
  CHECK(rows(14, small_cache) == 1);
  CHECK(rows(30, medium_cache) == 6);  // not eight, eight, eight and six
  CHECK(rows(13, medium_cache) == 7);  // there are no equal ones
}

TEST_CASE("accesses of line buffers need no predicate") {
  for (const Depthwise& w : {Depthwise{}, {.stride = 2}, {.k = 5, .pad = 2}, {.dilation = 2, .pad = 2}}) {
    TensorFunction f = expansion({.c = 8, .h = 28, .w = 11, .o = 40, .k = 1, .pad = 0, .epilogue = false}, w);
    std::vector<Layout> layouts(f.params.size() + 1);
    layouts.back() = channels16(f, f.params.size());
    ScheduleOptions options{.threads = 2};
    Kernel kernel = schedule({f, all_but_image(f), layouts, {medium_cache}, options}).variants[0];
    CAPTURE(print(kernel));
    CHECK(print(kernel).find("let at") == std::string::npos);  // one test for all taps of a row
    for_each_stmt(kernel.body, [](const Stmt& s) {
      const IfThen* test = as<IfThen>(s);
      const Binary* condition = test ? as<Binary>(test->condition) : nullptr;
      CHECK_FALSE((condition && condition->op == BinaryOp::logical_and));
    });
  }
}

TEST_CASE("line-buffer fusion is preferred for images above the cache size, unless the alternative is faster") {
  auto prefers = [](int64_t size, int64_t k, int64_t channels = 16) {
    TensorFunction f =
        chain(convolution({.c = channels, .h = size, .w = size, .o = 96, .k = k, .pad = k / 2, .epilogue = false}),
              depthwise({.c = 96, .h = size, .w = size}, DepthwiseEpilogue::nothing));
    return prefers_line_buffer(f, all_but_image(f), {}, avx512);
  };
  CHECK(prefers(112, 1));
  CHECK_FALSE(prefers(28, 1));   // stays in the cache
  CHECK_FALSE(prefers(112, 3));  // Winograd is faster
  CHECK(prefers(112, 1, 256));
  CHECK_FALSE(prefers(112, 1, 1024));  // computing rows twice takes longer than memory
}

TEST_CASE("an intermediate image with a second reader is stored as a whole") {
  TensorFunction f = parse_function(R"(
    tensor @f(x: f32[1, 8, 12, 12], w: f32[32, 8, 1, 1], v: f32[32, 1, 3, 3]) -> (y: f32[1, 32, 12, 12]) {
      temp a: f32[1, 32, 12, 12]
      temp b: f32[1, 32, 12, 12]
      a[n < 1, c < 32, i < 12, j < 12] = sum(r < 8) { x[n, r, i, j] * w[c, r, 0, 0] }
      b[n < 1, c < 32, i < 12, j < 12] =
        sum(p < 3, q < 3) { (a[n, c, i + p - 1, j + q - 1] else 0.0) * v[c, 0, p, q] }
      y[n < 1, c < 32, i < 12, j < 12] = a[n, c, i, j] + b[n, c, i, j]
    })");
  CHECK_FALSE(split_at_window_reduction(f));
  check_schedule(f, {false, true, true});
}

TEST_CASE("window reductions with unusual index orders are fused if their rows and vectors match") {
  // A 1x1 convolution `a` and its reader.
  auto fused = [](const std::string& reader, bool blocked = true, const std::string& weight = "w[c, r, 0, 0]") {
    TensorFunction f = parse_function(R"(
    tensor @f(x: f32[12, 8, 12, 12], w: f32[32, 8, 1, 1], s: f32[32], v: f32[12, 32, 8], z: f32[12, 32, 12, 12])
          -> (y: f32[12, 32, 12, 12]) {
      temp a: f32[12, 32, 12, 12]
      temp t: f32[12, 12, 12, 32]
      a[n < 12, c < 32, i < 12, j < 12] = sum(r < 8) { x[n, r, i, j] * )" +
                                      weight + "}" + reader + "}");
    std::vector<bool> constant = {false, true, true, true, false};
    std::vector<Layout> layouts = {{}, {}, {}, {}, channels16(f, 4), blocked ? channels16(f, 5) : Layout()};
    check_schedule(f, constant, layouts, {}, {small_cache});
    return plan_line_buffer(f, layouts, constant, {}, small_cache).has_value();
  };
  const std::string axes = "[n < 12, c < 32, i < 12, j < 12] = ";
  auto largest = [&](const std::string& element) { return "y" + axes + "max(p < 3, q < 3) { " + element + " }"; };
  auto max_of_a = [&](const std::string& index) { return largest("a[" + index + "] else 0.0"); };
  CHECK(fused(max_of_a("n, c, i + p - 1, j + q - 1")));
  CHECK(fused(max_of_a("n, c, j + p - 1, i + q - 1")));                            // transposed
  CHECK(fused(max_of_a("n, c, i + p - 1, q")));                                    // the same for all columns
  CHECK(fused(max_of_a("i, c, n + p - 1, j + q - 1")));                            // rows along the batch
  CHECK_FALSE(fused(max_of_a("n, c, i + p - 1, j + q - 1"), false));               // vectors along columns
  CHECK_FALSE(fused(max_of_a("i, c, i + p - 1, j + q - 1")));                      // another image in every row
  CHECK_FALSE(fused(max_of_a("n, c, i + p - 1, j + q - 1"), true, "v[n, c, r]"));  // weights for each image
  CHECK_FALSE(fused(max_of_a("11 - n, c, i + p - 1, j + q - 1")));
  CHECK_FALSE(fused(max_of_a("n, c, i + p - 1, i + q - 1")));  // a diagonal
  CHECK_FALSE(fused(max_of_a("n, c, 11 - i, j + q - 1")));     // upside down
  CHECK_FALSE(fused(max_of_a("n, c, floordiv(i, 2) + p, j + q - 1")));
  CHECK_FALSE(fused(max_of_a("n, c, i + j + p, q")));
  CHECK_FALSE(fused(largest("a[n, c, i + p - 1, j + q - 1] else s[c]")));
  CHECK_FALSE(fused(largest("(a[n, c, i + p, j] else 0.0) * (a[n, c, i, j + q] else 0.0)")));
  CHECK_FALSE(fused(largest("(a[n, 3, i + p - 1, j + q - 1] else 0.0) * z[n, c, i, j]")));  // one channel for all
  CHECK_FALSE(fused("t[n < 12, i < 12, j < 12, c < 32] = max(p < 2, q < 2) { a[n, c, i + p, j + q] else 0.0 } y" +
                    axes + "t[n, i, j, c] + 1.0"));
}

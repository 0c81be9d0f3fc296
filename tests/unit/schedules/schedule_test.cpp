// Every schedule computes what its definition says: both are evaluated on random data, for several machines and
// layouts.
#include "tensor/schedules/schedule.h"
#include "tensor/schedules/contraction.h"
#include "tensor/schedules/winograd.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <utility>

#include "tensor/analysis.h"
#include "tensor/builder.h"
#include "tensor/evaluate.h"
#include "tensor/layout.h"
#include "tensor/parse.h"
#include "tensor/passes/expand_math.h"
#include "tensor/schedules/epilogue.h"
#include "tensor/schedules/window.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

const Machine avx512{.vector_bytes = 64, .vector_registers = 32}, avx2{.vector_bytes = 32, .vector_registers = 16},
    neon{.vector_bytes = 16, .vector_registers = 32},
    small_cache{.vector_bytes = 64, .vector_registers = 32, .l2_bytes = 8 << 10},
    streaming{.vector_bytes = 64, .vector_registers = 32, .flops_per_streamed_byte = 5};

Constant random_constant(DType type, const Shape& shape, uint32_t seed) {
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(type, product(shape).value())));
  uint32_t state = seed * 2654435761u + 1;
  for (int64_t i = 0; i < product(shape).value(); ++i) {
    state = state * 1664525u + 1013904223u;
    int64_t small = static_cast<int64_t>(state >> 24) - 128;
    auto put = [&](auto v) { std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof v, &v, sizeof v); };
    if (type == dtype::f32) put(static_cast<float>(small) / 64.0f);
    if (type == dtype::f64) put(static_cast<double>(small) / 64.0);
    if (type == dtype::i32) put(static_cast<int32_t>(small));
    if (type == dtype::i64) put(small);
  }
  return Constant(type, static_shape(shape), std::move(bytes));
}

// The logical elements of a stored tensor.
Constant unpack(const Constant& stored, const Layout& layout, const std::vector<int64_t>& shape) {
  if (layout.is_dense()) return stored.reshaped(shape);
  // Packing the positions tells where each element went.
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < product(shape_of(shape)).value(); ++i) positions.push_back(i + 1);
  Constant where = pack(Constant::of(dtype::i64, shape, positions), layout);
  size_t size = static_cast<size_t>(bits(stored.dtype()) / 8);
  std::vector<std::byte> bytes(positions.size() * size);
  for (int64_t i = 0; i < where.count(); ++i)
    if (int64_t p = where.integer_at(i))
      std::memcpy(&bytes[static_cast<size_t>(p - 1) * size], &stored.bytes()[static_cast<size_t>(i) * size], size);
  return Constant(stored.dtype(), shape, std::move(bytes));
}

void check_schedule(const TensorFunction& f, std::vector<bool> constant, std::vector<Layout> layouts = {},
                    ScheduleOptions options = {},
                    const std::vector<Machine>& machines = {avx512, avx2, neon, small_cache},
                    const Choice& choice = {}) {
  layouts.resize(f.params.size() + f.results.size());
  std::vector<Constant> args;
  for (const Buffer& p : f.params)
    args.push_back(random_constant(p->type, p->shape, static_cast<uint32_t>(args.size() + 1)));
  EvaluationResult expected = evaluate(f, args);
  REQUIRE(expected.status == Status::ok);
  ScheduledFunction s = schedule({f, constant, layouts, machines, options, choice});
  std::vector<Constant> stored;
  for (size_t k = 0; k < args.size(); ++k) stored.push_back(s.prepare[k](args[k]));
  for (const Kernel& kernel : s.variants) {
    CAPTURE(print(kernel));
    Diagnostics broken;
    verify(kernel, broken);
    CHECK(broken.str() == "");
    std::vector<Constant> as_params;
    for (size_t k = 0; k < stored.size(); ++k) {
      REQUIRE(product(kernel.params[k].buffer->shape) == Dim(stored[k].count()));
      as_params.push_back(stored[k].reshaped(static_shape(kernel.params[k].buffer->shape)));
    }
    EvaluationResult got = evaluate(kernel, as_params);
    REQUIRE(got.status == Status::ok);
    for (size_t r = 0; r < f.results.size(); ++r) {
      std::vector<int64_t> shape = static_shape(f.results[r]->shape);
      Constant value = unpack(got.results[r], layouts[f.params.size() + r], shape);
      double worst = 0, scale = 1;
      for (int64_t i = 0; i < value.count(); ++i) {
        worst = std::max(worst, std::abs(value.number_at(i) - expected.results[r].number_at(i)));
        scale = std::max(scale, std::abs(expected.results[r].number_at(i)));
      }
      CHECK(worst <= 1e-5 * scale);
    }
  }
}

struct Conv {
  int64_t n = 1, c = 16, h = 9, w = 9, o = 32, k = 3, stride = 1, pad = 1, groups = 1;
  bool epilogue = true;
  bool smooth = false;  // the epilogue is x * sigmoid(x)
};

TensorFunction convolution(const Conv& p) {
  int64_t oh = (p.h + 2 * p.pad - p.k) / p.stride + 1, ow = (p.w + 2 * p.pad - p.k) / p.stride + 1;
  int64_t cg = p.c / p.groups, og = p.o / p.groups;
  Definition d("conv");
  Tensor x = d.input("x", dtype::f32, {p.n, p.c, p.h, p.w});
  Tensor w = d.input("w", dtype::f32, {p.o, cg, p.k, p.k});
  Tensor bias, skip;
  if (p.epilogue) bias = d.input("b", dtype::f32, {p.o}), skip = d.input("skip", dtype::f32, {p.n, p.o, oh, ow});
  Shape shape = {p.n, p.o, oh, ow};
  Tensor y = d.reduce("a", shape, sum_of(dtype::f32), {cg, p.k, p.k}, [&](Index i, Index r) {
    Expr group = p.groups == 1 ? Expr(0) : floor_div(i[1], Expr(og)) * Expr(cg);
    std::vector<Expr> at = {i[0], group + r[0], i[2] * Expr(p.stride) + r[1] - Expr(p.pad),
                            i[3] * Expr(p.stride) + r[2] - Expr(p.pad)};
    Expr value = p.pad ? x.at_or(at, literal(dtype::f32, 0.0)) : x(at);
    return value * w(i[1], r[0], r[1], r[2]);
  });
  if (p.epilogue)
    d.result("y", dtype::f32, shape, [&](Index i) {
      Expr sum = y(i) + bias(i[1]) + skip(i);
      return p.smooth ? sum * sigmoid(sum) : max(literal(dtype::f32, 0.0), sum);
    });
  else
    d.mark_result(y);
  return d.finish();
}

Layout channels16(const TensorFunction& f, size_t which) {
  const Buffer& b = which < f.params.size() ? f.params[which] : f.results[which - f.params.size()];
  return blocked_layout(static_shape(b->shape), 1, 16, Layout::Tail::unspecified);
}

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

// The layouts that a network would give: blocks of channels, zeros round the data as its reader wants, and round the
// result.
std::vector<Layout> bordered_layouts(const TensorFunction& f, const std::vector<bool>& constant,
                                     const ScheduleOptions& options, const Machine& machine = avx512) {
  std::vector<Layout> layouts(f.params.size() + 1);
  layouts[0] =
      with_border(channels16(f, 0), static_shape(f.params[0]->shape), wanted_border(f, 0, constant, options, machine));
  Layout& result = layouts.back() = channels16(f, f.params.size());
  result.parts[2].border = 1, result.parts[2].extent += 3, result.parts[3].border = 2, result.parts[3].extent += 2;
  if (f.params.size() > 3) layouts[3] = result;
  return layouts;
}

// The convolution in a network is computed by F(tile x tile, 3 x 3), and rightly.
void check_winograd(const Conv& p, int64_t tile, const ScheduleOptions& options = {}, const Machine& machine = avx512) {
  TensorFunction f = convolution(p);
  std::vector<bool> constant(f.params.size(), false);
  constant[1] = true;
  std::vector<Layout> layouts = bordered_layouts(f, constant, options, machine);
  auto plan = plan_winograd(f, layouts, constant, options, machine);
  REQUIRE(plan.has_value() == (tile != 0));
  if (plan) CHECK(plan->tile == tile);
  check_schedule(f, constant, layouts, options, {machine, avx2, neon, machine});
}

}  // namespace

TEST_CASE("images with borders of zeros") {
  for (const Conv& p :
       {Conv{.stride = 2}, Conv{.c = 32, .h = 6, .w = 35, .k = 5, .pad = 2}, Conv{.n = 2, .c = 24, .k = 1, .pad = 0}}) {
    TensorFunction f = convolution(p);
    std::vector<bool> constant(f.params.size(), false);
    constant[1] = true;
    std::vector<Layout> layouts = bordered_layouts(f, constant, {});
    CHECK_FALSE(plan_contraction(f, layouts, constant, avx512)->padded_data);
    check_schedule(f, constant, layouts);
  }
}

TEST_CASE("3x3 convolutions by minimal filtering") {
  check_winograd({.h = 16, .w = 16}, 4);
  check_winograd({.c = 48, .h = 14, .w = 14, .o = 64}, 4, {}, streaming);
  check_winograd({.c = 128, .h = 14, .w = 14, .o = 128}, 2);  // F(4x4) would wait for its weights
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

TEST_CASE("two terms to a vector") {
  for (const Conv& p : {Conv{.c = 32, .h = 7, .o = 24}, Conv{.c = 72, .h = 5, .w = 31, .o = 40, .k = 1, .pad = 0},
                        Conv{.c = 36, .h = 5, .w = 5, .o = 20, .stride = 2}, Conv{.c = 64, .h = 5, .w = 5, .o = 8},
                        Conv{.c = 32, .o = 24, .smooth = true}}) {
    TensorFunction f = convolution(p);
    std::vector<Layout> layouts = {channels16(f, 0), {}, {}, channels16(f, 3), channels16(f, 4)};
    std::vector<bool> constant = {false, true, true, false};
    CHECK(plan_contraction(f, layouts, constant, avx512)->interleave == 2);
    check_schedule(f, constant, layouts);
    check_schedule(f, constant, layouts, {.strict = true});
    layouts[4] = {};
    check_schedule(f, constant, layouts);
  }
}

TEST_CASE("convolutions") {
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

// Whether values that cost many instructions are written out, once for every register.
static bool writes_out_expensive(const Stmt& body) {
  bool found = false;
  for_each_stmt(body, [&](const Stmt& s) {
    const For* loop = as<For>(s);
    if (!loop || loop->kind != LoopKind::unrolled) return;
    for_each_root_expr(loop->body, [&](const Expr& e) { found |= is_expensive(e); });
  });
  return found;
}

TEST_CASE("an expensive epilogue is a loop over the stored tile") {
  TensorFunction smooth = convolution({.smooth = true});
  std::vector<bool> constant = {false, true, true, false};
  for (const Kernel& k : schedule({smooth, constant, {{}, {}, {}, {}, channels16(smooth, 4)}, {avx512, avx2}}).variants)
    CHECK_FALSE(writes_out_expensive(k.body));
}

TEST_CASE("an epilogue is cut where the total enters the expensive part") {
  auto parts = [](const std::string& value) {
    Diagnostics d;
    auto parsed = parse(
        "tensor @f(x: f32[9, 8], b: f32[2], skip: f32[8]) -> (y: f32[8]) {\n"
        "temp t: f32[8]\nt[i < 8] = sum(k < 9) { x[k, i] }\ny[i < 8] = " +
            value + "\n}\n",
        "t.tir", d);
    REQUIRE_MESSAGE(parsed, d.str());
    const TensorFunction& f = parsed->functions[0];
    Epilogue e(f.stages[0], &f.stages[1]);
    std::vector<Expr> index = {Expr(make_var("j"))};
    std::string text = print(e.store_total(Expr(make_var("total", dtype::f32)), index));
    return e.has_finish() ? text + print(e.finish(index)) : text;
  };
  CHECK(parts("max(0.0, t[i] + b[0])") == "y[j] = max(0.0, total + b[0])\n");
  CHECK(parts("with %0 = t[i] + b[0]: %0 * sigmoid(%0)") == "y[j] = total + b[0]\ny[j] = y[j] * sigmoid(y[j])\n");
  CHECK(parts("sigmoid(t[i] * b[0] + skip[i])") == "y[j] = total * b[0] + skip[j]\ny[j] = sigmoid(y[j])\n");
  // The result may be stored where `skip` is.
  CHECK(parts("sigmoid(t[i]) * skip[i]") == "y[j] = sigmoid(total) * skip[j]\n");
  CHECK(parts("t[i] / (1.0 + abs(t[i] + b[0]))") == "y[j] = total\ny[j] = y[j] / (1.0 + abs(y[j] + b[0]))\n");
}

TEST_CASE("strict sums in parts") {
  for (const Conv& p : {Conv{.c = 80, .h = 5, .w = 5}, Conv{.c = 67, .h = 5, .w = 9, .k = 5, .pad = 2},
                        Conv{.c = 528, .k = 1, .pad = 0}, Conv{.c = 32, .h = 2, .w = 470, .o = 16}}) {
    TensorFunction f = convolution(p);
    std::vector<bool> constant(f.params.size(), false);
    constant[1] = true;
    check_schedule(f, constant, bordered_layouts(f, constant, {.strict = true}), {.strict = true});
    check_schedule(f, constant, {}, {.strict = true});
  }
}

TEST_CASE("sums over large panels are cut into parts") {
  // More than half of the small cache's 8 KiB: 32 columns of 33 terms.
  check_conv({.c = 40, .h = 7, .w = 15});
  check_conv({.c = 67, .h = 40, .w = 14, .k = 1, .pad = 0});
}

TEST_CASE("a long mean is summed in parts") {
  auto parts = [](int64_t height, int64_t width) {
    Definition d("total");
    Tensor x = d.input("x", dtype::f32, {2, 48, height, width});
    d.mark_result(d.reduce("y", {2, 48}, sum_of(dtype::f32), {height, width},
                           [&](Index i, Index r) { return x(i[0], i[1], r[0], r[1]); }));
    TensorFunction f = d.finish();
    std::vector<Layout> layouts = {channels16(f, 0), {}};
    check_schedule(f, {false}, layouts);
    return print(schedule({f, {false}, layouts, {avx2}}).variants[0]).find("part") != std::string::npos;
  };
  CHECK(parts(14, 14));
  CHECK(parts(13, 9));
  CHECK(parts(30, 3));
  CHECK(parts(3, 30));
  CHECK(parts(67, 1));
  CHECK_FALSE(parts(7, 7));
}

TEST_CASE("matrix products") {
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

TEST_CASE("batched matrix product of integers") {
  Definition d("batched");
  Tensor a = d.input("a", dtype::i32, {3, 5, 6});
  Tensor b = d.input("b", dtype::i32, {3, 6, 20});
  Tensor y = d.reduce("p", {3, 5, 20}, sum_of(dtype::i32), {6},
                      [&](Index i, Index r) { return a(i[0], i[1], r[0]) * b(i[0], r[0], i[2]); });
  d.mark_result(y);
  check_schedule(d.finish(), {false, false});
}

TEST_CASE("pooling keeps channel blocks") {
  Definition d("pool");
  Tensor x = d.input("x", dtype::f32, {1, 24, 9, 9});
  Tensor y = d.reduce("y", {1, 24, 5, 5}, max_of(dtype::f32), {3, 3}, [&](Index i, Index r) {
    return x.at_or({i[0], i[1], i[2] * 2 + r[0] - 1, i[3] * 2 + r[1] - 1}, lowest(dtype::f32));
  });
  d.mark_result(y);
  TensorFunction f = d.finish();
  check_schedule(f, {false});
  check_schedule(f, {false}, {channels16(f, 0), channels16(f, 1)});
  check_schedule(f, {false}, {channels16(f, 0), Layout{}});
}

namespace {

struct Depthwise {
  int64_t n = 1, c = 32, h = 9, w = 9, k = 3, stride = 1, dilation = 1, pad = 1;
};
enum class Epilogue : uint8_t { none, bounded, smooth, residual };

// One filter of k x k taps per channel; behind it nothing, a bias and a limited range, a bias and x * sigmoid(x), or an
// addition of another image.
TensorFunction depthwise(const Depthwise& p, Epilogue epilogue) {
  auto out = [&](int64_t size) { return (size + 2 * p.pad - (p.k - 1) * p.dilation - 1) / p.stride + 1; };
  auto at = [&](const Expr& i, const Expr& r) { return i * Expr(p.stride) + r * Expr(p.dilation) - Expr(p.pad); };
  Shape shape = {p.n, p.c, out(p.h), out(p.w)};
  Definition d("depthwise");
  Tensor x = d.input("x", dtype::f32, {p.n, p.c, p.h, p.w}), w = d.input("w", dtype::f32, {p.c, 1, p.k, p.k});
  Tensor bias = d.input("b", dtype::f32, {p.c}), skip = d.input("skip", dtype::f32, shape);
  Tensor y = d.reduce("a", shape, sum_of(dtype::f32), {1, p.k, p.k}, [&](Index i, Index r) {
    std::vector<Expr> index = {i[0], i[1] + r[0], at(i[2], r[1]), at(i[3], r[2])};
    return (p.pad ? x.at_or(index, literal(dtype::f32, 0.0)) : x(index)) * w(i[1], r[0], r[1], r[2]);
  });
  auto behind = [&](Index i) {
    Expr sum = y(i) + bias(i[1]);
    if (epilogue == Epilogue::smooth) return sum * sigmoid(sum);
    if (epilogue == Epilogue::residual) return y(i) + skip(i);
    return min(literal(dtype::f32, 6.0), max(literal(dtype::f32, 0.0), sum));
  };
  if (epilogue == Epilogue::none)
    d.mark_result(y);
  else
    d.result("y", dtype::f32, shape, behind);
  return d.finish();
}

TensorFunction bounded_depthwise() { return depthwise({}, Epilogue::bounded); }

void check_depthwise(const Depthwise& p) {
  for (Epilogue e : {Epilogue::none, Epilogue::bounded, Epilogue::smooth, Epilogue::residual}) {
    TensorFunction f = depthwise(p, e);
    Layout blocked = channels16(f, 0), image = channels16(f, 4);
    std::map<Buffer, Layout> stored = {{f.params[0], blocked}, {f.params[3], image}, {f.results[0], image}};
    auto plan = plan_window(f, 0, stored, {false, true, true, false});
    REQUIRE(plan);
    CHECK(plan->epilogue.has_value() == (e != Epilogue::none));
    check_schedule(f, {false, true, true, false}, {blocked, {}, {}, image, image});
    check_schedule(f, {false, true, true, false}, {blocked, {}, {}, image, {}});
    if (auto border = wanted_border(f, 0, {false, true, true, false}, {}, avx512); !border.empty()) {
      Layout bordered = with_border(blocked, static_shape(f.params[0]->shape), border);
      check_schedule(f, {false, true, true, false}, {bordered, {}, {}, image, image});
    }
    check_schedule(f, {false, false, false, false}, {blocked, {}, {}, {}, image});
  }
}

}  // namespace

TEST_CASE("depthwise convolutions keep channel blocks") {
  check_depthwise({});
  check_depthwise({.c = 24, .h = 14, .w = 31, .stride = 2});
  check_depthwise({.n = 2, .c = 20, .h = 7, .w = 7, .k = 5, .pad = 2});
  check_depthwise({.h = 12, .w = 13, .dilation = 2, .pad = 2});
  check_depthwise({.h = 3, .w = 40, .k = 7, .pad = 3});
  check_depthwise({.h = 6, .w = 5, .k = 2, .pad = 0});
}

TEST_CASE("reductions whose lanes are neighbouring results") {
  for (int64_t channels : {5, 16, 24, 96, 200}) {
    Definition d("mean");
    Tensor x = d.input("x", dtype::f32, {2, channels, 3, 5});
    Tensor total = d.reduce("total", {2, channels}, sum_of(dtype::f32), {3, 5},
                            [&](Index i, Index r) { return x(i[0], i[1], r[0], r[1]); });
    d.result("y", dtype::f32, {2, channels}, [&](Index i) { return total(i) / literal(dtype::f32, 15.0); });
    TensorFunction f = d.finish();
    check_schedule(f, {false}, {channels16(f, 0), Layout{}});
    check_schedule(f, {false}, {channels16(f, 0), channels16(f, 1)});

    Definition c("columns");
    Tensor m = c.input("m", dtype::i32, {7, channels});
    c.mark_result(c.reduce("y", {channels}, max_of(dtype::i32), {7}, [&](Index i, Index r) { return m(r[0], i[0]); }));
    check_schedule(c.finish(), {false});
  }
}

TEST_CASE("what all terms share fits the registers beside the totals") {
  Definition d("mean");
  Tensor x = d.input("x", dtype::f32, {1, 200, 3, 5});
  Tensor scale = d.input("scale", dtype::f32, {200}), bias = d.input("bias", dtype::f32, {200});
  d.mark_result(d.reduce("y", {1, 200}, sum_of(dtype::f32), {3, 5}, [&](Index i, Index r) {
    return max(literal(dtype::f32, 0.0), x(i[0], i[1], r[0], r[1]) * scale(i[1]) + bias(i[1]));
  }));
  TensorFunction f = d.finish();
  std::vector<bool> constant = {false, true, true};
  check_schedule(f, constant, {channels16(f, 0), {}, {}, channels16(f, 3)});
  for (const Kernel& k : schedule({f, constant, {channels16(f, 0), {}, {}, channels16(f, 3)}, {avx2}}).variants)
    for_each_stmt(k.body, [](const Stmt& s) {
      const Allocate* a = as<Allocate>(s);
      if (a && a->buffer->scope == Scope::reg) CHECK(3 * a->buffer->shape[0].value() < 16);
    });
}

TEST_CASE("an average that counts taps at the border") {
  Definition d("average");
  Tensor x = d.input("x", dtype::f32, {1, 40, 8, 21});
  Tensor total = d.reduce("total", {1, 40, 8, 21}, sum_of(dtype::f32), {3, 3}, [&](Index i, Index r) {
    return x.at_or({i[0], i[1], i[2] + r[0] - 1, i[3] + r[1] - 1}, literal(dtype::f32, 0.0));
  });
  d.result("y", dtype::f32, {1, 40, 8, 21}, [&](Index i) {
    auto taps = [](const Expr& at, int64_t size) { return min(at + 2, Expr(size)) - max(at - 1, Expr(0)); };
    return total(i) / cast(dtype::f32, taps(i[2], 8) * taps(i[3], 21));
  });
  TensorFunction f = d.finish();
  check_schedule(f, {false}, {channels16(f, 0), channels16(f, 1)});
}

TEST_CASE("softmax rows, row sums, elementwise chains and scalars") {
  Definition d("softmax");
  Tensor x = d.input("x", dtype::f32, {3, 37});
  Tensor largest = d.reduce("largest", {3}, max_of(dtype::f32), {37}, [&](Index i, Index r) { return x(i[0], r[0]); });
  Tensor e = d.compute("e", dtype::f32, {3, 37}, [&](Index i) { return exp(x(i) - largest(i[0])); });
  Tensor total = d.reduce("total", {3}, sum_of(dtype::f32), {37}, [&](Index i, Index r) { return e(i[0], r[0]); });
  d.result("y", dtype::f32, {3, 37}, [&](Index i) { return e(i) / total(i[0]); });
  check_schedule(d.finish(), {false});

  Definition s("scalar");
  Tensor a = s.input("a", dtype::f32, {});
  s.result("y", dtype::f32, {}, [&](Index i) { return a(i) + a(i); });
  check_schedule(s.finish(), {false});

  Definition l("long");  // computed in pieces
  Tensor b = l.input("b", dtype::f32, {20001});
  l.result("y", dtype::f32, {20001}, [&](Index i) { return b(i) * b(i); });
  check_schedule(l.finish(), {false});
}

TEST_CASE("arg-max folds pairs") {
  Definition d("argmax");
  Tensor x = d.input("x", dtype::f32, {4, 19});
  std::vector<Tensor> r = d.reduce_tuple({"v", "i"}, {4}, arg_max_of(dtype::f32, dtype::i64), {19},
                                         [&](Index i, Index k) { return std::vector{x(i[0], k[0]), k[0]}; });
  d.mark_result(r[1]);
  check_schedule(d.finish(), {false});
}

TEST_CASE("concatenation writes pieces, empty tensors write nothing") {
  Definition d("concat");
  Tensor a = d.input("a", dtype::f32, {2, 3}), b = d.input("b", dtype::f32, {2, 18}),
         none = d.input("c", dtype::f32, {2, 0});
  Tensor y = d.open_result("y", dtype::f32, {2, 21});
  d.piece(y, {0, 0}, {2, 3}, [&](Index i) { return a(i); });
  d.piece(y, {0, 3}, {2, 18}, [&](Index i) { return b(i); });
  d.piece(y, {0, 21}, {2, 0}, [&](Index i) { return none(i); });
  check_schedule(d.finish(), {false, false, false});
}

// Which operands the result may replace, as numbers of parameters.
static std::vector<int> replaceable(const std::string& body, std::vector<bool> constant = {false, false}) {
  Diagnostics d;
  auto parsed = parse("tensor @f(a: f32[8], b: f32[8]) -> (y: f32[8]) {\n" + body + "}\n", "t.tir", d);
  REQUIRE_MESSAGE(parsed, d.str());
  std::vector<int> operands;
  for (auto [result, operand] : schedule({parsed->functions[0], constant, {{}, {}, {}}, {avx2}}).in_place)
    operands.push_back(operand);
  return operands;
}

TEST_CASE("a result may replace operands that are read only where it is written") {
  CHECK(replaceable("y[i < 8] = a[i] * b[i]\n") == std::vector{0, 1});
  CHECK(replaceable("y[i < 8] = a[i] * b[i]\n", {false, true}) == std::vector{0});
  CHECK(replaceable("y[i < 8] = a[i] * b[7 - i]\n") == std::vector{0});
  CHECK(replaceable("y[i < 8] = a[i] + a[0] + b[i] * b[7 - i]\n") == std::vector<int>{});
  CHECK(replaceable("temp s: f32[]\ns[] = sum(k < 8) { a[k] }\ny[i < 8] = (a[i] + b[i]) * s[]\n") == std::vector{1});
}

TEST_CASE("pieces fill whole blocks, and may share one") {
  for (const std::vector<int64_t>& channels : std::vector<std::vector<int64_t>>{{32, 16, 24}, {16, 20, 12}}) {
    Definition d("concat");
    int64_t total = std::accumulate(channels.begin(), channels.end(), int64_t{0}), begin = 0;
    std::vector<Tensor> parts;
    for (int64_t c : channels) parts.push_back(d.input("p" + std::to_string(parts.size()), dtype::f32, {1, c, 3, 5}));
    Tensor y = d.open_result("y", dtype::f32, {1, total, 3, 5});
    for (size_t k = 0; k < parts.size(); ++k) {
      d.piece(y, {0, begin, 0, 0}, {1, channels[k], 3, 5}, [&](Index i) { return parts[k](i); });
      begin += channels[k];
    }
    TensorFunction f = d.finish();
    Layout result = channels16(f, 3),
           bordered = with_border(result, {1, total, 3, 5}, {{0, 0}, {0, total - 1}, {-1, 3}, {-2, 6}});
    for (const Layout& layout : {result, bordered}) {
      check_schedule(f, {false, false, false}, {channels16(f, 0), channels16(f, 1), channels16(f, 2), layout});
      check_schedule(f, {false, false, false}, {channels16(f, 0), Layout{}, channels16(f, 2), layout});
    }
  }
}

// Every alternative of the function computes what it defines. Gives what may be chosen, as text.
static std::set<std::string> check_alternatives(const TensorFunction& f, const std::vector<bool>& constant,
                                                const std::vector<Layout>& layouts,
                                                const ScheduleOptions& options = {}) {
  std::vector<Machine> machines = {avx2, avx512};
  std::set<std::string> texts;
  for (const Choice& choice : alternatives({f, constant, layouts, machines, options, {}})) {
    CAPTURE(str(choice));
    texts.insert(str(choice));
    check_schedule(f, constant, layouts, options, machines, choice);
  }
  return texts;
}

TEST_CASE("whatever a schedule chooses, it computes the definition") {
  auto conv = [](const Conv& p, const ScheduleOptions& options = {}) {
    TensorFunction f = convolution(p);
    std::vector<bool> constant(f.params.size(), false);
    constant[1] = true;
    return check_alternatives(f, constant, bordered_layouts(f, constant, options), options);
  };
  std::set<std::string> filtered = conv({.c = 32, .h = 16, .w = 12, .o = 96}),
                        strict = conv({.c = 32, .o = 32}, {.strict = true}),
                        pointwise = conv({.c = 48, .h = 40, .w = 14, .o = 96, .k = 1, .pad = 0}),
                        deep = conv({.c = 528, .h = 5, .o = 32, .k = 1, .pad = 0}),
                        grouped = conv({.c = 64, .h = 5, .w = 6, .o = 96, .groups = 2}),
                        small = conv({.c = 32, .h = 8, .w = 8, .o = 32}, {.small = true});
  CHECK(filtered.contains("filter_tile 1"));
  CHECK(filtered.contains("filter_tile 2") != filtered.contains("filter_tile 4"));  // one is the estimate
  CHECK(filtered.contains("panel 48"));
  CHECK(filtered.contains("step 8"));
  CHECK_FALSE(strict.contains("filter_tile 4"));
  CHECK_FALSE(small.contains("filter_tile 2"));
  CHECK(pointwise.contains("row_blocks 1"));
  CHECK(deep.contains("parts 1"));
  CHECK_FALSE(grouped.contains("panel 32"));  // a group has 48 columns

  TensorFunction image = bounded_depthwise();
  Layout blocked = channels16(image, 0), result = channels16(image, 4);
  CHECK(check_alternatives(image, {false, true, true, false}, {blocked, {}, {}, result, result})
            .contains("accumulators 4"));
}

TEST_CASE("another machine's schedule follows the choice only where it concerns storage") {
  TensorFunction f = convolution({.c = 48, .h = 12, .w = 14, .o = 96, .k = 1, .pad = 0, .epilogue = false});
  auto text = [&](const Choice& choice) {
    ScheduleRequest r{f, {false, true}, {channels16(f, 0), {}, channels16(f, 2)}, {avx2, avx512}, {}, choice};
    return print(schedule(r).variants[0]);
  };
  CHECK(text({.row_blocks = 1, .step = 8}) == text({}));
  CHECK(text({.panel = 48}) != text({}));
}

TEST_CASE("the hash of a request") {
  auto function = [](const std::string& name, const std::string& terms) {
    Diagnostics d;
    auto parsed = parse("tensor @" + name + "(x: f32[4, 8], w: f32[8, 16]) -> (y: f32[4, 16]) {\n" +
                            "y[i < 4, j < 16] = sum(k < " + terms + ") { x[i, k] * w[k, j] }\n}\n",
                        "t.tir", d);
    REQUIRE_MESSAGE(parsed, d.str());
    return parsed->functions[0];
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
  CHECK(with([&](auto& o) { o.choice.panel = 16; }) == known);
  CHECK(with([&](auto& o) { o.function = function("a", "7"); }) != known);
  CHECK(with([&](auto& o) { o.constant[1] = false; }) != known);
  CHECK(with([&](auto& o) { o.layouts[0] = blocked_layout({4, 8}, 1, 4, Layout::Tail::zero); }) != known);
  CHECK(with([&](auto& o) { o.machines.back() = streaming; }) != known);
  CHECK(with([&](auto& o) { o.options.strict = true; }) != known);
  CHECK(with([&](auto& o) { o.options.threads = 2; }) != known);
}

// Every schedule computes what its definition says: both are evaluated on random data, for several machines and layouts.
#include "tensor/schedules/schedule.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "tensor/analysis.h"
#include "tensor/builder.h"
#include "tensor/evaluate.h"
#include "tensor/layout.h"
#include "tensor/parse.h"
#include "tensor/passes/expand_math.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

const Machine avx512{.vector_bytes = 64, .vector_registers = 32}, avx2{.vector_bytes = 32, .vector_registers = 16},
    neon{.vector_bytes = 16, .vector_registers = 32};

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
    if (int64_t p = where.integer_at(i)) std::memcpy(&bytes[static_cast<size_t>(p - 1) * size], &stored.bytes()[static_cast<size_t>(i) * size], size);
  return Constant(stored.dtype(), shape, std::move(bytes));
}

void check_schedule(const TensorFunction& f, std::vector<bool> constant, std::vector<Layout> layouts = {}) {
  layouts.resize(f.params.size() + f.results.size());
  std::vector<Constant> args;
  for (const Buffer& p : f.params) args.push_back(random_constant(p->type, p->shape, static_cast<uint32_t>(args.size() + 1)));
  EvaluationResult expected = evaluate(f, args);
  REQUIRE(expected.status == Status::ok);
  ScheduledFunction s = schedule({f, constant, layouts, {avx512, avx2, neon}});
  std::vector<Constant> stored;
  for (size_t k = 0; k < args.size(); ++k) stored.push_back(pack(args[k].reshaped(s.param_shapes[k]), s.param_layouts[k]));
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
    std::vector<Expr> at = {i[0], group + r[0], i[2] * Expr(p.stride) + r[1] - Expr(p.pad), i[3] * Expr(p.stride) + r[2] - Expr(p.pad)};
    Expr value = p.pad ? x.at_or(at, literal(dtype::f32, 0.0)) : x(at);
    return value * w(i[1], r[0], r[1], r[2]);
  });
  if (p.epilogue)
    d.result("y", dtype::f32, shape, [&](Index i) { return max(literal(dtype::f32, 0.0), y(i) + bias(i[1]) + skip(i)); });
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

}  // namespace

TEST_CASE("convolutions") {
  check_conv({});
  check_conv({.epilogue = false});
  check_conv({.c = 3, .h = 17, .w = 19, .o = 24, .stride = 2});
  check_conv({.c = 24, .h = 7, .w = 7, .o = 40, .k = 1, .pad = 0});
  check_conv({.n = 2, .c = 20, .h = 6, .w = 35, .o = 48, .k = 3, .pad = 1});
  check_conv({.c = 64, .h = 5, .w = 5, .o = 64, .k = 3, .groups = 2});
  check_conv({.c = 32, .h = 8, .w = 8, .o = 32, .k = 3, .groups = 32});
  check_conv({.c = 16, .h = 8, .w = 8, .o = 3, .k = 5, .pad = 2});
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
  Tensor y = d.reduce("p", {3, 5, 20}, sum_of(dtype::i32), {6}, [&](Index i, Index r) { return a(i[0], i[1], r[0]) * b(i[0], r[0], i[2]); });
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
}

TEST_CASE("arg-max folds pairs") {
  Definition d("argmax");
  Tensor x = d.input("x", dtype::f32, {4, 19});
  std::vector<Tensor> r = d.reduce_tuple({"v", "i"}, {4}, arg_max_of(dtype::f32, dtype::i64), {19}, [&](Index i, Index k) {
    return std::vector{x(i[0], k[0]), k[0]};
  });
  d.mark_result(r[1]);
  check_schedule(d.finish(), {false});
}

TEST_CASE("concatenation writes pieces, empty tensors write nothing") {
  Definition d("concat");
  Tensor a = d.input("a", dtype::f32, {2, 3}), b = d.input("b", dtype::f32, {2, 18}), none = d.input("c", dtype::f32, {2, 0});
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

// Code for kernels with symbols, at many sizes: its results are the evaluator's.
#include "harness.h"
#include "tensor/builder.h"
#include "tensor/parse.h"
#include "tensor/passes/expand_math.h"
#include "tensor/passes/parallel_loops.h"
#include "tensor/schedules/schedule.h"

namespace dlcc::test {

using namespace tensor;

namespace {

const Dim n = Dim::symbol({"n", 1}), s = Dim::symbol({"s", 1}), count = Dim::symbol({"count", 0});

Constant numbers(DType type, const Shape& shape) {
  std::vector<float> floats;
  std::vector<int32_t> integers;
  for (int64_t i = 0; i < product(shape).value(); ++i) {
    floats.push_back(static_cast<float>((i * 37) % 101 - 50) / 8);
    integers.push_back(static_cast<int32_t>((i * 37) % 101 - 50));
  }
  return is_float(type) ? Constant::of(type, static_shape(shape), floats)
                        : Constant::of(type, static_shape(shape), integers);
}

// Runs the kernel that is scheduled for AVX2 at each size, on every level of this CPU.
void check_code(const TensorFunction& f, int threads = 1, const ChangeMachine& change = {}) {
  Machine machine{.vector_bytes = 32, .vector_registers = 16};
  if (change) change(machine);
  ScheduledFunction scheduled = schedule({f,
                                          std::vector<bool>(f.params.size(), false),
                                          std::vector<Layout>(f.params.size() + f.results.size()),
                                          {machine},
                                          {.threads = threads}});
  Kernel kernel = scheduled.variants[0];
  kernel.body = choose_parallel_loops(expand_math(kernel.body), threads, machine);
  for (int64_t size : {0, 1, 2, 7, 16, 17, 33, 64, 65}) {
    const Sizes sizes = {{"count", size}, {"n", std::max<int64_t>(size, 1)}, {"s", size < 10 ? 19 : size - 9}};
    CAPTURE(size);
    CAPTURE(print(kernel));
    const std::map<std::string, Dim> values(sizes.begin(), sizes.end());
    std::vector<Constant> inputs;
    for (const Parameter& p : kernel.params) {
      if (p.access != Access::read) continue;
      Shape shape = p.buffer->shape;
      for (Dim& d : shape) d = d.substitute(values);
      inputs.push_back(numbers(p.buffer->type, shape));
    }
    run(kernel, inputs, threads, change, sizes);  // compares with the evaluator
  }
}

TensorFunction chain(const Shape& shape) {
  Definition d("chain");
  Tensor x = d.input("x", dtype::f32, shape), b = d.input("b", dtype::f32, {shape.back()});
  d.result("y", dtype::f32, shape, [&](Index i) { return x(i) * x(i) + b(i.back()); });
  return d.finish();
}

TensorFunction row_sums() {
  Definition d("rows");
  Tensor x = d.input("x", dtype::i32, {n, 3, s});
  d.reduce_result("y", dtype::i32, {n, 3}, sum_of(dtype::i32), {s},
                  [&](Index i, Index k) { return x(i[0], i[1], k[0]); });
  return d.finish();
}

TensorFunction column_maxima() {
  Definition d("columns");
  Tensor x = d.input("x", dtype::f32, {n, 3, s});
  d.reduce_result("y", dtype::f32, {3, s}, max_of(dtype::f32), {n},
                  [&](Index i, Index k) { return x(k[0], i[0], i[1]); });
  return d.finish();
}

TensorFunction padded() {
  Definition d("pad");
  Tensor x = d.input("x", dtype::f32, {count, s});
  d.result("y", dtype::f32, {count + Dim(2), s + Dim(3)}, [&](Index i) {
    return x.at_or({i[0] - Expr(1), i[1] - Expr(2)}, literal(dtype::f32, 7.0));
  });
  return d.finish();
}

TensorFunction transposed() {
  Definition d("transpose");
  Tensor x = d.input("x", dtype::f32, {n, 5, s});
  d.result("y", dtype::f32, {s, n, 5}, [&](Index i) { return x(i[1], i[2], i[0]); });
  return d.finish();
}

}  // namespace

TEST_CASE("code of products of a symbolic number of rows, in blocks") {
  Definition d("dense");
  Tensor x = d.input("x", dtype::f32, {n, 12}), w = d.input("w", dtype::f32, {20, 12});
  d.reduce_result("y", dtype::f32, {n, 20}, sum_of(dtype::f32), {12},
                  [&](Index i, Index k) { return x(i[0], k[0]) * w(i[1], k[0]); });
  TensorFunction f = d.finish();
  for (int threads : {1, 3}) check_code(f, threads, [&](Machine& m) { m.fork_cost = 1, m.min_task_cost = 1; });
}

TEST_CASE("code of products with symbolic M, N and K") {
  for (const auto& [k, columns] : {std::pair{Dim(12), s}, {s, Dim(40)}, {s, s}, {count, Dim(20)}}) {
    Definition d("product");
    Tensor x = d.input("x", dtype::f32, {2, n, k}), w = d.input("w", dtype::f32, {2, k, columns});
    d.reduce_result("y", dtype::f32, {2, n, columns}, sum_of(dtype::f32), {k},
                    [&](Index i, Index r) { return x(i[0], i[1], r[0]) * w(i[0], r[0], i[2]); });
    TensorFunction f = d.finish();
    for (int threads : {1, 3}) check_code(f, threads, [&](Machine& m) { m.fork_cost = 1, m.min_task_cost = 1; });
  }
}

TEST_CASE("code of symbolic chains, reductions, padding and transpositions equals the evaluator") {
  for (const Shape& shape : {Shape{count}, Shape{n, 24}, Shape{3, n}, Shape{n, 2, s}}) check_code(chain(shape));
  for (const TensorFunction& f : {row_sums(), column_maxima(), padded(), transposed()}) check_code(f);
}

TEST_CASE("code of transpositions in tiles with symbolic strides") {
  for (const DType type : {dtype::f32, dtype::i32}) {
    Definition d("transpose");
    Tensor x = d.input("x", type, {2, n, s});
    d.result("y", type, {2, s, n}, [&](Index i) { return x(i[0], i[2], i[1]); });
    check_code(d.finish());
  }
}

TEST_CASE("a condition on an index gives the range of loads in its arm only") {
  Diagnostics errors;
  auto parsed = parse(R"(kernel @f<n in 1..>(read x: f32[n], write y: f32[n + 9]) {
  for i in n + 9 {
    if i < n {
      y[i] = x[i] else 1.0
    } else {
      y[i] = x[i] else 2.0
    }
  }
})",
                      "t.tir", errors);
  REQUIRE_MESSAGE(parsed, errors.str());
  for (int64_t size : {1, 16, 33}) run(parsed->kernels[0], {numbers(dtype::f32, {size})}, 1, {}, {{"n", size}});
}

TEST_CASE("gathers and scatters of symbolic stride address their elements with scalars") {
  for (const int lanes : {2, 3, 16})
    for (const bool scatters : {false, true}) {
      const std::string rows = std::to_string(lanes);
      const std::string copy = scatters ? "y[i + 2 * v, j] = x[j, v]" : "y[j, v] = x[i + 2 * v, j]";
      const std::string narrow = "f32[n + 1, " + rows + "]", wide = "f32[" + std::to_string(2 * lanes) + ", n + 1]";
      Diagnostics errors;
      auto parsed = parse("kernel @f<n in 1..>(read x: " + (scatters ? narrow : wide) + ", write y: " +
                              (scatters ? wide : narrow) + ") {\nfor i in 2 {\nfor j in n + 1 {\nvector v in " + rows +
                              " {\n" + copy + "\n}\n}\n}\n}",
                          "t.tir", errors);
      REQUIRE_MESSAGE(parsed, errors.str());
      const Kernel& kernel = parsed->kernels[0];
      for (int64_t size : {1, 7, 16}) {
        const Dim read = scatters ? Dim(lanes) : Dim(2 * lanes);
        run(kernel, {numbers(dtype::f32, scatters ? Shape{size + 1, read} : Shape{read, size + 1})}, 1, {}, {{"n", size}});
      }
      CHECK(assembly(kernel, "x86-64-v4", {}, 1, {{"n", 1}}).find("vpextrq") == std::string::npos);
    }
}

TEST_CASE("code of a batch of slices, with scratch and on threads") {
  Definition d("convolution");
  Tensor x = d.input("x", dtype::f32, {n, 8, 6, 9}), w = d.input("w", dtype::f32, {16, 8, 3, 3});
  d.reduce_result("y", dtype::f32, {n, 16, 6, 9}, sum_of(dtype::f32), {8, 3, 3}, [&](Index i, Index k) {
    std::vector<Expr> at = {i[0], k[0], i[2] + k[1] - Expr(1), i[3] + k[2] - Expr(1)};
    return x.at_or(at, literal(dtype::f32, 0.0)) * w(i[1], k[0], k[1], k[2]);
  });
  TensorFunction f = d.finish();
  for (int threads : {1, 3}) check_code(f, threads, [&](Machine& m) { m.fork_cost = 1, m.min_task_cost = 1; });

  Definition p("pool");
  Tensor image = p.input("x", dtype::f32, {n, 5, 8, 8});
  p.reduce_result("y", dtype::f32, {n, 5, 4, 4}, max_of(dtype::f32), {2, 2},
                  [&](Index i, Index k) { return image(i[0], i[1], i[2] * Expr(2) + k[0], i[3] * Expr(2) + k[1]); });
  TensorFunction g = p.finish();
  for (int threads : {1, 3}) check_code(g, threads, [&](Machine& m) { m.fork_cost = 1, m.min_task_cost = 1; });
}

TEST_CASE("parallel loops run every iteration once at sizes that are worth a fork and at others") {
  // With free forks threads share every loop; with expensive forks they do not share few iterations.
  for (double cost : {0.0, 1e4})
    for (int threads : {2, 3, 16})
      for (const Shape& shape : {Shape{n, 2, s}, Shape{12, n, s}})
        check_code(chain(shape), threads, [&](Machine& m) { m.fork_cost = cost, m.min_task_cost = 1; });
}

}  // namespace dlcc::test

// Functions with symbols in their shapes: one kernel computes the definition at each size.
#include <doctest/doctest.h>

#include <map>

#include "harness.h"
#include "tensor/analysis.h"
#include "tensor/builder.h"
#include "tensor/data_movement.h"
#include "tensor/slices.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

const Dim n = Dim::symbol({"n", 1}), count = Dim::symbol({"count", 0}), s = Dim::symbol({"s", 1});

TensorFunction softmax(const Shape& rows, const Dim& columns) {
  Definition d("softmax");
  Shape shape = rows;
  shape.push_back(columns);
  auto at = [](Index i, const Expr& k) {
    std::vector<Expr> index = i;
    index.push_back(k);
    return index;
  };
  auto row = [](Index i) { return std::vector<Expr>(i.begin(), i.end() - 1); };
  Tensor x = d.input("x", dtype::f32, shape);
  Tensor largest =
      d.reduce("largest", rows, max_of(dtype::f32), {columns}, [&](Index i, Index k) { return x(at(i, k[0])); });
  Tensor e = d.compute("e", dtype::f32, shape, [&](Index i) { return exp(x(i) - largest(row(i))); });
  Tensor total =
      d.reduce("total", rows, sum_of(dtype::f32), {columns}, [&](Index i, Index k) { return e(at(i, k[0])); });
  d.result("y", dtype::f32, shape, [&](Index i) { return e(i) / total(row(i)); });
  return d.finish();
}

}  // namespace

TEST_CASE("elementwise functions along symbolic axes") {
  for (const Shape& shape : {Shape{n}, Shape{count}, Shape{n, 24}, Shape{3, n}, Shape{n, s}, Shape{2, n, 5, s}}) {
    Definition d("chain");
    Tensor x = d.input("x", dtype::f32, shape), b = d.input("b", dtype::f32, {shape.back()});
    d.result("y", dtype::f32, shape, [&](Index i) { return x(i) * x(i) + b(i.back()); });
    check_symbolic_schedule(d.finish());
  }
  Definition d("square");  // one merged axis
  Tensor x = d.input("x", dtype::f32, {n, 24});
  d.result("y", dtype::f32, {n, 24}, [&](Index i) { return x(i) * x(i); });
  check_symbolic_schedule(d.finish(), {}, {}, {}, {1, 2, 33, 700});
}

TEST_CASE("softmax of a symbolic number of rows of symbolic length") {
  check_symbolic_schedule(softmax({n}, 37));
  check_symbolic_schedule(softmax({3}, s));
  check_symbolic_schedule(softmax({n, 2}, s));
}

TEST_CASE("reductions over symbolic axes, with neighbouring results and rows as lanes") {
  Definition columns("columns");
  Tensor x = columns.input("x", dtype::f32, {n, 20});
  columns.reduce_result("y", dtype::f32, {20}, sum_of(dtype::f32), {n},
                        [&](Index i, Index k) { return x(k[0], i[0]); });
  check_symbolic_schedule(columns.finish());

  Definition many("many");
  Tensor z = many.input("z", dtype::f32, {count, s});
  many.reduce_result("y", dtype::f32, {s}, sum_of(dtype::f32), {count},
                     [&](Index i, Index k) { return z(k[0], i[0]); });
  check_symbolic_schedule(many.finish());

  Definition pool("pool");  // global average pooling
  Tensor image = pool.input("x", dtype::f32, {n, 6, s, s});
  Tensor sum = pool.reduce("sum", {n, 6}, sum_of(dtype::f32), {s, s},
                           [&](Index i, Index k) { return image(i[0], i[1], k[0], k[1]); });
  pool.result("y", dtype::f32, {n, 6}, [&](Index i) { return sum(i) / cast(dtype::f32, Expr(s * s)); });
  check_symbolic_schedule(pool.finish());
}

TEST_CASE("transpositions, predicated reads, integers and concatenation of symbolic sizes") {
  Definition t("transpose");
  Tensor x = t.input("x", dtype::f32, {n, 5, s});
  t.result("y", dtype::f32, {s, n, 5}, [&](Index i) { return x(i[1], i[2], i[0]); });
  check_symbolic_schedule(t.finish());

  Definition p("pad");
  Tensor a = p.input("a", dtype::i32, {count, s});
  p.result("y", dtype::i32, {count + Dim(2), s + Dim(3)}, [&](Index i) {
    return a.at_or({i[0] - Expr(1), i[1] - Expr(2)}, literal(dtype::i32, int64_t{7}));
  });
  check_symbolic_schedule(p.finish());

  Definition c("concat");
  Tensor b = c.input("b", dtype::u8, {2, n}), e = c.input("e", dtype::u8, {2, s});
  Tensor y = c.declare_result("y", dtype::u8, {2, n + s});
  c.compute_box(y, {0, 0}, {2, n}, [&](Index i) { return b(i); });
  c.compute_box(y, {0, n}, {2, s}, [&](Index i) { return e(i); });
  check_symbolic_schedule(c.finish());
}

TEST_CASE("rows of symbolic size that repeat") {
  for (const Dim& repeated : {Dim(2) * s, Dim(5) * s, n * s, Dim(2) * s + Dim(3)}) {
    Definition d("repeated");
    Tensor x = d.input("x", dtype::f32, {3, s});
    d.result("y", dtype::f32, {4, repeated},
             [&](Index i) { return x(floor_mod(i[0], Expr(3)), floor_mod(i[1], Expr(s))); });
    const TensorFunction f = d.finish();
    check_symbolic_schedule(f);
    const std::string text = print(schedule({f, {false}, {{}, {}}, {avx2}}).variants[0]);
    CAPTURE(text);
    CHECK(text.find("i1, s)") == std::string::npos);  // no lane computes a remainder
  }
}

TEST_CASE("arithmetic on rows of symbolic size that repeat") {
  Definition d("repeated");
  Tensor x = d.input("x", dtype::f32, {s}), y = d.input("y", dtype::f32, {4, Dim(2) * s});
  d.result("z", dtype::f32, {4, Dim(2) * s}, [&](Index i) { return x(floor_mod(i[1], Expr(s))) * y(i); });
  const TensorFunction f = d.finish();
  check_symbolic_schedule(f);
  const std::string text = print(schedule({f, {false, false}, {{}, {}, {}}, {avx2}}).variants[0]);
  CAPTURE(text);
  CHECK(text.find("i1, s)") == std::string::npos);  // no lane computes a remainder
}

TEST_CASE("operands of symbolic size that may be broadcast along the vectors") {
  auto function = [](const std::vector<Dim>& sizes, const Dim& result) {
    Definition d("broadcast");
    std::vector<Tensor> operands;
    for (size_t k = 0; k < sizes.size(); ++k)
      operands.push_back(d.input("x" + std::to_string(k), dtype::f32, {2, sizes[k]}));
    d.result("y", dtype::f32, {2, result}, [&](Index i) {
      Expr sum = literal(dtype::f32, 1.0);
      for (size_t k = 0; k < sizes.size(); ++k) sum = sum + operands[k](i[0], min(i[1], Expr(sizes[k] - Dim(1))));
      return sum;
    });
    return d.finish();
  };
  const Dim k = Dim::symbol({"k", 1}), l = Dim::symbol({"l", 1}), m = Dim::symbol({"m", 1});
  const std::vector<std::vector<Dim>> lists = {{n}, {n, s}, {n, s, k}, {n, s, k, l, m}, {n, n + Dim(1)}};
  for (const std::vector<Dim>& sizes : lists) {
    Dim largest = 1;
    for (const Dim& d : sizes) largest = max(largest, d);
    for (const Dim& result : {largest, Dim(33)})
      check_symbolic_schedule(function(sizes, result), {}, {}, {}, {1, 33, 7, 1, 40});
  }
  const TensorFunction f = function({n, s}, max(n, s));
  const std::string text = print(schedule({f, {false, false}, std::vector<Layout>(3), {avx2}}).variants[0]);
  CAPTURE(text);
  CHECK(text.find("if max(n, s) <= n and max(n, s) <= s {") != std::string::npos);
  CHECK(text.find("if n <= 1 and max(n, s) <= s {") != std::string::npos);
}

TEST_CASE("no predicate is left in the kernel of a chain of symbolic functions") {
  Definition d("chain");
  Tensor x = d.input("x", dtype::f32, {n, s}), b = d.input("b", dtype::f32, {s});
  d.result("y", dtype::f32, {n, s}, [&](Index i) { return x(i) + b(i[1]); });
  ScheduledFunction scheduled = schedule({d.finish(), {false, false}, {{}, {}, {}}, {avx2}});
  CHECK(print(scheduled.variants[0]) ==
        R"(kernel @chain<n in 1.., s in 1..>(read x: f32[n, s], read b: f32[s], write y: f32[n, s]) {
  parallel i0 in n {
    parallel vector.1 in floordiv(s, 8) {
      vector i1 in 8 {
        y[i0, 8 * vector.1 + i1] = x[i0, 8 * vector.1 + i1] + b[8 * vector.1 + i1]
      }
    }
    if 2 * floordiv(s, 8) < floordiv(s, 4) {
      vector i1 in 4 {
        y[i0, 8 * floordiv(s, 8) + i1] = x[i0, 8 * floordiv(s, 8) + i1] + b[8 * floordiv(s, 8) + i1]
      }
    }
    if 2 * floordiv(s, 4) < floordiv(s, 2) {
      vector i1 in 2 {
        y[i0, 4 * floordiv(s, 4) + i1] = x[i0, 4 * floordiv(s, 4) + i1] + b[4 * floordiv(s, 4) + i1]
      }
    }
    if 2 * floordiv(s, 2) < s {
      y[i0, 2 * floordiv(s, 2)] = x[i0, 2 * floordiv(s, 2)] + b[2 * floordiv(s, 2)]
    }
  }
}
)");
}

namespace {

// The function with a batch of n in place of 1.
TensorFunction batched(TensorFunction f) {
  const Dim batch = Dim::symbol({"n", 0});
  std::map<Buffer, Buffer> buffers;
  auto with_batch = [&](const Buffer& b) {
    if (b->rank() < 4 || b->shape[0] != Dim(1)) return b;
    Buffer& whole = buffers[b];
    if (whole) return whole;
    Shape shape = b->shape;
    shape[0] = batch;
    return whole = make_buffer(b->name, b->type, shape);
  };
  for (Buffer& b : f.params) b = with_batch(b);
  for (Buffer& b : f.results) b = with_batch(b);
  for (Stage& stage : f.stages) {
    for (Buffer& b : stage.results) b = with_batch(b);
    stage.axes[0].extent = batch;
    for (Expr& v : stage.values) v = rewrite_accesses(v, [&](Buffer& b, std::vector<Expr>&) { b = with_batch(b); });
  }
  return f;
}

// The layouts of the function for a batch of 1, with a batch of n.
std::vector<Layout> batched(std::vector<Layout> layouts) {
  for (Layout& layout : layouts)
    if (!layout.is_dense()) layout.parts[0].extent = Dim::symbol({"n", 0});
  return layouts;
}

}  // namespace

TEST_CASE("a batch of convolutions has the schedule of one image: Winograd, panels, halos") {
  for (const Conv& shape :
       {Conv{.c = 32, .h = 14, .w = 14}, Conv{.k = 1, .pad = 0}, Conv{.c = 3, .k = 5, .stride = 2}}) {
    TensorFunction one = convolution(shape), many = batched(one);
    std::vector<bool> constant = weights_constant(one);
    std::vector<Layout> layouts = halo_layouts(one, constant, {});
    CHECK(wanted_halo(many, 0, constant, {}, avx512).size() == wanted_halo(one, 0, constant, {}, avx512).size());
    check_symbolic_schedule(many, constant, batched(layouts), {}, {0, 1, 2, 5});
    Kernel of_one = schedule({one, constant, layouts, {avx512}}).variants[0];
    Kernel of_many = schedule({many, constant, batched(layouts), {avx512}}).variants[0];
    REQUIRE(of_one.params.size() == of_many.params.size());
    for (size_t k = 0; k < of_one.params.size(); ++k) {
      Shape slice = of_one.params[k].buffer->shape, whole = of_many.params[k].buffer->shape;
      CHECK(of_one.params[k].buffer->name == of_many.params[k].buffer->name);
      CHECK((whole == slice || Shape(whole.begin() + 1, whole.end()) == slice));
    }
  }
}

TEST_CASE("a batch of depthwise convolutions with epilogues, on threads too") {
  for (DepthwiseEpilogue epilogue : {DepthwiseEpilogue::nothing, DepthwiseEpilogue::residual})
    for (int threads : {1, 4}) {
      TensorFunction one = depthwise({}, epilogue), many = batched(one);
      std::vector<Layout> layouts(one.params.size() + 1);
      layouts[0] = channels16(one, 0), layouts[3] = layouts[4] = channels16(one, 4);
      check_symbolic_schedule(many, weights_constant(one), batched(layouts), {.threads = threads}, {0, 1, 3, 9});
    }
}

TEST_CASE("operands of a function of slices have the batch as leading axis or do not depend on it") {
  auto slices = find_slices(batched(convolution({})));
  REQUIRE(slices);
  CHECK(slices->sliced == std::vector<bool>{true, false, false, true, true});
  CHECK(slices->count == Dim::symbol({"n", 0}));
  CHECK(print(slices->slice) == print(convolution({})));

  Definition d("other");  // reads the batch backwards
  Tensor x = d.input("x", dtype::f32, {n, 4});
  d.result("y", dtype::f32, {n, 4}, [&](Index i) { return x(Expr(n) - Expr(1) - i[0], i[1]); });
  CHECK_FALSE(find_slices(d.finish()));

  Definition counts("counts");  // its value depends on the batch
  Tensor z = counts.input("z", dtype::f32, {n, 4});
  counts.result("y", dtype::f32, {n, 4}, [&](Index i) { return z(i) + cast(dtype::f32, i[0]); });
  CHECK_FALSE(find_slices(counts.finish()));

  Definition diagonal("diagonal");  // a second index depends on the batch
  Tensor w = diagonal.input("w", dtype::f32, {n, 8, 4});
  diagonal.result("y", dtype::f32, {n, 4}, [&](Index i) { return w(i[0], i[0], i[1]); });
  CHECK_FALSE(find_slices(diagonal.finish()));

  Definition last("last");  // the batch is the last index only
  Tensor v = last.input("v", dtype::f32, {4, n});
  last.result("y", dtype::f32, {n, 4}, [&](Index i) { return v(i[1], i[0]); });
  CHECK_FALSE(find_slices(last.finish()));
}

TEST_CASE("a reduction over the pixels of an image is one over a row, with several accumulators") {
  const Dim h = Dim::symbol({"h", 1}), w = Dim::symbol({"w", 1});
  auto deviations = [](const Shape& image) {
    Definition d("deviations");
    Tensor x = d.input("x", dtype::f32, image);
    Tensor total = d.reduce("total", {image[0]}, sum_of(dtype::f32), {image[1], image[2]},
                            [&](Index i, Index r) { return x(i[0], r[0], r[1]); });
    d.result("y", dtype::f32, image, [&](Index i) { return x(i) - total(i[0]); });
    return d.finish();
  };
  const TensorFunction f = deviations({n, h, w});
  const std::string text = print(schedule({f, {false, false}, std::vector<Layout>(2), {avx512}}).variants[0]);
  CAPTURE(text);
  CHECK(text.find("read x: f32[n, h * w]") != std::string::npos);
  CHECK(text.find("alloc reg partial: f32[4, 16]") != std::string::npos);
  check_symbolic_schedule(f, {}, {}, {}, {1, 2, 3, 5, 9, 17});
  check_schedule(deviations({3, 7, 7}), {false});
  check_schedule(deviations({3, 16, 24}), {false});
}

TEST_CASE("a flattened batch is a view") {
  Definition d("flatten");
  Tensor x = d.input("x", dtype::f32, {n, 6, 4});
  d.result("y", dtype::f32, {n, 24},
           [&](Index i) { return x(i[0], floor_div(i[1], Expr(4)), floor_mod(i[1], Expr(4))); });
  CHECK(is_view(d.finish()));
}

TEST_CASE("products of a symbolic number of rows, with constant and variable weights") {
  const std::vector<int64_t> sizes = {0, 1, 2, 3, 6, 7, 16, 33, 64, 91, 149};
  for (bool transposed : {false, true})
    for (const Shape& rows : {Shape{count}, Shape{n, s}}) {
      Definition d("dense");
      auto at = [](Index i, const Expr& k) {
        std::vector<Expr> index(i.begin(), i.end() - 1);
        index.push_back(k);
        return index;
      };
      auto shape = [&](int64_t last) {
        Shape all = rows;
        all.push_back(last);
        return all;
      };
      Tensor x = d.input("x", dtype::f32, shape(40)),
             w = d.input("w", dtype::f32, transposed ? Shape{52, 40} : Shape{40, 52});
      Tensor b = d.input("b", dtype::f32, {52}), skip = d.input("skip", dtype::f32, shape(52));
      Tensor sum = d.reduce("sum", shape(52), sum_of(dtype::f32), {40}, [&](Index i, Index k) {
        return x(at(i, k[0])) * (transposed ? w(i.back(), k[0]) : w(k[0], i.back()));
      });
      d.result("y", dtype::f32, shape(52), [&](Index i) { return sum(i) + b(i.back()) + skip(i); });
      TensorFunction f = d.finish();
      for (bool constant : {true, false})
        check_symbolic_schedule(f, {false, constant, constant, false}, {}, {.threads = constant ? 1 : 4}, sizes);
    }
}

TEST_CASE("the blocks of rows of a product share its packed weights") {
  Definition d("dense");
  Tensor x = d.input("x", dtype::f32, {n, 8}), w = d.input("w", dtype::f32, {32, 8});
  d.reduce_result("y", dtype::f32, {n, 32}, sum_of(dtype::f32), {8},
                  [&](Index i, Index k) { return x(i[0], k[0]) * w(i[1], k[0]); });
  Kernel kernel = schedule({d.finish(), {false, true}, {{}, {}, {}}, {avx512}}).variants[0];
  std::string text = print(kernel);
  CHECK(text.starts_with(
      "kernel @dense<n in 1..>(read x: f32[n, 8], read panels: f32[1, 8, 32] align 64, write y: f32[n, 32]) {"));
  for (const char* loop : {" in floordiv(n, 64) {", " in floordiv(n, 16) - 4 * floordiv(n, 64) {",
                           " in floordiv(n, 4) - 4 * floordiv(n, 16) {", " in floordiv(n - 4 * floordiv(n, 4), 3) {"})
    CHECK_MESSAGE(text.find(loop) != std::string::npos, text);
}

TEST_CASE("products of a symbolic number of rows with few columns, in blocks of rows") {
  for (int64_t columns : {2, 3})
    for (bool transposed : {false, true}) {
      Definition d("dense");
      Tensor x = d.input("x", dtype::f32, {n, 40});
      Tensor w = d.input("w", dtype::f32, transposed ? Shape{columns, 40} : Shape{40, columns});
      d.reduce_result("y", dtype::f32, {n, columns}, sum_of(dtype::f32), {40},
                      [&](Index i, Index k) { return x(i[0], k[0]) * (transposed ? w(i[1], k[0]) : w(k[0], i[1])); });
      const TensorFunction f = d.finish();
      for (bool constant : {true, false})
        check_symbolic_schedule(f, {false, constant}, {}, {.threads = constant ? 1 : 4}, {0, 1, 2, 3, 6, 17, 64, 91});
      const std::string text = print(schedule({f, {false, true}, {{}, {}, {}}, {avx512}}).variants[0]);
      CHECK_MESSAGE(text.find("in floordiv(n, 64) {") != std::string::npos, text);
    }
}

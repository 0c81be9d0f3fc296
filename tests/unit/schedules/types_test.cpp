// Every schedule in the element types of 8 and 16 bits: sums in their compute type, results rounded or clamped back.
#include <doctest/doctest.h>

#include <array>

#include "harness.h"
#include "tensor/builder.h"
#include "tensor/layout.h"
#include "tensor/schedules/line_buffer.h"
#include "tensor/statements.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

constexpr DType narrow_types[] = {dtype::i8, dtype::u8, dtype::f16, dtype::bf16};

// The type of sums of products of `type`.
DType accumulator(DType type) { return is_float(type) ? compute_type(type) : dtype::i32; }

// Zero, as a load of `type` gives it.
Expr zero(DType type) { return is_float(type) ? literal(compute_type(type), 0.0) : literal(type, int64_t{0}); }

// A sum as an element of `type`: rounded for floats, scaled, rounded and clamped for integers, as quantized networks
// do.
Expr narrowed(DType type, const Expr& sum) {
  if (is_float(type)) return cast(type, sum);
  Expr scaled = round_even(cast(dtype::f32, sum) * literal(dtype::f32, 1.0 / 1024));
  auto bound = [&](const Expr& e) { return cast(dtype::f32, e); };
  return cast(type, min(bound(highest(type)), max(bound(lowest(type)), scaled)));
}

// A convolution with c, o, k, stride, pad and groups of `p`, weights of `weights` (null: `type`), and a bias of the
// accumulator's type.
TensorFunction convolution_in(DType type, const Conv& p, bool keep_sums, std::optional<DType> weights = std::nullopt) {
  const DType sums = accumulator(type);
  Definition d("conv");
  Tensor x = d.input("x", type, {p.n, p.c, p.h, p.w}),
         w = d.input("w", weights.value_or(type), {p.o, p.c / p.groups, p.k, p.k});
  Tensor bias = d.input("b", sums, {p.o});
  Tensor y = convolution_sums(d, x, w, p, sums);
  d.result("y", keep_sums ? sums : type, y.shape(), [&](Index i) {
    Expr sum = y(i) + bias(i[1]);
    return keep_sums ? sum : narrowed(type, sum);
  });
  return d.finish();
}

void check_conv(DType type, const Conv& p) {
  for (bool keep_sums : {false, true}) {
    TensorFunction f = convolution_in(type, p, keep_sums);
    for (const std::vector<bool>& constant : {std::vector{false, true, true}, std::vector{false, false, false}}) {
      check_schedule(f, constant);
      check_schedule(f, constant, {channels16(f, 0), {}, {}, channels16(f, 3)});
    }
    check_schedule(f, {false, true, true}, halo_layouts(f, {false, true, true}, {}));
  }
}

// y[m, n] = x[m, k] times the transposed w[n, k]; `batch`, if any, has the leading axes of all three.
TensorFunction product_in(DType type, const Shape& batch, const Dim& m, const Dim& k, const Dim& n) {
  const DType sums = accumulator(type);
  auto with_batch = [&](Shape shape) {
    shape.insert(shape.begin(), batch.begin(), batch.end());
    return shape;
  };
  auto at = [&](Index i, std::vector<Expr> last) {
    last.insert(last.begin(), i.begin(), i.begin() + static_cast<std::ptrdiff_t>(batch.size()));
    return last;
  };
  const size_t row = batch.size(), column = row + 1;
  Definition d("product");
  Tensor a = d.input("a", type, with_batch({m, k})), b = d.input("b", type, with_batch({n, k}));
  Tensor y = d.reduce("p", with_batch({m, n}), sum_of(sums), {k}, [&](Index i, Index r) {
    return cast(sums, a(at(i, {i[row], r[0]}))) * cast(sums, b(at(i, {i[column], r[0]})));
  });
  d.result("y", type, with_batch({m, n}), [&](Index i) { return narrowed(type, y(i)); });
  return d.finish();
}

// Maxima or sums of 3x3 windows, two pixels apart, of 24 channels.
TensorFunction pooling_in(DType type, const Dim& batch, const Dim& height, const Dim& width, bool sums) {
  const DType inner = sums ? accumulator(type) : compute_type(type);
  const Shape shape = {batch, 24, floor_div(height + Dim(1), 2), floor_div(width + Dim(1), 2)};
  Definition d("pool");
  Tensor x = d.input("x", type, {batch, 24, height, width});
  Tensor y = d.reduce("a", shape, sums ? sum_of(inner) : max_of(inner), {3, 3}, [&](Index i, Index r) {
    Expr outside = sums ? zero(type) : lowest(compute_type(type));
    return cast(inner, x.at_or({i[0], i[1], i[2] * 2 + r[0] - 1, i[3] * 2 + r[1] - 1}, outside));
  });
  d.result("y", type, shape, [&](Index i) { return sums ? narrowed(type, y(i)) : cast(type, y(i)); });
  return d.finish();
}

}  // namespace

TEST_CASE("contraction and Winograd schedules of convolutions in 8- and 16-bit types") {
  for (DType type : narrow_types) {
    CAPTURE(name(type));
    check_conv(type, {.c = 16, .h = 7, .w = 9, .o = 32});
    check_conv(type, {.c = 20, .h = 5, .w = 6, .o = 40, .k = 1, .pad = 0});
    check_conv(type, {.c = 12, .h = 9, .w = 8, .o = 19, .stride = 2, .groups = 1});
    check_conv(type, {.c = 32, .h = 6, .w = 7, .o = 32, .groups = 2});
    check_conv(type, {.c = 24, .h = 8, .w = 7, .o = 24, .groups = 24});
  }
}

TEST_CASE("contraction schedules of matrix products in 8- and 16-bit types") {
  for (DType type : narrow_types) {
    CAPTURE(name(type));
    for (auto [m, k, n] : {std::array{1, 33, 10}, std::array{5, 64, 64}, std::array{9, 7, 50}}) {
      TensorFunction f = product_in(type, {}, m, k, n);
      check_schedule(f, {false, true});
      check_schedule(f, {false, false});
    }
  }
}

TEST_CASE("window reduction schedules of pooling in 8- and 16-bit types") {
  for (DType type : narrow_types) {
    CAPTURE(name(type));
    for (bool sums : {false, true}) {
      TensorFunction f = pooling_in(type, 1, 9, 11, sums);
      check_schedule(f, {false});
      check_schedule(f, {false}, {channels16(f, 0), channels16(f, 1)});
    }
  }
}

TEST_CASE("line-buffer fusion in 8- and 16-bit types") {
  for (DType type : narrow_types) {
    CAPTURE(name(type));
    const Conv wide{.c = 8, .h = 14, .w = 11, .o = 40, .k = 1, .pad = 0};
    const TensorFunction f = chain(convolution_in(type, wide, false),
                                   convolution_in(type, {.c = 40, .h = 14, .w = 11, .o = 40, .groups = 40}, false));
    const std::vector<bool> constant = {false, true, true, true, true};
    std::vector<Layout> layouts(6);
    layouts.back() = channels16(f, 5);
    for (int threads : {1, 2}) {
      REQUIRE(plan_line_buffer(f, layouts, constant, {.threads = threads}, small_cache));
      check_schedule(f, constant, layouts, {.threads = threads}, {avx512, avx2, neon, small_cache});
    }
  }
}

TEST_CASE("schedules of symbolic sizes in 8- and 16-bit types") {
  const Dim n = Dim::symbol({"n", 1}), h = Dim::symbol({"h", 1}), w = Dim::symbol({"w", 1});
  const std::vector<int64_t> sizes = {1, 2, 7, 17, 65};
  for (DType type : narrow_types) {
    CAPTURE(name(type));
    check_symbolic_schedule(product_in(type, {}, n, 20, 40), {false, true}, {}, {}, sizes);  // blocks of rows
    check_symbolic_schedule(product_in(type, {3}, n, 9, n), {}, {}, {}, sizes);
    check_symbolic_schedule(product_in(type, {2}, 5, n, 20), {}, {}, {}, sizes);
    check_symbolic_schedule(pooling_in(type, n, 9, 11, false));  // a loop over slices
    const TensorFunction f = convolution_in(type, {.c = 16, .h = h, .w = w, .o = 24}, false);
    const std::vector<bool> constant = {false, true, true};
    check_symbolic_schedule(f, constant, halo_layouts(f, constant, {}), {}, {1, 2, 7, 15, 29});
    const TensorFunction pool = pooling_in(type, 1, h, w, true);
    check_symbolic_schedule(pool, {}, {channels16(pool, 0), channels16(pool, 1)}, {}, {1, 2, 7, 15, 29});
  }
}

TEST_CASE("a definition by statements (a prefix sum) in 8- and 16-bit types") {
  for (DType type : narrow_types) {
    CAPTURE(name(type));
    const DType inner = compute_type(type);
    Definition d("sums");
    Tensor x = d.input("x", type, {5, 37}), y = d.declare_result("y", type, {5, 37});
    Statements s;
    s.loop("j", 5, [&](Expr j) {
      s.loop(
          "i", 37,
          [&](Expr i) {
            Expr before = y.at_or({j - Expr(1), i}, zero(type));
            s.store(y, {j, i}, cast(inner, before) + cast(inner, x(j, i)));
          },
          LoopKind::vector);
    });
    d.body({y}, s.finish());
    check_schedule(d.finish(), {false});
  }
}

TEST_CASE("elementwise stages and row reductions in 8- and 16-bit types") {
  for (DType type : narrow_types) {
    CAPTURE(name(type));
    DType inner = compute_type(type);
    Definition d("rows");
    Tensor x = d.input("x", type, {5, 37}), scale = d.input("s", type, {37});
    Tensor scaled = d.compute("scaled", inner, {5, 37}, [&](Index i) {
      return cast(inner, x(i)) * cast(inner, scale(i[1]));  // integers wrap
    });
    Tensor largest = d.reduce("m", {5}, max_of(inner), {37}, [&](Index i, Index r) { return scaled(i[0], r[0]); });
    d.result("y", type, {5, 37}, [&](Index i) { return cast(type, scaled(i) - largest(i[0])); });
    TensorFunction f = d.finish();
    check_schedule(f, {false, false});
    check_schedule(f, {false, true});
  }
}

// Whether the kernel multiplies bytes by dot products, or by inner products of words.
static bool multiplies_bytes(const std::string& kernel) {
  return kernel.find("call dot4.u") != std::string::npos || kernel.find("call inner4.u16s16") != std::string::npos;
}

TEST_CASE("dot products of four unsigned and signed bytes equal the definition") {
  using enum ByteProducts;
  const std::vector<Machine> machines = {
      {.vector_bytes = 32, .vector_registers = 16, .byte_products = pairs},
      {.vector_bytes = 64, .vector_registers = 32, .byte_products = dot, .l2_bytes = 8 << 10},
      {.vector_bytes = 64, .vector_registers = 32, .byte_products = none},
      {.vector_bytes = 64, .vector_registers = 32, .byte_products = dot},
  };
  const std::vector<bool> constant = {false, true, true};
  auto check = [&](const Conv& p, bool in_blocks, bool expected) {
    TensorFunction f = convolution_in(dtype::u8, p, false, dtype::i8);
    std::vector<Layout> layouts = in_blocks ? halo_layouts(f, constant, {}) : std::vector<Layout>(4);
    check_schedule(f, constant, layouts, {}, machines);
    ScheduledFunction s = schedule({f, constant, layouts, machines});
    for (size_t k = 0; k < machines.size(); ++k)
      CHECK(multiplies_bytes(print(s.variants[k])) == (expected && machines[k].byte_products != none));
  };
  check({.c = 32, .h = 7, .w = 9, .o = 32}, true, true);
  check({.c = 16, .h = 9, .w = 8, .o = 48, .stride = 2}, true, true);
  check({.c = 64, .h = 6, .w = 7, .o = 64, .groups = 2}, true, true);
  check({.c = 48, .h = 1, .w = 1, .o = 100, .k = 1, .pad = 0}, true, true);
  check({.c = 3, .h = 9, .w = 12, .o = 24, .k = 4, .pad = 0}, false, true);   // along the last axis of taps
  check({.c = 3, .h = 9, .w = 12, .o = 24, .k = 3, .pad = 0}, false, false);  // three taps
  check({.c = 20, .h = 5, .w = 6, .o = 40, .k = 1, .pad = 0}, false, false);  // channels that are not contiguous
  check({.c = 32, .h = 7, .w = 9, .o = 40}, false, true);                     // copied into blocks
  check({.c = 64, .h = 6, .w = 7, .o = 64, .stride = 2, .groups = 2}, false, true);
  check({.c = 48, .h = 4, .w = 5, .o = 32, .k = 7, .pad = 6, .dilation = 2}, true, true);
  // A product of matrices, with sums beyond 16 bits.
  Definition d("dense");
  Tensor a = d.input("a", dtype::u8, {5, 4096}), b = d.input("b", dtype::i8, {48, 4096});
  d.reduce_result("y", dtype::i32, {5, 48}, sum_of(dtype::i32), {4096},
                  [&](Index i, Index r) { return cast(dtype::i32, a(i[0], r[0])) * cast(dtype::i32, b(i[1], r[0])); });
  check_schedule(d.finish(), {false, true}, {}, {}, machines);
}

TEST_CASE("dot products of bytes that are both data pack the second factor") {
  const std::vector<Machine> vectors =
                                 {{.vector_bytes = 32, .vector_registers = 16, .byte_products = ByteProducts::pairs},
                                  {.vector_bytes = 64, .vector_registers = 32, .byte_products = ByteProducts::dot}},
                             scalars = {{.vector_bytes = 4,
                                         .general_registers = 13,
                                         .byte_products = ByteProducts::scalar_pairs,
                                         .prefetch_streams = 0}};
  for (const std::vector<Machine>& machines : {vectors, scalars})
    for (const bool transposed : {false, true})
      for (const int64_t n : {48, 40, 17})
        for (const int64_t k : {4, 36, 64}) {
          Definition d("product");
          Tensor a = d.input("a", dtype::u8, {3, 9, k}),
                 b = d.input("b", dtype::i8, transposed ? Shape{3, n, k} : Shape{3, k, n});
          d.reduce_result("y", dtype::i32, {3, 9, n}, sum_of(dtype::i32), {k}, [&](Index i, Index r) {
            const Expr factor = transposed ? b(i[0], i[2], r[0]) : b(i[0], r[0], i[2]);
            return cast(dtype::i32, a(i[0], i[1], r[0])) * cast(dtype::i32, factor);
          });
          const TensorFunction f = d.finish();
          check_schedule(f, {false, false}, {}, {}, machines);
          for (const Kernel& kernel : schedule({f, {false, false}, std::vector<Layout>(3), machines}).variants) {
            const std::string text = print(kernel);
            CHECK_MESSAGE(multiplies_bytes(text), text);
            CHECK_MESSAGE(text.find("scratch panels: i8[3") != std::string::npos, text);
          }
        }
}

TEST_CASE("inner products of widened bytes equal the definition") {
  // Small caches: ranges of K and several of them.
  const std::vector<Machine> machines = {
      {.vector_bytes = 16, .vector_registers = 16, .byte_products = ByteProducts::pairs, .l1_bytes = 2 << 10},
      {.vector_bytes = 32, .vector_registers = 16, .byte_products = ByteProducts::pairs},
      {.vector_bytes = 64, .vector_registers = 32, .byte_products = ByteProducts::pairs, .l1_bytes = 8 << 10},
      {.vector_bytes = 64, .vector_registers = 32, .byte_products = ByteProducts::dot}};
  auto check = [&](const TensorFunction& f, const std::vector<bool>& constant, const std::vector<Layout>& layouts,
                   bool expected, const char* scratch, bool has_neighbours = true) {
    check_schedule(f, constant, layouts, {}, machines);
    const ScheduledFunction s = schedule({f, constant, layouts, machines});
    for (size_t k = 0; k < machines.size(); ++k) {
      const std::string text = print(s.variants[k]);
      const bool has_words = machines[k].byte_products == ByteProducts::pairs;
      CHECK_MESSAGE((text.find("call inner4.u16s16") != std::string::npos) == (expected && has_words), text);
      CHECK((text.find("call dot4.u") != std::string::npos) == !(expected && has_words));
      for (const char* call : {"call widen.s8.x", "call pairs.u16.x4(", "call pairs.s16.x"})
        CHECK_MESSAGE((text.find(call) != std::string::npos) == (expected && has_words), call);
      CHECK((text.find("call widen.u8.x16.global(") != std::string::npos) == (expected && has_words && has_neighbours));
    }
    CHECK_MESSAGE(print(s.variants[0]).find(scratch) != std::string::npos, print(s.variants[0]));
  };
  auto convolution = [&](const Conv& p, bool expected = true, bool in_blocks = true, const char* scratch = "") {
    CAPTURE(p.c);
    CAPTURE(p.o);
    CAPTURE(p.k);
    const TensorFunction f = convolution_in(dtype::u8, p, false, dtype::i8);
    const std::vector<bool> constant = {false, true, true};
    check(f, constant, in_blocks ? halo_layouts(f, constant, {}) : std::vector<Layout>(4), expected, scratch,
          in_blocks);
  };
  convolution({.c = 32, .h = 7, .w = 9, .o = 32});
  convolution({.c = 64, .h = 20, .w = 17, .o = 40});  // more than one block of pixels
  convolution({.c = 16, .h = 9, .w = 8, .o = 48, .stride = 2});
  convolution({.n = 2, .c = 48, .h = 4, .w = 5, .o = 100, .k = 1, .pad = 0});
  const Conv strided = {.c = 32, .h = 9, .w = 9, .o = 1024, .k = 1, .stride = 2, .pad = 0};
  convolution(strided, true, true, "scratch data_words: u16[1, 2, 5, 5, 2, 8]");  // instead of a copy of the pixels
  const TensorFunction f = convolution_in(dtype::u8, strided, false, dtype::i8);
  const std::vector<bool> weights = {false, true, true};
  const auto kernel_of = [&](const std::vector<Machine>& m) {
    return print(schedule({f, weights, halo_layouts(f, weights, {}), m}).variants[0]);
  };
  CHECK(kernel_of({machines[1]}).find("scratch pixels") == std::string::npos);
  CHECK(kernel_of({machines[1], machines[3]}).find("scratch pixels") != std::string::npos);
  convolution({.c = 32, .h = 7, .w = 9, .o = 40}, true, false,
              "scratch data_words: u16[1, 2, 9, 11, 2, 8]");  // a dense image, with its padding
  convolution({.c = 32, .h = 7, .w = 9, .o = 16}, false);     // few channels
  convolution({.c = 32, .h = 3, .w = 5, .o = 32}, false);     // few pixels
  convolution({.c = 64, .h = 6, .w = 7, .o = 64, .groups = 2}, false);
  convolution({.c = 24, .h = 7, .w = 9, .o = 32}, false);  // channels that do not fill blocks
  convolution({.c = 48, .h = 4, .w = 5, .o = 32, .k = 7, .pad = 6, .dilation = 2}, false);  // most taps read padding

  // Matrices, with sums beyond 16 bits, whose weights may be data, too.
  for (const bool constant_weights : {true, false}) {
    Definition d("dense");
    Tensor a = d.input("a", dtype::u8, {19, 1040}), b = d.input("b", dtype::i8, {48, 1040});
    d.reduce_result("y", dtype::i32, {19, 48}, sum_of(dtype::i32), {1040}, [&](Index i, Index r) {
      return cast(dtype::i32, a(i[0], r[0])) * cast(dtype::i32, b(i[1], r[0]));
    });
    check(d.finish(), {false, constant_weights}, std::vector<Layout>(3), true, "scratch row_products: i32[19]");
  }
  Definition d("batched");
  Tensor a = d.input("a", dtype::u8, {3, 17, 64}), b = d.input("b", dtype::i8, {3, 64, 40});
  d.reduce_result("y", dtype::i32, {3, 17, 40}, sum_of(dtype::i32), {64}, [&](Index i, Index r) {
    return cast(dtype::i32, a(i[0], i[1], r[0])) * cast(dtype::i32, b(i[0], r[0], i[2]));
  });
  check(d.finish(), {false, false}, std::vector<Layout>(3), true, "scratch row_products: i32[3, 17]");
}

TEST_CASE("dot products of four signed bytes are for signed data only") {
  const std::vector<Machine> machines = {
      {.vector_bytes = 16, .vector_registers = 32, .byte_products = ByteProducts::signed_pairs},
      {.vector_bytes = 16, .vector_registers = 32, .byte_products = ByteProducts::signed_dot}};
  const std::vector<bool> constant = {false, true, true};
  for (DType data : {dtype::i8, dtype::u8}) {
    const TensorFunction f = convolution_in(data, {.c = 32, .h = 7, .w = 9, .o = 32}, false, dtype::i8);
    const std::vector<Layout> layouts = halo_layouts(f, constant, {});
    check_schedule(f, constant, layouts, {}, machines);
    for (const Kernel& kernel : schedule({f, constant, layouts, machines}).variants)
      CHECK((print(kernel).find("call dot4.s8s8.x4") != std::string::npos) == (data == dtype::i8));
  }
}

TEST_CASE("dot products of bytes in images of symbolic height and width") {
  const Dim h = Dim::symbol({"h", 1}), w = Dim::symbol({"w", 1});
  const std::vector<Machine> machines = {
      {.vector_bytes = 32, .vector_registers = 16, .byte_products = ByteProducts::pairs},
      {.vector_bytes = 64, .vector_registers = 32, .byte_products = ByteProducts::dot}};
  const std::vector<bool> constant = {false, true, true};
  auto check = [&](const Conv& p, bool in_blocks, const char* scratch) {
    TensorFunction f = convolution_in(dtype::u8, p, false, dtype::i8);
    std::vector<Layout> layouts = in_blocks ? halo_layouts(f, constant, {}) : std::vector<Layout>(4);
    check_symbolic_schedule(f, constant, layouts, {}, {1, 2, 7, 15}, machines);
    for (const Kernel& kernel : schedule({f, constant, layouts, machines}).variants) {
      const std::string text = print(kernel);
      CHECK_MESSAGE(text.find("call dot4.u") != std::string::npos, text);
      CHECK_MESSAGE(text.find(scratch) != std::string::npos, text);
    }
  };
  check({.c = 32, .h = h, .w = w, .o = 32}, true, "");
  check({.c = 16, .h = h, .w = 8, .o = 48, .stride = 2}, true, "");
  check({.c = 3, .h = h, .w = w, .o = 24, .k = 4}, false, "scratch padded: u8[1, 3, h + 2, w + 2]");
  check({.c = 32, .h = h, .w = w, .o = 40}, false, "scratch blocks: u8[1, 2, h + 2, w + 2, 16]");
}

TEST_CASE("dot products of bytes without vectors read channels that are stored last") {
  const std::vector<Machine> machines = {
      {.vector_bytes = 4, .general_registers = 13, .byte_products = ByteProducts::scalar_pairs, .prefetch_streams = 0}};
  const std::vector<bool> constant = {false, true, true};
  auto check = [&](const Conv& p, bool channels_last, bool expected) {
    TensorFunction f = convolution_in(dtype::u8, p, false, dtype::i8);
    std::vector<Layout> layouts(4);
    if (channels_last) {
      layouts[0] = with_halo(layout_with_last(f.params[0]->shape, 1), f.params[0]->shape,
                             wanted_halo(f, 0, constant, {}, machines[0]));
      layouts[3] = layout_with_last(f.results[0]->shape, 1);
    }
    check_schedule(f, constant, layouts, {}, machines);
    const std::string text = print(schedule({f, constant, layouts, machines}).variants[0]);
    CHECK((text.find("call dot4.u8s8.x1") != std::string::npos) == expected);
    CHECK(text.find("prefetch") == std::string::npos);
  };
  check({.c = 32, .h = 7, .w = 9, .o = 32}, true, true);
  check({.c = 8, .h = 9, .w = 8, .o = 19, .stride = 2}, true, true);
  check({.c = 20, .h = 1, .w = 1, .o = 10, .k = 1, .pad = 0}, true, true);
  check({.c = 24, .h = 6, .w = 7, .o = 32, .groups = 2}, true, true);
  check({.c = 6, .h = 6, .w = 7, .o = 19}, true, false);   // six channels
  check({.c = 10, .h = 6, .w = 7, .o = 19}, true, false);  // pairs of channels, but no vector holds them
  check({.c = 3, .h = 9, .w = 12, .o = 24, .k = 4, .pad = 0}, false, true);
}

TEST_CASE("dot products of sixteen bytes read as many channels, other numbers four") {
  const std::vector<Machine> machines = {
      {.vector_bytes = 4, .general_registers = 13, .byte_products = ByteProducts::scalar_dot, .prefetch_streams = 0}};
  const std::vector<bool> constant = {false, true, true};
  auto check = [&](const Conv& p, const std::string& call, bool channels_last = true) {
    TensorFunction f = convolution_in(dtype::i8, p, false, dtype::i8);
    std::vector<Layout> layouts(4);
    if (channels_last)
      layouts[0] = with_halo(layout_with_last(f.params[0]->shape, 1), f.params[0]->shape,
                             wanted_halo(f, 0, constant, {}, machines[0]));
    if (channels_last) layouts[3] = layout_with_last(f.results[0]->shape, 1);
    check_schedule(f, constant, layouts, {}, machines);
    CHECK(print(schedule({f, constant, layouts, machines}).variants[0]).find("call " + call) != std::string::npos);
  };
  check({.c = 32, .h = 7, .w = 9, .o = 32}, "dot16.s8s8.x1");
  check({.c = 16, .h = 1, .w = 1, .o = 10, .k = 1, .pad = 0}, "dot16.s8s8.x1");
  check({.c = 144, .h = 2, .w = 3, .o = 7, .k = 1, .pad = 0}, "dot16.s8s8.x1");
  check({.c = 20, .h = 6, .w = 7, .o = 19, .stride = 2}, "dot4.s8s8.x1");
  check({.c = 48, .h = 6, .w = 7, .o = 32}, "dot16.s8s8.x1", false);  // a copy in blocks of sixteen channels
}

TEST_CASE("where memory is scarce, padded copies of bytes hold the rows that one row of the result reads") {
  const Machine scarce{.vector_bytes = 4, .memory_is_scarce = true};
  const std::vector<bool> constant = {false, true, true};
  auto check = [&](DType type, const Conv& p, const std::string& copy) {
    const TensorFunction f = convolution_in(type, p, false, type);
    check_schedule(f, constant, {}, {}, {scarce});
    const std::vector<Layout> dense(f.params.size() + 1);
    const std::string text = print(schedule({f, constant, dense, {scarce}}).variants[0]);
    CHECK_MESSAGE(text.find(copy) != std::string::npos, text.substr(0, text.find('\n')));
  };
  check(dtype::u8, {.c = 5, .h = 7, .w = 9, .o = 8}, "scratch rows: u8[1, 5, 3, 11]");
  check(dtype::i8, {.c = 5, .h = 7, .w = 9, .o = 8, .k = 5, .stride = 2, .pad = 2}, "scratch rows: i8[1, 5, 5, 13]");
  check(dtype::u8, {.n = 2, .c = 5, .h = 7, .w = 9, .o = 8}, "scratch padded: u8[2, 5, 9, 11]");  // several images
  check(dtype::i16, {.c = 5, .h = 7, .w = 9, .o = 8}, "scratch padded: i16[1, 5, 9, 11]");
}

// Products with symbolic M, N and K, such as those of attention: their kernels compute the definition at all sizes.
#include <doctest/doctest.h>

#include "harness.h"
#include "tensor/analysis.h"
#include "tensor/builder.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

const Dim n = Dim::symbol({"n", 1}), s = Dim::symbol({"s", 0});
const std::vector<int64_t> sizes = {0, 1, 2, 7, 16, 17, 33, 64, 65};

// x[batch, rows, k] times w[batch, k, columns].
TensorFunction product(const Dim& batch, const Dim& rows, const Dim& k, const Dim& columns) {
  Definition d("product");
  Tensor x = d.input("x", dtype::f32, {batch, rows, k}), w = d.input("w", dtype::f32, {batch, k, columns});
  d.reduce_result("y", dtype::f32, {batch, rows, columns}, sum_of(dtype::f32), {k},
                  [&](Index i, Index r) { return x(i[0], i[1], r[0]) * w(i[0], r[0], i[2]); });
  return d.finish();
}

// x[batch, rows, k] times w[batch, columns, k] transposed, plus a bias.
TensorFunction transposed_product(const Dim& batch, const Dim& rows, const Dim& k, const Dim& columns) {
  Definition d("product");
  Tensor x = d.input("x", dtype::f32, {batch, rows, k}), w = d.input("w", dtype::f32, {batch, columns, k});
  Tensor bias = d.input("bias", dtype::f32, {columns});
  Tensor sum = d.reduce("sum", {batch, rows, columns}, sum_of(dtype::f32), {k},
                        [&](Index i, Index r) { return x(i[0], i[1], r[0]) * w(i[0], i[2], r[0]); });
  d.result("y", dtype::f32, {batch, rows, columns}, [&](Index i) { return sum(i) + bias(i[2]); });
  return d.finish();
}

}  // namespace

TEST_CASE("products with weights whose columns are stored as rows") {
  const TensorFunction functions[] = {transposed_product(2, s, 12, s), transposed_product(n, s, s, 40),
                                      transposed_product(1, n, s, s), transposed_product(2, 3, s, s),
                                      transposed_product(2, 5, 19, s)};
  for (const TensorFunction& f : functions) check_symbolic_schedule(f, {}, {}, {}, sizes);
  check_symbolic_schedule(functions[0], {}, {}, {.threads = 4}, sizes);

  Definition d("two_reduced_axes");
  Tensor x = d.input("x", dtype::f32, {n, 3, 10}), w = d.input("w", dtype::f32, {3, s, 10});
  d.reduce_result("y", dtype::f32, {n, s}, sum_of(dtype::f32), {3, 10},
                  [&](Index i, Index r) { return x(i[0], r[0], r[1]) * w(r[0], i[1], r[1]); });
  check_symbolic_schedule(d.finish(), {}, {}, {}, sizes);
}

TEST_CASE("weights whose columns are stored as rows are packed, but for a few rows of data") {
  auto text = [](const Dim& rows) {
    const TensorFunction f = transposed_product(2, rows, 12, s);
    return print(schedule({f, {false, false, false}, {{}, {}, {}, {}}, {avx512}}).variants[0]);
  };
  CHECK(text(4).find("panels[") == std::string::npos);
  CHECK(text(5).find("partial") == std::string::npos);
  CHECK(text(s).find("if s <= 4 {") != std::string::npos);
}

TEST_CASE("products with symbolic M, N or K") {
  const TensorFunction functions[] = {product(2, s, 12, s), product(2, s, s, 40), product(n, s, s, s),
                                      product(2, 5, s, 20), product(3, 7, 9, s)};
  for (const TensorFunction& f : functions) check_symbolic_schedule(f, {}, {}, {}, sizes);
  check_symbolic_schedule(functions[0], {}, {}, {.threads = 4}, sizes);
}

TEST_CASE("products with one column are sums along rows of both factors") {
  for (const TensorFunction& f : {product(1, 9, 64, 1), product(1, 9, s, 1), product(2, s, s, 1), product(n, 5, 40, 1)}) {
    if (symbols_of(f).empty())
      check_schedule(f, {false, false});
    else
      check_symbolic_schedule(f, {}, {}, {}, sizes);
    const std::string text = print(schedule({f, {false, false}, {{}, {}, {}}, {avx512}}).variants[0]);
    CHECK_MESSAGE(text.find("partial") != std::string::npos, text);
  }
}

TEST_CASE("products of attention with a scale and a mask, and with an expensive epilogue") {
  for (bool expensive : {false, true}) {
    Definition d("scores");
    Tensor q = d.input("q", dtype::f32, {n, s, 8}), k = d.input("k", dtype::f32, {n, 8, s});
    Tensor mask = d.input("mask", dtype::f32, {n, s});
    Tensor sum = d.reduce("sum", {n, s, s}, sum_of(dtype::f32), {8},
                          [&](Index i, Index r) { return q(i[0], i[1], r[0]) * k(i[0], r[0], i[2]); });
    d.result("y", dtype::f32, {n, s, s}, [&](Index i) {
      Expr masked = sum(i) * literal(dtype::f32, 0.125) + mask(i[0], i[2]);
      return expensive ? exp(masked) : masked;
    });
    check_symbolic_schedule(d.finish(), {}, {}, {}, sizes);
  }
}

TEST_CASE("no predicate is left in the register tiles of symbolic products") {
  for (const TensorFunction& f : {product(2, s, 12, s), product(2, s, s, 40), product(n, s, s, s)}) {
    const std::string text = print(schedule({f, {false, false}, {{}, {}, {}}, {avx512}}).variants[0]);
    CHECK(text.find("unrolled v in 2") != std::string::npos);
    CHECK(text.find(" else ") == std::string::npos);
    CHECK(text.find(" and ") == std::string::npos);
  }
}

// The kernel for a machine with eight vector registers of eight float32 lanes.
static std::string kernel_for_few_registers(const TensorFunction& f) {
  Machine machine{.vector_bytes = 32, .vector_registers = 8};
  machine.panel_widths[0] = 8;
  return print(schedule({f, {false, false}, {{}, {}, {}}, {machine}}).variants[0]);
}

constexpr const char* kernel_of_p_times_v =
    R"(kernel @product<s>(read x: f32[2, s, s], read w: f32[2, s, 8], write y: f32[2, s, 8]) {
  parallel i0 in 2 {
    parallel vector.1 in floordiv(s, 4) {
      alloc reg acc: f32[4, 1, 8]
      unrolled y.1 in 4 {
        vector lane in 8 {
          acc[y.1, 0, lane] = 0.0
        }
      }
      for r0 in s {
        unrolled y.1 in 4 {
          vector lane in 8 {
            acc[y.1, 0, lane] = fma(x[i0, 4 * vector.1 + y.1, r0], w[i0, r0, lane], acc[y.1, 0, lane])
          }
        }
      }
      unrolled y.1 in 4 {
        vector lane in 8 {
          y[i0, 4 * vector.1 + y.1, lane] = acc[y.1, 0, lane]
        }
      }
    }
    if 2 * floordiv(s, 4) < floordiv(s, 2) {
      alloc reg acc: f32[2, 1, 8]
      unrolled y.1 in 2 {
        vector lane in 8 {
          acc[y.1, 0, lane] = 0.0
        }
      }
      for r0 in s {
        unrolled y.1 in 2 {
          vector lane in 8 {
            acc[y.1, 0, lane] = fma(x[i0, 4 * floordiv(s, 4) + y.1, r0], w[i0, r0, lane], acc[y.1, 0, lane])
          }
        }
      }
      unrolled y.1 in 2 {
        vector lane in 8 {
          y[i0, 4 * floordiv(s, 4) + y.1, lane] = acc[y.1, 0, lane]
        }
      }
    }
    if 2 * floordiv(s, 2) < s {
      alloc reg acc: f32[1, 1, 8]
      vector lane in 8 {
        acc[0, 0, lane] = 0.0
      }
      for r0 in s {
        vector lane in 8 {
          acc[0, 0, lane] = fma(x[i0, 2 * floordiv(s, 2), r0], w[i0, r0, lane], acc[0, 0, lane])
        }
      }
      vector lane in 8 {
        y[i0, 2 * floordiv(s, 2), lane] = acc[0, 0, lane]
      }
    }
  }
}
)";

TEST_CASE("the kernel of p times v: whole tiles of rows, then halves and quarters") {
  CHECK(kernel_for_few_registers(product(2, s, s, 8)) == kernel_of_p_times_v);
}

constexpr const char* kernel_of_q_times_k =
    R"(kernel @product<s>(read x: f32[2, 4, 3], read w: f32[2, 3, s], write y: f32[2, 4, s]) {
  parallel i0 in 2 {
    parallel vector.1 in floordiv(s, 8) {
      alloc reg acc: f32[4, 1, 8]
      unrolled y.1 in 4 {
        vector lane in 8 {
          acc[y.1, 0, lane] = 0.0
        }
      }
      for r0 in 3 {
        unrolled y.1 in 4 {
          vector lane in 8 {
            acc[y.1, 0, lane] = fma(x[i0, y.1, r0], w[i0, r0, 8 * vector.1 + lane], acc[y.1, 0, lane])
          }
        }
      }
      unrolled y.1 in 4 {
        vector lane in 8 {
          y[i0, y.1, 8 * vector.1 + lane] = acc[y.1, 0, lane]
        }
      }
    }
    if 2 * floordiv(s, 8) < floordiv(s, 4) {
      alloc reg acc: f32[4, 1, 4]
      unrolled y.1 in 4 {
        vector lane in 4 {
          acc[y.1, 0, lane] = 0.0
        }
      }
      for r0 in 3 {
        unrolled y.1 in 4 {
          vector lane in 4 {
            acc[y.1, 0, lane] = fma(x[i0, y.1, r0], w[i0, r0, 8 * floordiv(s, 8) + lane], acc[y.1, 0, lane])
          }
        }
      }
      unrolled y.1 in 4 {
        vector lane in 4 {
          y[i0, y.1, 8 * floordiv(s, 8) + lane] = acc[y.1, 0, lane]
        }
      }
    }
    if 2 * floordiv(s, 4) < floordiv(s, 2) {
      alloc reg acc: f32[4, 1, 2]
      unrolled y.1 in 4 {
        vector lane in 2 {
          acc[y.1, 0, lane] = 0.0
        }
      }
      for r0 in 3 {
        unrolled y.1 in 4 {
          vector lane in 2 {
            acc[y.1, 0, lane] = fma(x[i0, y.1, r0], w[i0, r0, 4 * floordiv(s, 4) + lane], acc[y.1, 0, lane])
          }
        }
      }
      unrolled y.1 in 4 {
        vector lane in 2 {
          y[i0, y.1, 4 * floordiv(s, 4) + lane] = acc[y.1, 0, lane]
        }
      }
    }
    if 2 * floordiv(s, 2) < s {
      alloc reg acc: f32[4, 1, 1]
      unrolled y.1 in 4 {
        acc[y.1, 0, 0] = 0.0
      }
      for r0 in 3 {
        unrolled y.1 in 4 {
          acc[y.1, 0, 0] = fma(x[i0, y.1, r0], w[i0, r0, 2 * floordiv(s, 2)], acc[y.1, 0, 0])
        }
      }
      unrolled y.1 in 4 {
        y[i0, y.1, 2 * floordiv(s, 2)] = acc[y.1, 0, 0]
      }
    }
  }
}
)";

TEST_CASE("the kernel of q times k: whole tiles of vectors, then halves and quarters") {
  CHECK(kernel_for_few_registers(product(2, 4, 3, s)) == kernel_of_q_times_k);
}

// The kernel that docs/TENSOR_IR.md shows: it parses, prints the same text and computes what the page says.
#include <doctest/doctest.h>

#include <algorithm>

#include "tensor/evaluate.h"
#include "tensor/parse.h"

using namespace dlcc;
using namespace dlcc::tensor;

TEST_CASE("the kernel in docs/TENSOR_IR.md computes the documented results") {
  std::string text = R"(
kernel @center(read x: f32[4, 8] strides [16, 1], read limit: f32[], write y: f32[4, 8], scratch mean: f32[8] align 64) {
  let rows = 4
  vector v in 8 {
    alloc reg total: f32[]
    total[] = 0.0
    for i in rows {
      total[] = total[] + x[i, v]
    }
    mean[v] = total[] / f32(rows)
  }
  parallel i in 2 {
    prefetch x[2 * i + 2, 0] : l2
    unrolled u in 2 {
      let row = 2 * i + u
      if row < 3 {
        vector v in 8 {
          y[row, v] = fma(mean[v], -1.0, x[row, v])
        }
      } else {
        vector v in 8 {
          require x[row, v] < limit[] : index_out_of_range
          y[row, v] = 0.0
        }
      }
    }
  }
}
)";
  Diagnostics diagnostics;
  auto parsed = parse(text, "TENSOR_IR.md", diagnostics);
  REQUIRE_MESSAGE(parsed, diagnostics.str());
  const Kernel& kernel = parsed->kernels[0];
  CHECK("\n" + print(kernel) == text);

  std::vector<float> x(32), centered(32);
  for (size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(10 * (k / 8) + k % 8);
  for (size_t k = 0; k < 24; ++k) centered[k] = static_cast<float>(10 * (k / 8)) - 15;
  auto run = [&](float limit) {
    Constant image = Constant::of(dtype::f32, {4, 8}, x), bound = Constant::of(dtype::f32, {}, std::vector{limit});
    return evaluate(kernel, std::vector{image, bound});
  };
  EvaluationResult result = run(100);
  CHECK(result.status == Status::ok);
  CHECK(std::ranges::equal(result.results[0].as<float>(), centered));
  CHECK(run(37).status == Status::index_out_of_range);
}

// Lowered programs agree with the definitions of their modules (lowering.h).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "lowering.h"

namespace dlcc::lower {
namespace {

size_t count(const Program& program, Storage storage) {
  return static_cast<size_t>(std::ranges::count(program.values, storage, &Value::storage));
}

}  // namespace

TEST_CASE("views of views add their offsets") {
  Program p = lowered(R"(def @main(%x: Tensor[(6, 4), float32]) {
    let %e = exp(%x);
    let %rows = strided_slice(%e, begin=[2, 0], end=[6, 4]);
    let %row = strided_slice(%rows, begin=[1, 0], end=[2, 4]);
    let %flat = reshape(%row, newshape=[4]);
    (nn.relu(%flat), %rows)
  })");
  CHECK(count(p, Storage::view) >= 1);
}

TEST_CASE("levels share the kernels of functions with few operations") {
  auto variants = [](const char* shape) {
    return lowered(fmt::format("def @main(%x: Tensor[({}), float32]) {{ exp(%x) }}", shape)).kernels.at(0).variants.size();
  };
  REQUIRE(machines.size() > 1);
  CHECK(variants("5, 7") == 1);
  CHECK(variants("50, 7") == machines.size());
  CHECK(variants("n, 7") == machines.size());
  Program sums = lowered("def @main(%x: Tensor[(5), float32]) { cumsum(%x, axis=0) }");  // by statements
  CHECK(sums.kernels.at(0).variants.size() == 1);
}

TEST_CASE("results that are inputs, constants, views or repeated values") {
  lowered(R"(def @main(%x: Tensor[(2, 3), float32]) {
    let %y = tanh(%x);
    (%x, %y, %y, reshape(%y, newshape=[6]), 2.5f, strided_slice(%y, begin=[1, 0], end=[2, 3]))
  })");
}

TEST_CASE("branches read outer values and write their results to one temporary") {
  Program p = lowered(R"(def @main(%x: Tensor[(3, 5), float32], %c: bool) {
    let %outer = exp(%x);
    let %r = if (%c) { let %a = tanh(%outer); (%a, %outer) } else { (%outer, nn.relu(%x)) };
    %r.0 + %r.1 * %outer
  })");
  CHECK(std::ranges::any_of(p.body.steps,
                            [](const Step& s) { return std::holds_alternative<std::shared_ptr<Branch>>(s); }));
}

TEST_CASE("images in channel blocks with halos are read by all kinds of operators") {
  lowered(
      R"(def @main(%x: Tensor[(1, 3, 9, 7), float32], %w: Tensor[(20, 3, 3, 3), float32], %v: Tensor[(24, 20, 3, 3), float32]) {
    let %a = nn.relu(nn.conv2d(%x, %w, padding=[1, 1]));
    let %b = nn.conv2d(%a, %v, strides=[2, 2], padding=[1, 1]);
    let %p = nn.max_pool2d(%a, pool_size=[3, 3], strides=[2, 2], padding=[1, 1]);
    let %t = transpose(%p, axes=[0, 2, 3, 1]);
    (%b, %t, mean(%a, axis=[2, 3]), nn.avg_pool2d(%b, pool_size=[2, 2], padding=[1, 0]))
  })");
}

}  // namespace dlcc::lower

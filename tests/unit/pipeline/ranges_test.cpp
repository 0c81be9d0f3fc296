// Ranges and one-hot vectors whose sizes are known, symbolic or computed from inputs, in all engines.
#include <doctest/doctest.h>

#include "engines.h"

using namespace dlcc;

namespace {

void check_engines(const std::string& text, const std::vector<RandomInput>& inputs) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    CAPTURE(seed);
    CHECK(difference_of_engines(seed, text, inputs) == "");
  }
}

}  // namespace

TEST_CASE("ranges of floats and of integers") {
  check_engines(R"(def @main(%x: Tensor[(4), float32]) {
    %x * arange(0f, 2f, 0.5f, dtype="float32") + cast(arange(1f, -1f, -0.5f, dtype="float64"), dtype="float32")
  })",
                {{dtype::f32, {4}}});
  // The number of elements is computed from inputs.
  check_engines(R"(def @main(%start: float32, %stop: float32, %x: Tensor[(n), float32]) {
    let %up = arange(%start, %stop + 3f, 0.25f, dtype="float32");
    let %down = arange(%stop, %start - 2f, -0.5f, dtype="float32");
    (%up * 2f, sum(%down), concatenate((%x, %up)))
  })",
                {{dtype::f32, {}}, {dtype::f32, {}}, {dtype::f32, {3}}});
  check_engines(R"(def @main(%stop: int32, %step: int32) {
    (arange(0, %stop, abs(%step) + 1, dtype="int32"), sum(arange(%stop, 0, -2, dtype="float32")))
  })",
                {{dtype::i32, {}}, {dtype::i32, {}}});
  // A step of 0 ends the run.
  check_engines("def @main(%step: float32) { arange(0f, 4f, ceil(%step), dtype=\"float32\") }", {{dtype::f32, {}}});
}

TEST_CASE("one-hot vectors of symbolic and computed length") {
  check_engines(R"(def @main(%x: Tensor[(n, 4), float32], %i: Tensor[(3), int64]) {
    let %rows = take(shape_of(%x, dtype="int64"), 0i64);
    let %hot = one_hot(%i, 1f, 0f, %rows);
    (nn.matmul(%hot, %x), one_hot(%i, 2, -1, %rows + 1i64, axis=0))
  })",
                {{dtype::f32, {5, 4}}, {dtype::i64, {3}}});
  check_engines(R"(def @main(%i: Tensor[(n), int64], %depth: int32) {
    dyn.one_hot(%i, True, False, abs(%depth), axis=0)
  })",
                {{dtype::i64, {4}}, {dtype::i32, {}}});
}

TEST_CASE("convolutions and poolings with their channels last") {
  check_engines(R"(def @main(%x: Tensor[(n, 9, 8, 6), float32], %w: Tensor[(3, 3, 3, 8), float32],
                             %b: Tensor[(8), float32]) {
    let %y = nn.conv2d(%x, %w, padding=[1, 1], groups=2, data_layout="NHWC", kernel_layout="HWIO");
    let %z = nn.max_pool2d(nn.relu(nn.bias_add(%y, %b, axis=3)), pool_size=[2, 2], strides=[2, 2], layout="NHWC");
    let %mean = nn.avg_pool2d(%z, pool_size=[2, 2], padding=[1, 1], layout="NHWC", out_layout="NCHW");
    (%z, %mean, nn.global_avg_pool2d(%z, layout="NHWC"))
  })",
                {{dtype::f32, {2, 9, 8, 6}}, {dtype::f32, {3, 3, 3, 8}}, {dtype::f32, {8}}});
}

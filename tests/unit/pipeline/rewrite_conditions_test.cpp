// Programs that resemble those for which a rewrite or a schedule is made, but do not fulfil its conditions: all engines
// give the results of the definitions.
#include <doctest/doctest.h>

#include <string>

#include "engines.h"

using namespace dlcc;

namespace {

void check_engines(const std::string& program, const std::vector<RandomInput>& inputs) {
  for (unsigned seed = 0; seed < 6; ++seed)
    CHECK_MESSAGE(difference_of_engines(seed, "#[version = \"0.0.5\"]\n" + program, inputs) == "", program);
}

}  // namespace

TEST_CASE("the average pooling of an integer convolution rounds once, after the convolution") {
  check_engines(R"(def @main(%x: Tensor[(1, 1, 4, 4), int32]) {
    nn.avg_pool2d(nn.conv2d(%x, full(3, shape=[1, 1, 1, 1], dtype="int32")), pool_size=[2, 2], strides=[2, 2])
  })",
                {{dtype::i32, {1, 1, 4, 4}}});
}

TEST_CASE("an index out of range is a status, also of an element that only a fused reader leaves out") {
  check_engines(R"(def @main(%x: Tensor[(5, 8), float32], %k: Tensor[(4), int64]) {
    strided_slice(take(%x, %k, axis=0, mode="strict"), begin=[0], end=[2], axes=[0]) + 1f
  })",
                {{dtype::f32, {5, 8}}, {dtype::i64, {4}}});
}

TEST_CASE("a reduction whose order matters keeps its order in a window") {
  check_engines(R"(
tensor @window(x: f32[16, 16]) -> (y: f32[14, 14]) {
  y[i < 14, j < 14] = reduce(a < 3, b < 3) { x[i + a, j + b] }
    combine (p: f32), (q: f32) { p * 0.5 + q } identity { 0.0 }
}
def @main(%x: Tensor[(16, 16), float32]) { sum(call_tensor(@window, %x), axis=[1]) }
)",
                {{dtype::f32, {16, 16}}});
}

TEST_CASE("a sum that begins with another number than 0 begins with it once") {
  check_engines(R"(
tensor @row(x: f32[64]) -> (y: f32[]) {
  y[] = reduce(k < 64) { x[k] } combine (p: f32), (q: f32) { p + q } identity { 5.0 }
}
tensor @product(x: f32[16, 64], w: f32[64, 32]) -> (y: f32[16, 32]) {
  y[i < 16, j < 32] = reduce(k < 64) { x[i, k] * w[k, j] } combine (p: f32), (q: f32) { p + q } identity { 5.0 }
}
def @main(%x: Tensor[(64), float32], %m: Tensor[(16, 64), float32], %w: Tensor[(64, 32), float32]) {
  (call_tensor(@row, %x), call_tensor(@product, %m, %w))
}
)",
                {{dtype::f32, {64}}, {dtype::f32, {16, 64}}, {dtype::f32, {64, 32}}});
}

TEST_CASE("a convolution is concatenated with an image of a symbolic number of channels") {
  for (const char* order : {"(%y, %conv)", "(%conv, %y)"})
    check_engines(std::string(R"(def @main(%x: Tensor[(1, 16, 8, 8), float32], %y: Tensor[(1, c, 8, 8), float32]) {
      let %conv = nn.conv2d(%x, full(0.5f, shape=[32, 16, 1, 1], dtype="float32"));
      concatenate()") +
                      order + ", axis=1) }",
                  {{dtype::f32, {1, 16, 8, 8}}, {dtype::f32, {1, 3, 8, 8}}});
}

TEST_CASE("the mean of a row of symbolic length is corrected where the row is long") {
  for (int64_t length : {1, 7, 2048, 2049, 4100})
    check_engines(R"(def @main(%x: Tensor[(2, n), float32], %w: Tensor[(n), float32]) {
      nn.standardize(%x, %w, %w, axis=[1])
    })",
                  {{dtype::f32, {2, length}}, {dtype::f32, {length}}});
}

TEST_CASE("a quantized convolution is quantized again by way of float16") {
  check_engines(R"(def @main(%x: Tensor[(1, 16, 4, 4), uint8]) {
    let %three = cast(3, dtype="uint8");
    let %seven = cast(7, dtype="uint8");
    let %weights = full(cast(2, dtype="int8"), shape=[16, 16, 1, 1], dtype="int8");
    let %conv = nn.conv2d(qnn.dequantize(%x, 0.5f, %three), qnn.dequantize(%weights, 0.25f, cast(0, dtype="int8")));
    let %q = qnn.quantize(%conv, 64f, %seven);
    qnn.quantize(qnn.dequantize(%q, 2f16, %seven), 3f, %three)
  })",
                {{dtype::u8, {1, 16, 4, 4}}});
}

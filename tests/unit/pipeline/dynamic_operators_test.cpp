// Operators of which operands decide sizes of the result, or whose sizes are counted, in all engines.
#include <doctest/doctest.h>

#include "engines.h"

namespace dlcc {
namespace {

void check_engines(const std::string& result, const std::vector<RandomInput>& inputs) {
  std::string params;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const RandomInput& input = inputs[k];
    std::string shape;
    for (const int64_t size : input.shape) shape += std::to_string(size) + ", ";
    params += (k ? ", %" : "%") + std::string(1, static_cast<char>('a' + k)) + ": Tensor[(" + shape + "), " +
              std::string(name(input.type)) + "]";
  }
  const std::string text = "def @main(" + params + ") { " + result + " }";
  CAPTURE(text);
  for (unsigned seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    CHECK(difference_of_engines(seed, text, inputs) == "");
  }
}

}  // namespace

TEST_CASE("argwhere: the rows are counted") {
  check_engines("argwhere(%a)", {{dtype::boolean, {7}}});
  check_engines("argwhere(%a)", {{dtype::i32, {3, 1, 5}}});
  check_engines("argwhere(%a)", {{dtype::boolean, {}}});
  check_engines("argwhere(%a)", {{dtype::f32, {0, 3}}});
  check_engines("let %p = argwhere(%a > 0f); (%p, sum(cast(%p, dtype=\"float32\"), axis=[0]))", {{dtype::f32, {6, 4}}});
}

TEST_CASE("images of sizes that operands decide") {
  const RandomInput image{dtype::f32, {1, 2, 4, 5}}, size{dtype::i64, {2}}, scale{dtype::f32, {}};
  check_engines("dyn.image.resize2d(%a, %b + 1i64, zeros(shape=[4], dtype=\"float32\"))", {image, size});
  check_engines("nn.relu(dyn.image.resize2d(%a, %b, zeros(shape=[4], dtype=\"float32\"), layout=\"NHWC\", "
                "method=\"nearest_neighbor\", out_dtype=\"int32\"))",
                {image, size});
  check_engines("dyn.nn.upsampling(%a, abs(%b) + 0.5f, 2f - %c)", {image, scale, scale});
  check_engines("dyn.nn.upsampling(%a, %b, %b, layout=\"NHWC\", method=\"bilinear\", align_corners=True)",
                {image, scale});  // a negative scale is refused
  for (const char* type : {"float16", "bfloat16", "float64"})
    check_engines("dyn.nn.upsampling(%a, cast(abs(%b) + 0.5f, dtype=\"" + std::string(type) + "\"), cast(2f, dtype=\"" +
                      type + "\"))",
                  {image, scale});
  check_engines("dyn.image.resize2d(%a, %b - 2i64, zeros(shape=[4], dtype=\"float32\"))", {image, size});
  check_engines("dyn.image.resize2d(%a, %b, zeros(shape=[4], dtype=\"float32\"))", {{dtype::f32, {0, 2, 4, 5}}, size});
  check_engines("dyn.image.resize2d(%a, %b, zeros(shape=[4], dtype=\"float32\"))", {{dtype::f32, {1, 2, 0, 5}}, size});
  check_engines("dyn.nn.upsampling(%a, abs(%b) + 0.5f, 2f)", {{dtype::f32, {1, 2, 0, 5}}, scale});
  check_engines("dyn.nn.upsampling(%a, log(%b), 1f / (%b - %b))", {image, scale});  // NaN and infinity
  check_engines("dyn.nn.upsampling3d(%a, abs(%b) + 0.5f, 1f, abs(%b), method=\"trilinear\")",
                {{dtype::f32, {1, 2, 3, 2, 2}}, scale});
}

TEST_CASE("a dense tensor of a shape that an operand decides") {
  check_engines("dyn.sparse_to_dense(%a, %b, %c, %d + 4i64)",
                {{dtype::i64, {3, 2}}, {dtype::f32, {3}}, {dtype::f32, {}}, {dtype::i64, {2}}});
}

}  // namespace dlcc

// Operators of quantized networks, of masks, and einsum.
#include "operators.h"

namespace dlcc::relay {

static Constant small(DType type, const Values& values) {
  return tensor_of(type, {static_cast<int64_t>(values.size())}, values);
}

TEST_CASE("quantize rounds to even, adds the zero point and saturates") {
  const Constant x = floats({6}, {0.5, 1.5, -2.5, 1000, -1000, 3});
  check_values(apply("qnn.quantize", {}, {x, floats({}, {1}), tensor_of(dtype::u8, {}, {10})}), {6},
               {10, 12, 8, 255, 0, 13});
  check_values(apply("qnn.quantize", {}, {x, floats({}, {2}), tensor_of(dtype::i8, {}, {0})}), {6},
               {0, 1, -1, 127, -128, 2});
  check_values(apply("qnn.quantize", {},
                     {floats({3}, {infinity, -infinity, 7e9}), floats({}, {1}), tensor_of(dtype::i16, {}, {-5})}),
               {3}, {32767, -32768, 32767});
  check_values(
      apply("qnn.quantize", {}, {tensor_of(dtype::i32, {2}, {7, -9}), floats({}, {2}), tensor_of(dtype::i8, {}, {1})}),
      {2}, {5, -3});
}

TEST_CASE("scales that are powers of two, one for each block") {
  const Constant scale = Constant::of<uint8_t>(DType::float8_e8m0fnu_, {1, 2}, {128, 126});  // 2, 1/2
  const Constant zero = tensor_of(dtype::i8, {1, 2}, {0, 0});
  const relay::Attrs blocks = {{"axis", 1}, {"block_size", 2}};
  check_values(apply("qnn.dequantize", blocks, {tensor_of(dtype::i8, {1, 4}, {3, -4, 3, -4}), scale, zero}), {1, 4},
               {6, -8, 1.5, -2});
  check_values(apply("qnn.quantize", blocks, {floats({1, 4}, {6, -8, 1.5, -2}), scale, zero}), {1, 4}, {3, -4, 3, -4});
  CHECK(error_of("qnn.dequantize", {{"out_dtype", "float8_e8m0fnu"}},
                 {tensor_type_of(dtype::i8, {2}), f32({}), tensor_type_of(dtype::i8, {})}) ==
        "unsupported-type: out_dtype must be float16, bfloat16, float32 or float64, found float8_e8m0fnu");
}

TEST_CASE("quantization scales per index of an axis and per block") {
  const Constant x = floats({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  check_values(apply("qnn.quantize", {{"axis", 0}}, {x, floats({2}, {1, 2}), small(dtype::i8, {0, 1})}), {2, 4},
               {1, 2, 3, 4, 3, 4, 5, 5});
  check_values(apply("qnn.quantize", {{"axis", 1}, {"block_size", 3}},
                     {x, floats({2, 2}, {1, 2, 1, 4}), tensor_of(dtype::i8, {2, 2}, {0, 0, 10, 0})}),
               {2, 4}, {1, 2, 3, 2, 15, 16, 17, 2});
  CHECK(error_of("qnn.quantize", {{"axis", 0}}, {f32({2, 4}), f32({3}), tensor_type_of(dtype::i8, {3})}) ==
        "shape-mismatch: the number of elements of output_scale must equal the size of axis 0, found 3 and 2");
  CHECK(error_of("qnn.quantize", {}, {f32({2}), f32({}), f32({})}) ==
        "type-mismatch: output_zero_point must be an integer of 2 to 32 bits, a float8 or a float4, found float32");
}

TEST_CASE("dequantize subtracts the zero point and scales") {
  check_values(apply("qnn.dequantize", {},
                     {small(dtype::u8, {0, 128, 255}), floats({}, {0.5}), tensor_of(dtype::u8, {}, {128})}),
               {3}, {-64, 0, 63.5});
  check_values(apply("qnn.dequantize", {{"axis", 0}},
                     {small(dtype::i8, {-128, 127}), floats({2}, {1, 2}), small(dtype::i8, {127, -128})}),
               {2}, {-255, 510});
  const Constant half = tensor_of(dtype::f16, {}, {0.5});
  CHECK(apply("qnn.dequantize", {}, {small(dtype::i8, {3}), half, tensor_of(dtype::i8, {}, {0})}).dtype() ==
        dtype::f16);
}

TEST_CASE("zero points of narrow floats are added and subtracted, too") {
  const auto narrow = [](std::vector<int64_t> shape, const std::vector<uint8_t>& bytes) {
    return Constant::of<uint8_t>(DType::float8_e4m3fn_, std::move(shape), bytes);
  };
  const Constant x = floats({3}, {1, -2, -0.0}), stored = narrow({2}, {0x3c, 0xb0});  // 1.5, -0.5
  const Constant half = narrow({}, {0x30}), zero = narrow({}, {0});
  check_values(apply("qnn.quantize", {}, {x, floats({}, {2}), half}), {3}, {1, -0.5, 0.5});
  check_values(apply("qnn.dequantize", {}, {stored, floats({}, {2}), half}), {2}, {2, -2});
  const Constant unchanged = apply("qnn.quantize", {}, {x, floats({}, {1}), zero});
  CHECK(std::signbit(unchanged.number_at(2)));
}

TEST_CASE("fixed_point_multiply rounds the product to nearest, ties up") {
  auto multiply = [](int64_t multiplier, int64_t shift, const Values& values) {
    const Constant x = tensor_of(dtype::i32, {static_cast<int64_t>(values.size())}, values);
    return apply("fixed_point_multiply", {{"multiplier", multiplier}, {"shift", shift}}, {x});
  };
  constexpr int64_t half = 1 << 30;
  check_values(multiply(half, 0, {3, -3, 4, 0}), {4}, {2, -1, 2, 0});
  check_values(multiply(half, 3, {3, -3, 4, 0}), {4}, {12, -12, 16, 0});
  check_values(multiply(half, -2, {5, -5, 4, 2147483647}), {4}, {1, -1, 1, 268435456});
  check_values(multiply(2080045879, -4, {100, -100}), {2}, {6, -6});
  auto error = [](int64_t multiplier, int64_t shift, DType type) {
    return error_of("fixed_point_multiply", {{"multiplier", multiplier}, {"shift", shift}}, {Operand(Shape{2}, type)});
  };
  CHECK(error(1, 0, dtype::i64) == "type-mismatch: data must be int32, found int64");
  CHECK(error(-1, 0, dtype::i32) == "bad-attribute: multiplier must be in 0..2147483647, found -1");
  CHECK(error(1, 32, dtype::i32) == "bad-attribute: shift must be in -31..31, found 32");
}

TEST_CASE("einsum permutes, sums and takes diagonals") {
  const Constant x = floats({2, 2}, {1, 2, 3, 4});
  check_values(apply("einsum", {{"equation", "ij->ji"}}, {x}), {2, 2}, {1, 3, 2, 4});
  check_values(apply("einsum", {{"equation", "ij->j"}}, {x}), {2}, {4, 6});
  check_values(apply("einsum", {{"equation", "ii->i"}}, {x}), {2}, {1, 4});
  check_values(apply("einsum", {{"equation", "ii->"}}, {x}), {}, {5});
  check_values(apply("einsum", {{"equation", "ba"}}, {x}), {2, 2}, {1, 3, 2, 4});
  check_values(apply("einsum", {{"equation", "ii"}}, {x}), {}, {5});
  check_values(apply("einsum", {{"equation", "...i->i..."}}, {x}), {2, 2}, {1, 3, 2, 4});
  check_values(apply("einsum", {{"equation", "...ij,j"}}, {x, floats({2}, {1, 10})}), {2}, {21, 43});
  CHECK(error_of("einsum", {{"equation", "...ijk->i"}}, {f32({2, 2})}) ==
        "shape-mismatch: equation names 3 axes in \"ijk\", the data has 2");
  CHECK(error_of("einsum", {{"equation", "i.j->i"}}, {f32({2, 2})}) ==
        "bad-attribute: equation must be \"LETTERS,LETTERS->LETTERS\", with \"...\" for axes without letters");
  CHECK(error_of("einsum", {{"equation", "...i,...j"}}, {f32({2, 2}), f32({3, 2})}) ==
        "shape-mismatch: axis 0 of \"...j\" must equal the same axis of another \"...\", found 3 and 2");
  CHECK(error_of("einsum", {{"equation", "ij->k"}}, {f32({2, 2})}) ==
        "bad-attribute: the label 'k' of the result must occur once there, and in the data");
  CHECK(error_of("einsum", {{"equation", "ijk->i"}}, {f32({2, 2})}) ==
        "shape-mismatch: equation names 3 axes in \"ijk\", the data has 2");
  const Constant y = floats({2, 1}, {10, 100}), v = floats({2}, {5, 6});
  check_values(apply("einsum", {{"equation", "ij,jk->ik"}}, {x, y}), {2, 1}, {210, 430});
  check_values(apply("einsum", {{"equation", "i, j -> ij"}}, {v, v}), {2, 2}, {25, 30, 30, 36});
  check_values(apply("einsum", {{"equation", "i,ij,j->"}}, {v, x, v}), {}, {5 * 5 + 2 * 30 + 3 * 30 + 4 * 36});
  CHECK(error_of("einsum", {{"equation", "ij,jk->ik"}}, {f32({2, 2})}) ==
        "bad-attribute: equation names 2 tensors, the data has 1");
  CHECK(error_of("einsum", {{"equation", "ij,jk->ik"}}, {f32({2, 2}), f32({3, 2})}) ==
        "shape-mismatch: axis 0 of \"jk\" must equal another axis with label j, found 3 and 2");
}

TEST_CASE("sequence_mask and matrix_band replace masked elements") {
  const Constant x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  check_values(apply("sequence_mask", {{"axis", 1}, {"mask_value", 9.0}}, {x, ints({1, 5})}), {2, 3},
               {1, 9, 9, 4, 5, 6});
  check_values(apply("sequence_mask", {}, {x, ints({2, 0, 1})}), {2, 3}, {1, 0, 3, 4, 0, 0});
  check_values(apply("matrix_band", {{"upper", 0}}, {x, ints({}, {0})}), {2, 3}, {1, 0, 0, 4, 5, 0});
  check_values(apply("matrix_band", {{"lower", 0}, {"upper", 0}}, {x, ints({}, {1})}), {2, 3}, {0, 2, 0, 0, 0, 6});
  const Constant two = floats({2, 1, 2}, {1, 2, 3, 4});
  check_values(apply("matrix_band", {{"upper", 0}}, {two, ints({0, -1})}), {2, 1, 2}, {1, 0, 0, 0});
}

TEST_CASE("cosine_window: symmetric, periodic and with a second cosine") {
  const Attrs three = {{"size", list({3})}, {"periodic", false}};
  check_values(apply("cosine_window", three, {}), {3}, {0, 1, 0});
  check_values(apply("cosine_window", {{"size", list({2})}}, {}), {2}, {0, 1});
  check_values(apply("cosine_window", {{"size", list({1})}, {"constant", 0.5625}, {"second", 0.125}}, {}), {1},
               {0.1875});
}

}  // namespace dlcc::relay

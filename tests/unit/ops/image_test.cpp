// Operators that read images at computed positions: resizing, sampling, boxes, and operators that gather elements.
#include "operators.h"
#include "support/fraction.h"

namespace dlcc::relay {

using tensor::Status;

TEST_CASE("a scale in float32 is read as the simplest fraction that rounds to it") {
  auto text = [](float value) {
    auto f = simplest_fraction(value);
    return f ? fmt::format("{}/{}", f->numerator, f->denominator) : "";
  };
  CHECK(text(0.6f) == "3/5");
  CHECK(text(2) == "2/1");
  CHECK(text(1.0f / 3) == "1/3");
  CHECK(text(8.0f / 3) == "8/3");
  CHECK(text(1000000) == "1000000/1");
  CHECK(text(1e-6f) == "1/1000000");
  CHECK(text(0.7f) == "7/10");
  for (float none : {0.0f, -1.0f, 1e-20f, 1e20f, std::numeric_limits<float>::infinity()}) CHECK(text(none) == "");
}

// ---- resize -------------------------------------------------------------------------------------------------------

static Constant resize(const Values& row, int64_t size, Attrs attrs) {
  attrs["size"] = list({size});
  return apply("image.resize", attrs, {floats({static_cast<int64_t>(row.size())}, row)});
}

TEST_CASE("resize to the nearest neighbour with each coordinate transformation") {
  const Values x = {0, 1, 2, 3};
  auto nearest = [&](int64_t size, const char* mode, const char* rounding) {
    return resize(
        x, size,
        {{"method", "nearest_neighbor"}, {"coordinate_transformation_mode", mode}, {"rounding_method", rounding}});
  };
  check_values(nearest(8, "asymmetric", "floor"), {8}, {0, 0, 1, 1, 2, 2, 3, 3});
  check_values(nearest(8, "asymmetric", "ceil"), {8}, {0, 1, 1, 2, 2, 3, 3, 3});
  check_values(nearest(8, "half_pixel", "round_prefer_floor"), {8}, {0, 0, 1, 1, 2, 2, 3, 3});
  check_values(nearest(2, "half_pixel", "round_prefer_floor"), {2}, {0, 2});
  check_values(nearest(2, "half_pixel", "round_prefer_ceil"), {2}, {1, 3});
  check_values(nearest(7, "align_corners", "round_prefer_floor"), {7}, {0, 0, 1, 1, 2, 2, 3});
  check_values(nearest(7, "align_corners", "round_prefer_ceil"), {7}, {0, 1, 1, 2, 2, 3, 3});
  check_values(nearest(1, "align_corners", "floor"), {1}, {0});
  check_values(nearest(1, "pytorch_half_pixel", "round_prefer_floor"), {1}, {0});
  check_values(nearest(2, "tf_half_pixel_for_nn", "floor"), {2}, {1, 3});
  check_values(nearest(3, "asymmetric", "simple"), {3}, {0, 2, 3});
  check_values(nearest(5, "asymmetric", "simple"), {5}, {0, 0, 1, 2, 3});
}

TEST_CASE("resize keeps the elements of unchanged axes, in any type") {
  const Constant x = tensor_of(dtype::boolean, {3}, {1, 0, 1});
  const Attrs nearest = {{"method", "nearest_neighbor"}, {"size", list({3})}};
  check_values(apply("image.resize", nearest, {x}), {3}, {1, 0, 1});
  check_values(apply("image.resize", {{"size", list({2, 0})}}, {floats({2, 0}, {})}), {2, 0}, {});
  CHECK(error_of("image.resize", {{"size", list({2})}}, {f32({0})}) ==
        "shape-mismatch: axis 0 has no element to resize");
}

TEST_CASE("resize with linear and cubic interpolation") {
  check_values(resize({1, 2, 3, 4}, 2, {}), {2}, {1.5, 3.5});
  check_values(resize({1, 3}, 4, {}), {4}, {1, 1.5, 2.5, 3});
  check_values(resize({1, 3}, 3, {{"coordinate_transformation_mode", "align_corners"}}), {3}, {1, 2, 3});
  // The cubic weights of a position in the middle are -0.09375, 0.59375, 0.59375, -0.09375.
  const Attrs cubic = {{"method", "cubic"}};
  check_values(resize({1, 2, 3, 4}, 2, cubic), {2}, {1.40625, 3.59375});
  Attrs excluded = cubic;
  excluded["cubic_exclude"] = true;
  const double kept = 0.59375 + 0.59375 - 0.09375;
  check_values(resize({1, 2, 3, 4}, 2, excluded), {2},
               {(0.59375 + 2 * 0.59375 - 3 * 0.09375) / kept, (4 * 0.59375 + 3 * 0.59375 - 2 * 0.09375) / kept});
}

TEST_CASE("antialiasing stretches the kernel where an axis shrinks") {
  // Distances 0.25 and 0.75, and beyond the edge that element again.
  check_values(resize({1, 2, 3, 4}, 2, {{"antialias", true}}), {2},
               {(0.25 * 1 + 0.75 * 1 + 0.75 * 2 + 0.25 * 3) / 2, (0.25 * 2 + 0.75 * 3 + 0.75 * 4 + 0.25 * 4) / 2});
  check_values(resize({1, 3}, 4, {{"antialias", true}}), {4}, {1, 1.5, 2.5, 3});
  CHECK(error_of("image.resize", {{"antialias", true}, {"size", list({2})}}, {f32({Dim::symbol({"n", 1})})}) ==
        "dynamic-shape: antialias needs known sizes along axis 0");
}

TEST_CASE("resize uses a given scale even if it differs from the ratio of the sizes") {
  // Positions k / 0.6.
  check_values(resize({1, 2, 3, 4}, 2, {{"scale", AttrList{0.6}}, {"coordinate_transformation_mode", "asymmetric"}}),
               {2}, {1, 1 + 1 / 0.6});
  CHECK(error_of("image.resize", {{"size", list({2})}, {"scale", AttrList{-1.0}}}, {f32({4})}) ==
        "bad-attribute: scale[0] is not a positive number in [2^-31, 2^31]");
}

TEST_CASE("image.resize_scaled and image.resize_crop") {
  const Attrs size = {{"size", list({4})}};
  check_values(apply("image.resize_scaled", size, {floats({2}, {1, 3}), floats({1}, {2})}), {4}, {1, 1.5, 2.5, 3});
  Attrs crop = {{"size", list({3})}, {"extrapolation_value", 7.0}};
  check_values(apply("image.resize_crop", crop, {floats({3}, {0, 1, 2}), floats({2}, {0, 1})}), {3}, {0, 1, 2});
  check_values(apply("image.resize_crop", crop, {floats({3}, {0, 1, 2}), floats({2}, {0.5, 1.5})}), {3}, {1, 2, 7});
  crop["size"] = list({1});
  check_values(apply("image.resize_crop", crop, {floats({3}, {0, 1, 2}), floats({2}, {0, 0.5})}), {1}, {0.5});
}

// ---- gathers ------------------------------------------------------------------------------------------------------

TEST_CASE("gather selects along one axis, gather_nd by index tuples") {
  const Constant x = floats({2, 3}, {0, 1, 2, 10, 11, 12});
  check_values(apply("gather", {{"axis", 1}}, {x, ints({2, 2}, {0, -1, 2, 1})}), {2, 2}, {0, 2, 12, 11});
  check_values(apply("gather", {{"axis", -2}}, {x, ints({1, 3}, {1, 0, -1})}), {1, 3}, {10, 1, 12});
  CHECK(status_of("gather", {{"axis", 1}}, {x, ints({1, 1}, {3})}) == Status::index_out_of_range);
  CHECK(error_of("gather", {{"axis", 1}}, {f32({2, 3}), i64({3, 3})}) ==
        "shape-mismatch: indices have size 3 along axis 0, the data has only 2");

  check_values(apply("gather_nd", {}, {x, ints({2, 2}, {0, 1, -1, 2})}), {2}, {2, 12});  // (0, -1) and (1, 2)
  check_values(apply("gather_nd", {}, {x, ints({1, 1}, {1})}), {1, 3}, {10, 11, 12});
  check_values(apply("gather_nd", {{"batch_dims", 1}}, {x, ints({1, 2}, {2, 0})}), {2}, {2, 10});
  CHECK(status_of("gather_nd", {}, {x, ints({1, 1}, {-3})}) == Status::index_out_of_range);
  CHECK(error_of("gather_nd", {}, {f32({2, 3}), i64({3, 1})}) ==
        "shape-mismatch: indices name 3 axes after 0 batch axes, but the data has only 2 axes");
}

TEST_CASE("reverse_sequence reverses the first elements of each sequence") {
  const Constant x = floats({2, 3}, {0, 1, 2, 10, 11, 12});
  check_values(apply("reverse_sequence", {}, {x, ints({2, 3})}), {2, 3}, {1, 0, 2, 12, 11, 10});
  check_values(apply("reverse_sequence", {{"seq_axis", 0}, {"batch_axis", 1}}, {x, ints({0, 1, 2})}), {2, 3},
               {0, 1, 12, 10, 11, 2});
  CHECK(status_of("reverse_sequence", {}, {x, ints({2, 4})}) == Status::index_out_of_range);
  CHECK(error_of("reverse_sequence", {{"seq_axis", 1}, {"batch_axis", -1}}, {f32({2, 3}), i64({3})}) ==
        "bad-attribute: seq_axis and batch_axis are both 1");
}

// ---- sampling -----------------------------------------------------------------------------------------------------

// A row of four pixels, sampled at normalized positions.
static Constant sample(const Values& positions, Attrs attrs) {
  const auto count = static_cast<int64_t>(positions.size());
  attrs.emplace("align_corners", false);
  return apply("image.grid_sample", attrs, {floats({1, 1, 4}, {0, 1, 2, 3}), floats({1, 1, count}, positions)});
}

TEST_CASE("grid_sample pads with zeros, the border or reflections") {
  const Values outside = {-1.25, 1.25, -1.75};  // pixels -1, 4 and -2
  check_values(sample(outside, {}), {1, 1, 3}, {0, 0, 0});
  check_values(sample(outside, {{"padding_mode", "border"}}), {1, 1, 3}, {0, 3, 0});
  check_values(sample(outside, {{"padding_mode", "reflection"}}), {1, 1, 3}, {0, 3, 1});
  check_values(sample({-1, 0, 0.5}, {{"align_corners", true}}), {1, 1, 3}, {0, 1.5, 2.25});
  check_values(sample({0.1, NaN}, {{"method", "nearest"}, {"padding_mode", "border"}}), {1, 1, 2}, {2, 0});
  check_values(sample({0}, {{"method", "bicubic"}}), {1, 1, 1},
               {-0.09375 * 0 + 0.59375 * 1 + 0.59375 * 2 - 0.09375 * 3});
}

TEST_CASE("affine_grid maps the centres of pixels") {
  const Constant identity = floats({1, 2, 3}, {1, 0, 0, 0, 1, 0});
  const Attrs size = {{"target_shape", list({1, 2})}, {"align_corners", false}};
  check_values(apply("image.affine_grid", size, {identity}), {1, 2, 1, 2}, {-0.5, 0.5, 0, 0});
  Attrs last = size;
  last["components_last"] = true;
  check_values(apply("image.affine_grid", last, {floats({1, 2, 3}, {0, 2, 1, 3, 0, 5})}), {1, 1, 2, 2},
               {1, 3.5, 1, 6.5});
}

TEST_CASE("roi_align takes the mean of samples, roi_pool the maximum of pixels") {
  const Constant x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const Attrs one = {{"pooled_size", list({1, 1})}, {"sample_ratio", 1}};
  check_values(apply("vision.roi_align_indexed", one, {x, floats({1, 4}, {0, 0, 1, 1}), ints({0})}), {1, 1, 1, 1},
               {2.5});
  const Attrs adaptive = {{"pooled_size", list({1, 1})}};
  check_values(apply("vision.roi_align_indexed", adaptive, {x, floats({1, 4}, {0, 0, 2, 2}), ints({0})}), {1, 1, 1, 1},
               {(2.5 + 3 + 3.5 + 4) / 4});
  // Three of eight samples along each axis are at most one pixel outside of the image.
  const std::vector<Constant> around = {floats({1, 1, 2, 2}, {4, 4, 4, 4}), floats({1, 4}, {-3, -3, 5, 5}), ints({0})};
  check_values(apply("vision.roi_align_indexed", adaptive, around), {1, 1, 1, 1}, {4 * 9 / 64.f});
  CHECK(status_of("vision.roi_align_indexed", adaptive, {x, floats({1, 4}, {0, 0, 1e9, 1}), ints({0})}) ==
        Status::index_out_of_range);
  CHECK(status_of("vision.roi_align_indexed", adaptive, {x, floats({1, 4}, {0, 0, 1, 1}), ints({1})}) ==
        Status::index_out_of_range);
  Attrs largest = {{"pooled_size", list({1, 1})}, {"sample_ratio", 1}, {"mode", "max"}};
  const std::vector<Constant> centre = {x, floats({1, 4}, {0, 0, 1, 1}), ints({0})};
  check_values(apply("vision.roi_align_indexed", largest, centre), {1, 1, 1, 1}, {2.5});
  largest["mode"] = "max_corner";
  check_values(apply("vision.roi_align_indexed", largest, centre), {1, 1, 1, 1}, {1});  // a quarter of 4
  CHECK(status_of("vision.roi_align_indexed", one, {x, floats({1, 4}, {0, 0, 1, 1}), ints({1})}) ==
        Status::index_out_of_range);
  check_values(
      apply("vision.roi_pool", {{"pooled_size", list({1, 2})}}, {x, floats({2, 5}, {0, 0, 0, 1, 1, 0, 5, 5, 9, 9})}),
      {2, 1, 1, 2}, {3, 4, 0, 0});
}

TEST_CASE("deformable_im2col reads moved taps") {
  const Constant x = floats({1, 1, 1, 3}, {1, 2, 4});
  const Constant offset = floats({1, 2, 1, 3}, {0, 0, 0, 0.5, 0, 1}), mask = floats({1, 1, 1, 3}, {1, 0.5, 1});
  check_values(apply("nn.deformable_im2col", {{"kernel_size", list({1, 1})}}, {x, offset, mask}), {1, 1, 1, 3},
               {1.5, 1, 0});
  CHECK(error_of("nn.deformable_im2col", {{"kernel_size", list({1, 2})}},
                 {f32({1, 1, 1, 3}), f32({1, 2, 1, 3}), f32({1, 1, 1, 3})})
            .starts_with("shape-mismatch: axis 1 of the offset"));
}

TEST_CASE("col2im adds up overlapping windows") {
  const Attrs two = {{"image_shape", list({3})}, {"block_shape", list({2})}};
  // Windows (0, 1) and (1, 2), with taps (1, 2) and (10, 20).
  check_values(apply("nn.col2im", two, {floats({1, 2, 2}, {1, 10, 2, 20})}), {1, 1, 3}, {1, 12, 20});
  CHECK(status_of("nn.col2im", two, {floats({1, 2, 1}, {1, 2})}) == Status::shape_mismatch);
  CHECK(error_of("nn.col2im", two, {f32({1, 3, 2})}) ==
        "shape-mismatch: 3 channels are not divisible by a block of shape (2)");
}

}  // namespace dlcc::relay

// Networks of images and signals of symbolic sizes in all engines: line-buffer fusion, Winograd, concatenation in
// place, and windows, at sizes around those of tiles, bands and windows.
#include <doctest/doctest.h>

#include <string>

#include "engines.h"

using namespace dlcc;

namespace {

void check_at_all_sizes(const std::string& network) {
  const std::string text = "#[version = \"0.0.5\"]\n" + network;
  unsigned seed = 0;
  for (auto [height, width] : {std::pair<int64_t, int64_t>{1, 1}, {3, 17}, {16, 14}, {29, 31}, {70, 5}})
    CHECK_MESSAGE(difference_of_engines(seed++, text, {{dtype::f32, {1, 16, height, width}}}) == "", text);
}

}  // namespace

TEST_CASE("an expansion and its depthwise convolution of a symbolic image") {
  for (const char* strides : {"[1, 1]", "[2, 2]"})
    check_at_all_sizes(std::string(R"(
tensor @wide() -> (w: f32[96, 16, 1, 1]) { w[o < 96, i < 16, y < 1, x < 1] = f32(floormod(7 * o + 3 * i, 11) - 5) * 0.1 }
tensor @window() -> (w: f32[96, 1, 3, 3]) { w[c < 96, i < 1, y < 3, x < 3] = f32(floormod(5 * c + 3 * y + x, 7) - 3) * 0.1 }
def @main(%x: Tensor[(1, 16, h, w), float32]) {
  let %w: Tensor[(96, 16, 1, 1), float32] = call_tensor(@wide);
  let %d: Tensor[(96, 1, 3, 3), float32] = call_tensor(@window);
  let %expanded = nn.relu(nn.conv2d(%x, %w));
  nn.conv2d(%expanded, %d, groups=96, padding=[1, 1, 1, 1], strides=)") +
                       strides + ")\n}\n");
}

TEST_CASE("Winograd convolutions of a symbolic image that are concatenated in place") {
  check_at_all_sizes(R"(
tensor @a() -> (w: f32[32, 16, 3, 3]) { w[o < 32, i < 16, y < 3, x < 3] = f32(floormod(7 * o + 3 * i + 2 * y + x, 11) - 5) * 0.1 }
tensor @b() -> (w: f32[16, 16, 1, 1]) { w[o < 16, i < 16, y < 1, x < 1] = f32(floormod(5 * o + 3 * i, 7) - 3) * 0.1 }
def @main(%x: Tensor[(1, 16, h, w), float32]) {
  let %wa: Tensor[(32, 16, 3, 3), float32] = call_tensor(@a);
  let %wb: Tensor[(16, 16, 1, 1), float32] = call_tensor(@b);
  let %first = nn.relu(nn.conv2d(%x, %wb));
  let %both = concatenate((nn.relu(nn.conv2d(%first, %wa, padding=[1, 1, 1, 1])), nn.relu(nn.conv2d(%first, %wb))), axis=1);
  nn.max_pool2d(%both, pool_size=[2, 2], strides=[1, 1], padding=[1, 1, 0, 0])
}
)");
}

TEST_CASE("an image that convolutions pad with different numbers") {
  check_at_all_sizes(R"(
tensor @a() -> (w: f32[32, 16, 3, 3]) { w[o < 32, i < 16, y < 3, x < 3] = f32(floormod(7 * o + 3 * i + 2 * y + x, 11) - 5) * 0.1 }
tensor @d() -> (w: f32[16, 1, 3, 3]) { w[o < 16, i < 1, y < 3, x < 3] = f32(floormod(5 * o + 3 * y + x, 7) - 3) * 0.1 }
def @main(%x: Tensor[(1, 16, h, w), float32]) {
  let %wa: Tensor[(32, 16, 3, 3), float32] = call_tensor(@a);
  let %wd: Tensor[(16, 1, 3, 3), float32] = call_tensor(@d);
  let %image = nn.relu(nn.conv2d(%x, %wd, groups=16, padding=[1, 1], pad_value=-3));
  let %zeros = nn.conv2d(%image, %wa, padding=[1, 1]);
  let %twos = nn.conv2d(%image, %wa, padding=[1, 1], pad_value=2);
  let %window = nn.conv2d(%image, %wd, padding=[1, 1], groups=16, strides=[2, 2], pad_value=1);
  (%zeros + %twos, %window)
}
)");
}

TEST_CASE("windows of a symbolic sequence, and their Fourier transforms") {
  const char* text = R"(#[version = "0.0.5"]
def @main(%x: Tensor[(b, s), float32], %w: Tensor[(8), float32]) {
  let %windows = sliding_window(%x, axis=1, window_shape=[8], strides=[3]);
  (sum(%windows * %w, axis=[2]), stft(%x, %w, n_fft=8, hop_length=3, win_length=8))
}
)";
  unsigned seed = 0;
  for (int64_t samples : {1, 7, 8, 9, 10, 11, 40})  // shorter than a window: the sizes are refused
    CHECK(difference_of_engines(seed++, text, {{dtype::f32, {2, samples}}, {dtype::f32, {8}}}) == "");
}

TEST_CASE("channels of a symbolic image become blocks of pixels, and padded blocks channels") {
  check_at_all_sizes(R"(
def @main(%x: Tensor[(1, 16, h, w), float32]) {
  let %rows = transpose(%x, axes=[0, 1, 3, 2]);
  let %even = nn.pad(%rows, 0.5f, pad_width=[[0, 0], [0, 0], [0, floor_mod(w, 2)], [0, floor_mod(h, 2)]]);
  let %blocks = reshape(%even, newshape=[1, 16, floor_div(w + 1, 2), 2, floor_div(h + 1, 2), 2]);
  (nn.depth_to_space(%x, block_size=2, mode="CRD"), transpose(%blocks, axes=[0, 3, 5, 1, 2, 4]))
}
)");
  // Rows and columns of odd number are refused.
  check_at_all_sizes(R"(
def @main(%x: Tensor[(1, 16, h, w), float32]) {
  let %blocks = reshape(%x, newshape=[1, 16, floor_div(h, 2), 2, floor_div(w, 2), 2]);
  transpose(%blocks, axes=[0, 3, 5, 1, 2, 4])
}
)");
}

TEST_CASE("images of known size that are resized by their nearest elements") {
  unsigned seed = 0;
  for (int64_t width : {1, 7, 13, 40})
    for (int64_t factor : {2, 3, 4})
      for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "ceil"}) {
        const std::string text = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2, 3, " + std::to_string(width) +
                                 "), float32]) {\n  image.resize(%x, size=[2, " + std::to_string(3 * factor) + ", " +
                                 std::to_string(width * factor) + "], method=\"nearest_neighbor\", rounding_method=\"" +
                                 rounding + "\")\n}\n";
        CHECK_MESSAGE(difference_of_engines(seed++, text, {{dtype::f32, {2, 3, width}}}) == "", text);
      }
}

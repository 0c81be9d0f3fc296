// Images cut into register tiles.
#include "tensor/schedules/row_tiles.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>

using namespace dlcc::tensor;

namespace {

std::string text(const std::vector<TileGrid>& grids) {
  std::string s;
  for (const TileGrid& g : grids)
    s += fmt::format("{}{}x{} of {}x{}", s.empty() ? "" : ", ", g.down, g.across, g.tall, g.wide);
  return s;
}

}  // namespace

TEST_CASE("the register tiles of an image cover every pixel once") {
  for (auto [height, width, max_pixels, vectors] : {std::tuple{7, 7, 6, 2},
                                                    {14, 14, 6, 2},
                                                    {57, 43, 14, 2},
                                                    {1, 197, 14, 2},
                                                    {13, 17, 29, 1},
                                                    {3, 1, 8, 3},
                                                    {5, 5, 1, 4}}) {
    CAPTURE(height);
    CAPTURE(width);
    std::vector<int> covered(static_cast<size_t>(height * width));
    for (const TileGrid& g : cut_into_tiles(height, width, max_pixels, vectors, {})) {
      CHECK(g.tall * g.wide <= max_pixels);
      for (int64_t y = g.top; y < g.top + g.down * g.tall; ++y)
        for (int64_t x = g.left; x < g.left + g.across * g.wide; ++x) ++covered.at(static_cast<size_t>(y * width + x));
    }
    CHECK(std::ranges::all_of(covered, [](int n) { return n == 1; }));
  }
}

TEST_CASE("images have few small register tiles and few grids of equal tiles") {
  CHECK(text(cut_into_tiles(14, 14, 14, 2, {})) == "14x1 of 1x14");
  CHECK(text(cut_into_tiles(7, 7, 14, 2, {})) == "3x1 of 2x7, 1x1 of 1x7");
  CHECK(text(cut_into_tiles(7, 7, 6, 2, {})) == "7x1 of 1x6, 1x1 of 4x1, 1x1 of 3x1");
  CHECK(text(cut_into_tiles(14, 14, 6, 2, {})) == "14x2 of 1x6, 7x1 of 2x2");
  CHECK(text(cut_into_tiles(55, 55, 29, 1, {})) == "55x1 of 1x28, 55x1 of 1x27");
  CHECK(text(cut_into_tiles(1, 49, 14, 2, {})) == "1x3 of 1x13, 1x1 of 1x10");
}

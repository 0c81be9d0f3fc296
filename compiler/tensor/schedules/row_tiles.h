// Cuts an image into M blocks and register tiles. Tiles of equal size form a grid. The area on the right of a grid and
// the area below it are cut into grids of smaller tiles:
//
//   +------+------+---+
//   | tile | tile |   |      14 x 14 pixels in tiles of at most 6 pixels: 14 x 2 tiles of 1 x 6 pixels,
//   +------+------+---+      and 7 x 1 tiles of 2 x 2 pixels on their right
//   | tile | tile |   |
//   +------+------+---+
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

// A grid of down x across tiles, each of tall x wide pixels; the first pixel is (top, left).
struct TileGrid {
  int64_t top = 0, left = 0;
  int64_t tall = 1, wide = 1;
  int64_t down = 1, across = 1;  // tiles in a column and in a row of the grid

  int64_t tiles() const { return down * across; }
};

// Whether the tiles of both grids cover the same rows.
inline bool have_same_rows(const TileGrid& a, const TileGrid& b) {
  return a.top == b.top && a.tall == b.tall && a.down == b.down;
}

// The share of all K indices that a tile of tall x wide pixels multiplies.
using ShareOfK = std::function<double(int64_t tall, int64_t wide)>;

// Grids that cover height x width pixels exactly once, with tiles of at most `max_pixels` pixels and `vectors`
// accumulators for each pixel. Minimizes the estimated time of all tiles: a tile with fewer accumulators than the
// machine keeps in flight takes as long as one with that many. Each grid has code of its own, which costs
// Machine::grid_overhead.
std::vector<TileGrid> cut_into_tiles(int64_t height, int64_t width, int64_t max_pixels, int64_t vectors, const Machine&,
                                     const ShareOfK& = nullptr);

// A part of an image: tall x wide pixels from (top, left) on.
struct Area {
  Expr top, left;
  int64_t tall = 1, wide = 1;
};

// A register tile of an area.
struct Tile {
  Expr top, left;            // its first pixel in the image
  Expr top_here, left_here;  // its first pixel in the area
  Expr next_top, next_left;  // first pixel of the tile on its right, or below it if the tile is as wide as the area
  int64_t tall = 1, wide = 1;
  Expr number;  // among the `count` tiles of the area
  int64_t count = 1;
};

// Loops over blocks of about `pixels` pixels: whole rows, or parts of long rows.
Stmt each_block(const Area&, int64_t pixels, const std::function<Stmt(const Area&)>& body);

// Cuts an image of symbolic size into areas of at most `pixels` pixels. The image is cut into column bands: as many of
// the largest width as fit, then at most one of half of it, of a quarter, .., of one column. A column band is cut into
// areas of as many rows as fit, then areas of single rows. With 14 pixels:
//
//   parallel column band < floordiv(width, 14): for row < height: 1 x 14 pixels
//   if 7 <= rest of the columns: for rows < floordiv(height, 2): 2 x 7 pixels;  the last row: 1 x 7 pixels
//   ..                           4 columns, 2 columns, 1 column
Stmt each_area(const Dim& height, const Dim& width, int64_t pixels, const std::function<Stmt(const Area&)>& body);

// Loops over the tiles of cut_into_tiles.
Stmt each_tile(const Area&, int64_t max_pixels, int64_t vectors, const Machine&,
               const std::function<Stmt(const Tile&)>& body, const ShareOfK& = nullptr);

}  // namespace dlcc::tensor

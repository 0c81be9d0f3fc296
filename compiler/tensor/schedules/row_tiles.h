// How an image of rows, or a list of them, is cut into blocks and register tiles.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

// A grid of equal tiles, `tall` by `wide`; its first element is (top, left).
struct TileGrid {
  int64_t top = 0, left = 0;
  int64_t tall = 1, wide = 1;
  int64_t down = 1, across = 1;  // number of tiles

  int64_t tiles() const { return down * across; }
};

// Whether the tiles of both lie in the same rows.
inline bool is_beside(const TileGrid& a, const TileGrid& b) {
  return a.top == b.top && a.tall == b.tall && a.down == b.down;
}

// Grids that cover height x width elements exactly once, with tiles of at most `most` elements; `vectors` accumulators
// belong to an element. Chosen so that few tiles are small, since a tile with fewer accumulators than the arithmetic
// units need to hide their latency takes as long as one that has them; and that there are few grids, as each is code.
std::vector<TileGrid> cut_into_tiles(int64_t height, int64_t width, int64_t most, int64_t vectors, const Machine&);

// A part of an image, in its pixels.
struct Area {
  Expr top, left;
  int64_t tall = 1, wide = 1;
};

// A register tile: its first pixel in the image and in the area at hand; that of the tile on its right or, where tiles
// are as wide as the area, below it, if there is one; its number among the area's tiles.
struct Tile {
  Expr top, left, top_here, left_here, next_top, next_left;
  int64_t tall = 1, wide = 1;
  Expr number;
  int64_t count = 1;
};

// `body` for every block of about so many pixels: of whole rows, or of parts of them where rows are long.
Stmt each_block(const Area&, int64_t pixels, const std::function<Stmt(const Area&)>& body);

// `body` for every tile of cut_into_tiles.
Stmt each_tile(const Area&, int64_t most, int64_t vectors, const Machine&,
               const std::function<Stmt(const Tile&)>& body);

}  // namespace dlcc::tensor

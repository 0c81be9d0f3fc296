// How an image of rows, or a list of them, is cut into register tiles.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace dlcc::tensor

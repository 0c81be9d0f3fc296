#include "tensor/schedules/row_tiles.h"

#include "tensor/schedules/loops.h"

#include <algorithm>
#include <map>
#include <utility>

namespace dlcc::tensor {
namespace {

class Cutter {
 public:
  Cutter(int64_t height, int64_t width, int64_t max_pixels, int64_t vectors, const Machine& machine,
         const ShareOfK& share_of_k)
      : max_pixels_(max_pixels),
        vectors_(vectors),
        cost_of_grid_(machine.grid_overhead * static_cast<double>(height * width * vectors)),
        machine_(machine),
        share_of_k_(share_of_k) {}

  // The grid at the upper left corner of an area. The rectangle on its right, over the full height, and the rectangle
  // below it are cut in turn.
  struct Cut {
    double cost = 0;
    int64_t tall = 0, wide = 0;
  };

  const Cut& best(int64_t height, int64_t width) {
    if (auto known = best_.find({height, width}); known != best_.end()) return known->second;
    Cut best{.cost = -1};
    for (int64_t tall = 1; tall <= std::min(height, max_pixels_); ++tall)
      for (int64_t wide = 1; wide <= std::min(width, max_pixels_ / tall); ++wide) {
        double cost = cost_of(height, width, tall, wide);
        // Among tiles of equal cost, the one of least height, since pixels of a row are stored next to each other.
        if (best.cost < 0 || cost < best.cost) best = {cost, tall, wide};
      }
    return best_[{height, width}] = best;
  }

  void append(std::vector<TileGrid>& grids, int64_t top, int64_t left, int64_t height, int64_t width) {
    if (height == 0 || width == 0) return;
    Cut cut = best(height, width);
    TileGrid grid{top, left, cut.tall, cut.wide, height / cut.tall, width / cut.wide};
    grids.push_back(grid);
    int64_t covered_width = grid.across * cut.wide, covered_height = grid.down * cut.tall;
    append(grids, top, left + covered_width, height, width - covered_width);
    append(grids, top + covered_height, left, height - covered_height, covered_width);
  }

 private:
  // The estimated time of a tile, divided by the number of K indices, in multiply-adds of one vector.
  double cost_of_tile(int64_t tall, int64_t wide) const {
    int64_t accumulators = std::max<int64_t>(tall * wide * vectors_, machine_.accumulators_in_flight);
    const double of_k = static_cast<double>(accumulators) + machine_.tile_overhead +
                        machine_.tile_row_overhead * static_cast<double>(tall - 1);
    return share_of_k_ ? of_k * share_of_k_(tall, wide) : of_k;
  }

  double cost_of(int64_t height, int64_t width, int64_t tall, int64_t wide) {
    double cost = static_cast<double>((height / tall) * (width / wide)) * cost_of_tile(tall, wide);
    cost += cost_of_grid_;
    if (int64_t right = width % wide) cost += best(height, right).cost;
    if (int64_t below = height % tall) cost += best(below, width - width % wide).cost;
    return cost;
  }

  const int64_t max_pixels_, vectors_;
  const double cost_of_grid_;  // of the code of one grid
  const Machine& machine_;
  const ShareOfK& share_of_k_;
  std::map<std::pair<int64_t, int64_t>, Cut> best_;
};

}  // namespace

std::vector<TileGrid> cut_into_tiles(int64_t height, int64_t width, int64_t max_pixels, int64_t vectors,
                                     const Machine& machine, const ShareOfK& share_of_k) {
  std::vector<TileGrid> grids;
  Cutter(height, width, max_pixels, vectors, machine, share_of_k).append(grids, 0, 0, height, width);
  return grids;
}

Stmt each_block(const Area& a, int64_t pixels, const std::function<Stmt(const Area&)>& body) {
  if (a.tall > 1 && a.wide > 2 * pixels) {
    Var row = make_var("row");
    return for_loop(row, a.tall, LoopKind::parallel, each_block({a.top + Expr(row), a.left, 1, a.wide}, pixels, body));
  }
  bool by_rows = a.tall > 1;
  int64_t all = by_rows ? a.tall : a.wide;
  int64_t size = std::clamp<int64_t>(by_rows ? pixels / a.wide : pixels, 1, all);
  for (int64_t even = size; even <= 2 * size; ++even)  // blocks of equal size, if that is possible
    if (all % even == 0) {
      size = even;
      break;
    }
  auto block_at = [&](const Expr& first, int64_t count) {
    return body(by_rows ? Area{a.top + first, a.left, count, a.wide} : Area{a.top, a.left + first, 1, count});
  };
  Var block = make_var("block");
  Stmt blocks = for_loop(block, all / size, LoopKind::parallel, block_at(Expr(block) * Expr(size), size));
  return all % size ? sequence({blocks, block_at(Expr(all - all % size), all % size)}) : blocks;
}

Stmt each_area(const Dim& height, const Dim& width, int64_t pixels, const std::function<Stmt(const Area&)>& body) {
  return in_tiles(Expr(width), pixels, [&](const Expr& left, int64_t wide) {
    const int64_t tall = height == Dim(1) ? 1 : pixels / wide;
    const Dim groups = floor_div(height, tall), rest = floor_mod(height, tall);
    Var group = make_var("rows"), row = make_var("row");
    Stmt tiles = body({Expr(group) * Expr(tall), left, tall, wide});
    Stmt single = rest == Dim(0) ? nullptr : body({Expr(height - rest) + Expr(row), left, 1, wide});
    return sequence({for_loop(group, Expr(groups), LoopKind::parallel, tiles),
                     single ? for_loop(row, Expr(rest), LoopKind::serial, single) : nullptr});
  });
}

Stmt each_tile(const Area& area, int64_t max_pixels, int64_t vectors, const Machine& machine,
               const std::function<Stmt(const Tile&)>& body, const ShareOfK& share_of_k) {
  std::vector<TileGrid> grids = cut_into_tiles(area.tall, area.wide, max_pixels, vectors, machine, share_of_k);
  int64_t before = 0, all = 0;
  for (const TileGrid& g : grids) all += g.tiles();
  std::vector<Stmt> parts;
  for (size_t k = 0; k < grids.size();) {
    // Grids with the same rows share the loop over the rows.
    Var down = make_var("down");
    std::vector<Stmt> in_row;
    const TileGrid& left_most = grids[k];
    for (; k < grids.size() && have_same_rows(grids[k], left_most); ++k) {
      const TileGrid& g = grids[k];
      Var across = make_var("across");
      Expr top = Expr(g.top) + Expr(down) * Expr(g.tall), left = Expr(g.left) + Expr(across) * Expr(g.wide);
      bool alone = g.wide == area.wide;
      Tile tile{.top = area.top + top,
                .left = area.left + left,
                .top_here = top,
                .left_here = left,
                .next_top = area.top + top + Expr(alone ? g.tall : 0),
                .next_left = area.left + left + Expr(alone ? 0 : g.wide),
                .tall = g.tall,
                .wide = g.wide,
                .number = Expr(before) + Expr(down) * Expr(g.across) + Expr(across),
                .count = all};
      in_row.push_back(for_loop(across, g.across, LoopKind::parallel, body(tile)));
      before += g.tiles();
    }
    parts.push_back(for_loop(down, left_most.down, LoopKind::parallel, sequence(std::move(in_row))));
  }
  return sequence(std::move(parts));
}

}  // namespace dlcc::tensor

#include "tensor/schedules/image_rows.h"

#include <algorithm>
#include <bit>

#include "tensor/analysis.h"
#include "tensor/index_facts.h"
#include "tensor/schedules/loops.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

bool is_single_reduction(const Stage& s) {
  auto is_empty = [](const Axis& a) { return a.extent == Dim(0); };
  return is_plain(s) && s.reduction && std::ranges::none_of(s.axes, is_empty) &&
         std::ranges::none_of(s.reduction->axes, is_empty);
}

std::optional<size_t> row_axis_of(const Stage& s) {
  for (size_t a = s.axes.size(); a-- > 0;)
    if (s.axes[a].extent != Dim(1)) return a;
  return std::nullopt;
}

std::optional<IndicesRead> indices_read(const Load& l, size_t d, const Stage& stage) {
  const Dim& extent = l.buffer->shape[d];
  const auto range = extent.is_constant() ? range_of(l.indices[d], ranges_of(stage)) : std::nullopt;
  if (range) return IndicesRead{range->low, range->high - range->low + 1};
  const auto halo = halo_read(l, d, stage);
  if (!halo) return std::nullopt;
  const int64_t before = std::max<int64_t>(halo->before, 0), after = std::max<int64_t>(halo->after, 0);
  return IndicesRead{-before, extent + Dim(before + after)};
}

std::optional<Load> only_load(const Stage& s) {
  const std::vector<Load> loads = loads_of(s.values[0]);
  if (loads.size() != 1 || bits(loads[0].buffer->type) < 8) return std::nullopt;
  const Expr rest = rewrite(s.values[0], [](const Expr& e) { return as<Load>(e) ? literal(e.type(), int64_t{0}) : e; });
  return variables_in(rest).empty() ? std::optional(loads[0]) : std::nullopt;
}

bool leaves_unchanged(const Stage& s, const Load& l) {
  if (!l.otherwise) return true;
  const Expr outside = simplify(rewrite(s.values[0], [](const Expr& e) {
    const Load* load = as<Load>(e);
    return load ? load->otherwise : e;
  }));
  return structurally_equal(outside, s.reduction->identity[0]);
}

int64_t lanes_of(const Stage& s, const Machine& machine) {
  int widest = bits(s.reduction->identity[0].type());
  for_each_expr(s.values[0], [&](const Expr& e) {
    if (e.type() != dtype::i64) widest = std::max(widest, bits(e.type()));
  });
  return std::max(1, machine.lanes(std::max(widest, 8)));
}

Expr RowVectors::begin(const Expr& v) const {
  const Expr offset = v * Expr(lanes);
  return left + (width < vectors * lanes ? min(offset, Expr(width - lanes)) : offset);
}

std::vector<RowPart> cut_row(int64_t width, int64_t vectors, int64_t lanes, Repetition repetition) {
  std::vector<RowPart> all;
  int64_t done = 0;
  auto cut = [&](int64_t tiles, int64_t count, int64_t covered) {
    if (tiles == 0) return;
    all.push_back({{Expr(done), count, lanes, covered}, tiles});
    done += tiles * covered;
  };
  auto floor_of_rest = [&] { return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(width - done))); };
  lanes = std::min(lanes, std::max<int64_t>(floor_of_rest(), 1));
  cut(width / (vectors * lanes), vectors, vectors * lanes);
  if (repetition == Repetition::allowed && done < width) {
    const int64_t count = ceil_div(width - done, lanes);
    if (count == 1) {
      const auto enough = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(width - done)));
      done = width - enough, lanes = enough;
    }
    cut(1, count, width - done);
    return all;
  }
  cut((width - done) / lanes > 0 ? 1 : 0, (width - done) / lanes, (width - done) / lanes * lanes);
  while (done < width) {
    lanes = floor_of_rest();
    cut(1, 1, lanes);
  }
  return all;
}

using RowTileBody = std::function<Stmt(const RowVectors&)>;

static Stmt in_static_row_tiles(const std::vector<RowPart>& row, const RowTileBody& tile) {
  std::vector<Stmt> all;
  for (RowPart part : row) {
    if (part.tiles == 1) {
      all.push_back(tile(part.first));
      continue;
    }
    Var t = make_var("tile");
    part.first.left = part.first.left + Expr(t) * Expr(part.first.width);
    all.push_back(for_loop(t, part.tiles, LoopKind::parallel, tile(part.first)));
  }
  return sequence(std::move(all));
}

Stmt with_overlap(const Dim& begin, const Dim& end, int64_t size, const std::function<Stmt(const Expr& first)>& tile,
                  const Stmt& otherwise) {
  const Dim rest = end - begin;
  Var t = make_var("tile");
  const Expr first = min(Expr(begin) + Expr(t) * Expr(size), Expr(end - Dim(size)));
  Stmt tiles = for_loop(t, Expr(floor_div(rest + Dim(size - 1), size)), LoopKind::serial, tile(first));
  return if_then(Expr(size) <= Expr(end), tiles, otherwise);
}

Stmt overlapping_vectors(const Dim& begin, const Dim& end, int64_t lanes,
                         const std::function<Stmt(const Expr& first, int64_t lanes)>& vector) {
  Stmt all;
  for (int64_t n = 1; n <= lanes; n *= 2)
    all = with_overlap(
        n == lanes ? begin : Dim(0), end, n, [&](const Expr& first) { return vector(first, n); }, all);
  return all;
}

Stmt in_row_tiles(const Dim& width, int64_t vectors, int64_t lanes, Repetition repetition, const RowTileBody& tile) {
  if (width.is_constant()) return in_static_row_tiles(cut_row(width.value(), vectors, lanes, repetition), tile);
  const int64_t size = vectors * lanes;
  const Dim tiles = floor_div(width, size), rest = width - tiles * Dim(size);
  Var t = make_var("tile"), v = make_var("vector");
  const Expr done = Expr(tiles * Dim(size));
  Stmt whole = for_loop(t, Expr(tiles), LoopKind::parallel, tile({Expr(t) * Expr(size), vectors, lanes}));
  const Dim last = width - floor_div(width, lanes) * Dim(lanes);  // results after the last whole vector
  if (repetition == Repetition::allowed && last != Dim(0)) {
    auto vector = [&](const Expr& left, int64_t n) { return tile({left, 1, n}); };
    const Dim begin = tiles * Dim(size);
    const int64_t half = vectors / 2;
    if (half < 2) return sequence({whole, overlapping_vectors(begin, width, lanes, vector)});
    auto halves = [&](const Expr& left) { return tile({left, half, lanes}); };
    return sequence(
        {whole, with_overlap(begin, width, half * lanes, halves, overlapping_vectors(0, width, lanes, vector))});
  }
  Stmt single =
      for_loop(v, Expr(floor_div(rest, lanes)), LoopKind::serial, tile({done + Expr(v) * Expr(lanes), 1, lanes}));
  if (last == Dim(0)) return sequence({whole, single});
  Stmt narrow = in_vectors(last, lanes / 2, LoopKind::serial, [&](const Expr& left, int64_t n) {
    return tile({Expr(width - last) + left, 1, n});
  });
  return sequence({whole, single, narrow});
}

}  // namespace dlcc::tensor

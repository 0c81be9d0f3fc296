#include "tensor/schedules/image_rows.h"

#include <algorithm>
#include <bit>

#include "tensor/analysis.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

bool is_static_reduction(const Stage& s) {
  if (!is_plain(s) || !s.reduction) return false;
  auto is_positive = [](const Axis& a) { return a.extent.constant().value_or(0) > 0; };
  const auto loads = loads_of(s.values[0]);
  return std::ranges::all_of(s.axes, is_positive) && std::ranges::all_of(s.reduction->axes, is_positive) &&
         std::ranges::all_of(loads, [](const Load& l) { return is_static(l.buffer->shape); });
}

std::optional<size_t> row_axis_of(const Stage& s) {
  for (size_t a = s.axes.size(); a-- > 0;)
    if (s.axes[a].extent != Dim(1)) return a;
  return std::nullopt;
}

bool is_innermost(const BufferNode& b, size_t d) {
  return std::all_of(b.shape.begin() + static_cast<std::ptrdiff_t>(d) + 1, b.shape.end(),
                     [](const Dim& later) { return later == Dim(1); });
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

Stmt in_row_tiles(int64_t width, int64_t vectors, int64_t lanes, Repetition repetition,
                  const std::function<Stmt(const Expr& left, int64_t vectors, int64_t lanes)>& tile) {
  const int64_t whole = width / (vectors * lanes);
  int64_t done = whole * vectors * lanes;
  std::vector<Stmt> all;
  Var t = make_var("tile");
  if (whole > 0)
    all.push_back(for_loop(t, whole, LoopKind::parallel, tile(Expr(t) * Expr(vectors * lanes), vectors, lanes)));
  if (const int64_t rest = (width - done) / lanes; rest > 0) {
    all.push_back(tile(Expr(done), rest, lanes));
    done += rest * lanes;
  }
  while (done < width) {
    const auto rest = static_cast<uint64_t>(width - done);
    const auto enough = static_cast<int64_t>(std::bit_ceil(rest)), some = static_cast<int64_t>(std::bit_floor(rest));
    const bool overlaps = repetition == Repetition::allowed && enough <= width;
    all.push_back(overlaps ? tile(Expr(width - enough), 1, enough) : tile(Expr(done), 1, some));
    done += overlaps ? enough : some;
  }
  return sequence(std::move(all));
}

}  // namespace dlcc::tensor

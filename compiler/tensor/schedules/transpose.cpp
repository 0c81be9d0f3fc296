#include "tensor/schedules/transpose.h"

#include <algorithm>
#include <optional>

#include "tensor/layout.h"
#include "tensor/schedules/loops.h"
#include "tensor/simplify.h"
#include "tensor/tile_transpose.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class TransposeScheduler {
 public:
  TransposeScheduler(const Stage& stage, const std::map<Buffer, Layout>& layouts, const Machine& machine)
      : stage_(stage),
        layouts_(layouts),
        machine_(machine),
        size_(tile_size(bits(stage.results[0]->type), machine)),
        tiles_at_once_(std::max<int64_t>(machine.cache_line_bytes * 8 / (bits(stage.results[0]->type) * size_), 1)) {}

  bool find_tiles() { return find_axes() && find_intrinsic(); }

  Stmt run() {
    if (!find_tiles()) return nullptr;
    Stmt body = sequence({tiles(), remaining_columns(), remaining_rows()});
    for (size_t k = stage_.axes.size() - 1; k-- > 0;)
      if (k != row_) body = for_loop(axis(k).var, Expr(axis(k).extent), LoopKind::parallel, body);
    return body;
  }

 private:
  // Tiles of narrow elements have rows of 16 bytes, which CPUs interleave in one instruction. A vector may be shorter,
  // on microcontrollers: there is no intrinsic of this size.
  static int64_t tile_size(int element_bits, const Machine& machine) {
    const int64_t lanes = machine.lanes(element_bits);
    return std::min(lanes, element_bits < 32 ? 128 / element_bits : machine.max_transposed_tile);
  }

  const Axis& axis(size_t k) const { return stage_.axes[k]; }
  const Dim& rows() const { return axis(row_).extent; }
  const Dim& columns() const { return stage_.axes.back().extent; }
  const Load& value() const { return *as<Load>(stage_.values[0]); }
  bool is_dense(const Buffer& b) const { return layout_of(layouts_, b).is_dense() && b->strides.empty(); }

  // The row axis: the one along which the operand's last dimension is read.
  bool find_axes() {
    const bool is_plain = !stage_.reduction && !stage_.body && stage_.requirements.empty() && stage_.origin.empty() &&
                          stage_.values.size() == 1 && stage_.axes.size() >= 2;
    const Load* l = is_plain ? as<Load>(stage_.values[0]) : nullptr;
    if (!l || l->otherwise || l->indices.empty() || !is_dense(l->buffer) || !is_dense(stage_.results[0])) return false;
    bool has_rows = false;
    for (size_t k = 0; k + 1 < stage_.axes.size(); ++k)
      if (is_along(l->indices.back(), axis(k).var) || is_in_block(l->indices.back(), k)) row_ = k, has_rows = true;
    return has_rows && !provably_lt(rows(), size_) && !provably_lt(columns(), size_);
  }

  // Whether the index is that of the axis, or at a constant distance from it.
  static bool is_along(const Expr& index, const Var& v) {
    return uses(index, v) && constant_integer(simplify(index - Expr(v))).has_value();
  }

  // Whether the index is the position of axis k in its block of channels, or the number of the block. Tiles are within
  // a block.
  bool is_in_block(const Expr& index, size_t k, BinaryOp op = BinaryOp::floor_mod) const {
    const Binary* division = as<Binary>(index);
    const auto size = division ? constant_integer(division->b) : std::nullopt;
    return division && division->op == op && is_var(division->a, axis(k).var) && size && *size % size_ == 0;
  }

  // Also requires that the rows of the operand are along one dimension, and no other index depends on the tile but the
  // number of a block.
  bool find_intrinsic() {
    const Var &row = axis(row_).var, &column = stage_.axes.back().var;
    std::optional<size_t> dim;
    const size_t last = value().indices.size() - 1;
    for (size_t d = 0; d < last; ++d) {
      const Expr& index = value().indices[d];
      if (is_in_block(index, row_, BinaryOp::floor_div)) continue;
      if (uses(index, row)) return false;
      if (!uses(index, column)) continue;
      if (dim || !is_along(index, column)) return false;
      dim = d;
    }
    if (!dim || value().buffer->type != stage_.results[0]->type) return false;
    intrinsic_ = tile_transpose(value().buffer->type, size_, static_cast<int>(last - *dim) - 1,
                                static_cast<int>(stage_.axes.size() - row_) - 2);
    row_of_operand_ = *dim;
    return intrinsic_ != nullptr;
  }

  // The result's element at the other axes, `row` and `column`.
  std::vector<Expr> index(const Expr& row, const Expr& column) const {
    std::vector<Expr> at;
    for (size_t k = 0; k < stage_.axes.size(); ++k)
      at.push_back(k == row_ ? row : k + 1 == stage_.axes.size() ? column : Expr(axis(k).var));
    return at;
  }

  Stmt tile(const Expr& row, const Expr& column) const {
    const std::vector<Expr> at = index(row, column);
    const Expr first = at_index(stage_.values[0], stage_, at);
    return make_stmt(IntrinsicCall{intrinsic_, {{value().buffer, as<Load>(first)->indices}, {stage_.results[0], at}}});
  }

  // Whether rows of the result share a set of the first-level cache and rows of the operand do not. A row is then
  // written to its end before the next ones, else its lines would be evicted. In the other order, the operand is read
  // row by row, which is faster: 1.3 times for 3136 x 64.
  bool writes_rows_in_turn() const {
    return share_cache_set(stage_.results[0], row_) && !share_cache_set(value().buffer, row_of_operand_);
  }
  bool share_cache_set(const Buffer& b, size_t dim) const {
    const auto elements =
        product(Shape(b->shape.begin() + static_cast<std::ptrdiff_t>(dim) + 1, b->shape.end())).constant();
    return elements && machine_.share_cache_set(*elements * bits(b->type));
  }

  Stmt tiles() const {
    const Var group = make_var("columns"), i = make_var("rows"), u = make_var("u");
    const Dim groups = floor_div(columns(), size_ * tiles_at_once_);
    const Dim single = floor_div(columns(), size_) - Dim(tiles_at_once_) * groups;
    const Dim down = floor_div(rows(), size_);
    const Expr row = Expr(i) * Expr(size_), column = Expr(group) * Expr(size_ * tiles_at_once_);
    const Stmt several = for_loop(u, tiles_at_once_, LoopKind::unrolled, tile(row, column + Expr(u) * Expr(size_)));
    const Stmt one = tile(row, Expr(Dim(size_ * tiles_at_once_) * groups) + Expr(group) * Expr(size_));
    auto loops = [&](const Dim& count, const Stmt& body) {
      if (count == Dim(0)) return Stmt();
      if (writes_rows_in_turn())
        return for_loop(i, Expr(down), LoopKind::parallel, for_loop(group, Expr(count), LoopKind::serial, body));
      return for_loop(group, Expr(count), LoopKind::parallel, for_loop(i, Expr(down), LoopKind::serial, body));
    };
    return sequence({loops(groups, several), loops(single, one)});
  }

  // Elements [begin, begin + count) of the row, in vectors.
  Stmt part_of_row(const Expr& row, const Dim& begin, const Dim& count) const {
    return in_vectors(count, size_, LoopKind::serial, [&](const Expr& first, int64_t lanes) {
      const Var lane = make_var("lane");
      const std::vector<Expr> at = index(row, Expr(begin) + first + Expr(lane));
      return for_loop(lane, lanes, LoopKind::vector,
                      store(stage_.results[0], at, at_index(stage_.values[0], stage_, at)));
    });
  }

  Dim in_tiles(const Dim& extent) const { return Dim(size_) * floor_div(extent, size_); }

  Stmt remaining_columns() const {
    const Dim done = in_tiles(columns()), rest = columns() - done;
    if (rest == Dim(0)) return nullptr;
    const Var row = make_var("row");
    const Stmt all = for_loop(row, Expr(rows()), LoopKind::parallel, part_of_row(Expr(row), done, rest));
    return rest.is_constant() ? all : if_then(Expr(0) < Expr(rest), all);
  }

  Stmt remaining_rows() const {
    const Dim done = in_tiles(rows()), rest = rows() - done;
    if (rest == Dim(0)) return nullptr;
    const Var row = make_var("row");
    return for_loop(row, Expr(rest), LoopKind::parallel,
                    part_of_row(Expr(done) + Expr(row), Dim(0), in_tiles(columns())));
  }

  const Stage& stage_;
  const std::map<Buffer, Layout>& layouts_;
  const Machine& machine_;
  const int64_t size_;           // of a tile
  const int64_t tiles_at_once_;  // as many as fill a cache line
  size_t row_ = 0;               // axis of the result's rows
  size_t row_of_operand_ = 0;    // dimension of the operand whose index is along the result's columns
  const Intrinsic* intrinsic_ = nullptr;
};

}  // namespace

Buffer read_blocks_as_stored(TensorFunction& f, const std::vector<Layout>& layouts) {
  if (f.stages.size() != 1 || f.params.size() != 1 || f.results.size() != 1) return nullptr;
  Stage& stage = f.stages[0];
  const bool is_plain = !stage.reduction && !stage.body && stage.values.size() == 1;
  const Load* l = is_plain ? as<Load>(stage.values[0]) : nullptr;
  const Buffer image = f.params[0];
  if (!l || l->otherwise || l->buffer != image || layouts[0].is_dense() || !layouts[1].is_dense()) return nullptr;
  Buffer stored =
      make_buffer(image->name, image->type, physical_shape(layouts[0], image->shape), image->scope, image->alignment);
  stage.values[0] = load(stored, physical_index(layouts[0], l->indices, ranges_of(stage)));
  return stored;
}

Stmt schedule_transpose(const Stage& stage, const std::map<Buffer, Layout>& layouts, const Machine& machine) {
  return TransposeScheduler(stage, layouts, machine).run();
}

bool is_transposed_in_tiles(const Stage& stage, const Machine& machine) {
  return !stage.body && TransposeScheduler(stage, {}, machine).find_tiles();
}

}  // namespace dlcc::tensor

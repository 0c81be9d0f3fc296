#include "tensor/schedules/separable_window.h"

#include <algorithm>
#include <optional>

#include "tensor/analysis.h"
#include "tensor/schedules/image_rows.h"
#include "tensor/schedules/loops.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// The window of a stage, as axes and dimensions of the stage's only load.
struct SeparableWindow {
  Load load;
  size_t row_axis;       // of the stage
  size_t row_dimension;  // of the load: the innermost; its index depends on row_axis and along_row
  size_t along_row;      // the axis of the reduction that is reduced second
  IndicesRead columns;   // in the row dimension
  int64_t block = 1;     // rows of the result; 0: there are no blocks
};

// The axis whose indices are the rows of the result, the last before the axis of the row; empty if there is one row.
std::optional<size_t> rows_axis(const Stage& stage, const SeparableWindow& w) {
  for (size_t a = w.row_axis; a-- > 0;)
    if (stage.axes[a].extent != Dim(1)) return a;
  return std::nullopt;
}

// The rows of a block: as few blocks as fit in a loop's scratch, of about equal size. 0 if sizes are symbolic, so that
// the scratch is no array of a loop. Empty if a row does not fit.
std::optional<int64_t> choose_block(const Stage& stage, const SeparableWindow& w, const Machine& machine) {
  const auto axis = rows_axis(stage, w);
  const Dim rows = axis ? stage.axes[*axis].extent : Dim(1);
  if (!rows.is_constant() || !w.columns.count.is_constant()) return 0;
  const int64_t bytes = w.columns.count.value() * bits(stage.reduction->identity[0].type()) / 8;
  const int64_t most = std::min(rows.value(), machine.max_row_scratch() / bytes);
  if (most == 0) return std::nullopt;
  return ceil_div(rows.value(), ceil_div(rows.value(), most));
}

std::optional<SeparableWindow> find_window(const Stage& stage, const std::map<Buffer, Layout>& layouts) {
  if (!is_single_reduction(stage) || !is_order_independent(*stage.reduction)) return std::nullopt;
  for (const Axis& a : stage.reduction->axes)
    if (!a.extent.is_constant()) return std::nullopt;
  if (!layout_of(layouts, stage.results[0]).is_dense()) return std::nullopt;
  const auto row_axis = row_axis_of(stage);
  const auto load = only_load(stage);
  if (!row_axis || !load || !layout_of(layouts, load->buffer).is_dense()) return std::nullopt;
  if (!leaves_unchanged(stage, *load)) return std::nullopt;
  for (size_t d = 0; d < load->indices.size(); ++d)
    if (!indices_read(*load, d, stage)) return std::nullopt;

  const std::vector<Axis>& reduced = stage.reduction->axes;
  const Var& x = stage.axes[*row_axis].var;
  SeparableWindow window{*load, *row_axis, load->indices.size(), reduced.size(), {}};
  for (size_t d = 0; d < load->indices.size(); ++d)
    if (uses(load->indices[d], x)) window.row_dimension = d;
  if (window.row_dimension >= load->indices.size() || !is_innermost(*load->buffer, window.row_dimension))
    return std::nullopt;
  window.columns = *indices_read(*load, window.row_dimension, stage);
  const Expr& along = load->indices[window.row_dimension];
  for (size_t d = 0; d < load->indices.size(); ++d)
    if (d != window.row_dimension && uses(load->indices[d], x)) return std::nullopt;
  for (size_t a = 0; a < stage.axes.size(); ++a)
    if (a != *row_axis && uses(along, stage.axes[a].var)) return std::nullopt;
  for (size_t k = 0; k < reduced.size(); ++k) {
    if (!uses(along, reduced[k].var)) continue;
    if (window.along_row < reduced.size()) return std::nullopt;  // two axes of the window along the row
    window.along_row = k;
  }
  if (window.along_row >= reduced.size()) return std::nullopt;
  for (size_t d = 0; d < load->indices.size(); ++d)
    if (d != window.row_dimension && uses(load->indices[d], reduced[window.along_row].var)) return std::nullopt;
  return window;
}

// Compares the loads and stores for a vector of results. A vector of strided elements is `stride` loads.
bool saves_operations(const Stage& stage, const SeparableWindow& w, const Machine& machine) {
  const Expr& along = w.load.indices[w.row_dimension];
  const auto stride = stride_along(along, stage.axes[w.row_axis].var);
  if (!stride || *stride < 1 || *stride > machine.max_lane_stride) return false;
  int64_t rows = 1;  // of the window
  for (size_t k = 0; k < stage.reduction->axes.size(); ++k)
    if (k != w.along_row) rows *= stage.reduction->axes[k].extent.value();
  const int64_t taps = stage.reduction->axes[w.along_row].extent.value();
  return rows * taps * *stride > (rows + 1 + taps) * *stride;
}

// The stages that reduce along the columns and along the rows.
std::pair<Stage, Stage> divide(const Stage& stage, const SeparableWindow& w) {
  const Reduction& reduction = *stage.reduction;
  Stage columns = stage, rows = stage;
  columns.reduction->axes.erase(columns.reduction->axes.begin() + static_cast<std::ptrdiff_t>(w.along_row));
  rows.reduction->axes = {reduction.axes[w.along_row]};

  const Expr along = simplify(w.load.indices[w.row_dimension] - Expr(w.columns.first), ranges_of(stage));
  Shape shape;
  Substitution fresh;
  std::vector<Expr> index;
  columns.axes.clear();
  for (size_t a = 0; a < stage.axes.size(); ++a) {
    const Axis& own = stage.axes[a];
    Axis axis{make_var(own.var->name), a == w.row_axis ? w.columns.count : own.extent};
    Expr position = axis.var, read = a == w.row_axis ? along : Expr(own.var);
    if (a == rows_axis(stage, w) && w.block > 0 && w.block < own.extent.value()) {
      const Axis block{make_var("block"), Dim(ceil_div(own.extent.value(), w.block))};
      axis.extent = Dim(w.block);
      position = Expr(block.var) * Expr(w.block) + Expr(axis.var);
      columns.axes.push_back(block);
      shape.push_back(block.extent);
      index.push_back(floor_div(read, Expr(w.block)));
      read = floor_mod(read, Expr(w.block));
    }
    columns.axes.push_back(axis);
    shape.push_back(axis.extent);
    index.push_back(read);
    fresh.emplace(own.var, position);
  }
  for (Axis& axis : columns.reduction->axes) {
    const Var var = make_var(axis.var->name);
    fresh.emplace(axis.var, Expr(var));
    axis.var = var;
  }
  const Buffer partial = make_buffer("columns", reduction.identity[0].type(), shape, Scope::global, storage_alignment);
  columns.results = {partial};
  columns.values[0] = substitute(rewrite_accesses(stage.values[0],
                                                  [&](Buffer&, std::vector<Expr>& indices) {
                                                    indices[w.row_dimension] =
                                                        Expr(stage.axes[w.row_axis].var) + Expr(w.columns.first);
                                                  }),
                                 fresh);
  rows.values[0] = load(partial, std::move(index));
  return {std::move(columns), std::move(rows)};
}

}  // namespace

void separate_windows(TensorFunction& f, const std::map<Buffer, Layout>& layouts, const Machine& machine) {
  for (size_t k = 0; k < f.stages.size(); ++k) {
    auto window = find_window(f.stages[k], layouts);
    if (!window || !saves_operations(f.stages[k], *window, machine)) continue;
    const auto block = choose_block(f.stages[k], *window, machine);
    if (!block) continue;
    window->block = *block;
    auto [columns, rows] = divide(f.stages[k], *window);
    f.stages[k] = std::move(rows);
    f.stages.insert(f.stages.begin() + static_cast<std::ptrdiff_t>(k++), std::move(columns));
  }
}

}  // namespace dlcc::tensor

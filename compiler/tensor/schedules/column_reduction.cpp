#include "tensor/schedules/column_reduction.h"

#include <algorithm>
#include <functional>

#include "tensor/analysis.h"
#include "tensor/schedules/image_rows.h"
#include "tensor/schedules/loops.h"
#include "tensor/schedules/row_reduction.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

bool is_read_by_reduction(const TensorFunction& f, size_t k) {
  const Buffer& result = f.stages[k].results[0];
  return !std::ranges::count(f.results, result) &&
         std::any_of(f.stages.begin() + static_cast<std::ptrdiff_t>(k) + 1, f.stages.end(),
                     [&](const Stage& s) { return s.reduction && reads(s, result); });
}

class ColumnReductionScheduler {
 public:
  ColumnReductionScheduler(const ColumnReductionPlan& plan, const Machine& machine)
      : plan_(plan), stage_(plan.stage), machine_(machine), lanes_(lanes_of(plan.stage, machine)) {}

  Stmt run() const {
    const Dim& width = stage_.axes[plan_.row_axis].extent;
    Stmt body = sequence({identities(0, plan_.begin),
                          in_row_tiles(plan_.end - plan_.begin, machine_.max_row_vectors, lanes_, Repetition::allowed,
                                       [&](RowVectors part) {
                                         part.left = part.left + Expr(plan_.begin);
                                         return tile(part);
                                       }),
                          identities(plan_.end, width)});
    LoopKind kind = LoopKind::serial;
    for (size_t a = stage_.axes.size(); a-- > 0;) {
      if (a == plan_.row_axis) continue;
      const Dim& extent = stage_.axes[a].extent;
      body = for_loop(stage_.axes[a].var, Expr(extent), kind, body);
      if (extent != Dim(1)) kind = LoopKind::parallel;
    }
    return body;
  }

 private:
  std::vector<Expr> index(const Expr& column) const {
    std::vector<Expr> result;
    for (size_t a = 0; a < stage_.axes.size(); ++a)
      result.push_back(a == plan_.row_axis ? column : Expr(stage_.axes[a].var));
    return result;
  }

  Stmt identities(const Dim& begin, const Dim& end) const {
    if (begin == end) return nullptr;
    return vector_loop(end - begin, "i", [&](const Expr& i) {
      return store(stage_.results[0], index(i + Expr(begin)), stage_.reduction->identity[0]);
    });
  }

  Stmt tile(const RowVectors& part) const {
    const Reduction& r = *stage_.reduction;
    const Buffer acc = make_buffer("acc", r.identity[0].type(), {part.vectors, part.lanes}, Scope::reg);
    using Body = std::function<Stmt(const std::vector<Expr>& element, const std::vector<Expr>& index)>;
    auto all = [&](const Body& body) {
      Var v = make_var("v"), lane = make_var("lane");
      const Expr column = part.begin(v) + Expr(lane);
      return for_loop(v, part.vectors, LoopKind::unrolled,
                      for_loop(lane, part.lanes, LoopKind::vector, body({v, lane}, index(column))));
    };
    Stmt add = guarded([&](const Expr& value) {
      return all([&](const auto& e, const auto& at) {
        return store(acc, e, combined(r, load(acc, e), at_index(value, stage_, at), machine_));
      });
    });
    for (size_t k = r.axes.size(); k-- > 0;)
      add = for_loop(r.axes[k].var, Expr(r.axes[k].extent), LoopKind::serial, add);
    return allocate(
        acc,
        sequence({all([&](const auto& e, const auto&) { return store(acc, e, r.identity[0]); }), add,
                  all([&](const auto& e, const auto& at) { return store(stage_.results[0], at, load(acc, e)); })}));
  }

  // add(value) where the rows are in range. Their indices are variables, so that the condition gives their ranges.
  Stmt guarded(const std::function<Stmt(const Expr& value)>& add) const {
    std::vector<Expr> indices = plan_.load.indices;
    std::vector<Var> rows;
    Expr inside = literal(dtype::boolean, int64_t{1});
    for (size_t d : plan_.rows) {
      const Var at = rows.emplace_back(make_var("at"));
      indices[d] = at;
      inside = logical_and(inside, logical_and(Expr(at) >= Expr(0), Expr(at) < Expr(plan_.load.buffer->shape[d])));
    }
    const Expr value =
        rewrite(stage_.values[0], [&](const Expr& e) { return as<Load>(e) ? load(plan_.load.buffer, indices) : e; });
    Stmt body = rows.empty() ? add(value) : if_then(inside, add(value));
    for (size_t k = rows.size(); k-- > 0;) body = let(rows[k], plan_.load.indices[plan_.rows[k]], body);
    return body;
  }

  const ColumnReductionPlan& plan_;
  const Stage& stage_;
  const Machine& machine_;
  int64_t lanes_;
};

}  // namespace

std::optional<ColumnReductionPlan> plan_column_reduction(const TensorFunction& f, size_t k,
                                                         const std::map<Buffer, Layout>& layouts) {
  const Stage& stage = f.stages[k];
  if (!is_single_reduction(stage) || !is_order_independent(*stage.reduction) || !is_read_by_reduction(f, k))
    return std::nullopt;
  const auto row_axis = row_axis_of(stage);
  const auto load = only_load(stage);
  if (!row_axis || !load || !layout_of(layouts, load->buffer).is_dense() || !leaves_unchanged(stage, *load))
    return std::nullopt;
  const Var& column = stage.axes[*row_axis].var;
  for (size_t d = 0; d < load->indices.size(); ++d) {
    if (!uses(load->indices[d], column)) continue;
    const Expr shift = simplify(load->indices[d] - Expr(column));
    const auto first = constant_integer(shift);
    const bool elsewhere = std::any_of(load->indices.begin() + static_cast<std::ptrdiff_t>(d) + 1, load->indices.end(),
                                       [&](const Expr& i) { return uses(i, column); });
    if (!first || elsewhere || !is_innermost(*load->buffer, d)) return std::nullopt;
    const Dim &width = stage.axes[*row_axis].extent, &columns = load->buffer->shape[d];
    Dim begin = std::max<int64_t>(-*first, 0), end = columns - Dim(*first);
    if (width.is_constant() && columns.is_constant()) {
      begin = std::min(begin.value(), width.value());
      end = std::clamp(end.value(), begin.value(), width.value());
    }
    if (!provably_le(begin, end) || !provably_le(end, width)) return std::nullopt;
    ColumnReductionPlan plan{stage, *row_axis, *load, {}, begin, end};
    for (size_t row = 0; row < load->indices.size(); ++row)
      if (row != d && !provably_in_range(load->indices[row], load->buffer->shape[row], ranges_of(stage)))
        plan.rows.push_back(row);
    return plan;
  }
  return std::nullopt;
}

Stmt schedule_column_reduction(const ColumnReductionPlan& plan, const Machine& machine) {
  return ColumnReductionScheduler(plan, machine).run();
}

}  // namespace dlcc::tensor

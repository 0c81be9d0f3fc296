#include "tensor/schedules/row_reduction.h"

#include "tensor/analysis.h"
#include "tensor/schedules/loops.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

Expr multiply_add(Expr value, Expr sum, const Machine& machine) {
  const Binary* product = as<Binary>(value);
  if (machine.has_fma && product && product->op == BinaryOp::mul && is_float(value.type()))
    return fma(product->a, product->b, std::move(sum));
  return std::move(sum) + std::move(value);
}

Expr combined(const Reduction& r, Expr total, Expr value, const Machine& machine) {
  if (reducer_kind(r) == ReducerKind::sum) return multiply_add(std::move(value), std::move(total), machine);
  return substitute(r.combined[0], {{r.left[0], std::move(total)}, {r.right[0], std::move(value)}});
}

namespace {

// The loops of reduce_along_row, with the accumulators partial[u, lane].
class RowReduction {
 public:
  // `count`: vectors of accumulators.
  RowReduction(const Stage& stage, const std::vector<Expr>& index, int64_t width, int64_t count, const Machine& machine)
      : reduction_(*stage.reduction),
        row_(reduction_.axes.back()),
        width_(width),
        machine_(machine),
        value_(at_index(stage.values[0], stage, index)),
        count_(count) {
    partial_ = make_buffer("partial", reduction_.identity[0].type(), {count_, width}, Scope::reg);
  }

  Stmt run(const std::function<Stmt(const Expr& total)>& store_total) const {
    Stmt row = along_row();
    for (size_t k = reduction_.axes.size() - 1; k-- > 0;)
      row = for_loop(reduction_.axes[k].var, Expr(reduction_.axes[k].extent), LoopKind::serial, row);
    std::vector<Stmt> all = {
        unrolled(count_,
                 [&](const Expr& u) { return vector(u, width_, [&](auto&) { return reduction_.identity[0]; }); }),
        row};
    for (int64_t half = count_ / 2; half > 0; half /= 2)
      all.push_back(unrolled(half, [&](const Expr& u) {
        return vector(u, width_, [&](const Expr& lane) { return both({u, lane}, {u + Expr(half), lane}); });
      }));
    const Expr first = Expr(0);
    for (int64_t half = width_ / 2; half > 0; half /= 2)
      all.push_back(vector(first, half, [&](const Expr& lane) {
        return both({first, lane}, {first, lane + Expr(half)});
      }));
    all.push_back(store_total(load(partial_, {first, first})));
    return allocate(partial_, sequence(std::move(all)));
  }

 private:
  // Groups of vectors of the row, one for each accumulator, then its remaining vectors.
  Stmt along_row() const {
    const int64_t group = count_ * width_;
    const Dim groups = count_ > 1 ? floor_div(row_.extent, group) : Dim(0), rest = row_.extent - groups * Dim(group);
    const Var g = make_var("group");
    std::vector<Stmt> all;
    if (groups != Dim(0))
      all.push_back(for_loop(g, Expr(groups), LoopKind::serial, unrolled(count_, [&](const Expr& u) {
                               return accumulate(u, Expr(g) * Expr(group) + u * Expr(width_), width_);
                             })));
    if (rest != Dim(0))
      all.push_back(in_vectors(rest, width_, LoopKind::serial, [&](const Expr& begin, int64_t lanes) {
        return accumulate(Expr(0), Expr(groups * Dim(group)) + begin, lanes);
      }));
    return sequence(std::move(all));
  }

  Stmt accumulate(const Expr& u, const Expr& begin, int64_t lanes) const {
    return vector(u, lanes, [&](const Expr& lane) {
      const Expr term = substitute(value_, {{row_.var, begin + lane}}), total = load(partial_, {u, lane});
      // The target tests the first operand for NaN. The test of the value does not wait for the total. It needs one
      // more register, which a row has and a tile of many accumulators has not.
      const ReducerKind kind = reducer_kind(reduction_);
      if (kind == ReducerKind::max) return max(term, total);
      if (kind == ReducerKind::min) return min(term, total);
      return combined(reduction_, total, term, machine_);
    });
  }

  Stmt vector(const Expr& u, int64_t lanes, const std::function<Expr(const Expr& lane)>& value) const {
    const Var lane = make_var("lane");
    return for_loop(lane, lanes, LoopKind::vector, store(partial_, {u, lane}, value(lane)));
  }

  static Stmt unrolled(int64_t count, const std::function<Stmt(const Expr& u)>& body) {
    const Var u = make_var("u");
    return count == 1 ? body(Expr(0)) : for_loop(u, count, LoopKind::unrolled, body(u));
  }

  // Two elements of the accumulators combined.
  Expr both(const std::vector<Expr>& a, const std::vector<Expr>& b) const {
    return substitute(reduction_.combined[0],
                      {{reduction_.left[0], load(partial_, a)}, {reduction_.right[0], load(partial_, b)}});
  }

  const Reduction& reduction_;
  const Axis& row_;
  const int64_t width_;
  const Machine& machine_;
  const Expr value_;
  const int64_t count_;
  Buffer partial_;
};

}  // namespace

Stmt reduce_along_row(const Stage& stage, const std::vector<Expr>& index, int64_t width, const Machine& machine,
                      const std::function<Stmt(const Expr& total)>& store_total) {
  auto with = [&](int64_t count) { return RowReduction(stage, index, width, count, machine).run(store_total); };
  const Dim& row = stage.reduction->axes.back().extent;
  const int64_t most = is_expensive(stage.values[0]) ? 1 : machine.row_accumulators;
  int64_t count = 1;
  while (count < most && provably_le(2 * count * width, row)) count *= 2;
  if (count == most || provably_lt(row, most * width)) return with(count);
  return if_then(Expr(most * width) <= Expr(row), with(most), with(count));
}

}  // namespace dlcc::tensor

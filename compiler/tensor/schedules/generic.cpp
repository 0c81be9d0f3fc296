#include "tensor/schedules/generic.h"

#include <algorithm>
#include <numeric>

#include "tensor/analysis.h"
#include "tensor/schedules/image_rows.h"
#include "tensor/schedules/interior.h"
#include "tensor/schedules/loops.h"
#include "tensor/schedules/row_reduction.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class StageScheduler {
 public:
  StageScheduler(const Stage& stage, const std::map<Buffer, Layout>& layouts, const Machine& machine)
      : stage_(stage), machine_(machine) {
    for (const Axis& a : stage.axes) shape_.push_back(a.extent);
    loops_ = storage_loops(layout_of_box(layout_of(layouts, stage.results[0])), shape_);
    if (stage.reduction)
      for (const Axis& a : stage.reduction->axes) reduced_.push_back(a.extent);
  }

  Stmt run() {
    std::vector<Stmt> parts;
    for (const Requirement& r : stage_.requirements) parts.push_back(check(r));
    if (std::ranges::count(shape_, Dim(0))) return parts.empty() ? nullptr : sequence(std::move(parts));
    if (!stage_.reduction)
      parts.push_back(elementwise());
    else if (prefers_row_reduction())
      parts.push_back(row_reduction());
    else
      parts.push_back(reduction());
    return sequence(std::move(parts));
  }

  Stmt by_element() {
    const bool is_elementwise = !stage_.reduction && !stage_.body && stage_.requirements.empty();
    if (!is_elementwise || std::ranges::count(shape_, Dim(0))) return nullptr;
    return loops_.wrap(stores(values()), 0, loops_.extents.size());
  }

 private:
  // The layout of the box of the result that the stage computes; dense if the box begins or ends within a storage block
  // that it shares with other boxes.
  Layout layout_of_box(Layout layout) const {
    if (stage_.origin.empty()) return layout;
    for (Layout::Part& part : layout.parts) {
      auto axis = static_cast<size_t>(part.axis);
      if (std::ranges::count(layout.parts, part.axis, &Layout::Part::axis) == 1) {
        part = {part.axis, 1, shape_[axis]};
        continue;
      }
      int64_t begin = stage_.origin[axis].value(), end = begin + shape_[axis].value();
      int64_t block = part.divisor;
      if (block == 1) continue;
      if (begin % block || (end % block && Dim(end) != stage_.results[0]->shape[axis])) return {};
      part.extent = ceil_div(shape_[axis].value(), block);
    }
    return layout;
  }

  // The test of a requirement, in loops over those axes only that the condition depends on.
  Stmt check(const Requirement& r) {
    Stmt body = require(r.condition, r.status);
    for (size_t k = stage_.axes.size(); k-- > 0;)
      if (uses(r.condition, stage_.axes[k].var))
        body = for_loop(stage_.axes[k].var, Expr(shape_[k]), LoopKind::serial, body);
    return body;
  }

  std::vector<Expr> result_index(const std::vector<Expr>& index) const {
    std::vector<Expr> at = index;
    for (size_t k = 0; k < stage_.origin.size(); ++k) at[k] = at[k] + Expr(stage_.origin[k]);
    return at;
  }

  // The vector loop: the innermost one of more than one iteration.
  size_t vector_loop() const {
    for (size_t k = loops_.extents.size(); k-- > 0;)
      if (loops_.extents[k] != Dim(1)) return k;
    return loops_.extents.empty() ? 0 : loops_.extents.size() - 1;
  }

  // The values of one element of each result, as expressions of the loops' variables, and their stores.
  std::vector<Expr> values() const {
    std::vector<Expr> all;
    for (const Expr& v : stage_.values) all.push_back(at_index(v, stage_, loops_.index));
    return all;
  }
  Stmt stores(const std::vector<Expr>& values) const {
    std::vector<Stmt> all;
    for (size_t k = 0; k < stage_.results.size(); ++k)
      all.push_back(store(stage_.results[k], result_index(loops_.index), values[k]));
    return sequence(std::move(all));
  }

  Stmt elementwise() {
    const std::vector<Expr> all = values();
    if (loops_.extents.empty()) return stores(all);
    const size_t v = vector_loop();
    const Stmt body = loops_.wrap(stores(all), v + 1, loops_.extents.size());
    if (Stmt rows = repeated_rows(body, v)) return loops_.wrap(rows, 0, v);
    if (Stmt parts = interior_and_borders(body, all, v)) return loops_.wrap(parts, 0, v);
    if (std::ranges::all_of(loops_.extents.begin(), loops_.extents.begin() + static_cast<std::ptrdiff_t>(v),
                            [](const Dim& extent) { return extent == Dim(1); }))
      return loops_.wrap(in_chunks(body, v), 0, v);
    return loops_.wrap(vector_loops(body, v, Expr(0), loops_.extents[v]), 0, v);
  }

  // The number of elements of rows of an operand that repeat along the variable, which is floormod(variable, elements)
  // in an index. If the number is constant, the value must be the operand's element itself, and the variable must not
  // occur elsewhere.
  std::optional<Dim> repeated_elements(const Var& v) const {
    const std::vector<Expr> all = values();
    std::optional<Dim> elements;
    for (const Expr& value : all)
      for (const Load& l : loads_of(value))
        for (const Expr& index : l.indices)
          for_each_expr(index, [&](const Expr& e) {
            const Binary* x = as<Binary>(e);
            if (elements || !x || x->op != BinaryOp::floor_mod || !is_var(x->a, v)) return;
            if (const auto number = constant_integer(x->b)) elements = *number;
            for (const Dim& size : l.buffer->shape)
              if (structurally_equal(x->b, simplify(Expr(size)))) elements = size;
          });
    if (!elements || !provably_le(1, *elements)) return std::nullopt;
    if (!elements->is_constant()) return elements;
    const Expr rest = rewrite(all[0], [&](const Expr& e) { return is_remainder(e, v, *elements) ? Expr(0) : e; });
    return all.size() == 1 && as<Load>(all[0]) && !uses(rest, v) ? elements : std::nullopt;
  }

  static bool is_remainder(const Expr& e, const Var& v, const Dim& divisor) {
    const Binary* x = as<Binary>(e);
    return x && x->op == BinaryOp::floor_mod && is_var(x->a, v) && structurally_equal(x->b, simplify(Expr(divisor)));
  }

  // The loop over rows that repeat (repeated_elements); null if there are none. A row of constant size must be repeated
  // as a whole.
  Stmt repeated_rows(const Stmt& body, size_t loop) const {
    const auto elements = repeated_elements(loops_.vars[loop]);
    const Dim& count = loops_.extents[loop];
    if (!elements) return nullptr;
    if (!elements->is_constant()) return repeated_rows(body, loops_.vars[loop], *elements, count);
    const bool repeats = count.is_constant() && count.value() >= 2 * elements->value();
    return repeats ? repeated_rows(body, loops_.vars[loop], elements->value(), count.value()) : nullptr;
  }

  // Rows of symbolic size. The condition, which always holds, gives the range of a row's elements.
  Stmt repeated_rows(const Stmt& body, const Var& var, const Dim& period, const Dim& count) const {
    const Dim rows = floor_div(count, period), rest = count - rows * period;
    auto row = [&](const Expr& first, const Dim& elements) {
      return tensor::vector_loop(elements, var->name, [&](const Expr& i) {
        const Stmt at = rewrite(body, [&](const Expr& e) { return is_remainder(e, var, period) ? i : e; });
        return substitute(at, {{var, first + i}});
      });
    };
    const Var r = make_var("row");
    const Expr first = Expr(r) * Expr(period);
    const Stmt whole = if_then(first + Expr(period) <= Expr(count), row(first, period));
    return sequence({for_loop(r, Expr(rows), LoopKind::parallel, whole),
                     rest == Dim(0) ? nullptr : row(Expr(rows * period), rest)});
  }

  // Vectors of a loop over `count` elements, rows of which repeat after `period` elements: a loop over rows, or over
  // groups of a few short rows that fill a few vectors. No element needs a quotient.
  Stmt repeated_rows(const Stmt& body, const Var& var, int64_t period, int64_t count) const {
    const int64_t vector = period < lanes() && period <= machine_.max_unrolled_period ? lanes() : period;
    const int64_t group = std::lcm(period, vector), groups = count / group;
    auto elements = [&](const Expr& first, const Expr& offset, int64_t n) {
      const Var i = make_var(var->name);
      const Expr position = offset + Expr(i);
      const Expr in_row = vector == period ? position : floor_mod(position, Expr(period));
      const Stmt at = rewrite(body, [&](const Expr& e) { return is_remainder(e, var, period) ? in_row : e; });
      return for_loop(i, n, LoopKind::vector, substitute(at, {{var, first + position}}));
    };
    const Var g = make_var("rows"), u = make_var("u");
    const Stmt vectors = for_loop(u, group / vector, LoopKind::unrolled,
                                  elements(Expr(g) * Expr(group), Expr(u) * Expr(vector), vector));
    return sequence({for_loop(g, groups, LoopKind::parallel, vectors),
                     count % group ? elements(Expr(groups * group), Expr(0), count % group) : nullptr});
  }

  // The loop in three parts, if it has an interior (interior.h); else null.
  Stmt interior_and_borders(const Stmt& body, const std::vector<Expr>& values, size_t loop) const {
    const auto interior = find_interior(values, loops_, loop);
    if (!interior) return nullptr;
    auto part = [&](const Stmt& s, const Dim& begin, const Dim& end) {
      return begin == end ? nullptr : vector_loops(s, loop, Expr(begin), end - begin);
    };
    const Stmt inside = loops_.wrap(stores(interior->values), loop + 1, loops_.extents.size());
    const Dim &whole = loops_.extents[loop], size = interior->end - interior->begin;
    const Stmt parts = sequence({part(body, 0, interior->begin), part(inside, interior->begin, interior->end),
                                 part(body, interior->end, whole)});
    if (provably_le(interior->least_size, size)) return parts;
    return if_then(Expr(interior->least_size) <= Expr(size), parts, part(body, 0, whole));
  }

  // min(v, n - 1): the index of an operand of n elements that may be broadcast along the variable.
  static Expr broadcast_index(const Var& v, const Dim& n) { return simplify(min(Expr(v), Expr(n - Dim(1)))); }

  // The sizes of operands that may be broadcast along the variable.
  std::vector<Dim> broadcast_sizes(const Var& v) const {
    std::vector<Dim> sizes;
    for (const Expr& value : stage_.values)
      for (const Load& l : loads_of(at_index(value, stage_, loops_.index)))
        for (size_t d = 0; d < l.indices.size(); ++d) {
          const Dim& n = l.buffer->shape[d];
          const bool is_new = !n.is_constant() && !std::ranges::count(sizes, n);
          if (is_new && structurally_equal(l.indices[d], broadcast_index(v, n))) sizes.push_back(n);
        }
    return sizes;
  }

  // The loops of `loops(body)`, under conditions on the sizes of operands that may be broadcast along the variable, so
  // that vectors are loaded and not gathered: one version where all operands have `extent` elements, one for each
  // operand that alone is broadcast, and one for all other cases.
  Stmt for_broadcasts(const Stmt& body, const Var& v, const Dim& extent,
                      const std::function<Stmt(const Stmt& body)>& loops) const {
    const std::vector<Dim> sizes = broadcast_sizes(v);
    Stmt all = loops(body);
    if (sizes.empty()) return all;
    auto version = [&](const Dim* broadcast) {
      Expr condition;
      for (const Dim& n : sizes) {
        const Expr holds = &n == broadcast ? Expr(n) <= Expr(1) : Expr(extent) <= Expr(n);
        condition = condition ? logical_and(condition, holds) : holds;
      }
      const Stmt at = rewrite(body, [&](const Expr& e) {
        const auto n =
            std::ranges::find_if(sizes, [&](const Dim& d) { return structurally_equal(e, broadcast_index(v, d)); });
        return n == sizes.end() ? e : &*n == broadcast ? Expr(0) : Expr(v);
      });
      all = if_then(condition, loops(at), all);
    };
    if (static_cast<int64_t>(sizes.size()) <= machine_.max_broadcast_versions)
      for (const Dim& n : sizes) version(&n);
    version(nullptr);
    return all;
  }

  // Iterations [begin, begin + count) of a loop over the storage, in vectors.
  Stmt vector_loops(const Stmt& body, size_t loop, const Expr& begin, const Dim& count) const {
    const Var& var = loops_.vars[loop];
    return for_broadcasts(body, var, loops_.extents[loop], [&](const Stmt& version) {
      auto vector = [&](const Expr& first, int64_t n) {
        Var i = make_var(var->name);
        return for_loop(i, n, LoopKind::vector, substitute(version, {{var, begin + first + Expr(i)}}));
      };
      return count.is_constant() && !reads_quotients(var) ? vector(Expr(0), count.value())
                                                          : in_vectors(count, lanes(), LoopKind::parallel, vector);
    });
  }

  // Whether an index has a quotient floordiv(v, d) whose divisor d divides the number of lanes. In a loop over one
  // vector, the quotients of its lanes then differ from that of the first lane by known numbers: the elements are
  // loaded at once and shuffled.
  bool reads_quotients(const Var& v) const {
    bool any = false;
    for (const Expr& value : values())
      for (const Load& l : loads_of(value))
        for (const Expr& index : l.indices)
          for_each_expr(index, [&](const Expr& e) {
            const Binary* x = as<Binary>(e);
            const auto divisor = x && x->op == BinaryOp::floor_div ? constant_integer(x->b) : std::nullopt;
            any |= divisor && *divisor > 1 && lanes() % *divisor == 0 && uses(x->a, v);
          });
    return any;
  }

  // A vector loop without outer loops becomes a parallel loop over large chunks, each a vector loop, so that threads
  // may share it.
  Stmt in_chunks(const Stmt& body, size_t loop) const {
    const int64_t chunk = machine_.elementwise_chunk;
    const Dim& extent = loops_.extents[loop];
    const Dim whole = provably_lt(extent, machine_.min_elementwise_chunks * chunk) ? Dim(0) : floor_div(extent, chunk);
    const Dim rest = extent - whole * Dim(chunk);
    Var c = make_var("chunk");
    Stmt chunks, last;
    if (whole != Dim(0))
      chunks = for_loop(c, Expr(whole), LoopKind::parallel, vector_loops(body, loop, Expr(c) * Expr(chunk), chunk));
    if (rest != Dim(0)) last = vector_loops(body, loop, Expr(whole) * Expr(chunk), rest);
    return sequence({chunks, last});
  }

  // ---- reductions: lanes are neighbouring results

  // The reduction for one vector of results, with accumulators in registers.
  Stmt vector_of_results(const Expr& base, int64_t lanes) {
    size_t v = vector_loop();
    std::vector<Buffer> sums;
    for (const Expr& id : stage_.reduction->identity)
      sums.push_back(make_buffer("acc", id.type(), {lanes}, Scope::reg));
    Stmt init = lane_loop(lanes, [&](const Expr& lane) {
      std::vector<Stmt> stores;
      for (size_t k = 0; k < sums.size(); ++k) stores.push_back(store(sums[k], {lane}, stage_.reduction->identity[k]));
      return sequence(std::move(stores));
    });
    auto index_of = [&](const Expr& lane) {
      std::vector<Expr> index;
      for (const Expr& i : loops_.index)
        index.push_back(loops_.vars.empty() ? i : substitute(i, {{loops_.vars[v], base + lane}}));
      return index;
    };
    Stmt accumulate = lane_loop(lanes, [&](const Expr& lane) { return combine(sums, lane, index_of(lane)); });
    for (size_t r = reduced_.size(); r-- > 0;)
      accumulate = for_loop(stage_.reduction->axes[r].var, Expr(reduced_[r]), LoopKind::serial, accumulate);
    Stmt store_results = lane_loop(lanes, [&](const Expr& lane) {
      std::vector<Stmt> stores;
      for (size_t k = 0; k < sums.size(); ++k)
        stores.push_back(store(stage_.results[k], result_index(index_of(lane)), load(sums[k], {lane})));
      return sequence(std::move(stores));
    });
    Stmt body = sequence({init, accumulate, store_results});
    for (size_t k = sums.size(); k-- > 0;) body = allocate(sums[k], body);
    return body;
  }

  static Stmt lane_loop(int64_t lanes, const std::function<Stmt(const Expr&)>& body) {
    Var lane = make_var("lane");
    return for_loop(lane, lanes, LoopKind::vector, body(lane));
  }

  // sums[lane] = combined(sums[lane], value at `index`), all results at once.
  Stmt combine(const std::vector<Buffer>& sums, const Expr& lane, const std::vector<Expr>& index) {
    const Reduction& r = *stage_.reduction;
    std::vector<Expr> values;
    for (const Expr& v : stage_.values) values.push_back(at_index(v, stage_, index));
    if (sums.size() == 1) return store(sums[0], {lane}, combined(r, load(sums[0], {lane}), values[0], machine_));
    Substitution map;
    for (size_t k = 0; k < sums.size(); ++k) {
      map[r.left[k]] = load(sums[k], {lane});
      map[r.right[k]] = values[k];
    }
    std::vector<Var> next;  // all components are computed before any is stored
    std::vector<Stmt> stores;
    for (size_t k = 0; k < sums.size(); ++k) {
      next.push_back(make_var("next", sums[k]->type));
      stores.push_back(store(sums[k], {lane}, next.back()));
    }
    Stmt body = sequence(std::move(stores));
    for (size_t k = sums.size(); k-- > 0;) body = let(next[k], substitute(r.combined[k], map), body);
    return body;
  }

  Stmt reduction() {
    if (loops_.extents.empty()) return vector_of_results(Expr(0), 1);
    size_t v = vector_loop();
    auto vector = [&](const Expr& base, int64_t n) { return vector_of_results(base, n); };
    Stmt body = in_vectors(loops_.extents[v], lanes(), LoopKind::parallel, vector);
    body = loops_.wrap(body, v + 1, loops_.extents.size());
    return loops_.wrap(body, 0, v);
  }

  // ---- reductions: lanes are neighbouring indices of the last reduced axis

  int64_t lanes() const {
    int widest = 8;
    for (const Expr& v : stage_.values) widest = std::max(widest, bits(v.type()));
    return std::max(1, machine_.lanes(widest));
  }

  // The number of elements from which on a row is reduced by itself: a vector of what is computed. A search for the
  // position of a float computes an integer, which is wider than what it compares.
  int64_t shortest_row() const {
    int widest = 0;  // bits of a compared float
    for (const Load& l : loads_of(stage_.values[0])) {
      if (!is_float(l.buffer->type) || !is_integer(stage_.values[0].type())) return lanes();
      widest = std::max(widest, bits(l.buffer->type));
    }
    return widest == 0 ? lanes() : std::max(1, machine_.lanes(widest));
  }

  static bool depends_on(const Load& l, const std::vector<Axis>& axes) {
    return std::ranges::any_of(l.indices, [&](const Expr& i) {
      return std::ranges::any_of(axes, [&](const Axis& a) { return uses(i, a.var); });
    });
  }

  // Whether the operands that change along the reduced axes are contiguous along the last of them, and not along an
  // axis of the results.
  bool prefers_row_reduction() const {
    if (!is_order_independent(*stage_.reduction) || reduced_.empty() || provably_lt(reduced_.back(), shortest_row()))
      return false;
    const Var& last_axis = stage_.reduction->axes.back().var;
    bool along_reduced = false;
    for (const Load& l : loads_of(stage_.values[0])) {
      if (!depends_on(l, stage_.reduction->axes)) continue;
      for (size_t d = 0; d < l.indices.size(); ++d) {
        if (!is_innermost(*l.buffer, d)) {
          if (uses(l.indices[d], last_axis)) return false;
          continue;
        }
        for (const Axis& a : stage_.axes)
          if (uses(l.indices[d], a.var) && a.extent != Dim(1)) return false;
        along_reduced |= uses(l.indices[d], last_axis);
      }
    }
    return along_reduced;
  }

  Stmt row_reduction() {
    Stmt row = reduce_along_row(stage_, loops_.index, lanes(), machine_, [&](const Expr& total) {
      return store(stage_.results[0], result_index(loops_.index), total);
    });
    return loops_.wrap(row, 0, loops_.extents.size());
  }

  const Stage& stage_;
  const Machine& machine_;
  Shape shape_, reduced_;
  StorageLoops loops_;
};

}  // namespace

Stmt schedule_stage(const Stage& stage, const std::map<Buffer, Layout>& layouts, const Machine& machine) {
  return StageScheduler(stage, layouts, machine).run();
}

Stmt schedule_by_element(const Stage& stage, const std::map<Buffer, Layout>& layouts, const Machine& machine) {
  return StageScheduler(stage, layouts, machine).by_element();
}

}  // namespace dlcc::tensor

#include "tensor/schedules/loops.h"

#include <algorithm>

#include "support/integers.h"
#include "tensor/analysis.h"
#include "tensor/layout.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

std::vector<Var> scalars_of_kernel(const TensorFunction& f) {
  std::vector<Var> scalars = f.scalars;
  for (const Symbol& s : symbols_of(f)) scalars.push_back(as<VarRef>(symbol_var(s))->var);
  return scalars;
}

int64_t bytes_of(const Buffer& b) {
  constexpr int64_t most = int64_t{1} << 44;
  const std::optional<int64_t> elements = product(b->shape).upper_bound();
  return elements && *elements <= most / 16 ? *elements * bits(b->type) / 8 : most;
}

bool is_larger(const Buffer& b, int64_t bytes) { return !is_static(b->shape) || bytes_of(b) > bytes; }

int64_t typical_image_size(const Dim& d) {
  constexpr int64_t side = 224;
  std::map<std::string, int64_t> sizes;
  for (const Symbol& s : d.symbols()) sizes[s.name] = std::clamp(side, s.low, s.high);
  return std::max<int64_t>(d.evaluate(sizes).value_or(side), 1);
}

Layout layout_of(const std::map<Buffer, Layout>& layouts, const Buffer& b) {
  auto it = layouts.find(b);
  return it == layouts.end() ? Layout{} : it->second;
}

StorageLoops storage_loops(const Layout& layout, const Shape& shape) {
  StorageLoops loops;
  std::vector<Expr> physical;
  loops.extents = physical_shape(layout, shape);
  for (size_t k = 0; k < loops.extents.size(); ++k) {
    int axis = layout.is_dense() ? static_cast<int>(k) : layout.parts[k].axis;
    loops.vars.push_back(make_var("i" + std::to_string(axis)));
    physical.push_back(loops.vars.back());
    if (layout.is_dense() || !has_halo(layout.parts[k], shape[static_cast<size_t>(axis)])) continue;
    loops.extents[k] = shape[static_cast<size_t>(axis)];
    physical.back() = physical.back() + Expr(layout.parts[k].halo);
  }
  loops.index = logical_index(layout, static_cast<int>(shape.size()), physical);
  return loops;
}

Stmt zero_halo(const Buffer& buffer, const Layout& layout) {
  if (!has_halo(layout, buffer->shape)) return nullptr;
  StorageLoops loops = storage_loops(layout, buffer->shape);
  // From the innermost dimension outwards. `inside` zeroes the halos of the dimensions visited so far, `all` zeroes all
  // of their elements.
  Expr zero = literal(buffer->type, int64_t{0});
  Stmt inside, all = store(buffer, loops.index, zero);
  for (size_t k = loops.vars.size(); k-- > 0;) {
    const Layout::Part& part = layout.parts[k];
    LoopKind kind = k + 1 == loops.vars.size() ? LoopKind::vector : LoopKind::parallel;
    auto clear = [&](const Dim& begin, const Dim& count, const Stmt& body) -> Stmt {
      if (provably_le(count, 0) || !body) return nullptr;
      auto from = [&](const Expr& first, int64_t lanes) {
        Var i = make_var(loops.vars[k]->name);
        Stmt at = substitute(body, {{loops.vars[k], Expr(i) + first + Expr(begin)}});
        return for_loop(i, lanes, LoopKind::vector, at);
      };
      if (kind == LoopKind::vector)
        return count.is_constant() ? from(Expr(0), count.value())
                                   : in_vectors(count, channel_block, LoopKind::parallel, from);
      Var i = make_var(loops.vars[k]->name);
      return for_loop(i, Expr(count), kind, substitute(body, {{loops.vars[k], Expr(i) + Expr(begin)}}));
    };
    const Dim &extent = loops.extents[k], after = part.extent - Dim(part.halo) - extent;
    inside = sequence({clear(-part.halo, part.halo, all), clear(0, extent, inside), clear(extent, after, all)});
    all = clear(-part.halo, part.extent, all);
  }
  return inside;
}

Stmt StorageLoops::in_vectors(const Stmt& body) const {
  if (vars.empty()) return body;
  const Var& last = vars.back();
  auto vector = [&](const Expr& first, int64_t lanes) {
    Var i = make_var(last->name);
    return for_loop(i, lanes, LoopKind::vector, substitute(body, {{last, first + Expr(i)}}));
  };
  const Dim& extent = extents.back();
  return wrap(extent.is_constant() ? vector(Expr(0), extent.value())
                                   : tensor::in_vectors(extent, channel_block, LoopKind::parallel, vector),
              0, vars.size() - 1);
}

Stmt StorageLoops::wrap(Stmt body, size_t first, size_t last, LoopKind innermost) const {
  for (size_t k = last; k-- > first;)
    body = for_loop(vars[k], Expr(extents[k]), k + 1 == last ? innermost : LoopKind::parallel, body);
  return body;
}

Stmt in_vectors(const Dim& extent, int64_t width, LoopKind kind,
                const std::function<Stmt(const Expr& begin, int64_t lanes)>& vector) {
  if (extent.is_constant()) width = std::min(width, extent.value());
  const Dim whole = floor_div(extent, width);
  Var v = make_var("vector");
  std::vector<Stmt> all = {for_loop(v, Expr(whole), kind, vector(Expr(v) * Expr(width), width))};
  if (extent.is_constant()) {
    if (int64_t rest = extent.value() % width) all.push_back(vector(Expr(extent.value() - rest), rest));
    return sequence(std::move(all));
  }
  for (int64_t lanes = width / 2; lanes > 0; lanes /= 2) {
    const Dim done = floor_div(extent, 2 * lanes), rest = floor_div(extent, lanes) - Dim(2) * done;
    if (!provably_le(rest, 0))
      all.push_back(if_then(Expr(0) < Expr(rest), vector(Expr(done) * Expr(2 * lanes), lanes)));
  }
  return sequence(std::move(all));
}

Stmt in_tiles(const Expr& extent, int64_t size, const std::function<Stmt(const Expr& begin, int64_t size)>& tile) {
  constexpr int64_t common_factor = 7;
  if (size >= common_factor) size = size / common_factor * common_factor;
  Var t = make_var("tile");
  std::vector<Stmt> all = {
      for_loop(t, floor_div(extent, Expr(size)), LoopKind::parallel, tile(Expr(t) * Expr(size), size))};
  for (Expr left = floor_mod(extent, Expr(size)); size > 1; left = floor_mod(left, Expr(size))) {
    size = ceil_div(size, 2);
    const auto known = constant_integer(left);
    if (known && *known < size) continue;
    Stmt rest = tile(extent - left, size);
    all.push_back(known ? rest : if_then(Expr(size) <= left, rest));
  }
  return sequence(std::move(all));
}

Expr at_index(const Expr& e, const Stage& stage, const std::vector<Expr>& index) {
  Substitution map;
  for (size_t k = 0; k < stage.axes.size(); ++k) map[stage.axes[k].var] = index[k];
  return substitute(e, map);
}

Expr multiply_add(Expr value, Expr sum, const Machine& machine) {
  const Binary* product = as<Binary>(value);
  if (machine.has_fma && product && product->op == BinaryOp::mul && is_float(value.type()))
    return fma(product->a, product->b, std::move(sum));
  return std::move(sum) + std::move(value);
}

Expr combined(const Reduction& r, Expr total, Expr value, const Machine& machine) {
  const ReducerKind kind = reducer_kind(r);
  if (kind == ReducerKind::sum) return multiply_add(std::move(value), std::move(total), machine);
  // The target tests the first operand for NaN. The test of a value does not wait for the total.
  if (kind == ReducerKind::max) return max(std::move(value), std::move(total));
  if (kind == ReducerKind::min) return min(std::move(value), std::move(total));
  return substitute(r.combined[0], {{r.left[0], std::move(total)}, {r.right[0], std::move(value)}});
}

namespace {

// The loops of reduce_along_row, with the accumulators partial[u, lane].
class RowReduction {
 public:
  RowReduction(const Stage& stage, const std::vector<Expr>& index, int64_t width, const Machine& machine)
      : reduction_(*stage.reduction),
        row_(reduction_.axes.back()),
        width_(width),
        machine_(machine),
        value_(at_index(stage.values[0], stage, index)) {
    if (!is_expensive(value_))
      while (count_ < machine.row_accumulators && provably_le(2 * count_ * width, row_.extent)) count_ *= 2;
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
      const Expr term = substitute(value_, {{row_.var, begin + lane}});
      return combined(reduction_, load(partial_, {u, lane}), term, machine_);
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
  int64_t count_ = 1;
  Buffer partial_;
};

}  // namespace

Stmt reduce_along_row(const Stage& stage, const std::vector<Expr>& index, int64_t width, const Machine& machine,
                      const std::function<Stmt(const Expr& total)>& store_total) {
  return RowReduction(stage, index, width, machine).run(store_total);
}

}  // namespace dlcc::tensor

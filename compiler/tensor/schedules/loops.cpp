#include "tensor/schedules/loops.h"

#include <algorithm>

#include "support/integers.h"
#include "tensor/layout.h"
#include "tensor/machine.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

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
  return fill_halo(buffer, layout, literal(buffer->type, int64_t{0}));
}

Stmt fill_halo(const Buffer& buffer, const Layout& layout, const Expr& value) {
  if (!has_halo(layout, buffer->shape)) return nullptr;
  StorageLoops loops = storage_loops(layout, buffer->shape);
  // From the innermost dimension outwards. `inside` fills the halos of the dimensions visited so far, `all` fills all
  // of their elements.
  Stmt inside, all = store(buffer, loops.index, value);
  for (size_t k = loops.vars.size(); k-- > 0;) {
    const Layout::Part& part = layout.parts[k];
    LoopKind kind = k + 1 == loops.vars.size() ? LoopKind::vector : LoopKind::parallel;
    auto clear = [&](const Dim& begin, const Dim& count, const Stmt& body) -> Stmt {
      if (provably_le(count, 0) || !body) return nullptr;
      auto at = [&](const Expr& i) { return substitute(body, {{loops.vars[k], i + Expr(begin)}}); };
      if (kind == LoopKind::vector) return vector_loop(count, loops.vars[k]->name, at);
      Var i = make_var(loops.vars[k]->name);
      return for_loop(i, Expr(count), kind, at(i));
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
  auto at = [&](const Expr& i) { return substitute(body, {{last, i}}); };
  return wrap(vector_loop(extents.back(), last->name, at), 0, vars.size() - 1);
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

Stmt vector_loop(const Dim& count, const std::string& name, const std::function<Stmt(const Expr& i)>& body) {
  auto vector = [&](const Expr& first, int64_t lanes) {
    Var i = make_var(name);
    return for_loop(i, lanes, LoopKind::vector, body(first + Expr(i)));
  };
  return count.is_constant() ? vector(Expr(0), count.value())
                             : in_vectors(count, channel_block, LoopKind::parallel, vector);
}

Stmt in_halved_tiles(const Expr& extent, int64_t size,
                     const std::function<Stmt(const Expr& begin, int64_t size)>& tile) {
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

Stmt in_tiles(const Expr& extent, int64_t size, const std::function<Stmt(const Expr& begin, int64_t size)>& tile) {
  constexpr int64_t common_factor = 7;  // of the sizes of images in most networks: 7, 14, 28 ... 224
  return in_halved_tiles(extent, size >= common_factor ? size / common_factor * common_factor : size, tile);
}

Expr at_index(const Expr& e, const Stage& stage, const std::vector<Expr>& index) {
  Substitution map;
  for (size_t k = 0; k < stage.axes.size(); ++k) map[stage.axes[k].var] = index[k];
  return substitute(e, map);
}

}  // namespace dlcc::tensor

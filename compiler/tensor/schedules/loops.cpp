#include "tensor/schedules/loops.h"

#include "tensor/layout.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t round_up(int64_t a, int64_t to) { return ceil_div(a, to) * to; }

StorageLoops storage_loops(const Layout& layout, const std::vector<int64_t>& shape) {
  StorageLoops loops;
  std::vector<Expr> physical;
  loops.extents = physical_shape(layout, shape);
  for (size_t k = 0; k < loops.extents.size(); ++k) {
    int axis = layout.is_dense() ? static_cast<int>(k) : layout.parts[k].axis;
    loops.vars.push_back(make_var("i" + std::to_string(axis)));
    physical.push_back(loops.vars.back());
  }
  loops.index = logical_index(layout, static_cast<int>(shape.size()), physical);
  return loops;
}

Stmt StorageLoops::wrap(Stmt body, size_t first, size_t last, LoopKind innermost) const {
  for (size_t k = last; k-- > first;)
    body = for_loop(vars[k], extents[k], k + 1 == last ? innermost : LoopKind::serial, body);
  return body;
}

Expr at_index(const Expr& e, const Stage& stage, const std::vector<Expr>& index) {
  Substitution map;
  for (size_t k = 0; k < stage.axes.size(); ++k) map[stage.axes[k].var] = index[k];
  return substitute(e, map);
}

Expr multiply_add(Expr value, Expr sum) {
  const Binary* product = as<Binary>(value);
  if (product && product->op == BinaryOp::mul && is_float(value.type()))
    return fma(product->a, product->b, std::move(sum));
  return std::move(sum) + std::move(value);
}

}  // namespace dlcc::tensor

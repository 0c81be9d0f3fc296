#include "tensor/schedules/statements.h"

#include <algorithm>

#include "tensor/dim_of.h"
#include "tensor/schedules/loops.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// The bits of the widest element that the statement loads or stores.
int widest_element(const Stmt& body) {
  int widest = 8;
  for (const Buffer& b : free_in(body).buffers) widest = std::max(widest, bits(b->type));
  return widest;
}

std::optional<Dim> size_of(const Expr& extent) {
  return dim_of(extent, [](const Var& v) -> std::optional<Dim> {
    return is_symbol_var(v) ? std::optional(Dim::symbol({v->name})) : std::nullopt;
  });
}

Stmt strip_mined(const For& loop, const Machine& machine) {
  const auto extent = size_of(loop.extent);
  if (!extent) return make_stmt(For{loop.var, loop.extent, LoopKind::serial, loop.body});
  if (*extent == Dim(0)) return nullptr;
  const int64_t lanes = std::max(1, machine.lanes(widest_element(loop.body)));
  return in_vectors(*extent, lanes, LoopKind::parallel, [&](const Expr& begin, int64_t count) {
    const Var lane = make_var("lane");
    return for_loop(lane, Expr(count), LoopKind::vector, substitute(loop.body, {{loop.var, begin + Expr(lane)}}));
  });
}

}  // namespace

Stmt schedule_body(const Stage& stage, const Machine& machine) {
  return rewrite(stage.body, {}, [&](const Stmt& s) {
    const For* loop = as<For>(s);
    return loop && loop->kind == LoopKind::vector ? strip_mined(*loop, machine) : s;
  });
}

}  // namespace dlcc::tensor

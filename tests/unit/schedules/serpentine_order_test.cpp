// Loops that run backward in every other call.
#include "tensor/passes/serpentine_order.h"

#include <doctest/doctest.h>

#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

const Buffer weights = make_buffer("w", dtype::f32, {4, 8}), other = make_buffer("x", dtype::f32, {4, 8}),
             result = make_buffer("y", dtype::f32, {4, 8});
const Var panel = make_var("panel"), column = make_var("column"), backward = make_var("backward");

// for panel in 4 { prefetch w[panel + 1, 0]; for column in 8 { y[panel, column] = source[panel, column] } }
Stmt copy_of(const Buffer& source, LoopKind kind = LoopKind::parallel) {
  const Stmt row = for_loop(column, 8, LoopKind::vector, store(result, {panel, column}, load(source, {panel, column})));
  const Stmt next = make_stmt(Prefetch{weights, {Expr(panel) + Expr(1), Expr(0)}, CacheLevel::second});
  return for_loop(panel, 4, kind, sequence({next, row}));
}

std::string text_of(const Stmt& s) { return s ? print(s) : "nothing"; }

}  // namespace

TEST_CASE("a parallel loop over the panels of a repeated operand is reversed in every other run") {
  CHECK(text_of(serpentine_order(copy_of(weights), backward, {weights})) == R"(parallel panel_at in 4 {
  let panel = backward == 1 ? 3 - panel_at : panel_at
  prefetch w[panel - 2 * backward + 1, 0] : l2
  vector column in 8 {
    y[panel, column] = w[panel, column]
  }
}
)");
}

TEST_CASE("loops over another operand, serial loops and loops without panels keep their order") {
  CHECK(text_of(serpentine_order(copy_of(other), backward, {weights})) == "nothing");  // reads another operand
  CHECK(text_of(serpentine_order(copy_of(weights, LoopKind::serial), backward, {weights})) ==
        "nothing");  // depends on it
  const Stmt whole = for_loop(panel, 4, LoopKind::parallel, store(result, {panel, Expr(0)}, load(weights, {0, 0})));
  CHECK(text_of(serpentine_order(whole, backward, {weights})) == "nothing");  // each iteration reads the same
}

TEST_CASE("a loop in a sequence within an allocation is reversed") {
  const Buffer local = make_buffer("total", dtype::f32, {1}, Scope::local);
  const Stmt both = allocate(local, sequence({store(local, {0}, literal(dtype::f32, 0.0)), copy_of(weights)}));
  const std::string text = text_of(serpentine_order(both, backward, {weights}));
  CHECK_MESSAGE(text.find("total[0] = 0.0\nparallel panel_at in 4") != text.npos, text);
}

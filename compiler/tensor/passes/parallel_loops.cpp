#include "tensor/passes/parallel_loops.h"

#include <algorithm>
#include <utility>

#include "shape/typical_sizes.h"
#include "support/integers.h"
#include "tensor/dim_of.h"
#include "tensor/intrinsic.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

bool uses_outer_buffer(const Stmt& body) {
  return std::ranges::any_of(free_in(body).buffers, [](const Buffer& b) { return b->scope != Scope::global; });
}

// Whether two iterations of a loop may store into the same byte: elements of 2 or 4 bits share bytes.
bool may_share_bytes(const For& loop, const Ranges& ranges) {
  bool may_share = false;
  for_each_stmt(loop.body, [&](const Stmt& s) {
    const Store* x = as<Store>(s);
    if (!x || bits(x->buffer->type) >= 8) return;
    const int64_t per_byte = 8 / bits(x->buffer->type);
    Expr offset = Expr(0);
    for (size_t d = 0; d < x->indices.size(); ++d) offset = offset * Expr(x->buffer->shape[d]) + x->indices[d];
    const Expr first = substitute(offset, {{loop.var, Expr(0)}});
    const auto stride = constant_integer(simplify(substitute(offset, {{loop.var, Expr(1)}}) - first));
    const auto range = range_of(simplify(first), ranges);
    const bool is_linear = stride && constant_integer(simplify(offset - first - Expr(loop.var) * Expr(*stride))) == 0;
    const bool is_apart = is_linear && range && *stride % per_byte == 0 &&
                          floor_div(range->high, per_byte) - floor_div(range->low, per_byte) < *stride / per_byte;
    may_share |= !is_apart;
  });
  return may_share;
}

bool is_of_symbols(const Expr& extent) {
  return std::ranges::all_of(variables_in(extent), [](const Var& v) { return is_symbol_var(v); });
}

// Adds the range of each symbol in the expression: its value is typical_size in all estimates.
void assume_typical_sizes(const Expr& e, Ranges& ranges) {
  if (constant_integer(e)) return;
  for (const Var& v : variables_in(e))
    if (is_symbol_var(v)) ranges[v] = {typical_size, typical_size};
}

// A loop counts in multiples of its variable where that is all that it needs.
bool is_multiple_of_variable(const Expr& e) {
  const Binary* x = as<Binary>(e);
  return x && x->op == BinaryOp::mul && constant_integer(x->a) && as<VarRef>(x->b);
}

class LoopSelector {
 public:
  LoopSelector(int threads, const Machine& machine, Ranges ranges = {})
      : threads_(threads), machine_(machine), ranges_(std::move(ranges)) {}

  // A statement with parallel loops selected, and its cost.
  struct CostedStmt {
    Stmt stmt;
    double cost = 0;
  };

  CostedStmt best(const Stmt& s) {
    if (!s) return {};
    return std::visit(
        overloaded{
            [&](const For& x) { return loop(x); },
            [&](const Sequence& x) {
              CostedStmt all;
              std::vector<Stmt> body;
              for (const Stmt& b : x.body) body.push_back(add(best(b), all.cost));
              all.stmt = sequence(std::move(body));
              return all;
            },
            [&](const Let& x) {
              auto range = x.value.type() == dtype::i64 ? range_of(x.value, ranges_) : std::nullopt;
              if (range) ranges_[x.var] = *range;
              CostedStmt body = best(x.body);
              const double cost = is_multiple_of_variable(x.value) ? 0 : machine_.register_store_cost;
              return CostedStmt{let(x.var, x.value, body.stmt), body.cost + cost};
            },
            [&](const Allocate& x) {
              CostedStmt body = best(x.body);
              return CostedStmt{allocate(x.buffer, body.stmt), body.cost};
            },
            [&](const IfThen& x) {
              CostedStmt a = best(x.then_body), b = best(x.else_body);
              return CostedStmt{if_then(x.condition, a.stmt, b.stmt), a.cost + b.cost + machine_.register_store_cost};
            },
            [&](const Store& x) {
              double cost = x.buffer->scope == Scope::reg ? machine_.register_store_cost : machine_.memory_store_cost;
              for (const Load& l : loads_of(x.value))
                if (l.buffer->scope == Scope::global) cost += machine_.memory_load_cost;
              return CostedStmt{s, cost};
            },
            [&](const Require&) {
              return CostedStmt{s, machine_.memory_store_cost};
            },
            [&](const Prefetch&) {
              return CostedStmt{s, machine_.register_store_cost};
            },
            [&](const IntrinsicCall& x) {
              double cost = machine_.memory_store_cost;
              for (const Intrinsic::Operand& o : x.intrinsic->operands)
                if (o.access == Access::write && o.buffer->scope == Scope::global)
                  cost = static_cast<double>(product(o.buffer->shape).value()) *
                         (machine_.memory_store_cost + machine_.memory_load_cost);
              return CostedStmt{s, cost};
            },
            [&](const Outline& x) {
              const bool was_inside = std::exchange(inside_, true);
              CostedStmt body = best(x.body);
              inside_ = was_inside;
              return CostedStmt{outline(body.stmt), body.cost + machine_.call_cost};
            },
        },
        s->v);
  }

 private:
  static Stmt add(CostedStmt part, double& cost) {
    cost += part.cost;
    return part.stmt;
  }

  CostedStmt loop(const For& x) {
    assume_typical_sizes(x.extent, ranges_);
    auto range = range_of(x.extent, ranges_);
    if (range) ranges_[x.var] = {0, std::max<int64_t>(range->high - 1, 0)};
    double extent = range ? static_cast<double>(std::max<int64_t>(range->high, 0)) : 1;
    LoopKind kind = x.kind == LoopKind::parallel ? LoopKind::serial : x.kind;
    bool was_inside = std::exchange(inside_, inside_ || x.kind == LoopKind::vector || x.kind == LoopKind::unrolled);
    CostedStmt body = best(x.body);
    inside_ = was_inside;
    if (!body.stmt) return {nullptr, 0};
    CostedStmt result{make_stmt(For{x.var, x.extent, kind, body.stmt}), extent * body.cost};
    if (x.kind != LoopKind::parallel || inside_ || threads_ < 2) return result;
    consider(result, x);
    if (auto collapsed = collapse(x)) consider(result, *collapsed);
    return result;
  }

  // Replaces `best_so_far` by the parallel version of the loop if that costs less.
  void consider(CostedStmt& best_so_far, const For& x) {
    if (constant_integer(x.extent).value_or(2) < 2) return;
    auto range = range_of(x.extent, ranges_);
    if (!range || (!constant_integer(x.extent) && !is_of_symbols(x.extent))) return;
    const int64_t extent = std::max<int64_t>(range->high, 0);
    ranges_[x.var] = {0, std::max<int64_t>(extent - 1, 0)};
    inside_ = true;
    CostedStmt body = best(x.body);
    inside_ = false;
    int64_t longest = ceil_div(extent, threads_);
    double cost = static_cast<double>(longest) * body.cost + machine_.fork_cost;
    if (cost >= best_so_far.cost || uses_outer_buffer(x.body) || may_share_bytes(x, ranges_)) return;
    best_so_far = {make_stmt(For{x.var, x.extent, LoopKind::parallel, body.stmt}), cost};
  }

  // The loop collapsed with the parallel loop that is its body; empty if its body is anything else.
  static std::optional<For> collapse(const For& outer) {
    const For* inner = as<For>(outer.body);
    if (!inner || inner->kind != LoopKind::parallel) return std::nullopt;
    auto a = constant_integer(outer.extent), b = constant_integer(inner->extent);
    if (!a || !b || *b == 0) return std::nullopt;
    Var both = make_var(outer.var->name + "_" + inner->var->name);
    Stmt body = let(inner->var, floor_mod(Expr(both), Expr(*b)), inner->body);
    return For{both, Expr(*a * *b), LoopKind::parallel, let(outer.var, floor_div(Expr(both), Expr(*b)), body)};
  }

  int threads_;
  const Machine& machine_;
  bool inside_ = false;  // in a loop that stays parallel, or in a vector or unrolled loop
  Ranges ranges_;
};

// The cost of a statement as a dim. A loop whose extent depends on more than sizes counts with the largest extent that
// it has at typical sizes, or as one iteration; of a condition, both branches count.
class SizeCost {
 public:
  explicit SizeCost(const Machine& machine) : machine_(machine) {}

  Dim of(const Stmt& s) {
    if (const For* x = as<For>(s)) return of_loop(*x);
    if (const Let* x = as<Let>(s)) return of(x->body);
    if (const Allocate* x = as<Allocate>(s)) return of(x->body);
    if (const Outline* x = as<Outline>(s)) return of(x->body);
    if (const IfThen* x = as<IfThen>(s)) return of(x->then_body) + of(x->else_body);
    if (const Sequence* x = as<Sequence>(s)) {
      std::vector<Dim> parts;
      for (const Stmt& part : x->body) parts.push_back(of(part));
      return sum(parts);
    }
    return s ? Dim(static_cast<int64_t>(cost_of(s, {}, machine_))) : Dim(0);
  }

 private:
  Dim of_loop(const For& x) {
    assume_typical_sizes(x.extent, ranges_);
    const auto range = range_of(x.extent, ranges_);
    if (range) ranges_[x.var] = {0, std::max<int64_t>(range->high - 1, 0)};
    auto size_of = [](const Var& v) { return is_symbol_var(v) ? std::optional(Dim::symbol({v->name})) : std::nullopt; };
    const Dim largest = range ? std::max<int64_t>(range->high, 0) : 1;
    return dim_of(x.extent, size_of).value_or(largest) * of(x.body);
  }

  const Machine& machine_;
  Ranges ranges_;
};

}  // namespace

Stmt choose_parallel_loops(const Stmt& s, int threads, const Machine& machine) {
  return LoopSelector(threads, machine).best(s).stmt;
}

double cost_of(const Stmt& s, const Ranges& ranges, const Machine& machine) {
  return LoopSelector(1, machine, ranges).best(s).cost;
}

int64_t count_tasks(const For& loop, int64_t extent, int threads, const Machine& machine) {
  double iterations_per_thread = static_cast<double>(extent) / threads;
  double worth = iterations_per_thread * cost_of(loop.body, {}, machine) / machine.min_task_cost;
  return threads *
         static_cast<int64_t>(std::max(std::min({iterations_per_thread, worth, machine.max_tasks_per_thread}), 1.0));
}

int64_t typical_extent(const For& loop) {
  Ranges ranges;
  assume_typical_sizes(loop.extent, ranges);
  auto range = range_of(loop.extent, ranges);
  return range ? std::max<int64_t>(range->high, 1) : typical_size;
}

Dim cost_in_sizes(const For& loop, const Machine& machine) { return SizeCost(machine).of(make_stmt(loop)); }

}  // namespace dlcc::tensor

#include "tensor/passes/outline_loop_nests.h"

#include <algorithm>
#include <utility>

#include "tensor/passes/parallel_loops.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class Outliner {
 public:
  Outliner(int max_depth, int threads, const Machine& machine)
      : machine_(machine), max_depth_(max_depth), threads_(threads) {}

  // The statement with outlined nests. `outside`: the depth of the loops of the same function around it.
  Stmt run(const Stmt& s, int outside) {
    if (!s || outside + height(s) <= max_depth_) return s;
    if (const For* x = as<For>(s)) return loop(s, *x, outside);
    if (const Let* x = as<Let>(s))
      if (auto value = range_of(x->value, ranges_)) ranges_[x->var] = *value;
    const bool several = as<Sequence>(s) && outside > 0 && holds_several_nests(*as<Sequence>(s));
    return map_nested(s, [&](const Stmt& nested) {
      Stmt outlined = several && height(nested) > 0 ? outlined_nest(nested) : nullptr;
      return outlined ? outlined : run(nested, outside);
    });
  }

 private:
  // The weight of a loop in the nesting depth: 0 if it is unrolled, vectorized or has one iteration, 2 if its end is in
  // a register, else 1.
  int loops(const For& x) const {
    auto extent = constant_integer(x.extent);
    if (x.kind == LoopKind::unrolled || x.kind == LoopKind::vector || extent == 1) return 0;
    return is_shared(x) || !extent ? 2 : 1;
  }

  bool is_shared(const For& x) const { return x.kind == LoopKind::parallel && threads_ > 1; }

  // The depth of nested loops within the statement, without those of outlined nests. Several nests in a sequence count
  // as one more loop: the start values of a later nest stay live during the earlier ones.
  int height(const Stmt& s) const {
    if (const For* x = as<For>(s)) return loops(*x) + height(x->body);
    if (const Let* x = as<Let>(s)) return height(x->body);
    if (const Allocate* x = as<Allocate>(s)) return height(x->body);
    if (const IfThen* x = as<IfThen>(s)) return std::max(height(x->then_body), height(x->else_body));
    const Sequence* x = as<Sequence>(s);
    if (!x) return 0;
    int highest = 0;
    for (const Stmt& part : x->body) highest = std::max(highest, height(part));
    return highest + (holds_several_nests(*x) ? 1 : 0);
  }

  bool holds_several_nests(const Sequence& x) const {
    return std::ranges::count_if(x.body, [&](const Stmt& part) { return height(part) > 1; }) > 1;
  }

  Stmt loop(const Stmt& s, const For& x, int outside) {
    if (x.kind == LoopKind::vector) return s;
    if (outside > 0 && loops(x) > 0 && (outside >= max_own_loops || height(s) <= max_depth_))
      if (Stmt outlined = outlined_nest(s)) return outlined;
    if (auto extent = range_of(x.extent, ranges_)) ranges_[x.var] = {0, std::max<int64_t>(extent->high - 1, 0)};
    const double around = calls_;
    if (loops(x) > 0) calls_ = cost_of(x.body, ranges_, machine_) * machine_.max_call_share / machine_.call_cost;
    Stmt result = map_nested(s, [&](const Stmt& body) { return run(body, outside + loops(x)); });
    calls_ = around;
    return result;
  }

  // The statement outlined, with further outlined nests in it. Null if calls would cost too much, or if the statement
  // accesses register buffers of the code around it, may return a status, or contains a loop that threads share.
  Stmt outlined_nest(const Stmt& s) {
    if (calls_ < 1) return nullptr;
    bool may = std::ranges::none_of(free_in(s).buffers, [](const Buffer& b) { return b->scope == Scope::reg; });
    for_each_stmt(s, [&](const Stmt& part) {
      const For* loop = as<For>(part);
      may &= !as<Require>(part) && !(loop && is_shared(*loop));
    });
    if (!may) return nullptr;
    --calls_;
    return outline(run(s, 0));
  }

  static constexpr int max_own_loops = 2;  // of a function that calls outlined nests

  const Machine& machine_;
  int max_depth_;  // of nested loops in a function
  int threads_;
  Ranges ranges_;
  double calls_ = 0;  // calls that an iteration of the surrounding loop may still make
};

}  // namespace

int loop_depth_that_fits(const Machine& machine) { return machine.general_registers / machine.registers_per_loop; }

Stmt outline_loop_nests(const Stmt& body, int max_depth, int threads, const Machine& machine) {
  return Outliner(max_depth, threads, machine).run(body, 0);
}

int next_smaller_depth(const Stmt& body, int max_depth, int threads, const Machine& machine) {
  auto outlined = [&](int depth) { return print(outline_loop_nests(body, depth, threads, machine)); };
  const std::string now = outlined(max_depth);
  for (int fewer = max_depth - 1; fewer > 0; --fewer)
    if (outlined(fewer) != now) return fewer;
  return max_depth;
}

}  // namespace dlcc::tensor

// Selects the loop nests of a kernel that are outlined. Each loop of a nest keeps a counter and pointers in registers.
// A function whose nested loops need more registers than exist would spill some of them in its inner loops. An outlined
// nest has all registers to itself, and the registers of the loops around it are saved once per call.
#include <algorithm>

#include "targets/llvm/kernel_emitter.h"
#include "tensor/passes/parallel_loops.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::targets {

using namespace tensor;

namespace {

class Outliner {
 public:
  Outliner(const Machine& machine, int max_depth, int threads, const std::set<Var>& unrolled)
      : machine_(machine), max_depth_(max_depth), threads_(threads), unrolled_(unrolled) {}

  std::set<const StmtNode*> run(const Stmt& body) {
    visit(body, 0);
    return std::move(outlined_);
  }

 private:
  // The weight of a loop in the nesting depth: 0 if it is unrolled, vectorized or has one iteration, 2 if its end is in
  // a register, else 1.
  int loops(const For& x) const {
    auto extent = constant_integer(x.extent);
    bool gone = x.kind == LoopKind::unrolled || x.kind == LoopKind::vector || unrolled_.contains(x.var);
    if (gone || extent == 1) return 0;
    return is_shared(x) || !extent ? 2 : 1;
  }

  bool is_shared(const For& x) const { return x.kind == LoopKind::parallel && threads_ > 1; }

  // The depth of nested loops within the statement. Several nests in a sequence count as one more loop: the start
  // values of a later nest stay live during the earlier ones.
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

  // `outside`: the depth of the loops of the same function around the statement.
  void visit(const Stmt& s, int outside) {
    if (!s || outside + height(s) <= max_depth_) return;
    if (const For* x = as<For>(s)) {
      if (x->kind == LoopKind::vector) return;
      if (outside > 0 && loops(*x) > 0 && (outside >= max_own_loops || height(s) <= max_depth_) && outline(s)) return;
      if (auto extent = range_of(x->extent, ranges_)) ranges_[x->var] = {0, std::max<int64_t>(extent->high - 1, 0)};
      double around = calls_;
      if (loops(*x) > 0) calls_ = cost_of(x->body, ranges_, machine_) * machine_.max_call_share / machine_.call_cost;
      visit(x->body, outside + loops(*x));
      calls_ = around;
    } else if (const Sequence* x = as<Sequence>(s)) {
      bool several = outside > 0 && holds_several_nests(*x);
      for (const Stmt& part : x->body)
        if (!several || height(part) < 1 || !outline(part)) visit(part, outside);
    } else if (const Let* x = as<Let>(s)) {
      if (auto value = range_of(x->value, ranges_)) ranges_[x->var] = *value;
      visit(x->body, outside);
    } else if (const Allocate* x = as<Allocate>(s)) {
      visit(x->body, outside);
    } else if (const IfThen* x = as<IfThen>(s)) {
      visit(x->then_body, outside), visit(x->else_body, outside);
    }
  }

  // Outlines the statement. Returns false if calls would cost too much, or if the statement accesses register buffers
  // of the code around it, may return a status, or contains a loop that threads share.
  bool outline(const Stmt& s) {
    if (calls_ < 1) return false;
    bool may = std::ranges::none_of(free_in(s).buffers, [](const Buffer& b) { return b->scope == Scope::reg; });
    for_each_stmt(s, [&](const Stmt& part) {
      const For* loop = as<For>(part);
      may &= !as<Require>(part) && !(loop && is_shared(*loop));
    });
    if (!may) return false;
    --calls_;
    outlined_.insert(s.get());
    visit(s, 0);
    return true;
  }

  static constexpr int max_own_loops = 2;  // of a function that calls outlined nests

  const Machine& machine_;
  int max_depth_;  // of nested loops in a function
  int threads_;
  const std::set<Var>& unrolled_;  // variables of fully unrolled loops
  Ranges ranges_;
  double calls_ = 0;  // calls that an iteration of the surrounding loop may still make
  std::set<const StmtNode*> outlined_;
};

}  // namespace

int loop_depth_that_fits(const Machine& machine) { return machine.general_registers / machine.registers_per_loop; }

std::set<const StmtNode*> find_outlined_nests(const Kernel& kernel, const Machine& machine, int max_depth, int threads,
                                              const std::set<Var>& unrolled) {
  return Outliner(machine, max_depth, threads, unrolled).run(kernel.body);
}

}  // namespace dlcc::targets

// Which statements of a kernel become functions of their own. Loops in each other need registers for their counters and
// pointers; where a function's loops need more than there are, the register allocator spills some of them in the middle
// of the nest. As a function of its own a nest has all registers to itself, and what the loops around it need is saved
// once for each call.
#include <algorithm>

#include "targets/llvm/kernel_emitter.h"
#include "tensor/passes/parallel_loops.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::targets {

using namespace tensor;

namespace {

constexpr double calls_of_iteration = 1. / 64;  // at most so much of it goes into calls

class Divider {
 public:
  Divider(const Machine& machine, int most_loops, int threads, const std::set<const VarNode*>& unrolled)
      : machine_(machine), most_loops_(most_loops), threads_(threads), unrolled_(unrolled) {}

  std::set<const StmtNode*> divide(const Stmt& body) {
    divide(body, 0);
    return std::move(nests_);
  }

 private:
  // Loops that one loop counts as. Where it ends is a value in a register, too, if it is not a constant.
  int loops(const For& x) const {
    auto extent = constant_integer(x.extent);
    bool gone = x.kind == LoopKind::unrolled || x.kind == LoopKind::vector || unrolled_.contains(x.var.get());
    if (gone || extent == 1) return 0;
    return is_shared(x) || !extent ? 2 : 1;
  }

  bool is_shared(const For& x) const { return x.kind == LoopKind::parallel && threads_ > 1; }

  // Loops in each other within the statement. Nests one after another count as one more: what the next one begins with
  // is kept during the first.
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

  // `outside`: loops of the same function around the statement. Two of them and what is bound within are enough for one
  // function beside its calls.
  void divide(const Stmt& s, int outside) {
    if (!s || outside + height(s) <= most_loops_) return;
    if (const For* x = as<For>(s)) {
      if (x->kind == LoopKind::vector) return;
      if (outside > 0 && loops(*x) > 0 && (outside > 1 || height(s) <= most_loops_) && set_apart(s)) return;
      if (auto extent = range_of(x->extent, ranges_)) ranges_[x->var] = {0, std::max<int64_t>(extent->high - 1, 0)};
      double around = calls_;
      if (loops(*x) > 0) calls_ = cost_of(x->body, ranges_) * calls_of_iteration / machine_.call_cost;
      divide(x->body, outside + loops(*x));
      calls_ = around;
    } else if (const Sequence* x = as<Sequence>(s)) {
      bool several = outside > 0 && holds_several_nests(*x);
      for (const Stmt& part : x->body)
        if (!several || height(part) < 1 || !set_apart(part)) divide(part, outside);
    } else if (const Let* x = as<Let>(s)) {
      if (auto value = range_of(x->value, ranges_)) ranges_[x->var] = *value;
      divide(x->body, outside);
    } else if (const Allocate* x = as<Allocate>(s)) {
      divide(x->body, outside);
    } else if (const IfThen* x = as<IfThen>(s)) {
      divide(x->then_body, outside), divide(x->else_body, outside);
    }
  }

  // False where a call would cost too much, or the statement has a part in its surroundings' registers or status, or in
  // the threads.
  bool set_apart(const Stmt& s) {
    if (calls_ < 1) return false;
    bool may = std::ranges::none_of(free_in(s).buffers, [](const Buffer& b) { return b->scope == Scope::reg; });
    for_each_stmt(s, [&](const Stmt& part) {
      const For* loop = as<For>(part);
      may &= !as<Require>(part) && !(loop && is_shared(*loop));
    });
    if (!may) return false;
    --calls_;
    nests_.insert(s.get());
    divide(s, 0);
    return true;
  }

  const Machine& machine_;
  int most_loops_;  // of a function, in each other
  int threads_;
  const std::set<const VarNode*>& unrolled_;  // variables whose loops disappear
  Ranges ranges_;
  double calls_ = 0;  // that an iteration of the loop around may still make
  std::set<const StmtNode*> nests_;
};

}  // namespace

int loops_that_fit(const Machine& machine) {
  constexpr int registers_of_loop = 3;  // its counter and two pointers
  return machine.general_registers / registers_of_loop;
}

std::set<const StmtNode*> find_loop_nests(const Kernel& kernel, const Machine& machine, int most_loops, int threads,
                                          const std::set<const VarNode*>& unrolled) {
  return Divider(machine, most_loops, threads, unrolled).divide(kernel.body);
}

}  // namespace dlcc::targets

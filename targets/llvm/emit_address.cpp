// Strength reduction of addresses. From one iteration of a loop to the next an address differs by a constant, so the
// loop keeps one pointer induction variable for all accesses at constant distances from each other:
//
//   for i in [0, 4): for j in [0, 8): load base[100 * i + j]
//   becomes  p = base; for i { for j { load p; p += 1 } p += 100 - 8 }
//
// An inner loop starts from the outer loop's pointer and advances it; the outer loop continues from the inner loop's
// final value. So a loop nest uses one register per pointer. LLVM's loop strength reduction, which codegen.cpp leaves
// out, uses one register for each loop and spills. No load waits for a multiplication.
#include <algorithm>

#include "targets/llvm/kernel_emitter.h"
#include "tensor/linear.h"

namespace dlcc::targets {

Value* KernelEmitter::address(const Memory& memory, const Linear& offset, int64_t element_bytes) {
  Linear bytes = offset;
  bytes.varying = nullptr;
  scale(b_, bytes, element_bytes);
  std::ranges::stable_sort(bytes.terms, {}, &Linear::Term::depth);
  return ptr_add(pointer_in_loops(loops_.size(), memory.pointer, bytes.terms, bytes.bounded), bytes.constant);
}

// The address of a lane's element, where no lane varies on its own. `previous`: that of the lane before. A symbolic
// stride is added from lane to lane, since a pointer for each lane would take a register.
Value* KernelEmitter::address_of_lane(const Memory& memory, const Linear& offset, int64_t element_bytes, int lane,
                                      Value* previous) {
  Linear at = offset;
  if (offset.lane_terms.empty() || lane == 0) {
    at.constant += lane * offset.lane;
    return address(memory, at, element_bytes);
  }
  scale(b_, at, element_bytes);
  return b_.CreateGEP(b_.getInt8Ty(), previous, step_of_lanes(at));
}

Value* KernelEmitter::ptr_add(Value* pointer, int64_t bytes) {
  return bytes == 0 ? pointer : b_.CreateGEP(b_.getInt8Ty(), pointer, b_.getInt64(static_cast<uint64_t>(bytes)));
}

Value* KernelEmitter::ptr_add(Value* pointer, const Linear::Term& by, bool bounded) {
  Value* bytes = b_.CreateMul(by.value, b_.getInt64(static_cast<uint64_t>(by.coefficient)), "", false, bounded);
  return b_.CreateGEP(b_.getInt8Ty(), pointer, bytes);
}

// base + terms at the insertion point, which is in the body of the outermost `loops` loops. Of these loops, take the
// innermost whose counter is a term: its induction pointer covers this term and the terms defined before the loop. The
// other terms are added to the pointer.
Value* KernelEmitter::pointer_in_loops(size_t loops, Value* base, const std::vector<Linear::Term>& terms,
                                       bool bounded) {
  auto has_counter = [&](const Loop& l) { return std::ranges::count(terms, l.index, &Linear::Term::value) > 0; };
  while (loops > 0 && !has_counter(loops_[loops - 1])) --loops;
  Value* pointer = base;
  std::vector<Linear::Term> moving, rest;
  for (const Linear::Term& t : terms) {
    bool moves = loops > 0 && (t.value == loops_[loops - 1].index || t.depth < loops_[loops - 1].depth);
    (moves ? moving : rest).push_back(t);
  }
  if (!moving.empty()) {
    const PointerInduction& p = pointer_induction(loops, base, moving, bounded);
    pointer = ptr_add(p.last, -p.ahead);
  }
  for (const Linear::Term& t : rest) pointer = ptr_add(pointer, t, bounded);
  return pointer;
}

// The induction pointer of loop `loops` - 1, for terms that are its counter or defined before it.
KernelEmitter::PointerInduction& KernelEmitter::pointer_induction(size_t loops, Value* base,
                                                                  const std::vector<Linear::Term>& terms,
                                                                  bool bounded) {
  auto find = [&](size_t l, const std::vector<Linear::Term>& sum) -> PointerInduction* {
    if (l == 0) return nullptr;
    std::deque<PointerInduction>& all = loops_[l - 1].pointers;
    auto it = std::ranges::find_if(all, [&](const PointerInduction& p) { return p.base == base && p.terms == sum; });
    return it == all.end() ? nullptr : &*it;
  };
  if (PointerInduction* known = find(loops, terms)) return *known;
  Loop& loop = loops_[loops - 1];
  auto counter = std::ranges::find(terms, loop.index, &Linear::Term::value);
  std::vector<Linear::Term> others(terms.begin(), counter);
  others.insert(others.end(), counter + 1, terms.end());

  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(loop.preheader->getTerminator());
  Value* start = pointer_in_loops(loops - 1, base, others, bounded);
  start = ptr_add(start, {loop.begin, counter->coefficient, 0, {}}, bounded);
  PointerInduction* outer = find(loops - 1, others);
  b_.SetInsertPoint(loop.header, loop.header->begin());
  llvm::PHINode* begin = b_.CreatePHI(b_.getPtrTy(), 2);
  begin->addIncoming(start, loop.preheader);
  int64_t step = tensor::wrapping_mul(counter->coefficient, loop.step);
  return loop.pointers.emplace_back(base, terms, step, begin, outer, begin);
}

// At the end of the innermost loop's body, adds the steps to its pointers. If the next outer loop executes this loop in
// every iteration, the outer loop's pointers continue from the final values.
void KernelEmitter::advance_pointers() {
  const Loop& loop = loops_.back();
  for (const PointerInduction& p : loop.pointers) {
    Value* next = ptr_add(p.last, p.step - p.ahead);
    p.begin->addIncoming(next, b_.GetInsertBlock());
    if (!p.outer || !loop.iterations || loops_[loops_.size() - 2].branches != branches_) continue;
    p.outer->last = next;
    p.outer->ahead = tensor::wrapping_mul(*loop.iterations, p.step);
  }
}

}  // namespace dlcc::targets

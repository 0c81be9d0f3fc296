// Addresses as pointers that loops move on: strength reduction. Between iterations an address differs by a constant, so
// each loop keeps a pointer for all accesses at constant distances from each other. An inner loop starts from the
// pointer of the loop around it and moves it on; the outer loop goes on from where the inner one has left it. So a
// pointer is one register for a whole nest, where LLVM's own strength reduction, which is switched off, keeps one for
// each loop and spills them. And no load waits for a product, which would wait itself for the ports of vector units.
#include <algorithm>

#include "targets/llvm/kernel_emitter.h"
#include "tensor/linear.h"

namespace dlcc::targets {

Value* KernelEmitter::address(const Memory& memory, const Linear& offset, int64_t element_bytes) {
  Linear bytes = offset;
  bytes.varying = nullptr;
  scale(b_, bytes, element_bytes);
  std::ranges::stable_sort(bytes.terms, {}, &Linear::Term::depth);
  return moved(pointer_within(loops_.size(), memory.pointer, bytes.terms, bytes.bounded), bytes.constant);
}

Value* KernelEmitter::moved(Value* pointer, int64_t bytes) {
  return bytes == 0 ? pointer : b_.CreateGEP(b_.getInt8Ty(), pointer, b_.getInt64(static_cast<uint64_t>(bytes)));
}

Value* KernelEmitter::moved(Value* pointer, const Linear::Term& by, bool bounded) {
  Value* bytes = b_.CreateMul(by.value, b_.getInt64(static_cast<uint64_t>(by.coefficient)), "", false, bounded);
  return b_.CreateGEP(b_.getInt8Ty(), pointer, bytes);
}

// base + terms, at the current place, which is within the outermost so many loops. The innermost of them whose counter
// is a term has a pointer that moves with it and with what is known before that loop; the rest is added.
Value* KernelEmitter::pointer_within(size_t loops, Value* base, const std::vector<Linear::Term>& terms, bool bounded) {
  auto has_counter = [&](const Loop& l) { return std::ranges::count(terms, l.counter, &Linear::Term::value) > 0; };
  while (loops > 0 && !has_counter(loops_[loops - 1])) --loops;
  Value* pointer = base;
  std::vector<Linear::Term> moving, rest;
  for (const Linear::Term& t : terms) {
    bool moves = loops > 0 && (t.value == loops_[loops - 1].counter || t.depth < loops_[loops - 1].depth);
    (moves ? moving : rest).push_back(t);
  }
  if (!moving.empty()) {
    const MovingPointer& p = moving_pointer(loops, base, moving, bounded);
    pointer = moved(p.last, -p.ahead);
  }
  for (const Linear::Term& t : rest) pointer = moved(pointer, t, bounded);
  return pointer;
}

// The pointer of the innermost of so many loops; its counter and what is known before it are the terms.
KernelEmitter::MovingPointer& KernelEmitter::moving_pointer(size_t loops, Value* base,
                                                            const std::vector<Linear::Term>& terms, bool bounded) {
  auto find = [&](size_t l, const std::vector<Linear::Term>& sum) -> MovingPointer* {
    if (l == 0) return nullptr;
    std::deque<MovingPointer>& all = loops_[l - 1].pointers;
    auto it = std::ranges::find_if(all, [&](const MovingPointer& p) { return p.base == base && p.terms == sum; });
    return it == all.end() ? nullptr : &*it;
  };
  if (MovingPointer* known = find(loops, terms)) return *known;
  Loop& loop = loops_[loops - 1];
  auto counter = std::ranges::find(terms, loop.counter, &Linear::Term::value);
  std::vector<Linear::Term> others(terms.begin(), counter);
  others.insert(others.end(), counter + 1, terms.end());

  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(loop.before->getTerminator());
  Value* start = pointer_within(loops - 1, base, others, bounded);
  start = moved(start, {loop.begin, counter->coefficient, 0, {}}, bounded);
  MovingPointer* outer = find(loops - 1, others);
  b_.SetInsertPoint(loop.header, loop.header->begin());
  llvm::PHINode* begin = b_.CreatePHI(b_.getPtrTy(), 2);
  begin->addIncoming(start, loop.before);
  int64_t step = tensor::wrapping_mul(counter->coefficient, loop.step);
  return loop.pointers.emplace_back(base, terms, step, begin, outer, begin);
}

// At the end of the innermost loop. Where the loop around it always comes by here, it goes on from the pointers' last
// values.
void KernelEmitter::move_pointers() {
  const Loop& loop = loops_.back();
  for (const MovingPointer& p : loop.pointers) {
    Value* next = moved(p.last, p.step - p.ahead);
    p.begin->addIncoming(next, b_.GetInsertBlock());
    if (!p.outer || !loop.iterations || loops_[loops_.size() - 2].branches != branches_) continue;
    p.outer->last = next;
    p.outer->ahead = tensor::wrapping_mul(*loop.iterations, p.step);
  }
}

}  // namespace dlcc::targets

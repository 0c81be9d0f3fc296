// Loads and stores. An index becomes a linear form over loop counters and the vector's lane; its lane coefficient decides
// between one vector access, a splatted scalar and a gather. Accesses that may lie outside a buffer are redirected to an
// element that exists or masked: no branch, and no byte outside is touched.
#include <llvm/IR/Intrinsics.h>

#include <numeric>

#include "targets/llvm/kernel_emitter.h"

namespace dlcc::targets {

using namespace tensor;

namespace {

int64_t wrapping_multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

constexpr int innermost = 1 << 30;  // depth of values that are not loop counters

// Larger ranges than any index has; sums of some of them do not overflow.
constexpr int64_t range_limit = int64_t{1} << 50;

bool is_nibble(DType t) { return bits(t) < 8; }
int64_t element_bytes_of(DType t) { return std::max(bits(t) / 8, 1); }

}  // namespace

// ---- linear forms -----------------------------------------------------------------------------------------------------------

namespace {

void scale(llvm::IRBuilder<>& b, Linear& x, int64_t by) {
  x.constant = wrapping_multiply(x.constant, by);
  x.lane = wrapping_multiply(x.lane, by);
  for (Linear::Term& t : x.terms) t.coefficient = wrapping_multiply(t.coefficient, by);
  if (x.varying && by != 1) x.varying = b.CreateMul(x.varying, llvm::ConstantInt::get(x.varying->getType(), by, true));
}

void add(llvm::IRBuilder<>& b, Linear& x, const Linear& y) {
  x.constant = wrapping_add(x.constant, y.constant);
  x.lane = wrapping_add(x.lane, y.lane);
  x.bounded &= y.bounded;
  for (const Linear::Term& t : y.terms) {
    auto same = std::find_if(x.terms.begin(), x.terms.end(), [&](const Linear::Term& o) { return o.value == t.value; });
    if (same == x.terms.end())
      x.terms.push_back(t);
    else if ((same->coefficient = wrapping_add(same->coefficient, t.coefficient)) == 0)
      x.terms.erase(same);
  }
  if (y.varying) x.varying = x.varying ? b.CreateAdd(x.varying, y.varying) : y.varying;
}

}  // namespace

std::optional<Range> Linear::range(int lanes) const {
  if (varying || std::abs(constant) > range_limit || std::abs(lane) > range_limit / 64) return std::nullopt;
  Range sum{constant, constant};
  auto add = [&](int64_t coefficient, Range r) {
    int64_t a, b;
    if (__builtin_mul_overflow(coefficient, r.low, &a) || __builtin_mul_overflow(coefficient, r.high, &b)) return false;
    if (std::abs(a) > range_limit || std::abs(b) > range_limit) return false;
    sum.low += std::min(a, b), sum.high += std::max(a, b);
    return true;
  };
  if (!add(lane, {0, lanes - 1})) return std::nullopt;
  for (const Term& t : terms)
    if (!t.range || !add(t.coefficient, *t.range)) return std::nullopt;
  return sum;
}

Linear KernelEmitter::linearize(const Expr& e) {
  auto atom = [&](Value* v, int depth, bool bounded, std::optional<Range> range) {
    Linear result;
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(v)) {
      result.constant = constant->getSExtValue();
    } else if (is_vector(v)) {
      result.varying = v;
      result.bounded = false;
    } else {
      result.terms.push_back({v, 1, depth, range});
      result.bounded = bounded;
    }
    return result;
  };
  if (auto known = constant_integer(e)) {
    Linear result;
    result.constant = *known;
    return result;
  }
  if (const VarRef* ref = as<VarRef>(e)) {
    if (lanes_ && ref->var.get() == lanes_->var) {
      Linear result = atom(lanes_->base, innermost - 1, true, lanes_->base_range);
      result.lane = 1;
      return result;
    }
    if (auto it = bindings_.find(ref->var.get()); it != bindings_.end())
      return atom(it->second.value, it->second.depth, it->second.bounded, it->second.range);
  }
  if (const Binary* x = as<Binary>(e)) {
    if (x->op == BinaryOp::add || x->op == BinaryOp::sub) {
      Linear a = linearize(x->a), b = linearize(x->b);
      if (x->op == BinaryOp::sub) scale(b_, b, -1);
      add(b_, a, b);
      return a;
    }
    if (x->op == BinaryOp::mul) {
      Linear a = linearize(x->a), b = linearize(x->b);
      if (a.is_constant()) std::swap(a, b);
      if (b.is_constant()) {
        scale(b_, a, b.constant);
        return a;
      }
    }
  }
  return atom(emit(e), innermost, false, std::nullopt);
}

Linear KernelEmitter::flatten(const BufferNode& buffer, const std::vector<Expr>& indices) {
  Linear result;
  std::vector<int64_t> shape = static_shape(buffer.shape);
  int64_t dense = 1;
  for (size_t d = indices.size(); d-- > 0;) {
    Linear index = linearize(indices[d]);
    scale(b_, index, buffer.strides.empty() ? dense : buffer.strides[d]);
    add(b_, result, index);
    dense *= shape[d];
  }
  return result;
}

Value* KernelEmitter::scalar_of(const Linear& x) {
  Value* sum = nullptr;
  std::vector<Linear::Term> terms = x.terms;
  std::stable_sort(terms.begin(), terms.end(), [](auto& a, auto& b) { return a.depth < b.depth; });
  for (const Linear::Term& t : terms) {
    Value* product = b_.CreateMul(t.value, b_.getInt64(t.coefficient), "", false, x.bounded);
    sum = sum ? b_.CreateAdd(sum, product, "", false, x.bounded) : product;
  }
  if (!sum) return b_.getInt64(x.constant);
  return x.constant ? b_.CreateAdd(sum, b_.getInt64(x.constant), "", false, x.bounded) : sum;
}

Value* KernelEmitter::vector_of(const Linear& x) {
  Value* sum = splat(scalar_of(x));
  if (x.lane) {
    Value* lane = b_.CreateStepVector(sum->getType());
    sum = b_.CreateAdd(sum, b_.CreateMul(lane, constant_like(lane, x.lane)));
  }
  return x.varying ? b_.CreateAdd(sum, x.varying) : sum;
}

// Adds one loop's contribution after another, outermost first, and the constant last: what is invariant in a loop can leave
// it, and the constant becomes the instruction's displacement.
Value* KernelEmitter::address(const Memory& memory, const Linear& offset, int64_t element_bytes) {
  Value* pointer = memory.pointer;
  std::vector<Linear::Term> terms = offset.terms;
  std::stable_sort(terms.begin(), terms.end(), [](auto& a, auto& b) { return a.depth < b.depth; });
  for (const Linear::Term& t : terms) {
    int64_t scale = wrapping_multiply(t.coefficient, element_bytes);
    Value* bytes = b_.CreateMul(t.value, b_.getInt64(scale), "", false, offset.bounded);
    pointer = b_.CreateGEP(b_.getInt8Ty(), pointer, bytes);
  }
  if (!offset.constant) return pointer;
  return b_.CreateGEP(b_.getInt8Ty(), pointer, b_.getInt64(wrapping_multiply(offset.constant, element_bytes)));
}

llvm::Align KernelEmitter::alignment_of(const Memory& memory, const Linear& offset, int64_t element_bytes) {
  int64_t known = std::gcd(memory.alignment, wrapping_multiply(offset.constant, element_bytes));
  for (const Linear::Term& t : offset.terms) {
    // A strip's base is itself a multiple of its lanes, which a later pass may find; the element's alignment is enough.
    known = std::gcd(known, wrapping_multiply(t.coefficient, element_bytes));
  }
  return llvm::Align(static_cast<uint64_t>(known & -known));
}

// ---- bounds ---------------------------------------------------------------------------------------------------------------

Value* KernelEmitter::inside(const Linear& index, int64_t extent) {
  if (auto range = index.range(lanes_ ? lanes_->count : 1)) {
    if (range->low >= 0 && range->high < extent) return nullptr;
    if (range->high < 0 || range->low >= extent) return b_.getFalse();
  }
  if (index.is_uniform()) return b_.CreateICmpULT(scalar_of(index), b_.getInt64(extent));
  if (index.lane == 1 && !index.varying) {
    // Lanes [low, high) are inside: compared as 32-bit numbers, which is half the work.
    Value *base = scalar_of(index), *zero = b_.getInt64(0), *count = b_.getInt64(lanes_->count);
    auto clamped = [&](Value* v) {
      v = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, v, zero);
      v = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, v, count);
      return splat(b_.CreateTrunc(v, b_.getInt32Ty()));
    };
    Value *low = clamped(b_.CreateSub(zero, base)), *high = clamped(b_.CreateSub(b_.getInt64(extent), base));
    Value* lane = b_.CreateStepVector(low->getType());
    return b_.CreateAnd(b_.CreateICmpSGE(lane, low), b_.CreateICmpSLT(lane, high));
  }
  Value* lanes = vector_of(index);
  return b_.CreateICmpULT(lanes, constant_like(lanes, extent));
}

// Constant elements that are read in place of those that must not be: `otherwise` if that is a constant, else zeros.
Value* KernelEmitter::stand_in(Value* otherwise, DType type, bool one_per_lane) {
  auto* constant = llvm::dyn_cast_or_null<llvm::Constant>(otherwise);
  if (!constant || is_vector(constant)) constant = llvm::Constant::getNullValue(value_type(type));
  auto* element = llvm::cast<llvm::Constant>(to_storage(constant, type));
  if (one_per_lane) element = llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(lanes_->count)), element);
  for (llvm::GlobalVariable& g : function_->getParent()->globals())
    if (g.hasInitializer() && g.getInitializer() == element) return &g;
  auto* global = new llvm::GlobalVariable(*function_->getParent(), element->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                          element, "stand_in");
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return global;
}

// ---- loads ------------------------------------------------------------------------------------------------------------------

Value* KernelEmitter::emit_load(const Load& x) {
  for (const auto& [load, value] : loads_) {
    if (load.buffer != x.buffer || static_cast<bool>(load.otherwise) != static_cast<bool>(x.otherwise)) continue;
    bool equal = !x.otherwise || structurally_equal(load.otherwise, x.otherwise);
    for (size_t d = 0; d < x.indices.size() && equal; ++d) equal = structurally_equal(load.indices[d], x.indices[d]);
    if (equal) return value;
  }
  const Memory& memory = memory_.at(x.buffer.get());
  DType type = x.buffer->type;
  if (!x.otherwise && !guard_) {
    Linear offset = flatten(*x.buffer, x.indices);
    Value* value = load_elements(memory, type, offset, nullptr, nullptr);
    loads_.emplace_back(x, value);
    return value;
  }
  Value* otherwise = x.otherwise ? emit(x.otherwise) : llvm::Constant::getNullValue(value_type(type));
  if (memory.elements == 0) return otherwise;

  std::vector<int64_t> shape = static_shape(x.buffer->shape);
  Linear offset;
  Value* mask = guard_;
  int64_t dense = 1;
  for (size_t d = x.indices.size(); d-- > 0;) {
    Linear index = linearize(x.indices[d]);
    if (Value* in = x.otherwise ? inside(index, shape[d]) : nullptr) {
      if (mask) match_lanes({&mask, &in});
      mask = mask ? b_.CreateAnd(mask, in) : in;
    }
    scale(b_, index, x.buffer->strides.empty() ? dense : x.buffer->strides[d]);
    add(b_, offset, index);
    dense *= shape[d];
  }
  Value* value = load_elements(memory, type, offset, mask, otherwise);
  if (!mask) loads_.emplace_back(x, value);
  return value;
}

// The elements at `offset` in each lane where the mask holds (null: everywhere), else `otherwise`. A scalar when neither
// offset nor mask differs between lanes.
Value* KernelEmitter::load_elements(const Memory& memory, DType type, const Linear& offset, Value* mask, Value* otherwise) {
  if (memory.per_lane) return load_per_lane(memory, type, offset);
  int64_t size = element_bytes_of(type);
  bool contiguous = offset.lane == 1 && !offset.varying;
  if (!offset.is_uniform() && !contiguous) return gather(memory, type, offset, mask, otherwise);
  DLCC_CHECK(!is_nibble(type) || offset.is_uniform(), "kernel {}: vector access to sub-byte elements", kernel_.name);
  if (is_nibble(type)) return load_nibble(memory, type, offset, mask, otherwise);

  llvm::Type* wanted = storage_type(type);
  if (contiguous) wanted = llvm::FixedVectorType::get(wanted, static_cast<unsigned>(lanes_->count));
  Value* pointer = address(memory, offset, size);
  llvm::Align alignment = alignment_of(memory, offset, size);
  if (!mask) return from_storage(b_.CreateAlignedLoad(wanted, pointer, alignment), type);
  if (contiguous && is_vector(mask)) {
    otherwise = splat(otherwise);
    bool direct = value_type(type) == storage_type(type);  // the load itself can merge what is read otherwise
    Value* through = direct ? otherwise : llvm::Constant::getNullValue(wanted);
    Value* value = from_storage(b_.CreateMaskedLoad(wanted, pointer, alignment, mask, through), type);
    return direct ? value : b_.CreateSelect(mask, value, otherwise);
  }
  // All lanes or none: the address is replaced.
  Value* any = is_vector(mask) ? b_.CreateOrReduce(mask) : mask;
  Value* replacement = stand_in(otherwise, type, contiguous);
  Value* value = from_storage(b_.CreateAlignedLoad(wanted, b_.CreateSelect(any, pointer, replacement), alignment), type);
  if (any == mask && llvm::isa<llvm::Constant>(otherwise) && !is_vector(otherwise)) return value;
  match_lanes({&mask, &value, &otherwise});
  return b_.CreateSelect(mask, value, otherwise);
}

// One element per lane from anywhere. Lanes outside the mask read element 0.
Value* KernelEmitter::gather(const Memory& memory, DType type, const Linear& offset, Value* mask, Value* otherwise) {
  int64_t size = element_bytes_of(type);
  auto* vector = llvm::FixedVectorType::get(storage_type(type), static_cast<unsigned>(lanes_->count));
  Value* value = llvm::PoisonValue::get(vector);
  if (!mask && !offset.varying) {
    for (int lane = 0; lane < lanes_->count; ++lane) {
      Linear at = offset;
      at.constant += lane * offset.lane;
      Value* element = b_.CreateAlignedLoad(storage_type(type), address(memory, at, size), alignment_of(memory, at, size));
      value = b_.CreateInsertElement(value, element, lane);
    }
    return from_storage(value, type);
  }
  Value* offsets = vector_of(offset);
  if (mask) {
    mask = splat(mask);
    offsets = b_.CreateSelect(mask, offsets, constant_like(offsets, 0));
  }
  Value* pointers = b_.CreateGEP(storage_type(type), memory.pointer, offsets);
  Value* all = llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(b_.getInt1Ty(), static_cast<unsigned>(lanes_->count)));
  value = from_storage(b_.CreateMaskedGather(vector, pointers, llvm::Align(static_cast<uint64_t>(size)), all), type);
  return mask ? b_.CreateSelect(mask, value, splat(otherwise)) : value;
}

Value* KernelEmitter::load_per_lane(const Memory& memory, DType type, const Linear& offset) {
  int64_t size = element_bytes_of(type) * lanes_->count;
  auto* vector = llvm::FixedVectorType::get(storage_type(type), static_cast<unsigned>(lanes_->count));
  return from_storage(b_.CreateAlignedLoad(vector, address(memory, offset, size), alignment_of(memory, offset, size)), type);
}

Value* KernelEmitter::from_storage(Value* v, DType type) {
  return is_bool(type) ? b_.CreateICmpNE(v, constant_like(v, 0)) : v;
}

Value* KernelEmitter::to_storage(Value* v, DType type) {
  return is_bool(type) ? b_.CreateZExt(v, with_lanes_of(v, b_.getInt8Ty())) : v;
}

// Two elements share a byte, the first in the low half. Storing the last of an odd number clears the half beside it.
Value* KernelEmitter::load_nibble(const Memory& memory, DType type, const Linear& offset, Value* mask, Value* otherwise) {
  Value* index = scalar_of(offset);
  Value* any = mask && is_vector(mask) ? b_.CreateOrReduce(mask) : mask;
  if (any) index = b_.CreateSelect(any, index, b_.getInt64(0));
  Value* pointer = b_.CreateGEP(b_.getInt8Ty(), memory.pointer, b_.CreateAShr(index, b_.getInt64(1)));
  Value* byte = b_.CreateAlignedLoad(b_.getInt8Ty(), pointer, llvm::Align(1));
  Value* shift = b_.CreateShl(b_.CreateAnd(b_.CreateTrunc(index, b_.getInt8Ty()), b_.getInt8(1)), b_.getInt8(2));
  Value* top = b_.CreateShl(byte, b_.CreateSub(b_.getInt8(4), shift));
  Value* value = is_signed(type) ? b_.CreateAShr(top, b_.getInt8(4)) : b_.CreateLShr(top, b_.getInt8(4));
  if (!mask) return value;
  match_lanes({&mask, &value, &otherwise});
  return b_.CreateSelect(mask, value, otherwise);
}

void KernelEmitter::store_nibble(const Memory& memory, Value* index, Value* value) {
  Value* pointer = b_.CreateGEP(b_.getInt8Ty(), memory.pointer, b_.CreateAShr(index, b_.getInt64(1)));
  Value* byte = b_.CreateAlignedLoad(b_.getInt8Ty(), pointer, llvm::Align(1));
  Value* shift = b_.CreateShl(b_.CreateAnd(b_.CreateTrunc(index, b_.getInt8Ty()), b_.getInt8(1)), b_.getInt8(2));
  Value* other = b_.CreateAnd(byte, b_.CreateLShr(b_.getInt8(0xF0), shift));
  if (memory.elements % 2)
    other = b_.CreateSelect(b_.CreateICmpEQ(index, b_.getInt64(static_cast<uint64_t>(memory.elements - 1))), b_.getInt8(0), other);
  Value* bits = b_.CreateShl(b_.CreateAnd(value, b_.getInt8(15)), shift);
  b_.CreateAlignedStore(b_.CreateOr(other, bits), pointer, llvm::Align(1));
}

// ---- stores -----------------------------------------------------------------------------------------------------------------

void KernelEmitter::emit_store(const Store& x, Value* value) {
  const Memory& memory = memory_.at(x.buffer.get());
  DType type = x.buffer->type;
  Linear offset = flatten(*x.buffer, x.indices);
  if (is_nibble(type)) return store_nibble(memory, scalar_of(offset), value);
  value = to_storage(value, type);
  int64_t size = element_bytes_of(type);
  if (memory.per_lane) {
    size *= lanes_->count;
    b_.CreateAlignedStore(splat(value), address(memory, offset, size), alignment_of(memory, offset, size));
    return;
  }
  if (!lanes_ || (offset.lane == 1 && !offset.varying)) {
    b_.CreateAlignedStore(splat(value), address(memory, offset, size), alignment_of(memory, offset, size));
    return;
  }
  value = splat(value);  // element by element, in the order of the iterations
  Value* offsets = offset.varying ? vector_of(offset) : nullptr;
  for (int lane = 0; lane < lanes_->count; ++lane) {
    Linear at;
    if (offsets) {
      at.terms.push_back({b_.CreateExtractElement(offsets, lane), 1, innermost, std::nullopt});
    } else {
      at = offset;
      at.constant += lane * offset.lane;
    }
    b_.CreateAlignedStore(b_.CreateExtractElement(value, lane), address(memory, at, size), alignment_of(memory, at, size));
  }
}

void KernelEmitter::emit_prefetch(const Prefetch& x) {
  Linear offset = flatten(*x.buffer, x.indices);
  if (offset.varying) return;
  Value* pointer = address(memory_.at(x.buffer.get()), offset, element_bytes_of(x.buffer->type));
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()},
                     {pointer, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
}

}  // namespace dlcc::targets

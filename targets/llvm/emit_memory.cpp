// Loads and stores. The lane coefficient of an index selects a vector access (1), a splatted scalar (0) or a gather.
// Accesses that may be out of bounds are masked, or redirected to an element that exists: there is no branch, and no
// byte outside the buffer is accessed.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "support/integers.h"
#include "targets/llvm/kernel_emitter.h"

namespace dlcc::targets {

using namespace tensor;

namespace {

// Elements of 2 or 4 bits share bytes.
bool shares_bytes(DType t) { return bits(t) < 8; }

}  // namespace

// ---- loads -----------------------------------------------------------------------------------------------

// A constant in memory that replaces the loaded element if the mask is false: `otherwise` if that is constant, else
// zero. Its address is aligned for the load.
Value* KernelEmitter::safe_element(Value* otherwise, DType type, bool one_per_lane, llvm::Align alignment) {
  auto* constant = llvm::dyn_cast_or_null<llvm::Constant>(otherwise);
  if (!constant || is_vector(constant)) constant = llvm::Constant::getNullValue(value_type(type));
  auto* element = llvm::cast<llvm::Constant>(to_storage(constant, type));
  if (one_per_lane)
    element =
        llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(lanes_->count)), element);
  for (llvm::GlobalVariable& g : function_->getParent()->globals())
    if (g.hasInitializer() && g.getInitializer() == element) {
      g.setAlignment(std::max(g.getAlign().valueOrOne(), alignment));
      return &g;
    }
  auto* global = new llvm::GlobalVariable(*function_->getParent(), element->getType(), true,
                                          llvm::GlobalValue::PrivateLinkage, element, "safe_element");
  global->setAlignment(alignment);
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return global;
}

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

  const Shape& strides = strides_of(*x.buffer);
  Linear offset;
  Value* mask = guard_;
  for (size_t d = x.indices.size(); d-- > 0;) {
    const VarRef* ref = as<VarRef>(x.indices[d]);
    const auto guarded = ref ? guarded_indices_.find(ref->var.get()) : guarded_indices_.end();
    const bool is_inside = (guarded != guarded_indices_.end() && guarded->second == x.buffer->shape[d]) ||
                           (facts_ && facts_->in_range(x.indices[d], x.buffer->shape[d]));
    if (Value* in = x.otherwise && !is_inside ? inside(linearize(x.indices[d]), x.buffer->shape[d]) : nullptr) {
      if (mask) match_lanes({&mask, &in});
      mask = mask ? b_.CreateAnd(mask, in) : in;
    }
    add(b_, offset, times(x.indices[d], strides[d]));
  }
  Value* value = load_elements(memory, type, offset, mask, otherwise);
  if (!mask) loads_.emplace_back(x, value);
  return value;
}

// For each lane the element at `offset` if the mask holds (null: always), else `otherwise`. A scalar if offset and mask
// are uniform.
Value* KernelEmitter::load_elements(const Memory& memory, DType type, const Linear& offset, Value* mask,
                                    Value* otherwise) {
  int64_t size = element_bytes(type);
  bool contiguous = offset.is_contiguous();
  if (!offset.is_uniform() && !contiguous) {
    Value* value = mask ? nullptr : load_and_shuffle(memory, type, offset);
    if (!value && !mask) value = look_up(memory, type, offset);
    return value ? value : gather(memory, type, offset, mask, otherwise);
  }
  DLCC_CHECK(!shares_bytes(type) || offset.is_uniform(), "kernel {}: vector access to sub-byte elements", kernel_.name);
  if (shares_bytes(type)) return load_sub_byte(memory, type, offset, mask, otherwise);

  llvm::Type* wanted = storage_type(type);
  if (contiguous) wanted = llvm::FixedVectorType::get(wanted, static_cast<unsigned>(lanes_->count));
  Value* pointer = address(memory, offset, size);
  llvm::Align alignment = std::min(alignment_of(memory, offset, size), llvm::Align(storage_alignment));
  if (!mask) return from_storage(b_.CreateAlignedLoad(wanted, pointer, alignment), type);
  if (contiguous && is_vector(mask)) {
    otherwise = splat(otherwise);
    bool direct = value_type(type) == storage_type(type);  // the masked load merges `otherwise` itself
    Value* through = direct ? otherwise : llvm::Constant::getNullValue(wanted);
    Value* value = from_storage(b_.CreateMaskedLoad(wanted, pointer, alignment, mask, through), type);
    return direct ? value : b_.CreateSelect(mask, value, otherwise);
  }
  // There is one address, or one mask, for all lanes. If the mask is false in all lanes, a constant is loaded instead.
  Value* any = is_vector(mask) ? b_.CreateOrReduce(mask) : mask;
  Value* replacement = safe_element(otherwise, type, contiguous, alignment);
  Value* value =
      from_storage(b_.CreateAlignedLoad(wanted, b_.CreateSelect(any, pointer, replacement), alignment), type);
  if (any == mask && llvm::isa<llvm::Constant>(otherwise) && !is_vector(otherwise)) return value;
  match_lanes({&mask, &value, &otherwise});
  return b_.CreateSelect(mask, value, otherwise);
}

// If the lanes' elements have constant distances and span few vectors: loads the span up to its last element and
// shuffles it. Null otherwise.
Value* KernelEmitter::load_and_shuffle(const Memory& memory, DType type, const Linear& offset) {
  auto lanes = known_lanes(offset);
  if (!lanes || shares_bytes(type)) return nullptr;
  auto [low, high] = std::ranges::minmax(*lanes);
  constexpr int64_t most_parts = 4;
  const int64_t span = high - low + 1, part = std::min<int64_t>(span, lanes_->count), size = element_bytes(type);
  const int64_t parts = ceil_div(span, part);
  if (parts > most_parts) return nullptr;
  auto* wanted = llvm::FixedVectorType::get(storage_type(type), static_cast<unsigned>(part));
  auto load_from = [&](int64_t first) -> Value* {
    Linear at = offset;
    at.lane = 0, at.varying = nullptr, at.constant += first;
    return b_.CreateAlignedLoad(wanted, address(memory, at, size), alignment_of(memory, at, size));
  };
  // The elements of the first part, then of each further one in their lanes. The last part ends with the span.
  Value* value = nullptr;
  for (int64_t k = 0; k < parts; ++k) {
    const int64_t begin = k > 0 && k + 1 == parts ? span - part : k * part;
    std::vector<int> which;
    for (size_t lane = 0; lane < lanes->size(); ++lane) {
      const int64_t at = (*lanes)[lane] - low, of = std::min(at / part, parts - 1), from = value ? part : 0;
      which.push_back(of == k  ? static_cast<int>(from + at - begin)
                      : of < k ? static_cast<int>(lane)
                               : llvm::PoisonMaskElem);
    }
    Value* loaded = load_from(low + begin);
    value = value ? b_.CreateShuffleVector(value, loaded, which) : b_.CreateShuffleVector(loaded, which);
  }
  return from_storage(value, type);
}

// Gathers one element per lane. Masked-off lanes read element 0.
Value* KernelEmitter::gather(const Memory& memory, DType type, const Linear& offset, Value* mask, Value* otherwise) {
  int64_t size = element_bytes(type);
  auto* vector = llvm::FixedVectorType::get(storage_type(type), static_cast<unsigned>(lanes_->count));
  Value* value = llvm::PoisonValue::get(vector);
  if (!mask && !offset.varying) {
    Value* pointer = nullptr;
    for (int lane = 0; lane < lanes_->count; ++lane) {
      pointer = address_of_lane(memory, offset, size, lane, pointer);
      Value* element = b_.CreateAlignedLoad(storage_type(type), pointer, alignment_of_lane(memory, offset, size, lane));
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
  Value* all =
      llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(b_.getInt1Ty(), static_cast<unsigned>(lanes_->count)));
  if (mask && memory.elements < 0) all = mask;  // there may be no element 0
  value = from_storage(b_.CreateMaskedGather(vector, pointers, llvm::Align(static_cast<uint64_t>(size)), all), type);
  return mask ? b_.CreateSelect(mask, value, splat(otherwise)) : value;
}

Value* KernelEmitter::from_storage(Value* v, DType type) {
  return is_bool(type) ? b_.CreateICmpNE(v, constant_like(v, 0)) : v;
}

Value* KernelEmitter::to_storage(Value* v, DType type) {
  return is_bool(type) ? b_.CreateZExt(v, with_lanes_of(v, b_.getInt8Ty())) : v;
}

// Elements of 2 or 4 bits share bytes, the first in the lowest bits.
Value* KernelEmitter::load_sub_byte(const Memory& memory, DType type, const Linear& offset, Value* mask,
                                    Value* otherwise) {
  Value* index = scalar_of(offset);
  Value* any = mask && is_vector(mask) ? b_.CreateOrReduce(mask) : mask;
  const SubByteAddress at = sub_byte_address(memory, type, index);
  const llvm::Align alignment(1);
  Value* from = any ? b_.CreateSelect(any, at.byte, safe_element(nullptr, dtype::u8, false, alignment)) : at.byte;
  Value* byte = b_.CreateAlignedLoad(b_.getInt8Ty(), from, alignment);
  Value* unused = b_.getInt8(static_cast<uint8_t>(8 - bits(type)));
  Value* top = b_.CreateShl(byte, b_.CreateSub(unused, at.shift));
  Value* value = is_signed(type) ? b_.CreateAShr(top, unused) : b_.CreateLShr(top, unused);
  if (!mask) return value;
  match_lanes({&mask, &value, &otherwise});
  return b_.CreateSelect(mask, value, otherwise);
}

KernelEmitter::SubByteAddress KernelEmitter::sub_byte_address(const Memory& memory, DType type, Value* index) {
  const auto width = static_cast<uint64_t>(bits(type)), per_byte = 8 / width;
  Value* byte = b_.CreateAShr(index, b_.getInt64(static_cast<uint64_t>(std::countr_zero(per_byte))));
  Value* position = b_.CreateAnd(b_.CreateTrunc(index, b_.getInt8Ty()), b_.getInt8(static_cast<uint8_t>(per_byte - 1)));
  return {b_.CreateGEP(b_.getInt8Ty(), memory.pointer, byte),
          b_.CreateShl(position, b_.getInt8(static_cast<uint8_t>(std::countr_zero(width))))};
}

// Storing the last element clears the unused bits of its byte.
void KernelEmitter::store_sub_byte(const Memory& memory, DType type, const Dim& elements, Value* index, Value* value) {
  const SubByteAddress at = sub_byte_address(memory, type, index);
  const auto per_byte = static_cast<int64_t>(8 / bits(type));
  const uint8_t ones = static_cast<uint8_t>((1 << bits(type)) - 1);
  Value* byte = b_.CreateAlignedLoad(b_.getInt8Ty(), at.byte, llvm::Align(1));
  Value* others = b_.CreateAnd(byte, b_.CreateNot(b_.CreateShl(b_.getInt8(ones), at.shift)));
  if (!elements.is_constant() || elements.value() % per_byte != 0) {
    Value* lower = b_.CreateAnd(byte, b_.CreateNot(b_.CreateShl(b_.getInt8(0xFF), at.shift)));
    Value* last = b_.CreateICmpEQ(b_.CreateAdd(index, b_.getInt64(1)), value_of(elements));
    others = b_.CreateSelect(last, lower, others);
  }
  Value* bits = b_.CreateShl(b_.CreateAnd(value, b_.getInt8(ones)), at.shift);
  b_.CreateAlignedStore(b_.CreateOr(others, bits), at.byte, llvm::Align(1));
}

// ---- stores ----------------------------------------------------------------------------------------------

void KernelEmitter::emit_store(const Store& x, Value* value) {
  const Memory& memory = memory_.at(x.buffer.get());
  DType type = x.buffer->type;
  Linear offset = flatten(*x.buffer, x.indices);
  if (shares_bytes(type)) return store_sub_byte(memory, type, product(x.buffer->shape), scalar_of(offset), value);
  value = to_storage(value, type);
  int64_t size = element_bytes(type);
  if (!lanes_ || offset.is_contiguous()) {
    b_.CreateAlignedStore(splat(value), address(memory, offset, size), alignment_of(memory, offset, size));
    return;
  }
  value = splat(value);  // a scatter, in the order of the iterations
  if (offset.varying) {
    Value* offsets = vector_of(offset);
    for (int lane = 0; lane < lanes_->count; ++lane) {
      Linear at;
      at.terms.push_back({b_.CreateExtractElement(offsets, lane), 1, innermost, std::nullopt});
      b_.CreateAlignedStore(b_.CreateExtractElement(value, lane), address(memory, at, size),
                            alignment_of(memory, at, size));
    }
    return;
  }
  Value* pointer = nullptr;
  for (int lane = 0; lane < lanes_->count; ++lane) {
    Value* element = b_.CreateExtractElement(value, lane);
    pointer = address_of_lane(memory, offset, size, lane, pointer);
    b_.CreateAlignedStore(element, pointer, alignment_of_lane(memory, offset, size, lane));
  }
}

void KernelEmitter::emit_prefetch(const Prefetch& x) {
  Linear offset = flatten(*x.buffer, x.indices);
  if (offset.varying) return;
  Value* pointer = address(memory_.at(x.buffer.get()), offset, element_bytes(x.buffer->type));
  constexpr int read = 0, data = 1;
  int locality = x.cache == CacheLevel::first ? 3 : 2;
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()},
                     {pointer, b_.getInt32(read), b_.getInt32(locality), b_.getInt32(data)});
}

}  // namespace dlcc::targets

// Memory accesses of the bytecode compiler: addresses, bounds, masks and lane-private buffers.
#include <algorithm>

#include "tensor/analysis.h"
#include "tensor/bytecode_compiler.h"

namespace dlcc::tensor::bytecode {

// ---- loads and stores -----------------------------------------------------------------------------------------------

Compiler::Address Compiler::address(const BufferStorage& storage, const std::vector<Expr>& indices) {
  Affine flat;
  for (size_t d = 0; d < indices.size(); ++d) add_to(flat, affine(indices[d]), storage.strides[d]);
  Affine scalar, lanes;
  for (const auto& [v, k] : flat.terms) add_term(v.vector ? lanes : scalar, v, k);
  Address r;
  r.imm = flat.constant;
  r.vector = !lanes.terms.empty();
  if (r.vector) {
    // The step from lane to lane is constant if each axis' coefficient is that of the next axis times the next extent.
    const Strip& strip = program_.strips[*strip_];
    int64_t inner = 0, matched = 0;
    bool linear = true;
    for (size_t k = strip.axes.size(); k-- > 0;) {
      int64_t coefficient = 0;
      for (const auto& [v, c] : lanes.terms)
        if (v.reg == strip.axes[k].reg) coefficient = c, ++matched;
      if (k + 1 == strip.axes.size())
        r.step = inner = coefficient;
      else
        linear &= coefficient == (inner = inner * strip.axes[k + 1].extent);
    }
    if (linear && matched == static_cast<int64_t>(lanes.terms.size())) {
      add_term(scalar, strip_start_, r.step);
    } else {
      r.gather = true;
      r.step = 0;
      r.lanes = materialize(lanes);
      r.level = r.lanes.level;
      r.is_mutable = r.lanes.epoch != 0;
    }
    r.level = std::max(r.level, strip_level_);
  }
  r.scalar = materialize(scalar);
  r.level = std::max(r.level, r.scalar.level);
  r.is_mutable |= r.scalar.epoch != 0;
  return r;
}

// Emits a check of each index that is not provably in range.
void Compiler::check(const BufferStorage& storage, const Buffer& b, const std::vector<Expr>& indices) {
  for (size_t d = 0; d < indices.size(); ++d) {
    if (provably_in_range(indices[d], b->shape[d], ranges_)) continue;
    Value index = materialize(affine(indices[d]));
    Value mask = guard_ ? *guard_ : mask_ ? *mask_ : all_lanes();
    mark_used(index);
    Instruction i;
    i.execute = check_instruction();
    i.a = index.reg, i.b = mask.reg;
    i.a_scalar = !index.vector, i.b_scalar = !mask.vector;
    i.vector = index.vector || mask.vector;
    i.imm = b->shape[d].constant().value_or(0);
    i.memory = storage.memory;
    append(i);
  }
}

Value Compiler::load_value(const Expr& e, const Load& x) {
  auto found = storage_.find(x.buffer);
  DLCC_CHECK(found != storage_.end(), "buffer {} is not declared", x.buffer->name);
  const BufferStorage storage = found->second;
  std::optional<Value> mask;
  bool safe = true;
  for (size_t d = 0; d < x.indices.size(); ++d) {
    if (provably_in_range(x.indices[d], x.buffer->shape[d], ranges_)) continue;
    safe = false;
    if (!x.otherwise) continue;
    Value index = materialize(affine(x.indices[d]));
    mask = conjunction(mask, emit(in_range_instruction(), Kind::boolean, {index}, x.buffer->shape[d].value()));
  }
  Value otherwise;
  if (x.otherwise) {
    safe = true;
    if (mask) otherwise = value(x.otherwise);
  } else if (!safe) {
    check(storage, x.buffer, x.indices);
    mask = guard_ ? guard_ : mask_;
    if (mask) otherwise = literal_value(e.type(), Literal{});
  }
  if (storage.lane_private) {
    Value v = private_load(x, storage);
    return mask ? emit(select_instruction(v.kind), v.kind, {*mask, v, otherwise}) : v;
  }
  Address at = address(storage, x.indices);
  Instruction i;
  i.execute = load_instruction(storage_type(x.buffer->type, precision_), at.gather, mask.has_value());
  i.a = at.scalar.reg, i.imm = at.imm, i.step = at.step;
  i.memory = storage.memory;
  i.vector = at.vector;
  int where = at.level;
  if (at.gather) i.b = at.lanes.reg, mark_used(at.lanes);
  if (mask) {
    i.c = mask->reg, i.c_scalar = !mask->vector, i.d = otherwise.reg, i.d_scalar = !otherwise.vector;
    i.vector |= mask->vector || otherwise.vector;
    where = std::max({where, mask->level, otherwise.level});
    mark_used(*mask), mark_used(otherwise);
  }
  if (i.vector) where = std::max(where, strip_level_);
  // A load may be hoisted out of the current scope if no store writes the buffer and its indices are in range.
  bool fixed = storage.constant && safe && !at.is_mutable && !(mask && mask->epoch) && !otherwise.epoch;
  if (!fixed) where = level();
  std::array<int64_t, 9> key{reinterpret_cast<int64_t>(i.execute),
                             i.a,
                             at.gather ? i.b : -at.step - 1,
                             mask ? i.c : -1,
                             mask ? i.d : -1,
                             i.imm,
                             -1 - int64_t{i.memory},
                             fixed ? 0 : epoch_,
                             0};
  last_ = {};
  for (int s = 0; s <= where; ++s)
    if (auto it = scopes_[s].computed.find(key); it != scopes_[s].computed.end()) return it->second;
  Value result = fresh(register_kind(x.buffer->type, precision_), i.vector, where);
  i.dst = result.reg;
  scopes_[where].code.push_back(i);
  scopes_[where].computed.emplace(key, result);
  return result;
}

Value Compiler::private_load(const Load& x, const BufferStorage& storage) {
  Kind kind = register_kind(x.buffer->type, precision_);
  Affine flat;
  for (size_t d = 0; d < x.indices.size(); ++d) add_to(flat, affine(x.indices[d]), storage.strides[d]);
  last_ = {};
  if (flat.terms.empty()) {
    // The register of an element at a constant index is the operand itself.
    int64_t element = std::clamp<int64_t>(flat.constant, 0, std::max<int64_t>(storage.count - 1, 0));
    uint32_t at = static_cast<uint32_t>(storage.reg + element * strip_lanes * kind_bytes(kind));
    return {at, kind, true, level(), epoch_};
  }
  Value offsets = materialize(flat);
  mark_used(offsets);
  Instruction i;
  i.a = offsets.vector ? index_constant(0).reg : offsets.reg;
  i.b = offsets.reg;
  i.execute = private_load_instruction(kind, offsets.vector);
  i.c = storage.reg, i.vector = true, i.step = storage.count;
  Value result = fresh(kind, true, level());
  i.dst = result.reg;
  append(i);
  return result;
}

void Compiler::store(const Store& x) {
  auto found = storage_.find(x.buffer);
  DLCC_CHECK(found != storage_.end(), "buffer {} is not declared", x.buffer->name);
  const BufferStorage storage = found->second;
  if (storage.lane_private) return private_store(x, storage);
  clear_memo();
  check(storage, x.buffer, x.indices);
  Value v = value(x.value);
  Address at = address(storage, x.indices);
  Instruction i;
  i.execute = store_instruction(storage_type(x.buffer->type, precision_), at.gather, mask_.has_value());
  i.a = at.scalar.reg, i.imm = at.imm, i.step = at.step, i.memory = storage.memory;
  i.d = v.reg, i.d_scalar = !v.vector;
  i.vector = at.vector || v.vector || (mask_ && mask_->vector);
  mark_used(v);
  if (at.gather) i.b = at.lanes.reg, mark_used(at.lanes);
  if (mask_) i.c = mask_->reg, i.c_scalar = !mask_->vector, mark_used(*mask_);
  append(i);
  ++epoch_;
  last_ = {};
}

void Compiler::private_store(const Store& x, const BufferStorage& storage) {
  clear_memo();
  Kind kind = register_kind(x.buffer->type, precision_);
  check(storage, x.buffer, x.indices);
  Affine flat;
  for (size_t d = 0; d < x.indices.size(); ++d) add_to(flat, affine(x.indices[d]), storage.strides[d]);
  bool fixed = flat.terms.empty();
  Value offsets = fixed ? Value{} : materialize(flat);
  last_ = {};
  Value v = value(x.value);
  mark_used(v);
  uint32_t target = static_cast<uint32_t>(storage.reg + (fixed ? flat.constant : 0) * strip_lanes * kind_bytes(kind));
  if (fixed && !mask_ && last_.valid && last_.reg == v.reg && v.vector && v.level == level() && v.epoch == 0) {
    // The last instruction computes the value for this store only: it writes to the element.
    scopes_.back().code.back().dst = target;
    scopes_.back().computed.erase(last_.key);
  } else {
    Instruction i;
    i.vector = true;
    i.d = v.reg, i.d_scalar = !v.vector;
    if (mask_) i.c = mask_->reg, i.c_scalar = !mask_->vector, mark_used(*mask_);
    if (fixed && !mask_) {
      i.execute = copy_instruction(kind);
      i.a = v.reg, i.a_scalar = !v.vector, i.dst = target;
    } else {
      i.execute = private_store_instruction(kind, offsets.vector, mask_.has_value());
      i.dst = storage.reg;
      i.a = fixed || offsets.vector ? index_constant(0).reg : offsets.reg;
      i.imm = fixed ? flat.constant : 0;
      i.b = offsets.reg;
      mark_used(offsets);
    }
    append(i);
  }
  ++epoch_;
  last_ = {};
}

}  // namespace dlcc::tensor::bytecode

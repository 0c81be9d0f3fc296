// Expressions of the tensor IR as LLVM values: one rule per node. A value that is uniform across the lanes of the
// surrounding vector loop is a scalar; it is splatted when combined with a vector.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include <algorithm>

#include "support/float_formats.h"
#include "targets/llvm/cpu_model.h"
#include "targets/llvm/kernel_emitter.h"
#include "tensor/analysis.h"
#include "tensor/quantization.h"
#include "tensor/visit.h"

namespace dlcc::targets {

using namespace tensor;
using llvm::Intrinsic::ID;

// ---- types and helpers -----------------------------------------------------------------------------------

llvm::Type* type_of_scalar(llvm::LLVMContext& context, DType t) {
  if (t == dtype::f32) return llvm::Type::getFloatTy(context);
  if (t == dtype::f64) return llvm::Type::getDoubleTy(context);
  if (is_bool(t)) return llvm::Type::getInt1Ty(context);
  return llvm::Type::getIntNTy(context, static_cast<unsigned>(std::max(bits(t), 8)));
}

llvm::Type* KernelEmitter::counter_type(int64_t end) const {
  const llvm::DataLayout& layout = function_->getParent()->getDataLayout();
  llvm::Type* type = layout.getIndexType(llvm::PointerType::getUnqual(function_->getContext()));
  return llvm::isIntN(type->getIntegerBitWidth(), end) ? type : llvm::Type::getInt64Ty(function_->getContext());
}

llvm::Type* KernelEmitter::storage_type(DType t) { return is_bool(t) ? b_.getInt8Ty() : value_type(t); }

llvm::Type* KernelEmitter::value_type(DType t) { return type_of_scalar(b_.getContext(), t); }

Value* KernelEmitter::splat(Value* v) { return !lanes_ || is_vector(v) ? v : b_.CreateVectorSplat(lanes_->count, v); }

bool KernelEmitter::match_lanes(std::initializer_list<Value**> values) {
  bool any = std::any_of(values.begin(), values.end(), [](Value** v) { return is_vector(*v); });
  if (any)
    for (Value** v : values) *v = splat(*v);
  return any;
}

llvm::Type* KernelEmitter::with_lanes_of(Value* shape, llvm::Type* element) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(shape->getType());
  return vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}

Value* KernelEmitter::constant_like(Value* shape, int64_t value) {
  return llvm::ConstantInt::get(shape->getType(), static_cast<uint64_t>(value), true);
}

Value* KernelEmitter::intrinsic(ID id, std::initializer_list<Value*> args) {
  return b_.CreateIntrinsic(id, {(*args.begin())->getType()}, llvm::ArrayRef<Value*>(args.begin(), args.size()));
}

bool KernelEmitter::converts_halves() const {
  const llvm::Triple& triple = cpu_.getTargetTriple();
  if (triple.isX86()) return cpu_.checkFeatures("+f16c");
  if (is_riscv()) return cpu_.checkFeatures("+zfhmin");
  return !is_arm32() || cpu_.checkFeatures("+fp16");
}

bool KernelEmitter::is_arm32() const { return targets::is_arm32(cpu_); }
bool KernelEmitter::is_riscv() const { return cpu_.getTargetTriple().isRISCV(); }

// ---- nodes -----------------------------------------------------------------------------------------------

Value* KernelEmitter::emit(const Expr& e) {
  for (auto memo = memos_.rbegin(); memo != memos_.rend(); ++memo)
    if (auto it = memo->find(e.get()); it != memo->end()) return it->second;
  Value* value = emit_new(e);
  memos_.back().emplace(e.get(), value);
  return value;
}

Value* KernelEmitter::emit_new(const Expr& e) {
  return std::visit(overloaded{
                        [&](const Literal& x) { return emit_literal(e.type(), x); },
                        [&](const VarRef& x) -> Value* {
                          if (lanes_ && x.var.get() == lanes_->var) {
                            Linear lane;
                            lane.lane = 1;
                            return vector_of(lane);
                          }
                          auto it = bindings_.find(x.var.get());
                          DLCC_CHECK(it != bindings_.end(), "kernel {} uses unbound variable {}", kernel_.name,
                                     x.var->name);
                          return it->second.value;
                        },
                        [&](const Unary& x) { return emit_unary(x, x.a.type()); },
                        [&](const Binary& x) { return emit_binary(e, x); },
                        [&](const Fma& x) {
                          Value *a = emit(x.a), *b = emit(x.b), *c = emit(x.c);
                          match_lanes({&a, &b, &c});
                          return emit_fma(a, b, c);
                        },
                        [&](const Select& x) { return emit_select(x); },
                        [&](const Cast& x) {
                          if (Value* rounded = emit_rounded_cast(x, e.type())) return rounded;
                          const bool is_short = is_integer(e.type()) && bits(e.type()) <= 16;
                          const Expr& a = is_short ? without_enforced_bounds(e.type(), x.a) : x.a;
                          return emit_cast(emit(a), a.type(), e.type(), x.saturate);
                        },
                        [&](const Bitcast& x) {
                          Value* a = emit(x.a);
                          return b_.CreateBitCast(a, with_lanes_of(a, value_type(e.type())));
                        },
                        [&](const Load& x) { return emit_load(x); },
                    },
                    e->v);
}

Value* KernelEmitter::emit_literal(DType type, const Literal& x) {
  if (type == dtype::f32 || type == dtype::f64) return llvm::ConstantFP::get(value_type(type), x.number);
  uint64_t pattern = static_cast<uint64_t>(x.integer);
  if (type == dtype::f16)
    pattern = float_to_half(static_cast<float>(x.number));
  else if (type == dtype::bf16)
    pattern = float_to_bfloat16(static_cast<float>(x.number));
  else if (is_float(type))
    pattern = float_to_minifloat(type, static_cast<float>(x.number), true);
  return llvm::ConstantInt::get(value_type(type),
                                llvm::APInt(64, pattern).trunc(value_type(type)->getIntegerBitWidth()));
}

Value* KernelEmitter::emit_unary(const Unary& x, DType type) {
  Value* a = emit(x.a);
  bool floating = is_float(type);
  auto infinity = [&] { return llvm::ConstantFP::getInfinity(a->getType()); };
  switch (x.op) {
    case UnaryOp::negate:
      return floating ? b_.CreateFNeg(a) : b_.CreateNeg(a);
    case UnaryOp::abs:
      if (floating) return intrinsic(llvm::Intrinsic::fabs, {a});
      if (!is_signed(type)) return a;
      return b_.CreateIntrinsic(llvm::Intrinsic::abs, {a->getType()}, {a, b_.getFalse()});
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::trunc:
    case UnaryOp::round_even:
      return floating ? emit_rounding(x.op, a) : a;
    case UnaryOp::sqrt:
      return emit_square_root(a);
    case UnaryOp::is_nan:
      if (!floating) return b_.getFalse();
      return b_.CreateFCmpUNO(a, a);
    case UnaryOp::is_inf:
      if (!floating) return b_.getFalse();
      return b_.CreateFCmpOEQ(intrinsic(llvm::Intrinsic::fabs, {a}), infinity());
    case UnaryOp::logical_not:
      return b_.CreateNot(a);
    case UnaryOp::bit_not:
      return b_.CreateNot(a);
    case UnaryOp::exp:
    case UnaryOp::log:
    case UnaryOp::tanh:
    case UnaryOp::erf:
    case UnaryOp::sigmoid:
    case UnaryOp::sin:
    case UnaryOp::cos:
    case UnaryOp::expm1:
    case UnaryOp::log1p:
    case UnaryOp::tan:
    case UnaryOp::asin:
    case UnaryOp::acos:
    case UnaryOp::atan:
    case UnaryOp::sinh:
    case UnaryOp::cosh:
    case UnaryOp::asinh:
    case UnaryOp::acosh:
    case UnaryOp::atanh:
      break;
  }
  DLCC_UNREACHABLE("kernel {} holds a transcendental function that was not expanded", kernel_.name);
}

Value* KernelEmitter::emit_binary(const Expr& e, const Binary& x) {
  DType type = x.a.type();
  if (Value* index = emit_index_division(x)) return index;
  Value *a = emit(x.a), *b = emit(x.b);
  match_lanes({&a, &b});
  switch (x.op) {
    case BinaryOp::min:
    case BinaryOp::max:
      return emit_extremum(x, a, b, type);
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
      return emit_comparison(x.op, a, b, type);
    default:
      break;
  }
  if (!is_float(type)) {
    bool bounded = type == dtype::i64 && !is_vector(a) && range_of(e, ranges_);
    return emit_integer_binary(x.op, a, b, type, bounded);
  }
  switch (x.op) {
    case BinaryOp::add:
      return b_.CreateFAdd(a, b);
    case BinaryOp::sub:
      return b_.CreateFSub(a, b);
    case BinaryOp::mul:
      if (Value* scaled = emit_scaling(a, b)) return scaled;
      return b_.CreateFMul(a, b);
    case BinaryOp::div:
      return b_.CreateFDiv(a, b);
    default:
      DLCC_UNREACHABLE("kernel {} holds a float operation that was not expanded", kernel_.name);
  }
}

Value* KernelEmitter::emit_extremum(const Binary& x, Value* a, Value* b, DType type) {
  bool is_max = x.op == BinaryOp::max;
  if (!is_float(type)) {
    if (is_signed(type)) return b_.CreateBinaryIntrinsic(is_max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, a, b);
    return b_.CreateBinaryIntrinsic(is_max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin, a, b);
  }
  auto is_number = [](const Expr& e) {
    const Literal* known = as<Literal>(e);
    return known && known->number == known->number;
  };
  // A NaN fails the comparison and is selected. LLVM would turn the opposite comparison into a call of fminf, a library
  // function, if the float32 is widened from a float16; and LLVM 19 would compare x and not |x| for max(|x|, 0).
  if (is_number(x.b)) return b_.CreateSelect(is_max ? b_.CreateFCmpOGE(b, a) : b_.CreateFCmpOLE(b, a), b, a);
  // AArch64: one instruction, fmax. x86 without mask registers: a maxps, which selects `b` if an operand is NaN or both
  // are zeros, a test of `a`, and a blend. LLVM would merge the selects below into two comparisons, a disjunction and a
  // blend. Without the flag nsz, it would order the zeros, which takes more instructions on x86.
  const llvm::Triple& triple = cpu_.getTargetTriple();
  if ((triple.isAArch64() || (triple.isX86() && !has_mask_registers_)) && !is_number(x.a)) {
    Value* extremum = b_.CreateBinaryIntrinsic(is_max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, a, b);
    if (auto* call = llvm::dyn_cast<llvm::Instruction>(extremum)) call->setHasNoSignedZeros(true);
    return extremum;
  }
  Value* extremum = b_.CreateSelect(is_max ? b_.CreateFCmpOGT(a, b) : b_.CreateFCmpOLT(a, b), a, b);
  if (is_number(x.a)) return extremum;
  // A NaN in b fails the comparison and is selected. A NaN in a is selected by a second comparison. On CPUs with mask
  // registers, a constant NaN takes its place: x86 then needs a maxps and one comparison, whereas with `a` itself LLVM
  // merges the selects into two comparisons and a mask operation.
  Value* is_nan = b_.CreateFCmpUNO(a, a);
  return b_.CreateSelect(is_nan, has_mask_registers_ ? llvm::ConstantFP::getQNaN(a->getType()) : a, extremum);
}

Value* KernelEmitter::emit_comparison(BinaryOp op, Value* a, Value* b, DType type) {
  using P = llvm::CmpInst;
  bool sign = is_signed(type);
  auto pick = [&](P::Predicate floating, P::Predicate with_sign, P::Predicate without) {
    return b_.CreateCmp(is_float(type) ? floating : sign ? with_sign : without, a, b);
  };
  switch (op) {
    case BinaryOp::eq:
      return pick(P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ);
    case BinaryOp::ne:
      return pick(P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE);
    case BinaryOp::lt:
      return pick(P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT);
    case BinaryOp::le:
      return pick(P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE);
    case BinaryOp::gt:
      return pick(P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT);
    default:
      return pick(P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE);
  }
}

// ---- select ----------------------------------------------------------------------------------------------

Value* KernelEmitter::emit_select(const Select& x) {
  Value* condition = emit(x.condition);
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) return emit(known->isZero() ? x.b : x.a);
  Value* a = emit_guarded(x.a, condition);
  Value* b = emit_guarded(x.b, loads_of(x.b).empty() ? condition : b_.CreateNot(condition));
  if (is_vector(condition)) a = splat(a), b = splat(b);
  match_lanes({&a, &b});
  return b_.CreateSelect(condition, a, b);
}

// Whether the buffer is known to have the element.
bool KernelEmitter::reads_inside(const Load& x) const {
  for (size_t d = 0; d < x.indices.size(); ++d) {
    const Dim& size = x.buffer->shape[d];
    if (!provably_in_range(x.indices[d], size, ranges_) && !(facts_ && facts_->in_range(x.indices[d], size)))
      return false;
  }
  return true;
}

// The value of an expression that is used only if `guard` holds. Otherwise its loads may be out of bounds, so they are
// masked by the guard.
Value* KernelEmitter::emit_guarded(const Expr& e, Value* guard) {
  const std::vector<Load> loads = loads_of(e);
  if (loads.empty()) return emit(e);
  // Branches in a branch share the values that are valid in all of them: an integer power has a branch for each bit,
  // and each would compute all others again.
  if (guard_ && std::ranges::all_of(loads, [&](const Load& x) { return reads_inside(x); })) return emit(e);
  Value* outer = guard_;
  if (outer) {
    match_lanes({&outer, &guard});
    guard = b_.CreateAnd(outer, guard);
  }
  std::swap(guard_, guard);
  memos_.emplace_back();
  Value* value = emit(e);
  memos_.pop_back();
  std::swap(guard_, guard);
  return value;
}

}  // namespace dlcc::targets

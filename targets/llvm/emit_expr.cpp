// Expressions of the tensor IR as LLVM values: one rule per node. A value that is the same in all lanes of the
// surrounding vector loop stays a scalar until it meets a vector.
#include <llvm/IR/Intrinsics.h>

#include <limits>

#include "support/float_formats.h"
#include "targets/llvm/kernel_emitter.h"
#include "tensor/visit.h"

namespace dlcc::targets {

using namespace tensor;
using llvm::Intrinsic::ID;

// ---- types and helpers -----------------------------------------------------------------------------------

llvm::Type* KernelEmitter::storage_type(DType t) {
  if (t == dtype::f32) return b_.getFloatTy();
  if (t == dtype::f64) return b_.getDoubleTy();
  return b_.getIntNTy(std::max(bits(t), 8));  // narrow floats as their bits
}

llvm::Type* KernelEmitter::value_type(DType t) { return is_bool(t) ? b_.getInt1Ty() : storage_type(t); }

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

bool KernelEmitter::converts_halves() const { return !cpu_.getTargetTriple().isX86() || cpu_.checkFeatures("+f16c"); }

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
                            lane.terms.push_back({lanes_->base, 1, 0, lanes_->base_range});
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
                        [&](const Cast& x) { return emit_cast(emit(x.a), x.a.type(), e.type(), x.saturate); },
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
    pattern = float_to_float8(type, static_cast<float>(x.number), true);
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
      return floating ? intrinsic(llvm::Intrinsic::floor, {a}) : a;
    case UnaryOp::ceil:
      return floating ? intrinsic(llvm::Intrinsic::ceil, {a}) : a;
    case UnaryOp::trunc:
      return floating ? intrinsic(llvm::Intrinsic::trunc, {a}) : a;
    case UnaryOp::round_even:
      return floating ? intrinsic(llvm::Intrinsic::roundeven, {a}) : a;
    case UnaryOp::sqrt:
      return intrinsic(llvm::Intrinsic::sqrt, {a});
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
      return b_.CreateFMul(a, b);
    case BinaryOp::div:
      return b_.CreateFDiv(a, b);
    default:
      DLCC_UNREACHABLE("kernel {} holds a float operation that was not expanded", kernel_.name);
  }
}

// `bounded`: the result does not overflow.
Value* KernelEmitter::emit_integer_binary(BinaryOp op, Value* a, Value* b, DType type, bool bounded) {
  switch (op) {
    case BinaryOp::add:
      return b_.CreateAdd(a, b, "", false, bounded);
    case BinaryOp::sub:
      return b_.CreateSub(a, b, "", false, bounded);
    case BinaryOp::mul:
      return b_.CreateMul(a, b, "", false, bounded);
    case BinaryOp::div:
    case BinaryOp::rem:
    case BinaryOp::floor_div:
    case BinaryOp::floor_mod:
      return emit_division(op, a, b, is_signed(type));
    case BinaryOp::logical_and:
    case BinaryOp::bit_and:
      return b_.CreateAnd(a, b);
    case BinaryOp::logical_or:
    case BinaryOp::bit_or:
      return b_.CreateOr(a, b);
    case BinaryOp::logical_xor:
    case BinaryOp::bit_xor:
      return b_.CreateXor(a, b);
    case BinaryOp::shl:
    case BinaryOp::shr:
      return emit_shift(op, a, b, is_signed(type));
    default:
      DLCC_UNREACHABLE("kernel {}: not an integer operation", kernel_.name);
  }
}

namespace {

// n / divisor is n * factor >> shift for n from 0 to `most`.
struct Reciprocal {
  int64_t factor;
  int shift;
};

// The factor is 2^shift / divisor rounded up, which adds n * excess / (divisor * 2^shift) to the quotient: less than
// the 1 / divisor that would reach the next integer. Null when the factor is not an immediate operand.
std::optional<Reciprocal> reciprocal(int64_t divisor, int64_t most) {
  constexpr int64_t largest = std::numeric_limits<int32_t>::max();
  for (int shift = 0; shift < 62; ++shift) {
    int64_t power = int64_t{1} << shift, factor = (power - 1) / divisor + 1, error;
    if (factor > largest) return std::nullopt;
    if (!__builtin_mul_overflow(most, factor * divisor - power, &error) && error < power)
      return Reciprocal{factor, shift};
  }
  return std::nullopt;
}

}  // namespace

// The quotient or remainder of a scalar that is known not to be negative or large, by a constant, without the signs and
// magic numbers that divisions in general keep in registers. Null for others.
Value* KernelEmitter::emit_index_division(const Binary& x) {
  bool is_remainder = x.op == BinaryOp::floor_mod || x.op == BinaryOp::rem;
  if (!is_remainder && x.op != BinaryOp::floor_div && x.op != BinaryOp::div) return nullptr;
  auto divisor = x.a.type() == dtype::i64 ? constant_integer(x.b) : std::nullopt;
  auto range = divisor ? range_of(x.a, ranges_) : std::nullopt;
  constexpr int64_t largest = std::numeric_limits<int32_t>::max();
  if (!range || *divisor < 1 || *divisor > largest || range->low < 0 || range->high > largest) return nullptr;
  auto by = reciprocal(*divisor, range->high);
  Value* a = emit(x.a);
  if (!by || is_vector(a)) return nullptr;
  auto times = [&](Value* v, int64_t factor) {
    return b_.CreateMul(v, b_.getInt64(static_cast<uint64_t>(factor)), "", true, true);
  };
  Value* quotient = b_.CreateLShr(times(a, by->factor), static_cast<uint64_t>(by->shift));
  return is_remainder ? b_.CreateSub(a, times(quotient, *divisor), "", true, true) : quotient;
}

// A zero divisor gives 0 and the smallest integer / -1 itself: both are divided by 1 instead, which gives the second
// answer and, for remainders, both.
Value* KernelEmitter::emit_division(BinaryOp op, Value* a, Value* b, bool is_signed) {
  Value *zero = constant_like(b, 0), *one = constant_like(b, 1);
  Value* is_zero = b_.CreateICmpEQ(b, zero);
  Value* unsafe = is_zero;
  if (is_signed) {
    Value* smallest =
        llvm::ConstantInt::get(a->getType(), llvm::APInt::getSignedMinValue(a->getType()->getScalarSizeInBits()));
    unsafe = b_.CreateOr(is_zero, b_.CreateAnd(b_.CreateICmpEQ(a, smallest), b_.CreateICmpEQ(b, constant_like(b, -1))));
  }
  Value* divisor = b_.CreateSelect(unsafe, one, b);
  bool quotient = op == BinaryOp::div || op == BinaryOp::floor_div;
  Value* q = !quotient ? nullptr : is_signed ? b_.CreateSDiv(a, divisor) : b_.CreateUDiv(a, divisor);
  if (is_signed && (op == BinaryOp::floor_div || op == BinaryOp::floor_mod)) {
    Value* r = b_.CreateSRem(a, divisor);
    // The remainder has the dividend's sign; where that is not the divisor's, rounding down is one further.
    Value* below = b_.CreateAnd(b_.CreateICmpNE(r, zero), b_.CreateICmpSLT(b_.CreateXor(r, divisor), zero));
    if (op == BinaryOp::floor_mod) return b_.CreateSelect(below, b_.CreateAdd(r, divisor), r);
    q = b_.CreateSelect(below, b_.CreateSub(q, one), q);
  } else if (!quotient) {
    return is_signed ? b_.CreateSRem(a, divisor) : b_.CreateURem(a, divisor);
  }
  return b_.CreateSelect(is_zero, zero, q);
}

Value* KernelEmitter::emit_shift(BinaryOp op, Value* a, Value* b, bool is_signed) {
  int64_t width = a->getType()->getScalarSizeInBits();
  Value* in_range = b_.CreateICmpULT(b, constant_like(b, width));
  if (op == BinaryOp::shr && is_signed)
    return b_.CreateAShr(a, b_.CreateSelect(in_range, b, constant_like(b, width - 1)));
  Value* amount = b_.CreateSelect(in_range, b, constant_like(b, 0));
  Value* shifted = op == BinaryOp::shl ? b_.CreateShl(a, amount) : b_.CreateLShr(a, amount);
  return b_.CreateSelect(in_range, shifted, constant_like(a, 0));
}

Value* KernelEmitter::emit_extremum(const Binary& x, Value* a, Value* b, DType type) {
  bool is_max = x.op == BinaryOp::max;
  if (!is_float(type)) {
    if (is_signed(type)) return b_.CreateBinaryIntrinsic(is_max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, a, b);
    return b_.CreateBinaryIntrinsic(is_max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin, a, b);
  }
  Value* first = is_max ? b_.CreateFCmpOGT(a, b) : b_.CreateFCmpOLT(a, b);
  Value* result = b_.CreateSelect(first, a, b);
  if (const Literal* known = as<Literal>(x.a); known && known->number == known->number) return result;
  return b_.CreateSelect(b_.CreateFCmpUNO(a, a), a, result);
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

// ---- fused multiply-add ----------------------------------------------------------------------------------

namespace {

// a + b as the rounded sum and its exact error (Knuth).
std::pair<Value*, Value*> two_sum(llvm::IRBuilder<>& b, Value* x, Value* y) {
  Value* sum = b.CreateFAdd(x, y);
  Value* z = b.CreateFSub(sum, x);
  return {sum, b.CreateFAdd(b.CreateFSub(x, b.CreateFSub(sum, z)), b.CreateFSub(y, z))};
}

// x * y as the rounded product and its exact error (Dekker, Veltkamp), barring overflow and underflow.
std::pair<Value*, Value*> two_product(llvm::IRBuilder<>& b, Value* x, Value* y) {
  auto split = [&](Value* v) {
    Value* c = b.CreateFMul(v, llvm::ConstantFP::get(v->getType(), 134217729.0));  // 2^27 + 1
    Value* high = b.CreateFSub(c, b.CreateFSub(c, v));
    return std::pair(high, b.CreateFSub(v, high));
  };
  auto [xh, xl] = split(x);
  auto [yh, yl] = split(y);
  Value* p = b.CreateFMul(x, y);
  Value* e = b.CreateFSub(b.CreateFMul(xh, yh), p);
  e = b.CreateFAdd(b.CreateFAdd(e, b.CreateFMul(xh, yl)), b.CreateFMul(xl, yh));
  return {p, b.CreateFAdd(e, b.CreateFMul(xl, yl))};
}

}  // namespace

// On CPUs without the instruction: the exact sum rounded to odd in float64 and then to the result (Boldo and Melquiond,
// "Emulation of a FMA and correctly rounded sums", 2008). LLVM would call libm.
Value* KernelEmitter::emit_fma(Value* a, Value* b, Value* c) {
  if (level_.machine.has_fma) return intrinsic(llvm::Intrinsic::fma, {a, b, c});
  llvm::Type *result = a->getType(), *wide = with_lanes_of(a, b_.getDoubleTy()),
             *word = with_lanes_of(a, b_.getInt64Ty());
  auto sum_to_odd = [&](Value* x, Value* y) {
    auto [sum, error] = two_sum(b_, x, y);
    Value* bits = b_.CreateBitCast(sum, word);
    Value* even = b_.CreateICmpEQ(b_.CreateAnd(bits, constant_like(bits, 1)), constant_like(bits, 0));
    Value* inexact = b_.CreateFCmpONE(error, llvm::ConstantFP::get(wide, 0.0));
    // The neighbour towards the error is odd when the sum is even.
    Value* same_sign = b_.CreateICmpSGE(b_.CreateXor(bits, b_.CreateBitCast(error, word)), constant_like(bits, 0));
    Value* odd = b_.CreateAdd(bits, b_.CreateSelect(same_sign, constant_like(bits, 1), constant_like(bits, -1)));
    return b_.CreateBitCast(b_.CreateSelect(b_.CreateAnd(even, inexact), odd, bits), wide);
  };
  if (result->getScalarType()->isFloatTy()) {
    Value* product = b_.CreateFMul(b_.CreateFPExt(a, wide), b_.CreateFPExt(b, wide));  // exact
    return b_.CreateFPTrunc(sum_to_odd(product, b_.CreateFPExt(c, wide)), result);
  }
  auto [product, product_error] = two_product(b_, a, b);
  auto [low, low_error] = two_sum(b_, c, product_error);
  auto [high, high_error] = two_sum(b_, product, low);
  Value* exact = b_.CreateFAdd(high, sum_to_odd(low_error, high_error));
  // The errors are NaN where something is infinite or NaN, and a zero lost its sign: there the plain formula is right.
  Value* plain = b_.CreateFAdd(b_.CreateFMul(a, b), c);
  return b_.CreateSelect(b_.CreateFCmpONE(exact, llvm::ConstantFP::get(result, 0.0)), exact, plain);
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

// The value of an expression that matters only where `guard` holds: its loads may be invalid elsewhere and are not
// executed there.
Value* KernelEmitter::emit_guarded(const Expr& e, Value* guard) {
  if (loads_of(e).empty()) return emit(e);
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

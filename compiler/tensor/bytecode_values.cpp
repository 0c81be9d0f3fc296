// The bytecode compiler, values: registers, value numbering, index arithmetic and expressions.
#include <algorithm>
#include <cstring>
#include <tuple>

#include "tensor/analysis.h"
#include "tensor/bytecode_compiler.h"
#include "tensor/linear.h"
#include "tensor/visit.h"

namespace dlcc::tensor::bytecode {

void add_term(Affine& to, const Value& v, int64_t k) {
  for (size_t t = 0; t < to.terms.size(); ++t) {
    if (to.terms[t].first.reg != v.reg) continue;
    to.terms[t].second = wrapping_add(to.terms[t].second, k);
    if (to.terms[t].second == 0) to.terms.erase(to.terms.begin() + t);
    return;
  }
  if (k != 0) to.terms.emplace_back(v, k);
}

void add_to(Affine& to, const Affine& a, int64_t factor) {
  to.constant = wrapping_add(to.constant, wrapping_mul(a.constant, factor));
  for (const auto& [v, k] : a.terms) add_term(to, v, wrapping_mul(k, factor));
}

// ---- registers and instructions -------------------------------------------------------------------------------------

Value Compiler::constant_bits(Kind kind, uint64_t bits) {
  auto [it, is_new] = constants_.emplace(std::pair(kind, bits), Value{});
  if (is_new) {
    it->second = {allocate_scalar(), kind, false, 0, 0};
    size_t end = it->second.reg + 8;
    if (program_.constants.size() < end) program_.constants.resize(end);
    std::memcpy(program_.constants.data() + it->second.reg, &bits, 8);
  }
  return it->second;
}

void Compiler::mark_used(const Value& v) {
  if (!v.vector || !strip_) return;
  for (Strip::Axis& axis : program_.strips[*strip_].axes)
    if (axis.reg == v.reg) axis.used = true;
}

// Emits an instruction in the innermost scope of its operands, or returns its value if that scope computes it already.
Value Compiler::emit(Execute execute, Kind kind, const std::vector<Value>& operands, int64_t imm) {
  Instruction i;
  i.execute = execute;
  i.imm = imm;
  int at = 0;
  bool mutable_operand = false;
  for (const Value& v : operands) {
    at = std::max(at, v.level);
    i.vector |= v.vector;
    mutable_operand |= v.epoch != 0;
    mark_used(v);
  }
  if (i.vector) at = std::max(at, strip_level_);
  if (mutable_operand) at = level();
  auto operand = [&](size_t k) { return k < operands.size() ? operands[k].reg : 0; };
  auto scalar = [&](size_t k) { return k >= operands.size() || !operands[k].vector; };
  i.a = operand(0), i.b = operand(1), i.c = operand(2), i.d = operand(3);
  i.a_scalar = scalar(0), i.b_scalar = scalar(1), i.c_scalar = scalar(2), i.d_scalar = scalar(3);
  std::array<int64_t, 9> key{reinterpret_cast<int64_t>(execute),
                             i.a,
                             i.b,
                             i.c,
                             i.d,
                             imm,
                             static_cast<int64_t>(operands.size()),
                             mutable_operand ? epoch_ : 0,
                             static_cast<int64_t>(kind)};
  for (int s = 0; s <= at; ++s)
    if (auto it = scopes_[s].computed.find(key); it != scopes_[s].computed.end()) {
      last_ = {};
      return it->second;
    }
  Value result = fresh(kind, i.vector, at);
  i.dst = result.reg;
  scopes_[at].code.push_back(i);
  scopes_[at].computed.emplace(key, result);
  last_ = at == level() ? Last{result.reg, key, true} : Last{};
  return result;
}

// ---- index arithmetic -----------------------------------------------------------------------------------------------

Affine Compiler::affine(const Expr& e) {
  const Binary* x = as<Binary>(e);
  bool sum = x && (x->op == BinaryOp::add || x->op == BinaryOp::sub || x->op == BinaryOp::mul);
  if (as<VarRef>(e) || as<Literal>(e)) return linear_parts(e);
  if (!sum) {
    Affine a;
    add_term(a, value(e), 1);
    return a;
  }
  std::pair key(e.get(), guard_ ? int64_t{guard_->reg} : -1);
  auto it = affine_memo_.find(key);
  if (it == affine_memo_.end()) it = affine_memo_.emplace(key, linear_parts(e)).first;
  return it->second;
}

// The linear form of a literal, a variable, a sum, a difference or a product.
Affine Compiler::linear_parts(const Expr& e) {
  if (auto c = constant_integer(e)) return {{}, *c};
  if (const VarRef* x = as<VarRef>(e)) {
    auto it = indices_.find(x->var);
    DLCC_CHECK(it != indices_.end(), "variable {} is not bound", x->var->name);
    return it->second;
  }
  const Binary& x = *as<Binary>(e);
  Affine a = affine(x.a), b = affine(x.b);
  if (x.op == BinaryOp::mul) {
    if (a.terms.empty()) std::swap(a, b);
    Affine product;
    if (b.terms.empty())
      add_to(product, a, b.constant);
    else
      add_term(product, emit(binary_instruction(BinaryOp::mul, Kind::i64), Kind::i64, {materialize(a), materialize(b)}),
               1);
    return product;
  }
  add_to(a, b, x.op == BinaryOp::add ? 1 : -1);
  return a;
}

// The value of a linear form. Terms are added from the outermost scope to the innermost, so that partial sums are
// computed outside of inner loops.
Value Compiler::materialize(const Affine& a) {
  auto terms = a.terms;
  std::ranges::stable_sort(terms, [](const auto& x, const auto& y) {
    return std::tuple(x.first.vector, x.first.level, x.first.epoch != 0) <
           std::tuple(y.first.vector, y.first.level, y.first.epoch != 0);
  });
  if (terms.empty()) return index_constant(a.constant);
  if (terms.size() == 1 && terms[0].second == 1 && a.constant == 0) return terms[0].first;
  Value sum = index_constant(a.constant);
  for (const auto& [v, k] : terms) sum = emit(scaled_add_instruction(), Kind::i64, {sum, v}, k);
  return sum;
}

// ---- expressions ----------------------------------------------------------------------------------------------------

bool Compiler::may_fault(const Expr& root) {
  for_each_expr(root, [&](const Expr& e) {
    if (may_fault_.count(e.get())) return;
    bool any = false;
    for_each_operand(*e, [&](const Expr& operand) { any |= may_fault_.at(operand.get()).second; });
    if (const Load* x = as<Load>(e); x && !x->otherwise)
      for (size_t d = 0; d < x->indices.size(); ++d)
        any |= !provably_in_range(x->indices[d], x->buffer->shape[d], ranges_);
    may_fault_.emplace(e.get(), std::pair(e, any));
  });
  return may_fault_.at(root.get()).second;
}

Value Compiler::value(const Expr& e) {
  // What is defined under a guard around the current one is defined here.
  for (int64_t around : guards_around_)
    if (auto it = memo_.find({e.get(), around}); guard_ && it != memo_.end()) {
      last_ = {};
      return it->second;
    }
  std::optional<Value> outer = guard_;
  if (guard_ && !may_fault(e)) guard_.reset();
  std::pair key(e.get(), guard_ ? int64_t{guard_->reg} : -1);
  auto it = memo_.find(key);
  if (it == memo_.end()) {
    Value v = compute(e);
    last_.valid = last_.valid && last_.reg == v.reg;
    it = memo_.emplace(key, v).first;
  } else {
    last_ = {};
  }
  guard_ = outer;
  return it->second;
}

Value Compiler::literal_value(DType type, const Literal& l) {
  Kind kind = register_kind(type, precision_);
  uint64_t bits = 0;
  if (kind == Kind::f32) {
    float f = static_cast<float>(l.number);
    std::memcpy(&bits, &f, 4);
  } else if (kind == Kind::f64) {
    std::memcpy(&bits, &l.number, 8);
  } else {
    bits = static_cast<uint64_t>(l.integer);
  }
  return constant_bits(kind, bits);
}

Value Compiler::compute(const Expr& e) {
  Kind kind = register_kind(e.type(), precision_);
  return std::visit(overloaded{
                        [&](const Literal& x) { return literal_value(e.type(), x); },
                        [&](const VarRef& x) {
                          if (indices_.count(x.var)) return materialize(affine(e));
                          auto it = variables_.find(x.var);
                          DLCC_CHECK(it != variables_.end(), "variable {} is not bound", x.var->name);
                          return it->second;
                        },
                        [&](const Unary& x) {
                          Value a = value(x.a);
                          return emit(unary_instruction(x.op, a.kind), kind, {a});
                        },
                        [&](const Binary& x) { return binary_value(e, x); },
                        [&](const Fma& x) {
                          Value a = value(x.a), b = value(x.b), c = value(x.c);
                          return emit(fma_instruction(kind), kind, {a, b, c});
                        },
                        [&](const Select& x) { return select_value(e, x); },
                        [&](const Cast& x) { return cast_value(value(x.a), x.a.type(), e.type(), x.saturate); },
                        [&](const Bitcast& x) {
                          Value a = value(x.a);
                          return emit(bitcast_instruction(x.a.type(), e.type(), precision_), kind, {a});
                        },
                        [&](const Load& x) { return load_value(e, x); },
                    },
                    e->v);
}

Value Compiler::binary_value(const Expr& e, const Binary& x) {
  Kind kind = register_kind(e.type(), precision_);
  if (e.type() == dtype::i64 && (x.op == BinaryOp::add || x.op == BinaryOp::sub || x.op == BinaryOp::mul))
    return materialize(affine(e));
  if (x.op == BinaryOp::add && is_float(e.type())) {
    auto multiply_add = [&](const Expr& product, const Expr& other) {
      const Binary& p = *as<Binary>(product);
      Value c = value(other), a = value(p.a), b = value(p.b);
      return emit(mul_add_instruction(kind), kind, {a, b, c});
    };
    auto is_product = [](const Expr& s) { return as<Binary>(s) && as<Binary>(s)->op == BinaryOp::mul; };
    if (is_product(x.b)) return multiply_add(x.b, x.a);
    if (is_product(x.a)) return multiply_add(x.a, x.b);
  }
  Value a = value(x.a), b = value(x.b);
  return emit(binary_instruction(x.op, a.kind), kind, {a, b});
}

Value Compiler::conjunction(const std::optional<Value>& a, const Value& b) {
  return a ? emit(binary_instruction(BinaryOp::logical_and, Kind::boolean), Kind::boolean, {*a, b}) : b;
}

Value Compiler::select_value(const Expr& e, const Select& x) {
  Value c = value(x.condition);
  std::optional<Value> outer = guard_;
  auto arm = [&](const Expr& a, bool taken) {
    if (!may_fault(a)) return value(a);
    Value when = taken ? c : emit(unary_instruction(UnaryOp::logical_not, Kind::boolean), Kind::boolean, {c});
    guard_ = conjunction(outer ? outer : mask_, when);
    guards_around_.push_back(outer ? int64_t{outer->reg} : -1);
    Value v = value(a);
    guards_around_.pop_back();
    guard_ = outer;
    return v;
  };
  Value a = arm(x.a, true), b = arm(x.b, false);
  Kind kind = register_kind(e.type(), precision_);
  return emit(select_instruction(kind), kind, {c, a, b});
}

Value Compiler::cast_value(const Value& a, DType from, DType to, bool saturate) {
  Kind kind = register_kind(to, precision_);
  auto direct = [&](const Value& v, Kind k) { return v.kind == k ? v : emit(cast_instruction(v.kind, k), k, {v}); };
  if (from == to) return a;
  if (is_float(to) && precision_ == Precision::specified && bits(to) < 32) {
    Value v = a;
    if (v.kind != Kind::f32) v = emit(round_to_odd_instruction(), Kind::f32, {direct(v, Kind::f64)});
    return emit(round_instruction(to, saturate), Kind::f32, {v});
  }
  if (is_integer(to) && bits(to) < 8) return emit(round_instruction(to, is_float(from)), kind, {direct(a, kind)});
  return direct(a, kind);
}

}  // namespace dlcc::tensor::bytecode

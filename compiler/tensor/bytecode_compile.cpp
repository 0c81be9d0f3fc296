// Compiles kernels to bytecode. Every value is computed in the outermost loop in which its operands are known and
// written once per loop level (value numbering), so inner loops hold only what changes in them. Index arithmetic is
// kept as linear forms over registers until an address needs it; the part that varies over the lanes of a strip is
// apart from the scalar part.
//
// What a lane must not do is masked: loads that may lie outside their buffer in the arms of selects, and everything
// under a condition that differs between lanes.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "tensor/bytecode.h"
#include "tensor/intrinsic.h"
#include "tensor/linear.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor::bytecode {
namespace {

// A register. `level` is the scope that computes it; `epoch` is not 0 for a register that a store may change later.
struct Value {
  uint32_t reg = 0;
  Kind kind = Kind::i64;
  bool vector = false;
  int level = 0;
  int epoch = 0;
};

// constant + sum of coefficient * register, int64, modulo 2^64.
struct Affine {
  std::vector<std::pair<Value, int64_t>> terms;
  int64_t constant = 0;
};

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

class Compiler {
 public:
  Compiler(const Kernel& kernel, Precision precision) : kernel_(kernel), precision_(precision) {}
  Program run();

 private:
  // Where instructions go: the kernel, a loop's body, a branch's body.
  struct Scope {
    std::vector<Instruction> code;
    std::map<std::array<int64_t, 9>, Value> computed;  // by instruction
  };
  // A buffer in memory, or lane-private within a strip.
  struct Place {
    uint16_t memory = 0;
    bool lane_private = false;
    uint32_t reg = 0;
    int64_t count = 0;
    bool constant = false;  // never written by the kernel
    std::vector<int64_t> strides;
  };
  struct Address {
    Value scalar;
    int64_t imm = 0;
    bool gather = false;
    Value lanes;       // offsets, for a gather
    int64_t step = 0;  // else elements from lane to lane
    bool vector = false;
    int level = 0;
    bool moves = false;  // depends on a register that may change
  };

  // ---- registers and instructions ----
  int level() const { return static_cast<int>(scopes_.size()) - 1; }
  uint32_t allocate(int64_t bytes) {
    int64_t at = program_.register_bytes;
    program_.register_bytes = at + (bytes + 63) / 64 * 64;
    DLCC_CHECK(program_.register_bytes <= INT64_C(0x7FFFFFFF), "registers of the evaluator exceed 2 GiB");
    return static_cast<uint32_t>(at);
  }
  uint32_t allocate_scalar() {
    if (scalar_left_ == 0) scalars_ = allocate(64), scalar_left_ = 8;
    return scalars_ + 8 * (8 - scalar_left_--);
  }
  Value fresh(Kind kind, bool vector, int level) {
    return {vector ? allocate(strip_lanes * kind_bytes(kind)) : allocate_scalar(), kind, vector, level, 0};
  }
  Value constant_bits(Kind kind, uint64_t bits);
  Value index_constant(int64_t v) { return constant_bits(Kind::i64, static_cast<uint64_t>(v)); }
  Value truth() { return constant_bits(Kind::boolean, 1); }
  Value emit(Execute execute, Kind kind, const std::vector<Value>& operands, int64_t imm = 0);
  void append(Instruction i) { scopes_.back().code.push_back(i); }

  // ---- index arithmetic ----
  Affine affine(const Expr& e);
  Affine linear_parts(const Expr& e);
  Value materialise(const Affine& a);
  void mark_used(const Value& v);

  // ---- expressions ----
  Value value(const Expr& e);
  Value compute(const Expr& e);
  Value binary_value(const Expr& e, const Binary& x);
  Value select_value(const Expr& e, const Select& x);
  Value cast_value(const Value& a, DType from, DType to, bool saturate);
  Value literal_value(DType type, const Literal& l);
  Value load_value(const Expr& e, const Load& x);
  Value private_load(const Load& x, const Place& place);
  bool provably_inside(const Load& x, size_t d);
  bool guarded(const Expr& e);  // holds a plain load that may lie outside
  Value both(const std::optional<Value>& a, const Value& b);
  Address address(const Place& place, const std::vector<Expr>& indices);
  void check(const Place& place, const Buffer& b, const std::vector<Expr>& indices, const Ranges& ranges);
  void forget() {
    memo_.clear();
    affine_memo_.clear();
  }
  Value root(const Expr& e) {
    forget();
    return value(e);
  }

  // ---- statements ----
  void statement(const Stmt& s);
  void loop(const For& x);
  void strip(const std::vector<const For*>& nest);
  void divergent_loop(const For& x, const Value& extent);
  void serial_loop(const For& x, const Value& extent);
  void branch(const Value& condition, const Stmt& body);
  void store(const Store& x);
  void private_store(const Store& x, const Place& place);
  void allocation(const Allocate& x);
  void declare(const Buffer& b, bool constant);
  void open() { scopes_.emplace_back(), ++epoch_; }
  std::vector<Instruction> close() {
    std::vector<Instruction> code = std::move(scopes_.back().code);
    scopes_.pop_back();
    ++epoch_;
    last_ = {};
    return code;
  }
  void splice(const std::vector<Instruction>& body) {
    auto& code = scopes_.back().code;
    code.insert(code.end(), body.begin(), body.end());
    last_ = {};
  }

  const Kernel& kernel_;
  Precision precision_;
  Program program_;
  std::vector<Scope> scopes_;
  std::map<std::pair<Kind, uint64_t>, Value> constants_;
  std::map<Buffer, Place> places_;
  std::map<Var, Affine> indices_;   // int64 variables
  std::map<Var, Value> variables_;  // others
  Ranges ranges_;
  std::map<std::pair<const ExprNode*, int64_t>, Value> memo_;  // of one root expression, by guard
  std::map<std::pair<const ExprNode*, int64_t>, Affine> affine_memo_;
  std::map<const ExprNode*, std::pair<Expr, bool>> guarded_;
  std::optional<Value> mask_;    // lanes that execute the statement, when not all
  std::optional<Value> guard_;   // lanes that need the value
  std::optional<size_t> strip_;  // number of the strip we are in
  Value strip_start_;
  int strip_level_ = 0;
  int epoch_ = 1;
  uint32_t scalars_ = 0;
  int scalar_left_ = 0;
  // The instruction appended last to the current scope, when nothing but the value it gave refers to it.
  struct Last {
    uint32_t reg = 0;
    std::array<int64_t, 9> key{};
    bool valid = false;
  } last_;
};

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

// The value of an instruction, placed in the scope of its latest operand, or computed there before.
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

// Of a literal, a variable, a sum, a difference or a product.
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
      add_term(product, emit(binary_instruction(BinaryOp::mul, Kind::i64), Kind::i64, {materialise(a), materialise(b)}),
               1);
    return product;
  }
  add_to(a, b, x.op == BinaryOp::add ? 1 : -1);
  return a;
}

// Adds the terms from the outermost to the innermost, so that partial sums stay outside of inner loops.
Value Compiler::materialise(const Affine& a) {
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

bool Compiler::provably_inside(const Load& x, size_t d) {
  auto r = range_of(x.indices[d], ranges_);
  auto extent = x.buffer->shape[d].constant();
  return r && r->low >= 0 && extent && r->high < *extent;
}

bool Compiler::guarded(const Expr& root) {
  for_each_expr(root, [&](const Expr& e) {
    if (guarded_.count(e.get())) return;
    bool any = false;
    auto sub = [&](const Expr& c) {
      if (c) any |= guarded_.at(c.get()).second;
    };
    std::visit(overloaded{
                   [](const Literal&) {},
                   [](const VarRef&) {},
                   [&](const Unary& x) { sub(x.a); },
                   [&](const Binary& x) { sub(x.a), sub(x.b); },
                   [&](const Fma& x) { sub(x.a), sub(x.b), sub(x.c); },
                   [&](const Select& x) { sub(x.condition), sub(x.a), sub(x.b); },
                   [&](const Cast& x) { sub(x.a); },
                   [&](const Bitcast& x) { sub(x.a); },
                   [&](const Load& x) {
                     for (size_t d = 0; d < x.indices.size(); ++d) {
                       sub(x.indices[d]);
                       if (!x.otherwise) any |= !provably_inside(x, d);
                     }
                     sub(x.otherwise);
                   },
               },
               e->v);
    guarded_.emplace(e.get(), std::pair(e, any));
  });
  return guarded_.at(root.get()).second;
}

Value Compiler::value(const Expr& e) {
  std::optional<Value> outer = guard_;
  if (guard_ && !guarded(e)) guard_.reset();
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
                          if (indices_.count(x.var)) return materialise(affine(e));
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
    return materialise(affine(e));
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

Value Compiler::both(const std::optional<Value>& a, const Value& b) {
  return a ? emit(binary_instruction(BinaryOp::logical_and, Kind::boolean), Kind::boolean, {*a, b}) : b;
}

Value Compiler::select_value(const Expr& e, const Select& x) {
  Value c = value(x.condition);
  std::optional<Value> outer = guard_;
  auto arm = [&](const Expr& a, bool taken) {
    if (guarded(a)) {
      Value when = taken ? c : emit(unary_instruction(UnaryOp::logical_not, Kind::boolean), Kind::boolean, {c});
      guard_ = both(outer ? outer : mask_, when);
    }
    Value v = value(a);
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
    if (v.kind != Kind::f32) v = emit(odd_instruction(), Kind::f32, {direct(v, Kind::f64)});
    return emit(round_instruction(to, Kind::f32, saturate), Kind::f32, {v});
  }
  if (bits(to) == 4) return emit(round_instruction(to, kind, is_float(from)), kind, {direct(a, kind)});
  return direct(a, kind);
}

// ---- loads and stores -----------------------------------------------------------------------------------------------

Compiler::Address Compiler::address(const Place& place, const std::vector<Expr>& indices) {
  Affine flat;
  for (size_t d = 0; d < indices.size(); ++d) add_to(flat, affine(indices[d]), place.strides[d]);
  Affine scalar, lanes;
  for (const auto& [v, k] : flat.terms) add_term(v.vector ? lanes : scalar, v, k);
  Address r;
  r.imm = flat.constant;
  r.vector = !lanes.terms.empty();
  if (r.vector) {
    // A fixed step from lane to lane: each axis' coefficient is that of the next times its extent.
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
      r.lanes = materialise(lanes);
      r.level = r.lanes.level;
      r.moves = r.lanes.epoch != 0;
    }
    r.level = std::max(r.level, strip_level_);
  }
  r.scalar = materialise(scalar);
  r.level = std::max(r.level, r.scalar.level);
  r.moves |= r.scalar.epoch != 0;
  return r;
}

// Fails at run time when an index that is not provably inside is outside.
void Compiler::check(const Place& place, const Buffer& b, const std::vector<Expr>& indices, const Ranges& ranges) {
  for (size_t d = 0; d < indices.size(); ++d) {
    auto r = range_of(indices[d], ranges);
    auto extent = b->shape[d].constant();
    if (r && r->low >= 0 && extent && r->high < *extent) continue;
    Value index = materialise(affine(indices[d]));
    Value mask = guard_ ? *guard_ : mask_ ? *mask_ : truth();
    mark_used(index);
    Instruction i;
    i.execute = check_instruction();
    i.a = index.reg, i.b = mask.reg;
    i.a_scalar = !index.vector, i.b_scalar = !mask.vector;
    i.vector = index.vector || mask.vector;
    i.imm = extent.value_or(0);
    i.memory = place.memory;
    append(i);
  }
}

Value Compiler::load_value(const Expr& e, const Load& x) {
  auto found = places_.find(x.buffer);
  DLCC_CHECK(found != places_.end(), "buffer {} is not declared", x.buffer->name);
  const Place place = found->second;
  std::optional<Value> mask;
  bool safe = true;
  for (size_t d = 0; d < x.indices.size(); ++d) {
    if (provably_inside(x, d)) continue;
    safe = false;
    if (!x.otherwise) continue;
    Value index = materialise(affine(x.indices[d]));
    mask = both(mask, emit(in_range_instruction(), Kind::boolean, {index}, x.buffer->shape[d].value()));
  }
  Value otherwise;
  if (x.otherwise) {
    safe = true;
    if (mask) otherwise = value(x.otherwise);
  } else if (!safe) {
    check(place, x.buffer, x.indices, ranges_);
    mask = guard_ ? guard_ : mask_;
    if (mask) otherwise = literal_value(e.type(), Literal{});
  }
  if (place.lane_private) {
    Value v = private_load(x, place);
    return mask ? emit(select_instruction(v.kind), v.kind, {*mask, v, otherwise}) : v;
  }
  Address at = address(place, x.indices);
  DType storage = storage_type(x.buffer->type, precision_);
  Instruction i;
  i.execute = load_instruction(storage, at.gather, mask.has_value());
  i.a = at.scalar.reg, i.imm = at.imm, i.step = at.step;
  i.memory = place.memory;
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
  // Only what no store can change, and no index can make invalid, is loaded outside of the current scope.
  bool fixed = place.constant && safe && !at.moves && !(mask && mask->epoch) && !otherwise.epoch;
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

Value Compiler::private_load(const Load& x, const Place& place) {
  Kind kind = register_kind(x.buffer->type, precision_);
  Address at = address(place, x.indices);
  int64_t bytes = strip_lanes * kind_bytes(kind);
  last_ = {};
  // An element at a constant index is itself the operand.
  if (!at.vector && at.scalar.reg == index_constant(0).reg)
    return {static_cast<uint32_t>(place.reg + std::clamp<int64_t>(at.imm, 0, place.count - 1) * bytes), kind, true,
            level(), epoch_};
  Instruction i;
  // A fixed step would need the lane's number; offsets are simpler here.
  if (at.vector && !at.gather) {
    Affine flat, lanes;
    for (size_t d = 0; d < x.indices.size(); ++d) add_to(flat, affine(x.indices[d]), place.strides[d]);
    i.b = materialise(flat).reg;
    mark_used(materialise(flat));
    i.a = index_constant(0).reg, i.imm = 0;
  } else {
    i.a = at.scalar.reg, i.imm = at.imm, i.b = at.lanes.reg;
    if (at.gather) mark_used(at.lanes);
  }
  i.execute = private_load_instruction(kind, at.vector);
  i.c = place.reg, i.vector = true, i.step = place.count;
  Value result = fresh(kind, true, level());
  i.dst = result.reg;
  append(i);
  return result;
}

void Compiler::store(const Store& x) {
  auto found = places_.find(x.buffer);
  DLCC_CHECK(found != places_.end(), "buffer {} is not declared", x.buffer->name);
  const Place place = found->second;
  if (place.lane_private) return private_store(x, place);
  forget();
  check(place, x.buffer, x.indices, ranges_);
  Value v = value(x.value);
  Address at = address(place, x.indices);
  Instruction i;
  i.execute = store_instruction(storage_type(x.buffer->type, precision_), at.gather, mask_.has_value());
  i.a = at.scalar.reg, i.imm = at.imm, i.step = at.step, i.memory = place.memory;
  i.d = v.reg, i.d_scalar = !v.vector;
  i.vector = at.vector || v.vector || (mask_ && mask_->vector);
  mark_used(v);
  if (at.gather) i.b = at.lanes.reg, mark_used(at.lanes);
  if (mask_) i.c = mask_->reg, i.c_scalar = !mask_->vector, mark_used(*mask_);
  append(i);
  ++epoch_;
  last_ = {};
}

void Compiler::private_store(const Store& x, const Place& place) {
  forget();
  Kind kind = register_kind(x.buffer->type, precision_);
  check(place, x.buffer, x.indices, ranges_);
  Address at = address(place, x.indices);
  Affine flat;
  for (size_t d = 0; d < x.indices.size(); ++d) add_to(flat, affine(x.indices[d]), place.strides[d]);
  bool fixed = flat.terms.empty();
  Value offsets = fixed ? Value{} : materialise(flat);
  last_ = {};
  Value v = value(x.value);
  mark_used(v);
  uint32_t target = static_cast<uint32_t>(place.reg + (fixed ? flat.constant : 0) * strip_lanes * kind_bytes(kind));
  if (fixed && !mask_ && last_.valid && last_.reg == v.reg && v.vector && v.level == level() && v.epoch == 0) {
    // The value was computed just now and for this store only: it goes straight to the element.
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
      i.dst = place.reg;
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

// ---- statements -----------------------------------------------------------------------------------------------------

void Compiler::declare(const Buffer& b, bool constant) {
  Place place;
  std::vector<int64_t> shape = static_shape(b->shape);
  place.strides = b->strides;
  place.count = 1;
  if (place.strides.empty()) {
    place.strides.assign(shape.size(), 1);
    for (size_t d = shape.size(); d-- > 1;) place.strides[d - 1] = place.strides[d] * shape[d];
  }
  for (size_t d = 0; d < shape.size(); ++d) place.count = shape[d] == 0 ? 0 : place.count;
  if (place.count)
    for (size_t d = 0; d < shape.size(); ++d) place.count += (shape[d] - 1) * place.strides[d];
  place.constant = constant;
  place.memory = static_cast<uint16_t>(program_.names.size());
  DLCC_CHECK(program_.names.size() < 65535, "too many buffers in one kernel");
  program_.names.push_back(b->name);
  places_[b] = place;
}

void Compiler::allocation(const Allocate& x) {
  declare(x.buffer, false);
  Place& place = places_.at(x.buffer);
  if (strip_) {
    place.lane_private = true;
    Kind kind = register_kind(x.buffer->type, precision_);
    place.reg = allocate(std::max<int64_t>(place.count, 1) * strip_lanes * kind_bytes(kind));
  }
  program_.locals.push_back({storage_type(x.buffer->type, precision_), strip_ ? 0 : place.count});
  statement(x.body);
}

void Compiler::serial_loop(const For& x, const Value& extent) {
  Value counter = fresh(Kind::i64, false, level() + 1);
  if (auto r = range_of(x.extent, ranges_)) ranges_[x.var] = {0, std::max<int64_t>(r->high - 1, 0)};
  indices_[x.var] = {{{counter, 1}}, 0};
  open();
  statement(x.body);
  std::vector<Instruction> body = close();
  Instruction begin, end;
  begin.execute = loop_begin_instruction();
  begin.dst = counter.reg, begin.a = extent.reg, begin.step = static_cast<int64_t>(body.size()) + 1;
  end = begin;
  end.execute = loop_end_instruction();
  end.step = static_cast<int64_t>(body.size()) + 1;
  append(begin), splice(body), append(end);
}

// A loop whose extent differs between lanes runs to the largest one, under a mask.
void Compiler::divergent_loop(const For& x, const Value& extent) {
  Value mask = mask_ ? *mask_ : truth();
  mark_used(extent), mark_used(mask);
  Value largest = fresh(Kind::i64, false, level());
  Instruction i;
  i.execute = maximum_instruction();
  i.dst = largest.reg, i.a = extent.reg, i.b = mask.reg, i.a_scalar = false, i.b_scalar = !mask.vector, i.vector = true;
  append(i);
  Value counter = fresh(Kind::i64, false, level() + 1);
  if (auto r = range_of(x.extent, ranges_)) ranges_[x.var] = {0, std::max<int64_t>(r->high - 1, 0)};
  indices_[x.var] = {{{counter, 1}}, 0};
  open();
  std::optional<Value> outer = mask_;
  mask_ = both(outer, emit(binary_instruction(BinaryOp::lt, Kind::i64), Kind::boolean, {counter, extent}));
  statement(x.body);
  mask_ = outer;
  std::vector<Instruction> body = close();
  Instruction begin;
  begin.execute = loop_begin_instruction();
  begin.dst = counter.reg, begin.a = largest.reg, begin.step = static_cast<int64_t>(body.size()) + 1;
  Instruction end = begin;
  end.execute = loop_end_instruction();
  append(begin), splice(body), append(end);
}

// Runs a nest of loops, whose iterations may be in lock step, as lanes.
void Compiler::strip(const std::vector<const For*>& nest) {
  Value total;
  if (nest.size() == 1) {
    forget();
    total = materialise(affine(nest[0]->extent));
    if (auto r = range_of(nest[0]->extent, ranges_)) ranges_[nest[0]->var] = {0, std::max<int64_t>(r->high - 1, 0)};
  } else {
    int64_t n = 1;
    for (const For* x : nest) n *= *constant_integer(x->extent);
    total = index_constant(n);
  }
  strip_ = program_.strips.size();
  program_.strips.emplace_back();
  strip_start_ = fresh(Kind::i64, false, level() + 1);
  int outer_level = strip_level_;
  strip_level_ = level() + 1;
  for (const For* x : nest) {
    int64_t extent = constant_integer(x->extent).value_or(0);
    Value lane = fresh(Kind::i64, true, level() + 1);
    program_.strips.back().axes.push_back({lane.reg, extent, false});
    indices_[x->var] = {{{lane, 1}}, 0};
    if (nest.size() > 1) ranges_[x->var] = {0, std::max<int64_t>(extent - 1, 0)};
  }
  open();
  statement(nest.back()->body);
  std::vector<Instruction> body = close();
  Instruction begin, end;
  begin.execute = strip_begin_instruction();
  begin.dst = strip_start_.reg, begin.a = total.reg, begin.imm = static_cast<int64_t>(*strip_);
  begin.step = static_cast<int64_t>(body.size()) + 1;
  end = begin;
  end.execute = strip_end_instruction();
  append(begin), splice(body), append(end);
  strip_.reset();
  strip_level_ = outer_level;
}

void Compiler::loop(const For& x) {
  if (constant_integer(x.extent).value_or(1) <= 0) return;
  if (!strip_ && (x.kind == LoopKind::vector || x.kind == LoopKind::parallel)) {
    // Perfectly nested parallel loops around a vector loop, and vector loops within it, may become lanes too.
    std::vector<const For*> nest{&x};
    size_t first_vector = x.kind == LoopKind::vector ? 0 : SIZE_MAX;
    while (const For* inner = as<For>(nest.back()->body)) {
      bool vector = inner->kind == LoopKind::vector;
      if (!vector && (first_vector != SIZE_MAX || inner->kind != LoopKind::parallel)) break;
      nest.push_back(inner);
      if (vector && first_vector == SIZE_MAX) first_vector = nest.size() - 1;
    }
    if (first_vector != SIZE_MAX) {
      int64_t lanes = 1;
      size_t first = nest.size();
      while (first > 0) {
        auto extent = constant_integer(nest[first - 1]->extent);
        bool fits = extent && *extent > 0 && (lanes * *extent <= strip_lanes || lanes < 32);
        if (first != nest.size() && !fits) break;
        --first;
        if (!extent || *extent <= 0) break;
        lanes *= *extent;
      }
      first = std::min(first, first_vector);
      bool all_constant = true;
      for (size_t k = first; k < nest.size(); ++k) all_constant &= constant_integer(nest[k]->extent).value_or(0) > 0;
      if (!all_constant && first == first_vector) nest.resize(first + 1), all_constant = true;
      if (first == 0 && all_constant) return strip(nest);
    }
  }
  forget();
  Value extent = materialise(affine(x.extent));
  if (extent.vector)
    divergent_loop(x, extent);
  else
    serial_loop(x, extent);
}

void Compiler::branch(const Value& condition, const Stmt& body) {
  if (!body) return;
  std::optional<Value> outer = mask_;
  Value test = condition;
  if (condition.vector || mask_) mask_ = test = both(outer, condition);
  mark_used(test);
  open();
  statement(body);
  std::vector<Instruction> code = close();
  mask_ = outer;
  Instruction skip;
  skip.execute = skip_instruction();
  skip.a = test.reg, skip.a_scalar = !test.vector, skip.step = static_cast<int64_t>(code.size());
  append(skip), splice(code);
}

void Compiler::statement(const Stmt& s) {
  if (!s) return;
  std::visit(overloaded{
                 [&](const For& x) { loop(x); },
                 [&](const Sequence& x) {
                   for (const Stmt& b : x.body) statement(b);
                 },
                 [&](const Store& x) { store(x); },
                 [&](const Let& x) {
                   if (x.var->type == dtype::i64) {
                     forget();
                     Affine a = affine(x.value);
                     if (std::ranges::any_of(a.terms, [](const auto& t) { return t.first.epoch != 0; })) {
                       Value v = materialise(a);
                       a = {};
                       add_term(a, v.epoch ? emit(copy_instruction(Kind::i64), Kind::i64, {v}) : v, 1);
                     }
                     indices_[x.var] = a;
                     if (auto r = range_of(x.value, ranges_)) ranges_[x.var] = *r;
                   } else {
                     Value v = root(x.value);
                     variables_[x.var] = v.epoch ? emit(copy_instruction(v.kind), v.kind, {v}) : v;
                   }
                   statement(x.body);
                 },
                 [&](const Allocate& x) { allocation(x); },
                 [&](const IfThen& x) {
                   Value c = root(x.condition);
                   // The condition may read what a branch changes.
                   if (c.epoch) c = emit(copy_instruction(c.kind), c.kind, {c});
                   branch(c, x.then_body);
                   if (x.else_body)
                     branch(emit(unary_instruction(UnaryOp::logical_not, Kind::boolean), Kind::boolean, {c}),
                            x.else_body);
                 },
                 [&](const Require& x) {
                   Value c = root(x.condition), mask = mask_ ? *mask_ : truth();
                   mark_used(c), mark_used(mask);
                   Instruction i;
                   i.execute = require_instruction();
                   i.a = c.reg, i.b = mask.reg, i.a_scalar = !c.vector, i.b_scalar = !mask.vector;
                   i.vector = c.vector || mask.vector;
                   i.imm = static_cast<int64_t>(x.status);
                   append(i);
                   last_ = {};
                 },
                 [&](const Prefetch&) {},
                 [&](const IntrinsicCall& x) { statement(inline_intrinsic(x)); },
             },
             s->v);
}

Program Compiler::run() {
  std::set<Buffer> written;
  for_each_stmt(kernel_.body, [&](const Stmt& s) {
    if (const Store* x = as<Store>(s)) written.insert(x->buffer);
    if (const IntrinsicCall* x = as<IntrinsicCall>(s))
      for (const Region& r : x->operands) written.insert(r.buffer);
  });
  scopes_.emplace_back();
  index_constant(0);
  for (const Parameter& p : kernel_.params) {
    declare(p.buffer, p.access == Access::read && !written.count(p.buffer));
    program_.params.push_back(p.buffer);
  }
  statement(kernel_.body);
  program_.code = std::move(scopes_[0].code);
  program_.constants.resize(std::min<int64_t>(program_.constants.size(), program_.register_bytes));
  return std::move(program_);
}

}  // namespace

Program compile(const Kernel& kernel, Precision precision) { return Compiler(kernel, precision).run(); }

}  // namespace dlcc::tensor::bytecode

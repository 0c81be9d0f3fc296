// The compiler from kernels to bytecode. bytecode_values.cpp has expressions and index arithmetic,
// bytecode_addresses.cpp memory accesses, bytecode_compile.cpp statements.
//
// Each value is computed in the outermost loop in which its operands are available (loop-invariant code motion), and
// once per loop (value numbering). Index arithmetic is kept as linear forms over registers until an address is
// computed; the terms that vary over the lanes of a strip are separated from the scalar terms.
//
// Lanes are masked off in statements under a condition that differs between lanes, and in loads that may be out of
// range in the arm of a select.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tensor/bytecode.h"
#include "tensor/simplify.h"

namespace dlcc::tensor::bytecode {

// A value in a register. `level` is the depth of the scope that computes it. `epoch` is 0 unless a store may change the
// register later; then it is the value of Compiler::epoch_ for which the register has the value.
struct Value {
  uint32_t reg = 0;
  Kind kind = Kind::i64;
  bool vector = false;
  int level = 0;
  int epoch = 0;
};

// constant + sum of coefficient * register, in int64, modulo 2^64.
struct Affine {
  std::vector<std::pair<Value, int64_t>> terms;
  int64_t constant = 0;
};

void add_term(Affine& to, const Value& v, int64_t k);
void add_to(Affine& to, const Affine& a, int64_t factor);

class Compiler {
 public:
  Compiler(const Kernel& kernel, Precision precision) : kernel_(kernel), precision_(precision) {}
  Program run();

 private:
  // The code of the kernel, of a loop's body or of a branch's body.
  struct Scope {
    std::vector<Instruction> code;
    std::map<std::array<int64_t, 9>, Value> computed;  // by the fields of the instruction
  };
  // The storage of a buffer: a memory, or, for a buffer that a strip allocates, a register array per lane.
  struct BufferStorage {
    uint16_t memory = 0;
    bool lane_private = false;
    uint32_t reg = 0;       // the first register of lane-private storage
    int64_t count = 0;      // elements
    bool constant = false;  // no statement of the kernel writes it
    std::vector<int64_t> strides;
  };
  // The element scalar + imm + lane * step, or, for a gather or scatter, scalar + imm + lanes[lane].
  struct Address {
    Value scalar;
    int64_t imm = 0;
    bool gather = false;
    Value lanes;
    int64_t step = 0;
    bool vector = false;
    int level = 0;
    bool is_mutable = false;  // a store may change one of its registers
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
  Value all_lanes() { return constant_bits(Kind::boolean, 1); }
  Value emit(Execute execute, Kind kind, const std::vector<Value>& operands, int64_t imm = 0);
  void append(Instruction i) { scopes_.back().code.push_back(i); }

  // ---- index arithmetic ----
  Affine affine(const Expr& e);
  Affine linear_parts(const Expr& e);
  Value materialize(const Affine& a);
  void mark_used(const Value& v);

  // ---- expressions ----
  Value value(const Expr& e);
  Value compute(const Expr& e);
  Value binary_value(const Expr& e, const Binary& x);
  Value select_value(const Expr& e, const Select& x);
  Value cast_value(const Value& a, DType from, DType to, bool saturate);
  Value literal_value(DType type, const Literal& l);
  Value load_value(const Expr& e, const Load& x);
  Value private_load(const Load& x, const BufferStorage& storage);
  bool may_fault(const Expr& e);  // whether it contains a load without predicate that may be out of range
  Value conjunction(const std::optional<Value>& a, const Value& b);
  Address address(const BufferStorage& storage, const std::vector<Expr>& indices);
  void check(const BufferStorage& storage, const Buffer& b, const std::vector<Expr>& indices);
  void clear_memo() {
    memo_.clear();
    affine_memo_.clear();
  }
  Value root(const Expr& e) {
    clear_memo();
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
  void private_store(const Store& x, const BufferStorage& storage);
  void allocation(const Allocate& x);
  void declare(const Buffer& b, bool constant);
  void open_scope() { scopes_.emplace_back(), ++epoch_; }
  std::vector<Instruction> close_scope() {
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
  std::map<Buffer, BufferStorage> storage_;
  std::map<Var, Affine> indices_;   // the values of int64 variables
  std::map<Var, Value> variables_;  // the values of other variables
  Ranges ranges_;
  std::map<std::pair<const ExprNode*, int64_t>, Value> memo_;  // of one root expression, by node and guard
  std::map<std::pair<const ExprNode*, int64_t>, Affine> affine_memo_;
  std::map<const ExprNode*, std::pair<Expr, bool>> may_fault_;
  std::optional<Value> mask_;           // the lanes that execute the statement; empty: all
  std::optional<Value> guard_;          // the lanes that use the value of the expression; empty: all
  std::vector<int64_t> guards_around_;  // those before it, as in the keys of memo_, from the outermost one
  std::optional<size_t> strip_;         // the index of the current strip
  Value strip_start_;
  int strip_level_ = 0;
  int epoch_ = 1;  // changes with each store and each scope
  uint32_t scalars_ = 0;
  int scalar_left_ = 0;
  // The last instruction of the current scope, while its result has no use yet. A store may redirect it to its target.
  struct Last {
    uint32_t reg = 0;
    std::array<int64_t, 9> key{};
    bool valid = false;
  } last_;
};

}  // namespace dlcc::tensor::bytecode

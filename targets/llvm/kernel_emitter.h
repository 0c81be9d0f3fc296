// The state of emitting one kernel as an LLVM function. Its members are defined in the files that emit expressions
// (emit_expr.cpp), arithmetic (emit_arithmetic.cpp), rounding (emit_rounding.cpp, emit_scaling.cpp), conversions
// (emit_cast.cpp), indices (emit_index.cpp), addresses (emit_address.cpp), memory accesses (emit_memory.cpp),
// statements (emit_kernel.cpp), intrinsic calls (emit_intrinsic.cpp), outlined functions (emit_function.cpp), parallel
// loops (emit_parallel.cpp) and scalars of the program (emit_scalar.cpp).
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "targets/llvm/emit_kernel.h"
#include "targets/target.h"
#include "tensor/index_facts.h"
#include "tensor/ir.h"
#include "tensor/simplify.h"

namespace dlcc::targets {

using llvm::Value;

// A linear form of i64 values, in elements or bytes. Its value in lane l: constant + sum of coefficient * term + (lane
// + sum of coefficient * lane term) * l + varying[l].
struct Linear {
  struct Term {
    Value* value;
    int64_t coefficient;
    int depth;  // the number of loops around the value's definition, or `innermost`
    std::optional<tensor::Range> range;
    bool operator==(const Term& other) const { return value == other.value && coefficient == other.coefficient; }
  };
  int64_t constant = 0;
  int64_t lane = 0;
  std::vector<Term> terms;
  std::vector<Term> lane_terms;  // of symbolic strides
  Value* varying = nullptr;      // a vector of i64
  bool bounded = true;           // all terms have known ranges: the arithmetic does not overflow

  bool is_constant() const { return is_uniform() && terms.empty(); }
  bool is_uniform() const { return lane == 0 && lane_terms.empty() && !varying; }
  bool is_contiguous() const { return lane == 1 && lane_terms.empty() && !varying; }
  std::optional<tensor::Range> range(int lanes) const;  // over all iterations and lanes, if known
};

// x := x * by, x := x + y.
void scale(llvm::IRBuilder<>&, Linear& x, int64_t by);
void add(llvm::IRBuilder<>&, Linear& x, const Linear& y);

// Size and natural alignment of an element in memory; 1 for 4-bit types.
inline int64_t element_bytes(DType t) { return std::max(bits(t) / 8, 1); }

constexpr int innermost = 1 << 30;  // depth of values that are computed where they are used

class KernelEmitter {
 public:
  // With one thread, parallel loops are serial. `debug` is null without -g.
  KernelEmitter(const CodeLevel& level, const llvm::MCSubtargetInfo& cpu, const tensor::Kernel& kernel,
                llvm::Function* function, int threads, const KernelDebug* debug);

  // Fills the function, whose parameters are the kernel's buffers (and the executor, if it forks) and whose result is
  // the status.
  void emit();

  // Emits an expression over these variables at the position of `at`, which moves on.
  Value* emit_at(llvm::IRBuilderBase& at, const tensor::Expr&, const ScalarValues&);

 private:
  // The vector loop whose iterations, the lanes, the current expressions are evaluated in.
  struct Lanes {
    const tensor::VarNode* var;
    int count;
  };
  struct Binding {
    Value* value;
    int depth;
    bool bounded;  // its range is known
    int order;     // of binding, among all variables of the kernel
  };
  struct Memory {
    Value* pointer;
    int64_t alignment;
    int64_t elements;  // -1: symbolic
  };
  using Memo = std::unordered_map<const tensor::ExprNode*, Value*>;
  // An index expression that is computed outside of the loops in which it is used.
  struct Invariant {
    tensor::Expr e;
    Value* value;
    int depth;                           // of the innermost loop that it depends on
    std::optional<tensor::Range> range;  // if known
  };
  using Invariants = std::vector<Invariant>;

  // A pointer induction variable: base + terms, of which one is the loop's counter and the others are loop-invariant.
  struct PointerInduction {
    Value* base;
    std::vector<Linear::Term> terms;  // in bytes, outermost first
    int64_t step;                     // bytes per iteration
    llvm::PHINode* begin;             // its value at the start of an iteration
    PointerInduction* outer;          // of the next outer loop, which gives the start value; or null
    // The newest pointer derived from it, `ahead` bytes further on: inner loops that start from it advance it, too.
    Value* last;
    int64_t ahead = 0;
  };
  struct Loop {  // in a deque: pointers to loops stay valid
    llvm::BasicBlock *preheader, *header;
    Value* index;  // the counter as an index
    Value* begin;  // the index in the first iteration
    int64_t step;
    std::optional<int64_t> iterations;  // the trip count, if constant
    int depth;                          // of the index
    int branches;                       // the number of conditional branches around the loop
    std::deque<PointerInduction> pointers = {};
    Invariants invariants = {};  // hoisted out of the loop
  };

  // ---- expressions (emit_expr.cpp). A value that is equal in all lanes is a scalar, any other a vector.
  Value* emit(const tensor::Expr&);
  Value* emit_new(const tensor::Expr&);
  Value* emit_literal(DType, const tensor::Literal&);
  Value* emit_unary(const tensor::Unary&, DType operand);
  Value* emit_binary(const tensor::Expr&, const tensor::Binary&);
  Value* emit_extremum(const tensor::Binary&, Value* a, Value* b, DType);
  Value* emit_comparison(tensor::BinaryOp, Value* a, Value* b, DType);
  Value* emit_select(const tensor::Select&);
  Value* emit_guarded(const tensor::Expr&, Value* guard);
  bool reads_inside(const tensor::Load&) const;

  // ---- arithmetic (emit_arithmetic.cpp)
  Value* emit_integer_binary(tensor::BinaryOp, Value* a, Value* b, DType, bool bounded);
  Value* emit_index_division(const tensor::Binary&);
  Value* emit_division(tensor::BinaryOp, Value* a, Value* b, bool is_signed);
  Value* emit_shift(tensor::BinaryOp, Value* a, Value* b, bool is_signed);
  Value* emit_fma(Value* a, Value* b, Value* c);

  // ---- rounding and square roots (emit_rounding.cpp)
  Value* emit_rounding(tensor::UnaryOp, Value*);
  // A cast of round(x) to 8 or 32 bits, or of round(x) + integer to 8 bits, by the instructions of ARM's FPU; null if
  // it is not one.
  Value* emit_rounded_cast(const tensor::Cast&, DType to);
  Value* emit_square_root(Value*);

  // ---- multiplication by a power of two (emit_scaling.cpp)
  Value* emit_scaling(Value* a, Value* b);  // null if a * b is none, or the CPU has no instruction for it

  // ---- conversions (emit_cast.cpp)
  Value* emit_cast(Value*, DType from, DType to, bool saturate);
  Value* float_to_short_integer(Value*, DType to);
  Value* to_float32(Value*, DType from);
  Value* float32_to_narrow(Value*, DType to, bool saturate);
  Value* exponent_to_float32(Value*);
  Value* minifloat_to_float32(Value*, DType from);
  Value* float32_to_minifloat(Value*, DType to, bool saturate);
  Value* float64_to_float32_odd(Value*);

  // ---- indices (emit_index.cpp)
  Linear linearize(const tensor::Expr&);
  Linear flatten(const tensor::BufferNode&, const std::vector<tensor::Expr>& indices);
  Linear times(const tensor::Expr& index, const Dim& stride);
  // The product of the lanes' variable and a scalar that may be hoisted; empty if the expressions are no such factors.
  std::optional<Linear> lane_product(const tensor::Expr& a, const tensor::Expr& b);
  const Shape& strides_of(const tensor::BufferNode&);  // in elements
  Value* value_of(const Dim&);                         // i64
  tensor::Expr kept(const tensor::Expr&);
  Value* scalar_of(const Linear&);                                       // the part that is equal in all lanes
  Value* vector_of(const Linear&);                                       // all lanes, i64
  Value* step_of_lanes(const Linear&);                                   // from a lane to the next, but for `varying`
  std::optional<std::vector<int64_t>> known_lanes(const Linear&) const;  // without terms and constant
  std::optional<int> depth_of(const tensor::Expr&) const;
  static bool depends_on_sizes_only(const tensor::Expr&);  // on symbols, and on nothing else
  const Invariant* find_invariant(const tensor::Expr&) const;
  const Invariant& emit_hoisted(llvm::BasicBlock*, Invariants&, const tensor::Expr&, int depth);
  llvm::Align alignment_of(const Memory&, const Linear& offset, int64_t element_bytes);
  llvm::Align alignment_of_lane(const Memory&, const Linear& offset, int64_t element_bytes, int lane);
  Value* inside(const Linear& index,
                const Dim& extent);  // 0 <= index < extent, scalar or per lane; null if always true

  // ---- addresses (emit_address.cpp)
  Value* address(const Memory&, const Linear& offset, int64_t element_bytes);
  Value* pointer_in_loops(size_t loops, Value* base, const std::vector<Linear::Term>& terms, bool bounded);
  PointerInduction& pointer_induction(size_t loops, Value* base, const std::vector<Linear::Term>& terms, bool bounded);
  void advance_pointers();
  Value* address_of_lane(const Memory&, const Linear& offset, int64_t element_bytes, int lane, Value* previous);
  Value* ptr_add(Value* pointer, int64_t bytes);
  Value* ptr_add(Value* pointer, const Linear::Term& by, bool bounded);

  // ---- memory (emit_memory.cpp)
  Value* emit_load(const tensor::Load&);
  void emit_store(const tensor::Store&, Value* value);
  void emit_prefetch(const tensor::Prefetch&);
  Value* load_elements(const Memory&, DType, const Linear& offset, Value* mask, Value* otherwise);
  Value* load_and_shuffle(const Memory&, DType, const Linear& offset);
  Value* gather(const Memory&, DType, const Linear& offset, Value* mask, Value* otherwise);
  // A gather from a table of bytes by instructions that hold the table in registers (emit_table.cpp); null if the CPU
  // has none, or for any other gather.
  Value* look_up(const Memory&, DType, const Linear& offset);
  struct SubByteAddress {
    Value* byte;   // its address
    Value* shift;  // of the element, in bits
  };
  SubByteAddress sub_byte_address(const Memory&, DType, Value* index);
  Value* load_sub_byte(const Memory&, DType, const Linear& offset, Value* mask, Value* otherwise);
  void store_sub_byte(const Memory&, DType, const Dim& elements, Value* index, Value* value);
  Value* from_storage(Value*, DType);
  Value* to_storage(Value*, DType);
  Value* safe_element(Value* otherwise, DType, bool one_per_lane, llvm::Align);

  // ---- statements (emit_kernel.cpp)
  void emit(const tensor::Stmt&);
  void emit_statement(const tensor::Stmt&);
  void set_debug_line(int);
  int line_of(const tensor::Stmt&) const;  // in the program's text, within the statement at line_; 0: none
  void emit_for(const tensor::For&);
  // A bottom-tested loop from `begin` (default 0) to `end`, a multiple of `step`; `range` is the counter's.
  void emit_loop(const tensor::Var&, Value* end, int64_t step, bool may_be_empty,
                 const std::function<void(Value* counter, std::optional<tensor::Range>)>& body);
  void emit_loop(const tensor::Var&, Value* begin, Value* end, int64_t step, bool may_be_empty,
                 std::optional<tensor::Range>,
                 const std::function<void(Value* counter, std::optional<tensor::Range>)>& body);
  llvm::MDNode* backedge_weights(std::optional<tensor::Range>, int64_t step);
  void emit_unrolled(const tensor::For&, int64_t extent);
  void emit_vector_loop(const tensor::For&, int64_t extent);
  void emit_if(const tensor::IfThen&);
  void emit_require(const tensor::Require&);
  void emit_allocate(const tensor::Allocate&);
  void emit_scalar_loop(const tensor::For&);
  void emit_function(const std::function<void()>& body);
  void begin_statement();
  int depth() const { return loops_outside_ + static_cast<int>(loops_.size()); }  // of the insertion point, in loops
  void bind(const tensor::Var&, Value*, bool bounded, std::optional<tensor::Range>);

  // ---- intrinsic calls (emit_intrinsic.cpp)
  void emit_intrinsic(const tensor::IntrinsicCall&);
  void emit_function_call(const tensor::IntrinsicCall&, const std::string& function);
  void emit_instruction(const tensor::IntrinsicCall&);
  // False if the CPU has no instruction for it.
  bool emit_byte_products(const tensor::IntrinsicCall&);
  bool emit_byte_products_x86(const tensor::IntrinsicCall&);
  bool emit_byte_products_arm(const tensor::IntrinsicCall&);
  bool emit_vmladava(const tensor::IntrinsicCall&);
  void emit_widened_bytes(const tensor::IntrinsicCall&);
  void emit_word_products(const tensor::IntrinsicCall&);
  Value* products_of_pairs(Value* a, Value* b);
  bool emit_byte_products_aarch64(const tensor::IntrinsicCall&);
  struct ByteProductOperands {
    Value *data, *weights;  // four bytes in each 32-bit lane; the data is the same in all lanes
    Value *to, *sum;        // the accumulator's address and its value
  };
  ByteProductOperands byte_product_operands(const tensor::IntrinsicCall&);
  void emit_tile_transpose(const tensor::IntrinsicCall&);
  Value* pointer_to(const tensor::Region&);

  // ---- outlined functions (emit_function.cpp)
  // The free buffers and variables of a statement.
  struct Captured {
    std::vector<std::pair<const tensor::BufferNode*, Memory>> buffers;
    std::vector<std::pair<tensor::Var, Binding>> variables;
    std::vector<Value*> values() const;  // the arguments of the outlined function: all but constants
  };
  using BodyOfFunction = std::function<void(KernelEmitter& inner, const std::vector<Value*>& more)>;
  Captured captured_by(const tensor::Stmt&) const;
  // A function whose parameters are the captured values, then those of the types `more`.
  llvm::Function* emit_outlined_function(const std::string& suffix, llvm::Type* result, const Captured&,
                                         const std::vector<llvm::Type*>& more, const BodyOfFunction&);
  llvm::Function* new_function(const std::string& suffix, llvm::Type* result, const std::vector<llvm::Type*>& params);
  llvm::AttrBuilder attributes_of(const Memory&) const;
  void emit_outlined_nest(const tensor::Stmt&);

  // ---- parallel loops (emit_parallel.cpp)
  // `typical` is the extent that estimates assume: the extent itself, if it is a number.
  void emit_parallel(const tensor::For&, Value* extent, int64_t typical);
  llvm::Function* emit_task(llvm::Function* share, llvm::StructType* frame, Value* extent, uint64_t tasks);
  void fork(llvm::Function* share, const Captured&, Value* extent, uint64_t tasks);
  void return_failure(Value* status);

  // ---- helpers
  Value* splat(Value*);                              // broadcasts a scalar to all lanes; returns vectors unchanged
  bool match_lanes(std::initializer_list<Value**>);  // if any of the values is a vector, splats the others
  static bool is_vector(Value* v) { return v->getType()->isVectorTy(); }
  llvm::Type* with_lanes_of(Value* shape, llvm::Type* element);
  Value* constant_like(Value* shape, int64_t);  // an integer constant of the value's type
  llvm::Type* counter_type(int64_t end) const;  // of a loop up to at most `end`: as wide as an address, if it suffices
  llvm::Type* value_type(DType);                // of an expression
  llvm::Type* storage_type(DType);              // of an element in memory
  Value* intrinsic(llvm::Intrinsic::ID, std::initializer_list<Value*>);
  bool converts_halves() const;  // the CPU has instructions between float16 and float32
  bool is_arm32() const;
  bool is_riscv() const;
  bool has_fma(llvm::Type*) const;  // the CPU has an instruction for this type

  const CodeLevel& level_;
  const llvm::MCSubtargetInfo& cpu_;
  bool has_mask_registers_;  // of the CPU: each test of a feature by name takes a microsecond
  const tensor::Kernel& kernel_;
  llvm::Function* function_;
  llvm::IRBuilder<> b_;
  int threads_;
  std::optional<Lanes> lanes_;
  Value* guard_ = nullptr;  // the condition under which loads are valid; null: always
  std::unordered_map<const tensor::VarNode*, Binding> bindings_;
  std::map<const tensor::VarNode*, Dim> guarded_indices_;  // variables in [0, extent), by conditions around
  int bound_ = 0;                                          // the number of variables bound so far
  tensor::Ranges ranges_;                                  // of bound variables, if known
  std::optional<tensor::IndexFacts> facts_;                // of kernels with symbols
  std::unordered_map<const tensor::BufferNode*, Memory> memory_;
  std::unordered_map<const tensor::BufferNode*, Shape> strides_;  // of buffers accessed so far
  const KernelDebug* debug_;                                      // null without -g
  int line_ = 0;                                                  // of the statement in the program's text
  std::deque<Loop> loops_;          // of this function around the insertion point, innermost last
  int loops_outside_ = 0;           // the number of loops around an outlined function's call
  int branches_ = 0;                // the number of conditional branches of this function around the insertion point
  std::vector<Memo> memos_;         // innermost last; a guarded expression has a memo of its own
  Invariants of_sizes_;             // scalars that depend on symbols only, in the entry block
  std::vector<tensor::Expr> kept_;  // made for this statement: memos refer to their nodes
  std::vector<std::pair<tensor::Load, Value*>> loads_;  // unconditional loads of this statement
};

}  // namespace dlcc::targets

// The state of emitting one kernel as an LLVM function, shared by the files that emit expressions (emit_expr.cpp),
// number conversions (emit_cast.cpp), indices (emit_index.cpp), addresses (emit_address.cpp), memory accesses
// (emit_memory.cpp), statements (emit_kernel.cpp), intrinsic calls (emit_intrinsic.cpp), functions within the kernel
// (emit_function.cpp) and parallel loops (emit_parallel.cpp).
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>

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
#include "tensor/ir.h"
#include "tensor/simplify.h"

namespace dlcc::targets {

using llvm::Value;

// A linear form over scalars in bytes, elements or whatever the caller counts in:
// constant + sum of coefficient * term + lane * (number of the vector's lane) + varying[lane].
struct Linear {
  struct Term {
    Value* value;
    int64_t coefficient;
    int depth;  // so many loops are around the place where the value is computed, or `innermost`
    std::optional<tensor::Range> range;
    bool operator==(const Term& other) const { return value == other.value && coefficient == other.coefficient; }
  };
  int64_t constant = 0;
  int64_t lane = 0;
  std::vector<Term> terms;
  Value* varying = nullptr;  // a vector of i64
  bool bounded = true;       // made of loop counters and literals only, so that arithmetic cannot overflow

  bool is_constant() const { return lane == 0 && terms.empty() && !varying; }
  bool is_uniform() const { return lane == 0 && !varying; }
  std::optional<tensor::Range> range(int lanes) const;  // over all iterations and lanes, when it is known
};

// x := x * by, x := x + y.
void scale(llvm::IRBuilder<>&, Linear& x, int64_t by);
void add(llvm::IRBuilder<>&, Linear& x, const Linear& y);

// Of an element in memory, where nibbles count as bytes; also its natural alignment.
inline int64_t element_bytes(DType t) { return std::max(bits(t) / 8, 1); }

constexpr int innermost = 1 << 30;  // depth of values that are not loop counters

class KernelEmitter {
 public:
  // Parallel loops become as many tasks as there are threads, or loops when there is one.
  KernelEmitter(const CodeLevel& level, const llvm::MCSubtargetInfo& cpu, const tensor::Kernel& kernel,
                llvm::Function* function, int threads, const KernelDebug* debug);

  // Fills the function, whose parameters are the kernel's buffers (and the executor, if it forks) and whose result is
  // the status.
  void emit(int most_loops);

 private:
  // The vector loop in whose lanes expressions are evaluated at the moment.
  struct Lanes {
    const tensor::VarNode* var;
    int count;
    Value* base;  // the variable's value in lane 0
    int depth;    // so many loops are around the place where that is bound
    tensor::Range base_range;
  };
  struct Binding {
    Value* value;
    int depth;
    bool bounded;  // a loop counter or one whose range is known
    int order;     // among all variables of the kernel
  };
  struct Memory {
    Value* pointer;
    bool per_lane = false;  // each element is a vector with one element per lane of the surrounding vector loop
    int64_t alignment;
    int64_t elements;
  };
  using Memo = std::unordered_map<const tensor::ExprNode*, Value*>;

  // A pointer that a loop moves on with every iteration: base + terms, of which one is the loop's counter and the
  // others are known before it begins.
  struct MovingPointer {
    Value* base;
    std::vector<Linear::Term> terms;  // in bytes, outermost first
    int64_t step;                     // bytes per iteration
    llvm::PHINode* begin;             // of the iteration
    MovingPointer* outer;             // of the next loop around, from which this one starts; or null
    // Where code last had it, `ahead` bytes further on: inner loops that start from a pointer move it as well.
    Value* last;
    int64_t ahead = 0;
  };
  struct Loop {  // in deques, whose elements do not move
    llvm::BasicBlock *before, *header;
    llvm::PHINode* counter;
    Value* begin;  // of the counter
    int64_t step;
    std::optional<int64_t> iterations;  // when they are known
    int depth;                          // of the counter
    int branches;                       // around the loop
    std::deque<MovingPointer> pointers = {};
    std::vector<std::pair<tensor::Expr, Value*>> invariants = {};  // computed before the loop
  };

  // ---- expressions (emit_expr.cpp). A value that is equal in all lanes is a scalar, any other a vector.
  Value* emit(const tensor::Expr&);
  Value* emit_new(const tensor::Expr&);
  Value* emit_literal(DType, const tensor::Literal&);
  Value* emit_unary(const tensor::Unary&, DType operand);
  Value* emit_binary(const tensor::Expr&, const tensor::Binary&);
  Value* emit_integer_binary(tensor::BinaryOp, Value* a, Value* b, DType, bool bounded);
  Value* emit_index_division(const tensor::Binary&);
  Value* emit_division(tensor::BinaryOp, Value* a, Value* b, bool is_signed);
  Value* emit_shift(tensor::BinaryOp, Value* a, Value* b, bool is_signed);
  Value* emit_extremum(const tensor::Binary&, Value* a, Value* b, DType);
  Value* emit_comparison(tensor::BinaryOp, Value* a, Value* b, DType);
  Value* emit_fma(Value* a, Value* b, Value* c);
  Value* emit_select(const tensor::Select&);
  Value* emit_guarded(const tensor::Expr&, Value* guard);

  // ---- conversions (emit_cast.cpp)
  Value* emit_cast(Value*, DType from, DType to, bool saturate);
  Value* to_float32(Value*, DType from);
  Value* float32_to_narrow(Value*, DType to, bool saturate);
  Value* half_to_float32(Value*);
  Value* minifloat_to_float32(Value*, DType from);
  Value* float32_to_minifloat(Value*, DType to, bool saturate);
  Value* float64_to_float32_odd(Value*);

  // ---- indices (emit_index.cpp)
  Linear linearize(const tensor::Expr&);
  Linear flatten(const tensor::BufferNode&, const std::vector<tensor::Expr>& indices);
  Value* scalar_of(const Linear&);                                       // the part that is equal in all lanes
  Value* vector_of(const Linear&);                                       // all lanes, i64
  std::optional<std::vector<int64_t>> known_lanes(const Linear&) const;  // without terms and constant
  std::optional<int> depth_of(const tensor::Expr&) const;
  Value* emit_before(Loop&, const tensor::Expr&);
  llvm::Align alignment_of(const Memory&, const Linear& offset, int64_t element_bytes);
  Value* inside(const Linear& index, int64_t extent);  // i1 or a vector of it; null when certainly inside

  // ---- addresses (emit_address.cpp)
  Value* address(const Memory&, const Linear& offset, int64_t element_bytes);
  Value* pointer_within(size_t loops, Value* base, const std::vector<Linear::Term>& terms, bool bounded);
  MovingPointer& moving_pointer(size_t loops, Value* base, const std::vector<Linear::Term>& terms, bool bounded);
  void move_pointers();
  Value* moved(Value* pointer, int64_t bytes);
  Value* moved(Value* pointer, const Linear::Term& by, bool bounded);

  // ---- memory (emit_memory.cpp)
  Value* emit_load(const tensor::Load&);
  void emit_store(const tensor::Store&, Value* value);
  void emit_prefetch(const tensor::Prefetch&);
  Value* load_elements(const Memory&, DType, const Linear& offset, Value* mask, Value* otherwise);
  Value* load_per_lane(const Memory&, DType, const Linear& offset);
  Value* load_neighbours(const Memory&, DType, const Linear& offset);
  Value* gather(const Memory&, DType, const Linear& offset, Value* mask, Value* otherwise);
  Value* load_nibble(const Memory&, DType, const Linear& offset, Value* mask, Value* otherwise);
  void store_nibble(const Memory&, Value* index, Value* value);
  Value* from_storage(Value*, DType);
  Value* to_storage(Value*, DType);
  Value* stand_in(Value* otherwise, DType, bool one_per_lane);

  // ---- statements (emit_kernel.cpp)
  void emit(const tensor::Stmt&);
  void emit_here(const tensor::Stmt&);
  void go_to_line(int);
  void emit_for(const tensor::For&);
  // A loop from `begin` or 0, tested at its end; `end` is a multiple of `step`; `range` is the counter's.
  void emit_loop(const tensor::Var&, Value* end, int64_t step, bool may_be_empty,
                 const std::function<void(Value* counter, std::optional<tensor::Range>)>& body);
  void emit_loop(const tensor::Var&, Value* begin, Value* end, int64_t step, bool may_be_empty,
                 std::optional<tensor::Range>,
                 const std::function<void(Value* counter, std::optional<tensor::Range>)>& body);
  llvm::MDNode* again_weights(std::optional<tensor::Range>, int64_t step);
  void emit_unrolled(const tensor::For&, int64_t extent);
  void emit_vector_loop(const tensor::For&, int64_t extent);
  void emit_strip(const tensor::For&, int lanes, Value* base, tensor::Range base_range);
  void emit_if(const tensor::IfThen&);
  void emit_require(const tensor::Require&);
  void emit_allocate(const tensor::Allocate&);
  void emit_serial(const tensor::For&);
  void emit_function(const std::function<void()>& body);
  void begin_statement();
  int depth() const { return loops_outside_ + static_cast<int>(loops_.size()); }  // of loops around the current place
  void bind(const tensor::Var&, Value*, bool bounded, std::optional<tensor::Range>);

  // ---- intrinsic calls (emit_intrinsic.cpp)
  void emit_intrinsic(const tensor::IntrinsicCall&);
  void emit_function_call(const tensor::IntrinsicCall&, const std::string& function);
  void emit_instruction(const tensor::IntrinsicCall&);
  Value* pointer_to(const tensor::Region&);

  // ---- functions within the kernel (emit_function.cpp)
  // What a statement mentions of its surroundings.
  struct Captured {
    std::vector<std::pair<const tensor::BufferNode*, Memory>> buffers;
    std::vector<std::pair<tensor::Var, Binding>> variables;
    std::vector<Value*> values() const;  // that a function is called with: all but constants
  };
  using BodyOfFunction = std::function<void(KernelEmitter& inner, const std::vector<Value*>& more)>;
  Captured captured_by(const tensor::Stmt&) const;
  // A function of the captured values and of `more`.
  llvm::Function* emit_apart(const std::string& suffix, llvm::Type* result, const Captured&,
                             const std::vector<llvm::Type*>& more, const BodyOfFunction&);
  llvm::Function* new_function(const std::string& suffix, llvm::Type* result, const std::vector<llvm::Type*>& params);
  llvm::AttrBuilder attributes_of(const Memory&) const;
  void emit_nest(const tensor::Stmt&);

  // ---- parallel loops (emit_parallel.cpp)
  void emit_parallel(const tensor::For&, int64_t extent);
  llvm::Function* emit_task(llvm::Function* share, llvm::StructType* frame, int64_t extent, uint64_t tasks);
  void return_first_failure(Value* statuses, uint64_t tasks);

  // ---- helpers
  Value* splat(Value*);                              // a scalar in every lane; vectors are returned as they are
  bool match_lanes(std::initializer_list<Value**>);  // splats the scalars among them if any is a vector
  static bool is_vector(Value* v) { return v->getType()->isVectorTy(); }
  llvm::Type* with_lanes_of(Value* shape, llvm::Type* element);
  Value* constant_like(Value* shape, int64_t);  // an integer constant of the value's type
  llvm::Type* value_type(DType);                // of expressions
  llvm::Type* storage_type(DType);              // of elements in memory
  Value* intrinsic(llvm::Intrinsic::ID, std::initializer_list<Value*>);
  bool converts_halves() const;  // the CPU has instructions between float16 and float32

  const CodeLevel& level_;
  const llvm::MCSubtargetInfo& cpu_;
  const tensor::Kernel& kernel_;
  llvm::Function* function_;
  llvm::IRBuilder<> b_;
  int threads_;
  std::optional<Lanes> lanes_;
  Value* guard_ = nullptr;  // loads are executed only where this holds; null: everywhere
  std::unordered_map<const tensor::VarNode*, Binding> bindings_;
  int bound_ = 0;          // variables so far
  tensor::Ranges ranges_;  // of bound variables, where they are known
  std::unordered_map<const tensor::BufferNode*, Memory> memory_;
  const KernelDebug* debug_;                         // null without -g
  int line_ = 0;                                     // of the statement in the program's text
  std::deque<Loop> loops_;                           // around the current place, in this function; innermost last
  int loops_outside_ = 0;                            // around the function's body, in the kernel
  int branches_ = 0;                                 // around the current place, in this function
  std::set<const tensor::VarNode*> register_index_;  // variables that index register buffers: their loops are unrolled
  std::set<const tensor::StmtNode*> nests_;          // statements that become functions
  std::vector<Memo> memos_;                          // innermost last; a guarded expression has a memo of its own
  std::vector<std::pair<tensor::Load, Value*>> loads_;  // executed without guard in this statement
};

// How a vector loop is executed; found by analysis of its body (vectorize.cpp).
struct VectorPlan {
  bool possible = false;    // else as a scalar loop
  bool distribute = false;  // statements of the body depend on each other across lanes: one loop for each
  int element_bits = 8;     // widest type that the lanes hold
};
VectorPlan plan_vector_loop(const tensor::For&);

// Statements that become functions of their own, none of them within a vector loop (outline_loop_nests.cpp). The loops
// of `unrolled` variables disappear.
std::set<const tensor::StmtNode*> find_loop_nests(const tensor::Kernel&, const tensor::Machine&, int most_loops,
                                                  int threads, const std::set<const tensor::VarNode*>& unrolled);

}  // namespace dlcc::targets

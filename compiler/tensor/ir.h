// Tensor IR: the definitions of operators, and the loops that compute them.
//
// Two forms share one expression language.
//   * A TensorFunction is a definition: a sequence of stages. A stage defines the elements of a tensor by an expression
//     over its indices, with or without a reduction. A result that is not a function of its index, such as a sort, is
//     defined by statements. Operators are written as definitions, fusion composes them, and schedules start from them.
//   * A Kernel is a scheduled function: loops, stores, local buffers, intrinsic calls. Code generation emits kernels.
//     The evaluator runs kernels, and definitions by way of their naive schedule (tensor/schedules/naive.h).
//
// Expressions
//   * An expression is scalar and has no side effects. Its operands may be evaluated in any order. Indices are int64.
//   * Integers are two's complement and wrap on overflow.
//   * `div` and `rem` round toward zero, `floordiv` and `floormod` toward minus infinity. Quotient and remainder of a
//     division by zero are 0; the smallest integer divided by -1 is itself. A definition that must reject a zero
//     divisor has a Requirement.
//   * A shift by a negative amount, or by the width of the type or more, gives 0; `>>` of a negative value then gives
//     -1. `>>` is arithmetic for signed types.
//   * Floats are IEEE 754, rounded to nearest even, with subnormals, infinities and NaN. Operations are not contracted
//     or reassociated, with four exceptions. A `sum` or `product` reduction of floats may be evaluated in any order
//     and grouping, and with fused multiply-adds. A `max` or `min` reduction, or that of the largest number,
//     select(b > a, b, a), may be evaluated in any order, which decides only the sign of a zero and which of several
//     NaNs is the result. A convolution with constant weights may be computed by Winograd's algorithm (Lavin and Gray,
//     2016), which is equal in exact arithmetic. Products of the zeros around an image may be left out of a
//     convolution, although the product with an infinite weight would be NaN.
//   * float16 and bfloat16 are storage types: a load is followed by a cast to float32, arithmetic is in float32, and a
//     cast before the store rounds. Floats of at most 8 bits and integers of 2 and 4 bits occur in loads, selects,
//     stores and casts only.
//   * max(a, b) is a if a is NaN, else a > b ? a : b. min(a, b) is a if a is NaN, else a < b ? a : b. Hence NaN in
//     either operand gives NaN, and of two zeros the second is the result; code for AArch64 may take the other zero if
//     neither operand is a literal.
//   * A comparison with NaN is false, `!=` is true. A bool is 0 or 1.
//   * A cast from float to integer truncates and saturates, and gives 0 for NaN. A cast to a narrower integer wraps. A
//     cast to bool is `x != 0`. A cast to float rounds to nearest even; to float8 it also saturates (Cast::saturate);
//     to float8_e8m0fnu it keeps the exponent alone.
//
// Memory
//   * `b[i, j] else e` is a predicated load: the element if every index is in [0, extent), else `e`. A load or store
//     without a predicate must have its indices in range: the IR is invalid otherwise. Either the indices are in range
//     by construction, or a Requirement has checked them.
//   * `require(c, status)` ends the kernel with `status` if `c` is false. The contents of its results are unspecified
//     then. If requirements fail in several iterations of a parallel loop, any one of the statuses is returned. No load
//     is executed after a requirement that guards it has failed.
//
// Loops
//   * A loop runs from 0 to extent - 1, if the extent is positive; extents are less than 2^40. The iterations of a
//     `parallel` loop are independent. `unrolled` affects the generated code only. A `vector` loop is executed in lock
//     step: all iterations of the first statement of the body, then all iterations of the second, and so on. The
//     iterations of one statement may be executed in any order: none accesses an element that another one writes.
//
// Outlined loop nests
//   * `outline { ... }` executes its body. It affects the generated code only: the body is a function of its own, which
//     is called with the variables and buffers that the body uses and does not declare. Parallel loops in it run on one
//     thread. The function has no status and shares no registers with its caller: the body contains no requirement, and
//     the register buffers that it uses are declared in it. An `outline` may contain others; it is in no vector loop.
//
// Stages
//   * Stages run in order. A stage reads parameters and results of earlier stages.
//   * The value of a stage at a point of its axes is its expression. With a reduction, it is the reduction of the
//     expression's values over the reduction axes, in row-major order, beginning with the identity.
//   * A stage with a body runs it. The body stores to the stage's results only, each element of which is then defined
//     unless an earlier stage has defined it. It may read what it has stored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shape/dim.h"
#include "support/diagnostics.h"
#include "support/dtype.h"

namespace dlcc::tensor {

// ---- variables and buffers

// A scalar variable. Loop variables and axes are int64; a `let` may bind any type. Two variables are the same if their
// addresses are.
struct VarNode {
  std::string name;
  DType type = dtype::i64;
};
using Var = std::shared_ptr<const VarNode>;
Var make_var(std::string name, DType type = dtype::i64);

enum class Scope : uint8_t {
  global,  // a parameter of the kernel: an input, an output, or scratch in the arena
  local,   // a small array on the stack, indexed by any expression
  reg,     // registers: indices are constants, or variables of vector and unrolled loops
};

// A typed multi-dimensional array. Two buffers are the same if their addresses are.
struct BufferNode {
  std::string name;
  DType type = dtype::f32;
  Shape shape;
  Scope scope = Scope::global;
  std::vector<int64_t> strides;  // in elements, one per dimension; empty: dense and row-major
  int64_t alignment = 0;         // of element 0, in bytes; 0: that of the element type

  int rank() const { return static_cast<int>(shape.size()); }
};
using Buffer = std::shared_ptr<const BufferNode>;
Buffer make_buffer(std::string name, DType type, Shape shape, Scope scope = Scope::global, int64_t alignment = 0);

// ---- expressions

enum class UnaryOp : uint8_t {
#define UNARY(name, text) name,
#define BINARY(name, text, infix)
#include "tensor/ops.def"
#undef UNARY
#undef BINARY
};
enum class BinaryOp : uint8_t {
#define UNARY(name, text)
#define BINARY(name, text, infix) name,
#include "tensor/ops.def"
#undef UNARY
#undef BINARY
};

inline bool is_comparison(BinaryOp op) { return op >= BinaryOp::eq && op <= BinaryOp::ge; }

struct ExprNode;

// A reference to an immutable expression; null by default. An expression is a DAG: passes preserve the sharing of
// sub-expressions, and code generation computes a shared node once per statement.
class Expr {
 public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}
  Expr(const Var& var);                      // NOLINT
  Expr(int64_t index);                       // NOLINT: an int64 literal
  Expr(int index) : Expr(int64_t{index}) {}  // NOLINT
  explicit Expr(const Dim&);                 // the polynomial, over the variables that symbol_var() gives

  DType type() const;
  explicit operator bool() const { return node_ != nullptr; }
  const ExprNode& operator*() const { return *node_; }
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode* get() const { return node_.get(); }
  bool same_node(const Expr& o) const { return node_ == o.node_; }
  // Whether other Exprs may refer to the node. A node that is not shared is reached once by a walk from its root.
  bool is_shared() const { return node_.use_count() > 1; }

 private:
  std::shared_ptr<const ExprNode> node_;
};

struct Literal {
  int64_t integer = 0;  // for integer and bool types; uint64 by bit pattern
  double number = 0;    // for float types, already rounded to the type
};
struct VarRef {
  Var var;
};
struct Unary {
  UnaryOp op;
  Expr a;
};
struct Binary {  // operands have equal types; comparisons give bool
  BinaryOp op;
  Expr a, b;
};
struct Fma {  // a * b + c, rounded once; floats only
  Expr a, b, c;
};
struct Select {  // condition ? a : b. Both arms may be evaluated, but no load in the arm that is not selected
  Expr condition, a, b;
};
struct Cast {
  Expr a;
  bool saturate = true;  // to float8: a value out of range becomes the largest finite one; else infinity or NaN
};
struct Bitcast {  // between types of equal width
  Expr a;
};
struct Load {
  Buffer buffer;
  std::vector<Expr> indices;
  Expr otherwise;  // of a predicated load: the value if some index is out of range. Null: all indices are in range
};

struct ExprNode {
  DType type;
  std::variant<Literal, VarRef, Unary, Binary, Fma, Select, Cast, Bitcast, Load> v;
};

template <class T>
const T* as(const Expr& e) {
  return e ? std::get_if<T>(&e->v) : nullptr;
}

// Constructors. They fold int64 and bool operations on literals and remove neutral elements (x + 0, x * 1) of int64
// arithmetic. They leave float arithmetic as it is. They check that operand types agree (DLCC_CHECK).
Expr literal(DType type, int64_t value);  // wraps to the type
Expr literal(DType type, double value);   // rounds to the type
Expr lowest(DType type);                  // -infinity or the smallest integer
Expr highest(DType type);                 // +infinity or the largest integer
Expr unary(UnaryOp, Expr);
Expr binary(BinaryOp, Expr, Expr);
Expr fma(Expr a, Expr b, Expr c);
Expr select(Expr condition, Expr a, Expr b);
Expr cast(DType type, Expr a, bool saturate = true);  // `a` itself if it has that type
Expr bitcast(DType type, Expr a);
Expr load(Buffer buffer, std::vector<Expr> indices, Expr otherwise = {});

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator-(Expr a);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr logical_and(Expr a, Expr b);  // a function: && and == would read as tests of the references
Expr logical_or(Expr a, Expr b);
Expr logical_not(Expr a);
Expr equal(Expr a, Expr b);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr floor_div(Expr a, Expr b);
Expr floor_mod(Expr a, Expr b);

std::optional<int64_t> constant_integer(const Expr&);  // value of an integer or bool literal
bool is_literal(const Expr&, double value);            // a literal of any type with this value
bool structurally_equal(const Expr&, const Expr&);
Expr symbol_var(const Symbol&);  // the variable that stands for the symbol; one for each name
Var scalar_of(const Symbol&);    // the same variable, as a Var
bool is_symbol_var(const Var&);  // whether the variable stands for a symbol

// ---- definitions

struct StmtNode;  // below, with the statements
using Stmt = std::shared_ptr<const StmtNode>;

// The statuses that kernels return. They have the numbers of dlcc_status in the runtime's header.
enum class Status : uint8_t {
#define STATUS(name, number, text) name = number,
#include "dlcc/status.def"
#undef STATUS
};

struct Axis {
  Var var;
  Dim extent;
};

// A reduction of one or several values at once (a tuple reduction, as for argmax). The accumulators start as
// `identity`. For each point of `axes`, with left[k] the accumulator and right[k] the value, accumulator k becomes
// combined[k].
struct Reduction {
  std::vector<Axis> axes;  // outermost first
  std::vector<Var> left, right;
  std::vector<Expr> combined, identity;
};

enum class ReducerKind : uint8_t {
#define REDUCER(kind, op, identity) kind,
#include "tensor/reducers.def"
#undef REDUCER
  other
};
// By the structure of `combined`; `other` for tuples, and for sums and products that begin with another number than 0
// and 1: schedules use the identity several times.
ReducerKind reducer_kind(const Reduction&);

struct Requirement {
  Expr condition;  // over the stage's axes
  Status status;
};

// One step of a definition, in one of two forms.
//
// An index expression: for each point of `axes`, results[k][origin + axes] = values[k], or the reduction of values[k].
// The stage writes a box of its results, whose extents are those of its axes. Several stages may write disjoint boxes
// of one buffer, as in a concatenation.
//
// A body of statements, for results that are not functions of their indices: scatter, sort, prefix sum, compaction. The
// members other than `results` are empty. The body may change results that earlier stages have defined.
struct Stage {
  std::vector<Buffer> results;  // of equal rank, unless the stage has a body; several for a tuple reduction
  std::vector<Axis> axes;       // one per dimension of the results
  std::vector<Dim> origin;      // the first index of the box, one per axis; empty: all zero
  std::optional<Reduction> reduction;
  std::vector<Expr> values;  // one per result
  // Checked at each point of `axes` before its value is computed; one that depends on no axis also if there is no
  // point.
  std::vector<Requirement> requirements;
  Stmt body = nullptr;  // null: an index expression
};

struct TensorFunction {
  std::string name;
  std::vector<Buffer> params;
  std::vector<Buffer> results;  // each is a result of one or several stages
  std::vector<Stage> stages;
  std::vector<Var> scalars = {};  // further parameters, passed by value; stages may use them
  // Requirements were taken from the stages (take_scalar_requirements): the caller checks them before the call. Indices
  // may be in range only where they hold.
  bool has_checked_requirements = false;
};

// ---- statements

enum class LoopKind : uint8_t { serial, parallel, vector, unrolled };

struct For {
  Var var;
  Expr extent;
  LoopKind kind;
  Stmt body;
};
struct Sequence {
  std::vector<Stmt> body;
};
struct Store {
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value;
};
struct Let {
  Var var;
  Expr value;
  Stmt body;
};
struct Allocate {  // a local or register buffer whose scope is `body`; its initial contents are unspecified
  Buffer buffer;
  Stmt body;
};
struct IfThen {
  Expr condition;
  Stmt then_body, else_body;  // else_body may be null
};
struct Require {
  Expr condition;
  Status status;
};
// A hint to fetch the cache line of an element into the first-level or second-level cache. Indices may be out of range.
enum class CacheLevel : uint8_t { first, second };
struct Prefetch {
  Buffer buffer;
  std::vector<Expr> indices;
  CacheLevel cache = CacheLevel::first;
};
// An operand of an intrinsic call: the box of `buffer` that begins at index `begin`. Its extents along the last
// dimensions are the shape of the intrinsic's operand; along the others they are 1.
struct Region {
  Buffer buffer;
  std::vector<Expr> begin;
};
struct Intrinsic;  // tensor/intrinsic.h
struct IntrinsicCall {
  const Intrinsic* intrinsic;
  std::vector<Region> operands;
};

// A loop nest that is a function of its own in generated code.
struct Outline {
  Stmt body;
};

struct StmtNode {
  std::variant<For, Sequence, Store, Let, Allocate, IfThen, Require, Prefetch, IntrinsicCall, Outline> v;
};

template <class T>
const T* as(const Stmt& s) {
  return s ? std::get_if<T>(&s->v) : nullptr;
}

Stmt make_stmt(decltype(StmtNode::v) v);
Stmt for_loop(Var var, Expr extent, LoopKind kind, Stmt body);  // if the extent is 1: the body with var = 0
Stmt sequence(std::vector<Stmt> body);                          // flattened, without null statements; null if empty
Stmt store(Buffer buffer, std::vector<Expr> indices, Expr value);
Stmt let(Var var, Expr value, Stmt body);
Stmt allocate(Buffer buffer, Stmt body);
Stmt if_then(Expr condition, Stmt then_body, Stmt else_body = nullptr);  // null if both bodies are
Stmt require(Expr condition, Status status);
Stmt outline(Stmt body);  // null if the body is

// ---- kernels

enum class Access : uint8_t { read, write, scratch };

struct Parameter {
  Buffer buffer;
  Access access;
};

// The largest number of elements of a tensor. Callers of kernels have checked it, so that index arithmetic does not
// wrap.
constexpr int64_t max_elements = int64_t{1} << 40;
// The largest number of bytes of a value in memory: max_elements of 8 bytes, and room for the padding of layouts.
constexpr int64_t max_value_bytes = 16 * max_elements;

// A scheduled function. Its parameters do not overlap in memory, except for a result that the memory plan stores in
// place of an operand (ScheduledFunction::in_place).
struct Kernel {
  std::string name;
  std::vector<Parameter> params;  // inputs, then outputs, then scratch
  Stmt body;
  // Further parameters, passed by value: those of the function, then a variable for each symbol, sorted by name.
  std::vector<Var> scalars = {};
};

// ---- layouts

// The layout of a tensor in memory: a map from logical to physical indices (docs/ARCHITECTURE.md: layouts belong to
// values and are never operators). Each part is one physical dimension, outermost first; its index is floor(index[axis]
// / divisor) mod extent of one logical axis. A split axis has several parts. Example: a tensor (n, c, h, w) with 24
// channels in blocks of 16 has the physical dimensions n, c / 16 (extent 2), h, w, c mod 16 (extent 16). No parts:
// dense and row-major.
//
// A part that is a whole axis may have a halo of zeros: `halo` elements before index 0, and after the last index the
// rest of the part's extent. The kernel that writes the tensor also writes the halo, so that `b[i] else 0` near the
// edges is a load without a predicate.
struct Layout {
  struct Part {
    int axis;          // of the logical tensor
    int64_t divisor;   // logical elements per step of this dimension
    Dim extent;        // of this dimension, halo included; symbolic only for a whole axis
    int64_t halo = 0;  // elements before logical index 0
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;
  // The contents of elements that no logical index maps to: the padding of the last block.
  enum class Tail : uint8_t { none, zero, unspecified } tail = Tail::none;

  bool is_dense() const { return parts.empty(); }
  bool operator==(const Layout&) const = default;
};

std::string str(const Layout&);  // "0:1 1/16:2 2:16+1 3:16+1 1:16 zero": axis/divisor:extent+halo; "" if dense

// ---- text, verification

std::string print(const Expr&);
std::string print(const Stmt&, int indent = 0);
std::string print(const TensorFunction&);
std::string print(const Kernel&);

// Report each violation of the rules listed in verify.cpp and type_rules.h; true if there is none.
bool verify(const TensorFunction&, Diagnostics&);
bool verify(const Kernel&, Diagnostics&);

}  // namespace dlcc::tensor

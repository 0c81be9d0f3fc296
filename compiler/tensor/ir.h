// Tensor IR: what operators mean, and the loops that compute them.
//
// Two forms share one expression language.
//   * A TensorFunction is a definition: a DAG of stages, each an index expression over its axes, possibly reduced.
//     Operators are defined so; fusion composes definitions; schedules transform them.
//   * A Kernel is a scheduled function: loops, stores, local buffers, intrinsics. Code generation emits kernels; the
//     evaluator runs them (and definitions, through the trivial schedule of tensor/schedules/naive).
//
// Semantics
//   * Expressions are scalar and pure; evaluation order does not matter. Index arithmetic is int64.
//   * Integers are two's complement and wrap on overflow. `div` and `rem` truncate toward zero, `floordiv` and
//     `floormod` round down; a zero divisor gives 0, and the smallest integer / -1 wraps to itself. Whoever wants an
//     error for a zero divisor states a `require`. A shift by a negative amount or by at least the width gives 0 (for
//     `>>` of a signed value its sign, i.e. 0 or -1); `>>` is arithmetic for signed types.
//   * Floats are IEEE, round to nearest even, no flush to zero; no operation is contracted, reassociated or assumed
//     finite, except that a `sum` or `product` reduction of floats may be evaluated in any order and grouping and with
//     fused multiply-add (decision: schedules choose). float16, bfloat16 are storage types: their arithmetic is done in
//     float32 and rounded at each store or cast; expressions hold a cast to float32 after each load. float8 and
//     sub-byte types appear in loads, stores and casts only. A convolution with constant weights may be computed by
//     minimal filtering, which has the same value in exact arithmetic.
//   * max(a, b) is: a if a is NaN, else a > b ? a : b. min(a, b): a if a is NaN, else a < b ? a : b. So NaN propagates,
//     and of two zeros the second wins.
//   * Comparisons with NaN are false, except `!=`. bool values are 0 or 1.
//   * Cast: float to integer truncates and saturates, NaN becomes 0; integer to narrower integer wraps; anything to
//     bool is `x != 0`; to float rounds to nearest even; float to float8 saturates (see Cast::saturate).
//   * `b[i, j] else e`: the element when every index lies in [0, extent), else e. A plain load or store whose index may
//     lie outside is invalid IR: whoever builds it must know that it is inside, or say `require` before it.
//   * `require(c, status)`: when c is false the kernel stops with that status; buffers then hold unspecified values.
//     Also in parallel loops, where any one of the failing statuses is returned. Loads that a requirement guards are
//     not executed once it failed.
//   * Loops run from 0 to extent - 1. `vector`: iterations are executed in lock step: all iterations of the loop's
//     first statement before its second. `parallel` iterations are independent. `unrolled` changes nothing but the
//     code.
//   * A stage's value at one point of its axes: the fold over the reduction axes in row-major order, starting with the
//     identity. Stages run in order; a stage reads parameters and results of earlier stages.
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

// A scalar variable: loop counters and axes are int64, `let`s have any type. Identity is the address.
struct VarNode {
  std::string name;
  DType type = dtype::i64;
};
using Var = std::shared_ptr<const VarNode>;
Var make_var(std::string name, DType type = dtype::i64);

enum class Scope : uint8_t {
  global,  // parameters of a kernel: inputs, outputs, scratch in the arena
  local,   // on the kernel's stack, small; any index
  reg,     // promoted to registers: after unrolling every index but that of a vector loop is constant
};

// A typed multi-dimensional array. Dense and row-major over `shape` unless `strides` (in elements) says otherwise.
// Identity is the address. Alignment in bytes of element 0; 0 means the element's own.
struct BufferNode {
  std::string name;
  DType type = dtype::f32;
  Shape shape;
  Scope scope = Scope::global;
  std::vector<int64_t> strides;
  int64_t alignment = 0;

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

struct ExprNode;

// A reference to an immutable expression. Null by default. Sub-expressions may be shared; passes keep sharing and code
// generation computes a shared node once per statement.
class Expr {
 public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}
  Expr(const Var& var);                      // NOLINT
  Expr(int64_t index);                       // NOLINT: an int64 literal
  Expr(int index) : Expr(int64_t{index}) {}  // NOLINT
  explicit Expr(const Dim&);                 // symbols become variables of symbol_var()

  DType type() const;
  explicit operator bool() const { return node_ != nullptr; }
  const ExprNode& operator*() const { return *node_; }
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode* get() const { return node_.get(); }
  bool same_node(const Expr& o) const { return node_ == o.node_; }

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
struct Select {  // condition is bool; both arms are pure and may both be evaluated, but for loads in the arm not taken
  Expr condition, a, b;
};
struct Cast {
  Expr a;
  bool saturate = true;  // for float8 results
};
struct Bitcast {  // same width
  Expr a;
};
struct Load {
  Buffer buffer;
  std::vector<Expr> indices;
  Expr otherwise;  // null: the index is known to be inside
};

struct ExprNode {
  DType type;
  std::variant<Literal, VarRef, Unary, Binary, Fma, Select, Cast, Bitcast, Load> v;
};

template <class T>
const T* as(const Expr& e) {
  return e ? std::get_if<T>(&e->v) : nullptr;
}

// Constructors. They fold literals and drop neutral elements of integer arithmetic (x + 0, x * 1), nothing else; floats
// are never changed. Operand types must agree (DLCC_CHECK).
Expr literal(DType type, int64_t value);
Expr literal(DType type, double value);
Expr lowest(DType type);   // -infinity or the smallest integer
Expr highest(DType type);  // +infinity or the largest integer
Expr unary(UnaryOp, Expr);
Expr binary(BinaryOp, Expr, Expr);
Expr fma(Expr a, Expr b, Expr c);
Expr select(Expr condition, Expr a, Expr b);
Expr cast(DType type, Expr a, bool saturate = true);  // the expression itself when it has that type
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
Expr logical_and(Expr a, Expr b);  // not operators: && and == on expressions would read as tests of the references
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
Expr symbol_var(const Symbol&);  // the variable that stands for a symbol; one per name

// ---- definitions

// Statuses that kernels return; dlcc_status in the runtime header has the same numbers.
enum class Status : uint8_t {
#define STATUS(name, number, text) name = number,
#include "dlcc/status.def"
#undef STATUS
};

struct Axis {
  Var var;
  Dim extent;
};

// How the values of a reduction are folded: for every result, left[i] (so far) and right[i] (next) give combined[i].
struct Reduction {
  std::vector<Axis> axes;  // outermost first
  std::vector<Var> left, right;
  std::vector<Expr> combined, identity;
};

enum class ReducerKind : uint8_t { sum, product, min, max, all, any, other };
ReducerKind reducer_kind(const Reduction&);  // recognised by structure; `other` for tuples and anything else

struct Requirement {
  Expr condition;  // over the stage's axes
  Status status;
};

// One step of a definition: for every point of `axes`, results[k][origin + axes] = fold of values[k].
struct Stage {
  std::vector<Buffer> results;  // of equal rank; several for tuple-valued stages
  std::vector<Axis> axes;       // one per dimension of the results
  std::vector<Dim> origin;      // where in the results this stage's box begins; empty means at zero. Several stages may
                                // write disjoint boxes of one buffer (concatenation)
  std::optional<Reduction> reduction;
  std::vector<Expr> values;               // one per result
  std::vector<Requirement> requirements;  // checked for every point of `axes` before it is computed
};

struct TensorFunction {
  std::string name;
  std::vector<Buffer> params;
  std::vector<Buffer> results;  // written by the stages
  std::vector<Stage> stages;
};

// ---- kernels

struct StmtNode;
using Stmt = std::shared_ptr<const StmtNode>;

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
struct Allocate {  // a local or register buffer, alive within body, contents unspecified at first
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
// Hint that the cache line of an element will be read, soon or (into the second level) later; indices may lie outside
// the buffer.
enum class CacheLevel : uint8_t { first, second };
struct Prefetch {
  Buffer buffer;
  std::vector<Expr> indices;
  CacheLevel cache = CacheLevel::first;
};
// A box of a buffer: begins at `begin`, extends over the intrinsic's operand shape along the last dimensions.
struct Region {
  Buffer buffer;
  std::vector<Expr> begin;
};
struct Intrinsic;  // tensor/intrinsic.h
struct IntrinsicCall {
  const Intrinsic* intrinsic;
  std::vector<Region> operands;
};

struct StmtNode {
  std::variant<For, Sequence, Store, Let, Allocate, IfThen, Require, Prefetch, IntrinsicCall> v;
};

template <class T>
const T* as(const Stmt& s) {
  return s ? std::get_if<T>(&s->v) : nullptr;
}

Stmt make_stmt(decltype(StmtNode::v) v);
Stmt for_loop(Var var, Expr extent, LoopKind kind, Stmt body);  // the body itself, substituted, when extent is 1
Stmt sequence(std::vector<Stmt> body);                          // flattens, drops nulls; null when empty
Stmt store(Buffer buffer, std::vector<Expr> indices, Expr value);
Stmt let(Var var, Expr value, Stmt body);
Stmt allocate(Buffer buffer, Stmt body);
Stmt if_then(Expr condition, Stmt then_body, Stmt else_body = nullptr);
Stmt require(Expr condition, Status status);

enum class Access : uint8_t { read, write, scratch };

struct Parameter {
  Buffer buffer;
  Access access;
};

// A scheduled function. Buffers do not overlap, unless the caller's plan says that a result may replace an operand.
struct Kernel {
  std::string name;
  std::vector<Parameter> params;  // reads, then writes, then scratch
  Stmt body;
};

// ---- layouts

// How a logical tensor is stored: an index map (decision: layouts are maps, never operators). Physical dimension d
// holds (index[axis] / divisor) mod extent of one logical axis; the divisor-1 part of a split axis has the block's
// extent. An empty list of parts means dense row-major. Example, 24 channels in blocks of 16: n, c/16 (extent 2), h, w,
// c%16 (extent 16).
//
// A part that is a whole axis may have a halo: `halo` elements in front of index 0 and as many behind the last as
// the extent leaves. They hold zeros, which whoever writes the tensor stores too; so reads of `b[i] or 0` near the edge
// need no test.
struct Layout {
  struct Part {
    int axis;
    int64_t divisor;
    int64_t extent;
    int64_t halo = 0;
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;
  // What the elements hold that no logical index maps to (padding of the last block).
  enum class Tail : uint8_t { none, zero, unspecified } tail = Tail::none;

  bool is_dense() const { return parts.empty(); }
  bool operator==(const Layout&) const = default;
};

std::string str(const Layout&);  // "0:1 1/16:2 2:16+1 3:16+1 1:16 zero": axis/divisor:extent+halo; empty when dense

// ---- text, checks

std::string print(const Expr&);
std::string print(const Stmt&, int indent = 0);
std::string print(const TensorFunction&);
std::string print(const Kernel&);

// Check the rules listed in verify.cpp and type_rules.h; report each violation. True when there is none.
bool verify(const TensorFunction&, Diagnostics&);
bool verify(const Kernel&, Diagnostics&);

}  // namespace dlcc::tensor

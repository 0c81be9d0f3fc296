// The program IR: what lowering produces and code generation consumes. A program is a tree of regions, whose steps call
// kernels and compute scalars, and the list of the values in memory that the steps read and write. Parts that several
// steps share are functions.
//
// Memory
//   * A value is one dense block of memory. Its layout is part of the kernels that access it. Where temporaries are
//     stored is not part of a program: lower/plan.h decides it.
//   * A size is a number or a dim over symbols. The caller gives the symbols of `dims`; `entry` computes those of
//     `input_sizes` from elements of inputs; both are known before the first step of the body. A Read or Compute step
//     or the end of a branch defines those of `data_sizes`. A value has its size in the steps after the definition of
//     its symbols, and memory for the largest size. The arms of a branch write the value whose size the branch defines
//     through views of their own sizes. A loop writes slices of a value whose size a step after it defines as the
//     number of its iterations.
//   * Kernels write into memory that the call names (destination-passing style); they return a status and no value.
//   * On every path a value is written before it is read. Several steps may write it: in different arms of a branch,
//     again in every iteration of a loop, or disjoint parts of it through views.
//   * A view may begin at an index that is a scalar. The index is in range whenever a step uses the view: lowering
//     places a Require before it.
// Scalars
//   * A scalar is a variable of the tensor IR: a counter, a condition, an element that control depends on. It is held
//     in a register, has one definition, and is visible after it in its region and in the regions nested there.
//   * Symbols are scalars, too: symbol_var(symbol). Those of `dims` and `input_sizes` are visible everywhere, those of
//     `data_sizes` in the scope of the scalar that the step defines.
//   * Scalar expressions have no loads. Their meaning is that of tensor/ir.h.
// Functions
//   * A function has values and scalars of its own. Its inputs are read only, its outputs are memory that the caller
//     gives, and both are dense. It sees the sizes that are known before the run.
//   * A call reads all of its operands and writes all of its results. No result has memory in common with another one,
//     with an operand, or with the function's arena. Operands may have.
//   * The arena of a function is a part of the arena of its caller during the call. Its contents are undefined before
//     and after.
//   * A function calls functions with smaller indices only, so that there is no recursion.
// Control
//   * Steps run in order. A step whose status is not ok ends the run with this status.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "shape/input_dim.h"
#include "support/constant.h"
#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::lower {

using ValueId = int;

enum class Storage : uint8_t {
  input,      // the caller's memory, read only; aligned to its element only
  output,     // the caller's memory; aligned to its element only
  constant,   // read-only data in the object, or in the file of weights
  temporary,  // the arena, at the planned offset
  view,       // part of another value (`base`)
};

struct Value {
  std::string name;  // for people: the model's name where it has one
  DType type;
  Shape shape;  // as stored
  Dim bytes = 0;
  int64_t alignment = tensor::storage_alignment;  // bytes; required of the address in the arena or among the constants
  Storage storage = Storage::temporary;
  int index = 0;        // among the inputs, outputs or constants
  ValueId base = -1;    // of a view; never a view itself
  Dim base_offset = 0;  // of a view: bytes
  // Of a view whose offset is known at run time only: it begins at base_offset + begin * stride bytes. Null: at
  // base_offset.
  tensor::Expr begin = {};
  int64_t stride = 0;
};

// Calls a kernel: one operand for each of its parameters, in their order (reads, writes, scratch).
struct Invoke {
  int kernel;
  std::vector<ValueId> operands;
  std::vector<tensor::Expr> scalars = {};  // one for each scalar parameter
  // Pairs (write parameter, read parameter): every element of the read operand is last read before or when the same
  // element of the written operand is stored. So both may have the same address.
  std::vector<std::pair<int, int>> in_place;
  std::string node;      // the model's node or nodes, for profiles and messages
  Dim macs = 0;          // multiply-accumulate operations of the definition
  uint64_t request = 0;  // tensor::hash_of the schedule's request, the key of tuning records; 0 without tuning
};
// Copies all bytes of one value to another of equal size.
struct Copy {
  ValueId from, to;
};
// Defines a scalar.
struct Compute {
  tensor::Var result;
  tensor::Expr value;
};
// Defines a scalar: the element of a value with the row-major index `element`.
struct Read {
  tensor::Var result;
  ValueId from;
  int64_t element = 0;
};
// Stores a scalar into the element of a value with the row-major index `element`.
struct Write {
  ValueId to;
  int64_t element = 0;
  tensor::Expr value;
};
// Ends the run with `status` unless the condition holds.
struct Require {
  tensor::Expr condition;
  tensor::Status status;
};
// Ends the run with dimension_out_of_range unless the size is in [0, 2^40]. Later steps of the region, and those of
// regions within it, may use values that have such a size.
struct CheckSize {
  Dim size;
};
// Calls a function: one operand for each of its inputs, one result for each of its outputs.
struct Call {
  int function;
  std::vector<ValueId> operands = {}, results = {};
  std::string node = {};  // the model's node, for profiles and messages
};
struct Branch;
struct Loop;
using Step = std::variant<Invoke, Copy, Compute, Read, Write, Require, CheckSize, Call, std::shared_ptr<Branch>,
                          std::shared_ptr<Loop>>;

struct Region {
  std::vector<Step> steps;
};
struct Branch {
  tensor::Expr condition;  // bool
  Region then_region, else_region;
  // Scalars that the branch defines, each with its value at the end of either arm.
  struct Merge {
    tensor::Var result;
    tensor::Expr then_value, else_value;
  };
  std::vector<Merge> merges = {};
};
// A loop that is tested before each iteration: `test` runs, then `body` if `condition` holds, else the loop ends. The
// scalars of `test` and the carried ones are visible in the body and after the loop.
struct Loop {
  // A scalar that has the value `initial` before the first iteration and `next` at the end of each iteration.
  struct Carried {
    tensor::Var var;
    tensor::Expr initial, next;
  };
  std::vector<Carried> carried;
  Region test;
  tensor::Expr condition;  // bool, over carried scalars and those of `test`
  Region body;
};

// A kernel in the code of every CPU level, or in one for all of them. The variants have equal parameters. Calls with
// equal kernels share one.
struct KernelVariants {
  std::string name;
  std::vector<tensor::Kernel> variants;  // one per CPU level of the target, in its order, or the first level's alone
  const tensor::Kernel& at_level(size_t level) const { return variants.size() == 1 ? variants[0] : variants[level]; }
};

// A data-dependent size: at least 0 and at most `most`, which depends only on sizes that are known before the run.
struct DataSize {
  Symbol symbol;
  Dim most;
  // If a branch defines several sizes: its number, and the largest value in each arm, of which `most` is the larger.
  int branch = -1;
  Dim then_most = 0, else_most = 0;
};

// Steps, and the values that they read and write.
struct Function {
  std::string name;  // empty for the program itself
  std::vector<Value> values = {};
  std::vector<ValueId> inputs = {}, outputs = {};
  // Sizes in [0, 2^40], over the symbols that are known before the run. The program refuses a run with others; every
  // caller of a function requires them.
  std::vector<Dim> checked_sizes = {};
  Region body = {};
};

// The function that a run of the model executes, with the symbols, kernels, constants and functions that it uses.
struct Program : Function {
  std::vector<InputDim> dims;       // the sizes that the caller gives, in order of appearance in the inputs
  std::vector<Symbol> input_sizes;  // sizes computed from elements of inputs, in the order of `entry`
  // Runs before the body, also when a call is planned: Read steps of inputs, Compute and Require steps. Only the
  // symbols of `input_sizes` are visible in the body.
  Region entry;
  std::vector<DataSize> data_sizes;   // data-dependent sizes, in order of their definition
  std::vector<Require> requirements;  // over the symbols of `dims` and `input_sizes`; checked before the first step
  std::vector<Function> functions;    // callees before callers
  std::vector<KernelVariants> kernels;
  std::vector<Constant> constants;     // as stored, packed
  int threads = 1;                     // number of tasks of each parallel loop
  int64_t largest_object = INT64_MAX;  // bytes that a value or an arena may have: what the target's addresses can count
};

using tensor::scalar_of;  // of a symbol

// The symbols whose values are known before the first step of the body.
std::vector<Symbol> entry_symbols(const Program&);

// The alignment of a value in bytes, unless something needs another: tensor::storage_alignment for temporaries and
// constants, else the size of an element.
int64_t default_alignment(Storage, DType);

// The bytes of a dense tensor.
Dim bytes_of(DType, const Shape&);

}  // namespace dlcc::lower

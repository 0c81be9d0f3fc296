// The program IR: what lowering produces and code generation consumes. A program is a tree of regions, whose steps call
// kernels, and the list of the values that the steps read and write.
//
// Semantics
//   * Everything is static: sizes are numbers of bytes, dimensions are numbers.
//   * A value is one dense block of memory. Its layout is part of the kernels that access it. Where temporaries are
//     stored is not part of a program: lower/plan.h decides it.
//   * Kernels write into memory that the call names (destination-passing style); they return a status and no value.
//   * Steps run in order. A step whose status is not ok ends the run with this status.
//   * On every path a value is written before it is read. Several steps may write it: in different arms of a branch,
//     again in every iteration of a loop, or disjoint parts of it through views.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "support/constant.h"
#include "tensor/ir.h"

namespace dlcc::lower {

using ValueId = int;

enum class Storage : uint8_t {
  input,      // the caller's memory, read only; aligned to its element only
  output,     // the caller's memory; aligned to its element only
  constant,   // read-only data in the object, or in the file of weights
  temporary,  // the arena, at the planned offset
  view,       // part of another value (`base`, `base_offset`)
};

struct Value {
  std::string name;  // for people: the model's name where it has one
  DType type;
  std::vector<int64_t> shape;  // as stored
  int64_t bytes = 0;
  int64_t alignment = 64;  // bytes; required of the address in the arena or among the constants
  Storage storage = Storage::temporary;
  int index = 0;            // among the inputs, outputs or constants
  ValueId base = -1;        // of a view; never a view itself
  int64_t base_offset = 0;  // bytes
};

// Calls a kernel: one operand for each of its parameters, in their order (reads, writes, scratch).
struct Invoke {
  int kernel;
  std::vector<ValueId> operands;
  // Pairs (write parameter, read parameter): every element of the read operand is last read before or when the same
  // element of the written operand is stored. So both may have the same address.
  std::vector<std::pair<int, int>> in_place;
  std::string node;      // the model's node or nodes, for profiles and messages
  int64_t macs = 0;      // multiply-accumulate operations of the definition
  uint64_t request = 0;  // tensor::hash_of the schedule's request, the key of tuning records; 0 without tuning
};
// Copies all bytes of one value to another of equal size.
struct Copy {
  ValueId from, to;
};
struct Branch;
struct Repeat;
using Step = std::variant<Invoke, Copy, std::shared_ptr<Branch>, std::shared_ptr<Repeat>>;

struct Region {
  std::vector<Step> steps;
};
struct Branch {
  ValueId condition;  // one byte, bool
  Region then_region, else_region;
};
// A pre-tested loop: runs `body` while the byte `condition` is true. The body writes the condition again. Lowering does
// not make loops yet.
struct Repeat {
  ValueId condition;
  Region body;
};

// A kernel in the code of every CPU level. The variants have equal parameters. Calls with equal kernels share one.
struct KernelVariants {
  std::string name;
  std::vector<tensor::Kernel> variants;  // one per code level of the target, in its order
};

struct Program {
  std::vector<Value> values;
  std::vector<KernelVariants> kernels;
  std::vector<Constant> constants;  // as stored, packed
  std::vector<ValueId> inputs, outputs;
  Region body;
  int threads = 1;  // number of tasks of each parallel loop
};

}  // namespace dlcc::lower

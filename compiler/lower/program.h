// What lowering produces and code generation consumes: a control skeleton over destination-passing kernel calls, the
// values it moves, and where each of them lives.
//
// Everything is static: sizes are bytes, dimensions are numbers. A value is one dense block of memory (its layout is
// already part of the kernels). Values are written before they are read; a value may be written by several steps if
// they are in different branches or write disjoint parts through views.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "support/constant.h"
#include "support/diagnostics.h"
#include "tensor/ir.h"

namespace dlcc::lower {

using ValueId = int;

enum class Storage : uint8_t {
  input,      // the caller's memory, read only; element alignment only
  output,     // the caller's memory; element alignment only
  constant,   // read-only data in the object
  temporary,  // the arena, at the planned offset
  view,       // part of another value (`base`, `base_offset`)
};

struct Value {
  std::string name;  // for people: the model's name where it has one
  DType type;
  std::vector<int64_t> shape;  // as stored
  int64_t bytes = 0;
  int64_t alignment = 64;  // needed in the arena or in the constant section
  Storage storage = Storage::temporary;
  int index = 0;            // which input, output or constant
  ValueId base = -1;        // of a view; a view's base is never a view itself
  int64_t base_offset = 0;  // bytes
};

// Calls a kernel: operands in the order of its parameters (reads, writes, scratch).
struct Invoke {
  int kernel;
  std::vector<ValueId> operands;
  // Pairs (write parameter, read parameter): every element of the read operand is last read before or when the same
  // element of the written one is stored, so the two may share their memory exactly (same offset, same bytes).
  std::vector<std::pair<int, int>> in_place;
  std::string node;      // the model's node or nodes, for profiles and messages
  int64_t macs = 0;      // multiply-accumulate operations of the definition
  uint64_t request = 0;  // the hash of the schedule's request, under which tuning records speak of it
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
struct Repeat {  // runs `body` while the byte `condition`, which the body writes again, is true
  ValueId condition;
  Region body;
};

// A kernel in the code of every CPU level; variants have equal parameters. Calls with equal kernels share one.
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
  int threads = 1;  // parallel loops of kernels are cut into as many tasks
};

// Where temporaries live.
struct StoragePlan {
  std::vector<int64_t> offsets;  // by value id; -1 for values that are not temporaries
  int64_t arena_bytes = 0;
  int64_t arena_alignment = 64;
  int64_t live_bound = 0;  // the largest sum of live temporaries at any step: no plan can be smaller
};

// Assigns offsets (plan.cpp): greedy orders, then a search bounded by steps when these exceed the live bound. In-place
// pairs are used when the read operand is a temporary, or a view of all of one, that dies at that step. The operands of
// a Copy never share memory.
StoragePlan plan_storage(const Program&);

// Checks a plan from first principles (check_plan.cpp; shares nothing with the planner): walks the program over a map
// of the arena's bytes to the value last written there; every read must find its own value in every byte. Empty when
// the plan is right, else what is wrong.
std::string check_storage(const Program&, const StoragePlan&);

// The packing problem underneath, independent of programs: buffers with sizes in bytes, alignments and live intervals
// [lower, upper); two buffers whose intervals meet must not overlap. Buffers of no size or with an empty interval get
// offset 0. Deterministic; `steps_per_buffer` bounds what follows the greedy orders (a million steps take two to four
// seconds).
struct LiveBuffer {
  int64_t size, lower, upper;
  int64_t alignment = 1;
};
struct Packing {
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
};
int64_t live_bound(const std::vector<LiveBuffer>&);  // no packing is smaller
Packing pack_buffers(const std::vector<LiveBuffer>&, int64_t steps_per_buffer = 8000);

// Values, kernel signatures and skeleton as text, with offsets when a plan is given; for --emit and tests.
std::string print(const Program&, const StoragePlan* plan = nullptr);

}  // namespace dlcc::lower

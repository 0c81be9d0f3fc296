// Scheduling: from the definition of a tensor function to kernels, the loops that compute it on given machines. The
// definition's structure (tensor/analysis.h) and the layouts of its operands select the schedule, the first of these
// that applies:
//
//   winograd.h           3x3 convolutions with stride 1
//   contraction.h        sums of products: register tiles over packed panels
//   line_buffer.h        a contraction fused with the window reduction that reads it
//   window_reduction.h   stage by stage: reductions whose vectors are neighbouring results, with their epilogues
//   tiled_reduction.h    stage by stage: reductions over dense images, whose vectors are pixels of a row; before
//                        window_reduction.h where several channels share the vectors, and before contraction.h where
//                        dense_result.h says so
//   statements.h         stage by stage: bodies of statements, such as a sort
//   transpose.h          transpositions, in tiles
//   generic.h            all other stages
//
// Functions with symbols: row_blocks.h for products of rows, outer_axes.h where the slices along leading axes are
// static, symbolic_contraction.h for products with symbolic N or K; contraction.h and window_reduction.h for images of
// symbolic height and width; else generic.h. Stages of generic.h that reduce many short rows run block by block
// (short_rows.h).
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "support/constant.h"
#include "tensor/ir.h"
#include "tensor/layout.h"
#include "tensor/machine.h"
#include "tensor/schedules/tuning_config.h"

namespace dlcc::tensor {

// Options of the user that all schedules follow.
struct ScheduleOptions {
  bool strict = false;  // no algorithm whose rounding errors exceed those of the definition
  bool small = false;   // no algorithm whose packed constants are larger than the constants
  int threads = 1;      // number of threads that share the work of a kernel
};

struct ScheduleRequest {
  TensorFunction function;
  std::vector<bool> constant;   // per parameter: whether it is known at compile time, so that the schedule may pack it
  std::vector<Layout> layouts;  // storage of parameters, then results; ignored for constants
  std::vector<Machine> machines;  // one kernel is made for each; all share parameters, layouts and scratch
  ScheduleOptions options = {};
  TuningConfig config = {};  // overrides estimates made with the storage machine's numbers
};

struct ScheduledFunction {
  std::vector<Kernel> variants;  // one per machine: parameters, results, scratch
  // For each parameter, the function from its value to the packed constant that the kernels read. Meant for constants:
  // other parameters are stored in the request's layouts. Null for a parameter of symbolic shape.
  std::vector<std::function<Constant(const Constant&)>> packing;
  std::vector<std::pair<int, int>> in_place;  // (result, parameter) that may share memory
};

// The kernels of a function, one for each machine. Stages that no other schedule handles are scheduled by generic.h.
ScheduledFunction schedule(ScheduleRequest);

// The key of a request in tuning records: a hash of the definition without its name, of which parameters are constant,
// of the layouts, the storage machine's numbers and the options. Equal on every host.
uint64_t hash_of(const ScheduleRequest&);

// The tuning candidates of a request. Each sets one tuning parameter, and its kernel or packed constants differ from
// those of the default configuration and of all earlier candidates.
std::vector<TuningConfig> tuning_candidates(const ScheduleRequest&);

// The halo of zeros that the function's schedule reads around parameter `k`, one for each dimension; empty when a halo
// would not help. `constant` as in ScheduleRequest; the machine is the storage machine.
std::vector<Halo> wanted_halo(const TensorFunction&, size_t k, const std::vector<bool>& constant,
                              const ScheduleOptions&, const Machine&);

}  // namespace dlcc::tensor

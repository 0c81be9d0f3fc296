// Loops as local recursive functions, the form in which Loop, Scan and the recurrent layers are imported:
//
//   let %loop = fn (%i: int64, %again: bool, %h: T, %ys: U) -> (T, U) {
//     %more = less(%i, %count);
//     if (logical_and(%more, %again)) {
//       ...                                                    // one iteration
//       %loop(add(%i, 1), %next_again, %next_h, dynamic_update_slice(%ys, %y, %i))
//     } else {
//       (%h, %ys)
//     }
//   };
//   %loop(0, True, %h0, zeros)
//
// Parameters that a loop does not need are left out.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// A tensor of which every iteration computes one slice.
struct ScanOutput {
  Value slice;
  int64_t axis = 0;                                         // the axis of the tensor along which the slices are stored
  bool reversed = false;                                    // whether the first iteration computes the last slice
  std::optional<Dim> declared_length = {};                  // the largest number of slices that the model declares
  std::string name = {};                                    // of the slice, for messages
  std::vector<std::optional<int64_t>> declared_sizes = {};  // of the slice; empty: none
};

struct Iteration {
  std::optional<Value> again;  // a bool of rank 0: whether another iteration may follow; empty: true
  Values carried;              // the carried values after the iteration, of the types that they had before
  std::vector<ScanOutput> scanned;
  std::optional<Dim> most = {};  // the largest number of iterations that `again` allows, if it is known
};

// The largest number of iterations that the user expects. A run with more ends with the status capacity_exceeded.
struct IterationLimit {
  int64_t most;
  std::string name;  // the value by whose name the user gave it
};

struct LoopParts {
  std::optional<Value> count;  // the largest number of iterations, an int64 of rank 0; empty: without limit
  std::optional<Value> first;  // a bool of rank 0: whether the loop begins if `count` is above 0; empty: true
  std::optional<Dim> length;   // the number of slices of scan outputs, at least `count`; empty: `count`, if it is known
  std::optional<IterationLimit> limit = {};
  std::string counter = "i";       // the name by which the user may give a limit: it names the sizes that need one
  Values initial;                  // the carried values before the first iteration
  std::vector<std::string> names;  // of the carried values, for readers of Relay text
  // Emits an iteration; `counter` is its number, an int64 of rank 0. Empty if a subgraph was rejected.
  std::function<std::optional<Iteration>(const Value& counter, const Values& carried)> iteration;
};

// Emits a loop. The carried values after the last iteration, then the scan outputs. If `length` is given, slices that
// no iteration computes are 0; else there is one slice for each iteration. Empty if a subgraph was rejected.
std::optional<Values> loop_function(Node&, LoopParts);

// The trip count if it is a number or an expression of sizes, and as such bounds the number of iterations.
std::optional<Dim> known_trip_count(const BlockBuilder&, const std::optional<Value>& count);

// The index of the slice that an iteration reads or writes: its number, or counted from the end of `length` slices.
Value slice_index(Node&, const Value& counter, const Value& length, bool reversed);

// The slice at an index, an int64 of rank 0 in range.
Value slice_at(Node&, const Value& data, const Value& index, int64_t axis);

// The size of an axis as an int64 of rank 0; a constant if it is known.
Value size_of_axis(Node&, const Value& data, int64_t axis);

// Defines a size by an int64 of rank 0, which a run requires to be at most `most`. --bound changes that by the name.
void define_size(Node&, const Value& scalar, const Dim& size, const Dim& most, const std::string& name);

Value integer_scalar(int64_t value);  // an int64 of rank 0
Value zeros(Node&, DType, const Shape&);

}  // namespace dlcc::frontends::onnx

// Carried values of a Loop whose sizes change in an iteration. The loop carries a buffer of the largest sizes, and the
// lengths of its part that is in use. For a value that gets one row in each of ten iterations:
//
//   let %loop = fn (%i: int64, %buffer: Tensor[(10, 4), float32], %length: int64) {
//     if (less(%i, 10)) {
//       define_sizes(%length, (?1), (10));
//       let %x: Tensor[(?1, 4), float32] = prefix(%buffer, length=[?1]);
//       ...                                                // the body: %next: Tensor[(?1 + 1, 4), float32]
//       let %next_buffer: Tensor[(10, 4), float32] = nn.pad(%next, 0f, pad_width=[[0, 9 - ?1], [0, 0]]);
//       %loop(%i + 1, %next_buffer, take(shape_of(%next), 0))
//
// Where an iteration appends one row, `concatenate((%x, %row))`, it writes the row into the buffer, which a loop does
// in place, and the longer value is a part of the buffer:
//
//       let %slice: Tensor[(4), float32] = reshape(%row, newshape=[4]);
//       let %next_buffer: Tensor[(10, 4), float32] = dynamic_update_slice(%buffer, %slice, %length);
//       let %next: Tensor[(?1 + 1, 4), float32] = prefix(%next_buffer, length=[?1 + 1]);
//
// If no iteration makes a length less than its known least first value, say 1, the size is ?1 + 1, where ?1 is the
// length minus 1. So the last row of a value that never is empty is one row.
//
// A size counts as changing if the sizes before and after an iteration are different expressions, unless the model
// declares them to be equal: then they are required to be. The largest size follows from the bounds of the operators in
// the body: the size after an iteration is at most max(size before + increment, least), so that the trip count bounds
// it unless the increment is 0 (shape/size_growth.h). Where no such bound is found, the option --bound gives the
// largest size. Values that begin with equal sizes and grow by equal steps share a length, so that operators on both
// see provably equal sizes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/node.h"
#include "frontends/onnx/operators/loop_function.h"
#include "shape/size_growth.h"

namespace dlcc::frontends::onnx {

class GrowingValues {
 public:
  // The carried values before the loop, with the names of the body's inputs and outputs and of the node's outputs for
  // them, of which the last may be empty; the trip count, an int64 of rank 0, if there is one; the largest number of
  // iterations that the user gives, if any, and the name by which the user may give it.
  struct Parts {
    Values initial;
    std::vector<std::string> inputs, outputs, node_outputs;
    std::optional<Value> count;
    std::optional<int64_t> limit;
    std::string counter;
    // Whether the model declares that an iteration keeps the size of a value along an axis.
    std::function<bool(size_t value, size_t axis)> keeps_size;
  };
  GrowingValues(Node& n, Parts parts);

  // The values that the emitted loop carries: `initial`, with buffers in place of the values that are known to change
  // their sizes, then the lengths. Emitted before the loop.
  Values before_loop();
  // The carried values at the beginning of an iteration, from the values of the emitted loop. Emitted into the
  // iteration.
  Values of_iteration(const Values& carried);
  // The largest number of iterations that the condition allows, if it is known. It bounds values in the next emission.
  void limit_iterations(const std::optional<Dim>& most) { by_condition_ = most; }
  const Values& initial() const { return parts_.initial; }
  // The values of the emitted loop after an iteration that computes `next` from the values `before`; `next` receives
  // its final sizes. Emitted into the iteration. Empty after an error. Also empty if a value changes its size in a way
  // that was not known before: then must_repeat() is true, and the loop must be emitted again, from before_loop() on.
  std::optional<Values> after_iteration(const Values& before, Values& next);
  bool must_repeat() const { return repeats_; }
  // The carried values after the loop, from the values of the emitted loop. Emitted after the loop. `runs_all`: whether
  // the trip count alone ends the loop, so that the final sizes follow from it.
  Values after_loop(const Values& carried, bool runs_all);

  size_t carried_count() const { return parts_.initial.size() + lengths_.size(); }

 private:
  static constexpr int max_searches = 6;  // for the bound of one change

  // How the size of a value changes along an axis.
  struct Change {
    size_t value, axis;
    std::optional<Dim> step;                          // the increment of every iteration; empty: it varies
    std::optional<SizeGrowth> growth = std::nullopt;  // a bound of varying increments; empty: none is known
    int searches = 0;                                 // for the bound, until it held for an iteration
    bool is_confirmed = false;                        // whether an iteration from a symbolic size was seen
    bool may_shrink = false;                          // whether the size may become less than the least first one
    size_t length = 0;                                // its position among the lengths

    bool is_searched() const { return searches > max_searches; }
  };
  // The size of growing values along their axes.
  struct Length {
    Dim first;
    std::optional<Dim> step;
    Dim most;
    std::string name;
    int64_t least = 0;      // a lower bound of the length
    Value at_begin = {};    // the scalar that an iteration begins with
    Dim in_iteration = {};  // the same as a size: a symbol plus `least`
  };

  std::optional<int64_t> bound_of(size_t value) const;
  std::string name_of_bound(size_t value) const;
  std::optional<Dim> count() const { return known_trip_count(builder_, parts_.count); }
  std::optional<Dim> most_iterations();
  std::optional<Dim> derived_size(const Change&, const Dim& first);
  std::optional<Dim> largest_size(const Change&);
  void report_unbounded(const Change&);
  size_t length_of(const Change&, const Dim& first, const Dim& most);
  Dim in_iteration(const Length&);
  Change* change_of(size_t value, size_t axis);
  bool learn(size_t value, const relay::TensorType& before, const relay::TensorType& after);
  bool is_of_iteration(const Dim& size) const;  // whether it is defined within an iteration only
  bool extend(Change&, const Dim& before, const Dim& after);
  std::optional<Value> appended_row(const Change&, const Value& before, const Value& after) const;
  Value with_row(const Change&, const Value& before, const Value& row, const Value& after,
                 std::optional<Value>& length);
  void check_bound(const Value& length, const Change&);
  Dim defined(const Value& length, const Dim& most, const std::string& name);
  Value in_use(const Value& buffer, size_t axis, const Dim& length);
  Value padded(const Value&, size_t axis, const Dim& size);

  Node& n_;
  BlockBuilder& builder_;
  Parts parts_;
  std::vector<Change> changes_;
  Values buffers_;  // the carried values at the beginning of the current iteration
  std::vector<Length> lengths_;
  std::optional<Dim> by_condition_;    // the largest number of iterations that the condition allows, once it is known
  std::optional<Dim> iterations_;      // the largest number of iterations, once it is known
  std::optional<Dim> all_iterations_;  // their number if no condition ends the loop, once it is known
  int first_symbol_ = 0;               // of an iteration
  bool repeats_ = false;
};

}  // namespace dlcc::frontends::onnx

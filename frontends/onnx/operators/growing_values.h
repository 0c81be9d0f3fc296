// Carried values of a Loop whose size along one axis changes in an iteration. The loop carries a buffer of the largest
// size, and the length of its part that is in use. For a value that gets one row in each of ten iterations:
//
//   let %loop = fn (%i: int64, %buffer: Tensor[(10, 4), float32], %length: int64) {
//     if (less(%i, 10)) {
//       define_sizes(%length, (?1), (10));
//       let %x: Tensor[(?1, 4), float32] = prefix(%buffer, length=[?1]);
//       ...                                                // the body: %next: Tensor[(?1 + 1, 4), float32]
//       let %next_buffer: Tensor[(10, 4), float32] = nn.pad(%next, 0f, pad_width=[[0, 9 - ?1], [0, 0]]);
//       %loop(%i + 1, %next_buffer, take(shape_of(%next), 0))
//
// A size counts as changing if the sizes before and after an iteration provably differ, or are known, different
// expressions. A size that is known only within an iteration is required to stay equal. The largest size follows from
// the trip count if every iteration adds the same number of elements, and is the initial size if no iteration adds any.
// Otherwise, or if it is smaller, the option --bound gives the largest size. Values that begin with equal sizes and
// grow by equal steps share a length, so that operators on both see provably equal sizes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

class GrowingValues {
 public:
  // The carried values before the loop, with the names of the body's inputs and outputs for them, and the trip count,
  // an int64 of rank 0, if there is one.
  struct Parts {
    Values initial;
    std::vector<std::string> inputs, outputs;
    std::optional<Value> count;
  };
  GrowingValues(Node& n, Parts parts);

  // The values that the emitted loop carries: `initial`, with buffers in place of the values that are known to change
  // their size, then the lengths. Emitted before the loop.
  Values before_loop();
  // The carried values at the beginning of an iteration, from the values of the emitted loop. Emitted into the
  // iteration.
  Values of_iteration(const Values& carried);
  // The values of the emitted loop after an iteration that computes `next` from the values `before`; `next` receives
  // its final sizes. Emitted into the iteration. Empty after an error. Also empty if a value changes its size in a way
  // that was not known before: then must_repeat() is true, and the loop must be emitted again, from before_loop() on.
  std::optional<Values> after_iteration(const Values& before, Values& next);
  bool must_repeat() const { return repeats_; }
  // The carried values after the loop, from the values of the emitted loop. Emitted after the loop. `runs_all`: whether
  // the trip count alone ends the loop, so that the final sizes follow from it.
  Values after_loop(const Values& carried, bool runs_all);

  size_t carried_count() const { return parts_.initial.size() + lengths_.size(); }
  // Whether a size of the shape is defined within an iteration only.
  bool is_of_iteration(const Shape&) const;

 private:
  // How the size of a value changes along the axis.
  struct Growth {
    size_t axis;
    bool is_certain;          // whether the sizes provably differ; else they are different expressions
    std::optional<Dim> step;  // the increment of every iteration; empty: it varies
    bool only_shrinks = false;
    size_t length = 0;  // its position among the lengths
  };
  // The size of growing values along their axes.
  struct Length {
    Dim first;
    std::optional<Dim> step;
    Dim most;
    Dim in_iteration = {};  // a symbol
  };

  std::optional<Dim> most_iterations();
  std::optional<Dim> largest_size(size_t value, const Growth&);
  size_t length_of(const Growth&, const Dim& first, const Dim& most);
  std::optional<Growth> change(size_t value, const relay::TensorType& before, const relay::TensorType& after) const;
  bool learn(size_t value, const relay::TensorType& before, const relay::TensorType& after);
  std::optional<int64_t> bound_of(size_t value) const;
  Dim defined(const Value& length, const Dim& most, const std::string& name);
  Value in_use(const Value& buffer, const Growth&, const Dim& length);
  Value padded(const Value&, size_t axis, const Dim& size);

  Node& n_;
  BlockBuilder& builder_;
  Parts parts_;
  std::vector<std::optional<Growth>> growth_;  // by value
  std::vector<bool> is_constant_;              // by value: whether its size is assumed, and checked, not to change
  std::vector<Length> lengths_;
  std::optional<Dim> iterations_;  // the largest number of iterations, once it is known
  int first_symbol_ = 0;           // of an iteration
  bool repeats_ = false;
};

}  // namespace dlcc::frontends::onnx

// The epilogue of a reduction: the elementwise stage after it, computed on the accumulators when they are stored. The
// code of the epilogue is repeated for each accumulator register. An expensive epilogue is therefore split in two:
//
//   result[i] = first(acc)                    # straight-line code: bias, residual
//   for i of the tile: result[i] = rest(result[i])   # one loop: sigmoid
#pragma once

#include <optional>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// The stage after stage `k`, if it is the only reader of that stage's result, which is no result of the function, and
// reads it at its own index.
std::optional<Stage> find_epilogue(const TensorFunction&, size_t k);

class Epilogue {
 public:
  // `elementwise` is the stage after `reduced`. It reads the result of `reduced` at its own index and has as many axes.
  // Null: there is no epilogue.
  Epilogue(const Stage& reduced, const Stage* elementwise);

  // Stores the result's element at `index` (in the order of the axes), computed from the reduction's value `total`. If
  // the epilogue is split, stores first(total).
  Stmt store_total(const Expr& total, const std::vector<Expr>& index) const;

  // Whether the epilogue is split: then finish() must follow store_total() once for each element.
  bool has_finish() const { return static_cast<bool>(rest_); }
  Stmt finish(const std::vector<Expr>& index) const;

 private:
  void split();
  bool result_may_hold(const Expr& rest) const;

  Stage last_;
  Buffer result_;
  Var total_, stored_;  // the total in `first_`; the stored element in `rest_`
  Expr first_, rest_;
};

}  // namespace dlcc::tensor

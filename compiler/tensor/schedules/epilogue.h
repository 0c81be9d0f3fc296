// The epilogue of a reduction: the elementwise stage after it, computed on the accumulators as they are stored. Code
// for an expensive stage would be repeated for each accumulator register. Such an epilogue is split in two:
//
//   result[i] = first(acc)                    # straight-line code: bias, residual
//   for i of the tile: result[i] = rest(result[i])   # one loop: sigmoid
#pragma once

#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

class Epilogue {
 public:
  // `elementwise` reads the result of `reduced` at its own index and has as many axes; null: the totals are the result.
  Epilogue(const Stage& reduced, const Stage* elementwise);

  // Stores the element of the result at an index, in the order of the axes, for the total at this index; when there is
  // a second part, the intermediate value that `finish` reads.
  Stmt store_total(const Expr& total, const std::vector<Expr>& index) const;

  // There is a second part: each element must be finished once, after it was stored.
  bool has_finish() const { return static_cast<bool>(rest_); }
  Stmt finish(const std::vector<Expr>& index) const;

 private:
  void cut();
  bool may_wait_in_result(const Expr& rest) const;

  Stage last_;
  Buffer result_;
  Var total_, stored_;  // the total in `first_`; the stored element in `rest_`
  Expr first_, rest_;
};

}  // namespace dlcc::tensor

// What a schedule stores for the totals of a reduction: the elementwise stage behind it, computed on the registers that
// hold the totals. One that costs many instructions would be written out there for every register; it is cut in two, so
// that its expensive part is a loop over what has just been stored.
#pragma once

#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

class Epilogue {
 public:
  // `behind` reads the results of `reduced` at its own index and has as many axes; null: the totals are the result.
  Epilogue(const Stage& reduced, const Stage* behind);

  // Stores the element of the result at an index, in the order of the axes, for the total at this index. In its place
  // stands what `finish` needs when there is a second part.
  Stmt store_total(const Expr& total, const std::vector<Expr>& index) const;

  // The result needs its second part: each element must be finished once, after it was stored.
  bool has_finish() const { return static_cast<bool>(rest_); }
  Stmt finish(const std::vector<Expr>& index) const;

 private:
  void cut();
  bool may_wait_in_result(const Expr& rest) const;

  Stage last_;
  Buffer result_;
  Var total_, stored_;  // stand in `first_` for the total, in `rest_` for the element stored
  Expr first_, rest_;
};

}  // namespace dlcc::tensor

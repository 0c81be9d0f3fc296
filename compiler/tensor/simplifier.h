// The simplifier of index expressions. It rewrites bottom-up with a memo, so that a shared node is simplified once.
// int64 sums are simplified as linear forms. A rewrite that moves a division or a comparison across a sum requires a
// known range of the sum, which proves that it does not overflow. simplify.cpp has the rewrites; simplify_ranges.cpp
// derives ranges, also from conditions.
#pragma once

#include <unordered_map>
#include <utility>

#include "support/integers.h"
#include "tensor/linear.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

using Wide = __int128;

inline std::optional<Range> narrowed(Wide low, Wide high) {
  if (low < INT64_MIN || high > INT64_MAX || low > high) return std::nullopt;
  return Range{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

inline BinaryOp negated(BinaryOp op) {
  switch (op) {
    case BinaryOp::lt:
      return BinaryOp::ge;
    case BinaryOp::le:
      return BinaryOp::gt;
    case BinaryOp::gt:
      return BinaryOp::le;
    case BinaryOp::ge:
      return BinaryOp::lt;
    case BinaryOp::eq:
      return BinaryOp::ne;
    case BinaryOp::ne:
      return BinaryOp::eq;
    default:
      DLCC_UNREACHABLE("not a comparison");
  }
}

class Simplifier {
 public:
  explicit Simplifier(const Ranges& ranges) : ranges_(ranges) {}

  Expr operator()(const Expr& e);
  Stmt operator()(const Stmt& s);
  std::optional<Range> range(const Expr& e);

 private:
  struct Memo {
    // Each entry also holds the node, which keeps the key's address in use.
    std::unordered_map<const ExprNode*, std::pair<Expr, Expr>> simple;
    std::unordered_map<const ExprNode*, std::pair<Expr, std::optional<Range>>> range;
  };
  struct Fact {   // bounds of a linear form, from a condition that is assumed
    Linear form;  // constant 0
    Wide low, high;
  };
  // The state to restore when a condition is no longer assumed.
  struct Context {
    Memo memo;
    size_t facts;
    Ranges ranges;
  };

  Expr compute(const Expr& e);
  Linear sum_of_simplified(const Expr& sum);  // of its summands
  Expr binary_of(BinaryOp op, Expr a, Expr b);
  Expr sum(Linear l);
  Expr divide(const Expr& a, int64_t c);
  Expr modulo(const Expr& a, int64_t c);
  Expr compare(BinaryOp op, const Expr& a, const Expr& b);
  Expr extremum(BinaryOp op, const Expr& a, const Expr& b);
  Expr select_of(const Select& x);
  Expr load_of(const Load& x);
  void recombine(Linear& l);
  Stmt loop(const Stmt& s, const For& x);
  Stmt binding(const Stmt& s, const Let& x);
  Stmt branch(const Stmt& s, const IfThen& x);

  std::optional<Range> compute_range(const Expr& e);
  std::optional<Range> range(const Linear& l);
  std::optional<Range> range_of_binary(const Binary& x);
  std::optional<int64_t> bound_of_extremum(const Binary& x, bool upper);

  bool assume(const Expr& condition, bool holds);
  std::optional<Context> enter(const Expr& condition, bool holds);
  void leave(Context c);

  Ranges ranges_;
  std::vector<Fact> facts_;
  int contexts_ = 0;         // the number of conditions assumed now
  int select_contexts_ = 0;  // the number of conditions assumed so far for arms of selects
  Memo memo_;
  ExprOrder order_;
};

}  // namespace dlcc::tensor

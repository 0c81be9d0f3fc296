#include "tensor/slice_length.h"

#include <algorithm>

#include "tensor/simplify.h"

namespace dlcc::tensor {

std::optional<int64_t> largest_slice_length(const Expr& length) {
  const Select* chosen = as<Select>(length);
  const Binary* test = chosen ? as<Binary>(chosen->condition) : nullptr;
  const Binary* distance = chosen ? as<Binary>(chosen->a) : nullptr;
  if (!test || test->op != BinaryOp::gt || !distance || distance->op != BinaryOp::sub ||
      constant_integer(chosen->b) != 0 || !structurally_equal(test->a, distance->a) ||
      !structurally_equal(test->b, distance->b))
    return std::nullopt;
  Expr end = distance->a, begin = distance->b;
  for (;;) {
    const Binary *e = as<Binary>(end), *b = as<Binary>(begin);
    const bool are_limited = e && b && e->op == b->op && (e->op == BinaryOp::min || e->op == BinaryOp::max);
    if (!are_limited || !structurally_equal(e->b, b->b)) break;
    const Expr inner_end = e->a, inner_begin = b->a;
    end = inner_end, begin = inner_begin;
  }
  const auto number = constant_integer(simplify(end - begin));
  return number ? std::optional(std::max(*number, int64_t{0})) : std::nullopt;
}

}  // namespace dlcc::tensor

#include "tensor/slice_length.h"

#include <algorithm>

#include "tensor/simplify.h"

namespace dlcc::tensor {

namespace {

// The operand y of `y < 0 ? y + extent : y`, an index that counts from the end if it is negative; else null.
Expr from_end(const Expr& e, Expr& extent) {
  const Select* s = as<Select>(e);
  const Binary* test = s ? as<Binary>(s->condition) : nullptr;
  const Binary* sum = s ? as<Binary>(s->a) : nullptr;
  if (!test || test->op != BinaryOp::lt || constant_integer(test->b) != 0 || !structurally_equal(test->a, s->b) ||
      !sum || sum->op != BinaryOp::add || !structurally_equal(sum->a, s->b))
    return {};
  extent = sum->b;
  return s->b;
}

// Takes a limit off both expressions.
bool take_limit(Expr& begin, Expr& end) {
  const Binary *e = as<Binary>(end), *b = as<Binary>(begin);
  const bool are_limited = e && b && e->op == b->op && (e->op == BinaryOp::min || e->op == BinaryOp::max);
  if (!are_limited || !structurally_equal(e->b, b->b)) return false;
  const Expr inner_end = e->a, inner_begin = b->a;
  end = inner_end, begin = inner_begin;
  return true;
}

bool take_from_end(Expr& begin, Expr& end) {
  Expr end_extent, begin_extent;
  const Expr inner_end = from_end(end, end_extent), inner_begin = from_end(begin, begin_extent);
  if (!inner_end || !inner_begin || !structurally_equal(end_extent, begin_extent)) return false;
  end = inner_end, begin = inner_begin;
  return true;
}

}  // namespace

std::optional<int64_t> largest_slice_length(const Expr& length, const std::function<Expr(const Expr&)>& define) {
  const Select* chosen = as<Select>(length);
  const Binary* test = chosen ? as<Binary>(chosen->condition) : nullptr;
  const Binary* distance = chosen ? as<Binary>(chosen->a) : nullptr;
  if (!test || test->op != BinaryOp::gt || !distance || distance->op != BinaryOp::sub ||
      constant_integer(chosen->b) != 0 || !structurally_equal(test->a, distance->a) ||
      !structurally_equal(test->b, distance->b))
    return std::nullopt;
  Expr end = distance->a, begin = distance->b;
  bool counts_from_end = false;
  for (bool is_changed = true; is_changed;) {
    is_changed = take_limit(begin, end);
    if (take_from_end(begin, end)) is_changed = counts_from_end = true;
  }
  const Expr distance_before = end - begin;
  const auto number = constant_integer(simplify(define ? define(distance_before) : distance_before));
  if (!number || (*number < 0 && counts_from_end)) return std::nullopt;  // an end of -1 may be that of the axis
  return std::max(*number, int64_t{0});
}

}  // namespace dlcc::tensor

// Scalars of the program, and what is known of them from the conditions of the loops around a step and from the
// requirements before it.
#include <fmt/format.h>

#include <algorithm>

#include "lower/largest_size.h"
#include "lower/lowerer.h"
#include "lower/walk.h"
#include "tensor/dim_of.h"
#include "tensor/passes/expand_math.h"
#include "tensor/passes/expand_rounding.h"
#include "tensor/visit.h"

namespace dlcc::lower {

namespace {

// The expression that a comparison of integers states to be at least 0: b - a for a <= b. Null for any other condition.
tensor::Expr nonnegative_part(const tensor::Expr& condition) {
  const auto* x = tensor::as<tensor::Binary>(condition);
  if (!x || x->a.type() != dtype::i64) return {};
  switch (x->op) {
    case tensor::BinaryOp::le:
      return x->b - x->a;
    case tensor::BinaryOp::lt:
      return x->b - x->a - tensor::Expr(1);
    case tensor::BinaryOp::ge:
      return x->a - x->b;
    case tensor::BinaryOp::gt:
      return x->a - x->b - tensor::Expr(1);
    default:
      return {};
  }
}

void for_each_conjunct(const tensor::Expr& condition, const std::function<void(const tensor::Expr&)>& visit) {
  const auto* both = tensor::as<tensor::Binary>(condition);
  if (!both || both->op != tensor::BinaryOp::logical_and) return visit(condition);
  for_each_conjunct(both->a, visit);
  for_each_conjunct(both->b, visit);
}

}  // namespace

void Lowerer::assume(const tensor::Expr& condition) {
  for_each_conjunct(condition, [&](const tensor::Expr& part) { state_.known.push_back(part); });
}

tensor::Expr Lowerer::with_definitions(const tensor::Expr& e) const {
  return tensor::substitute(tensor::substitute(e, definitions_), definitions_);
}

std::optional<Dim> Lowerer::largest_value(const tensor::Expr& e, std::span<const tensor::Expr> conditions) const {
  std::vector<Symbol> sizes = entry_symbols(program_);
  for (const DataSize& d : program_.data_sizes) sizes.push_back(d.symbol);
  SymbolBounds largest;  // of scalars that are at least 0
  const auto value =
      tensor::dim_of(tensor::simplify(with_definitions(e), ranges_), [&](const tensor::Var& v) -> std::optional<Dim> {
        if (const auto size = as_dim(v, sizes)) return size;
        const auto range = ranges_.find(v);
        if (range == ranges_.end() || range->second.low < 0) return std::nullopt;
        std::optional<Dim> limit = limit_of(v, conditions);
        if (!limit && range->second.high <= tensor::max_elements) limit = range->second.high;
        if (!limit) return std::nullopt;
        const Symbol scalar{fmt::format("{} {}", v->name, largest.size())};  // no size has a name with a space
        largest.emplace(scalar.name, *limit);
        return Dim::symbol(scalar);
      });
  if (!value) return std::nullopt;
  const Dim most = largest_dim(*value, largest);
  return most.is_overflow() ? std::nullopt : std::optional(most);
}

// A loop may compare its counter with that of the loop around it, whose condition precedes its own.
std::optional<Dim> Lowerer::limit_of(const tensor::Var& scalar, std::span<const tensor::Expr> conditions) const {
  for (size_t k = conditions.size(); k-- > 0;) {
    const auto* x = tensor::as<tensor::Binary>(conditions[k]);
    const auto* ref = x && x->op == tensor::BinaryOp::lt ? tensor::as<tensor::VarRef>(x->a) : nullptr;
    if (!ref || ref->var != scalar) continue;
    if (const auto limit = largest_value(x->b, conditions.first(k))) return *limit - Dim(1);
  }
  return std::nullopt;
}

// An expression is at least 0 by its range, or because it is at least as large as an expression that a known condition
// states to be at least 0, such as n - 1 - i for i < n. An expression that may overflow has no range.
bool Lowerer::is_nonnegative(const tensor::Expr& e) const {
  const tensor::Expr whole = tensor::simplify(with_definitions(e), ranges_);
  const auto range = tensor::range_of(whole, ranges_);
  if (!range || range->low >= 0) return range.has_value();
  return std::ranges::any_of(state_.known, [&](const tensor::Expr& condition) {
    const tensor::Expr known = nonnegative_part(condition);
    if (!known || !tensor::range_of(known, ranges_)) return false;
    const auto more = tensor::range_of(tensor::simplify(whole - with_definitions(known), ranges_), ranges_);
    return more && more->low >= 0;
  });
}

bool Lowerer::is_known(const tensor::Expr& condition) const {
  const tensor::Expr part = nonnegative_part(condition);
  return (part && is_nonnegative(part)) || std::ranges::any_of(state_.known, [&](const tensor::Expr& k) {
           return tensor::structurally_equal(k, condition);
         });
}

tensor::Expr Lowerer::with_known(const tensor::Expr& e) const {
  if (state_.known.empty() || e.type() != dtype::i64) return e;
  return tensor::rewrite(e, [&](const tensor::Expr& part) {
    const auto* x = tensor::as<tensor::Binary>(part);
    if (!x || (x->op != tensor::BinaryOp::min && x->op != tensor::BinaryOp::max)) return part;
    const bool is_min = x->op == tensor::BinaryOp::min;
    if (is_nonnegative(x->b - x->a)) return is_min ? x->a : x->b;
    if (is_nonnegative(x->a - x->b)) return is_min ? x->b : x->a;
    return part;
  });
}

tensor::Expr Lowerer::compute(const std::string& name, const tensor::Expr& value, Region& region) {
  const tensor::Expr known = tensor::simplify(with_known(tensor::simplify(value, ranges_)), ranges_);
  const tensor::Expr simple = tensor::expand_rounding(tensor::expand_math(known));
  if (tensor::as<tensor::Literal>(simple) || tensor::as<tensor::VarRef>(simple)) return simple;
  tensor::Var result = tensor::make_var(name.empty() ? "scalar" : name, simple.type());
  if (simple.type() == dtype::i64) {
    if (const auto range = tensor::range_of(simple, ranges_)) ranges_[result] = *range;
    definitions_[result] = simple;
  }
  region.steps.push_back(Compute{result, simple});
  return result;
}

tensor::Expr Lowerer::unknown_part(const tensor::Expr& condition) const {
  tensor::Expr unknown = tensor::literal(dtype::boolean, int64_t{1});
  for_each_conjunct(tensor::simplify(condition, ranges_), [&](const tensor::Expr& part) {
    if (is_known(part)) return;
    unknown = tensor::constant_integer(unknown) == 1 ? part : tensor::logical_and(unknown, part);
  });
  return unknown;
}

void Lowerer::require(const tensor::Expr& condition, tensor::Status status, Region& region) {
  const tensor::Expr simple = tensor::expand_math(unknown_part(condition));
  if (tensor::constant_integer(simple) == 1) return;
  const std::vector<Symbol> given = entry_symbols(program_);
  auto is_given = [&](const tensor::Var& v) {
    return std::ranges::any_of(given, [&](const Symbol& s) { return scalar_of(s) == v; });
  };
  const bool of_sizes = !given.empty() && std::ranges::all_of(tensor::variables_in(simple), is_given);
  auto& list = program_.requirements;
  const bool is_in_function = !program_.name.empty();
  if (!of_sizes || is_in_function || &region != &program_.body) {
    region.steps.push_back(Require{simple, status});
    assume(simple);
    return;
  }
  if (std::ranges::none_of(list, [&](const Require& r) { return tensor::structurally_equal(r.condition, simple); }))
    list.push_back({simple, status});
}

}  // namespace dlcc::lower

#include "lower/compared_sizes.h"

#include <algorithm>
#include <set>

#include "lower/size_conditions.h"
#include "tensor/dim_of.h"
#include "tensor/visit.h"

namespace dlcc::lower {

using tensor::BinaryOp;
using tensor::Expr;

void ComparedSizes::define(const Compute& step) {
  if (step.result->type == dtype::boolean)
    conditions_.emplace(step.result, step.value);
  else if (auto d = size(step.value))
    sizes_.emplace(step.result, *d);
}

// The expression as a dim over the symbols; empty if it depends on other scalars or if a part of it may wrap.
std::optional<Dim> ComparedSizes::size(const Expr& e) const {
  auto of_var = [&](const tensor::Var& v) -> std::optional<Dim> {
    if (auto defined = sizes_.find(v); defined != sizes_.end()) return defined->second;
    auto symbol = std::ranges::find_if(symbols_, [&](const Symbol& s) { return scalar_of(s) == v; });
    return symbol == symbols_.end() ? std::nullopt : std::optional(Dim::symbol(*symbol));
  };
  bool wraps = false;
  tensor::for_each_expr(e, [&](const Expr& part) {
    const auto d = wraps ? std::nullopt : tensor::dim_of(part, of_var);
    wraps = !d || !conditions_without_wrapping(*d).empty();
  });
  return wraps ? std::nullopt : tensor::dim_of(e, of_var);
}

void ComparedSizes::add_compared(const tensor::Binary& comparison, bool value, std::vector<Dim>& natural) const {
  const auto a = size(comparison.a), b = a ? size(comparison.b) : std::nullopt;
  if (!b) return;
  const Dim a_minus_b = *a - *b, b_minus_a = *b - *a;
  switch (comparison.op) {
    case BinaryOp::lt:
      return natural.push_back(value ? b_minus_a - Dim(1) : a_minus_b);
    case BinaryOp::le:
      return natural.push_back(value ? b_minus_a : a_minus_b - Dim(1));
    case BinaryOp::gt:
      return natural.push_back(value ? a_minus_b - Dim(1) : b_minus_a);
    case BinaryOp::ge:
      return natural.push_back(value ? a_minus_b : b_minus_a - Dim(1));
    case BinaryOp::eq:
    case BinaryOp::ne:
      if (value == (comparison.op == BinaryOp::eq)) natural.insert(natural.end(), {a_minus_b, b_minus_a});
      return;
    default:
      return;
  }
}

std::vector<Dim> ComparedSizes::natural_where(const Expr& condition, bool value) const {
  std::vector<Dim> natural;
  std::vector<std::pair<Expr, bool>> known = {{condition, value}};
  std::set<std::pair<const tensor::ExprNode*, bool>> visited;
  while (!known.empty()) {
    const auto [e, is_true] = known.back();
    known.pop_back();
    if (!visited.emplace(e.get(), is_true).second) continue;
    if (const auto* ref = tensor::as<tensor::VarRef>(e)) {
      if (auto defined = conditions_.find(ref->var); defined != conditions_.end())
        known.emplace_back(defined->second, is_true);
    } else if (const auto* unary = tensor::as<tensor::Unary>(e)) {
      if (unary->op == tensor::UnaryOp::logical_not) known.emplace_back(unary->a, !is_true);
    } else if (const auto* binary = tensor::as<tensor::Binary>(e)) {
      if (binary->op == (is_true ? BinaryOp::logical_and : BinaryOp::logical_or))
        known.insert(known.end(), {{binary->b, is_true}, {binary->a, is_true}});
      else
        add_compared(*binary, is_true, natural);
    }
  }
  return natural;
}

std::map<std::string, Dim> narrowed_symbols(const std::vector<Dim>& natural) {
  std::map<std::string, Symbol> symbols;
  for (const Dim& d : natural) {
    const std::vector<Symbol> free = d.symbols();
    if (free.size() != 1) continue;
    Symbol& symbol = symbols.try_emplace(free[0].name, free[0]).first->second;
    const auto high = (d + Dim::symbol(symbol)).constant();  // of high - n
    const auto low = (Dim::symbol(symbol) - d).constant();   // of n - low
    if (high) symbol.high = std::max(symbol.low, std::min(symbol.high, *high));
    if (low) symbol.low = std::min(symbol.high, std::max(symbol.low, *low));
  }
  std::map<std::string, Dim> narrowed;
  for (const auto& [name, symbol] : symbols) narrowed.emplace(name, Dim::symbol(symbol));
  return narrowed;
}

}  // namespace dlcc::lower

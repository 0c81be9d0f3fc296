#include "tensor/index_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tensor/analysis.h"
#include "tensor/dim_of.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

std::vector<Symbol> symbols_of(const Kernel& kernel) {
  std::map<std::string, Symbol> found;
  for (const Parameter& p : kernel.params)
    for (const Dim& d : p.buffer->shape)
      for (const Symbol& s : d.symbols()) found.emplace(s.name, s);
  for (const Var& v : kernel.scalars)
    if (is_symbol_var(v)) found.emplace(v->name, Symbol{v->name});
  std::vector<Symbol> symbols;
  for (const auto& [name, symbol] : found) symbols.push_back(symbol);
  return symbols;
}

Ranges ranges_of(const std::vector<Symbol>& symbols) {
  Ranges ranges;
  for (const Symbol& s : symbols) ranges[scalar_of(s)] = {s.low, std::min(s.high, max_elements)};
  return ranges;
}

IndexFacts::IndexFacts(const std::vector<Symbol>& symbols) {
  for (const Symbol& s : symbols) dims_.emplace(scalar_of(s), Dim::symbol(s));
}

Dim IndexFacts::name_unknown(const Var& v, int64_t high) {
  // No symbol of a model has a name with a percent sign.
  const Dim variable = Dim::symbol({fmt::format("%{}", next_unknown_++), 0, high});
  dims_.insert_or_assign(v, variable);
  unknown_.insert_or_assign(scalar_of(variable.symbols()[0]), Expr(v));
  return variable;
}

void IndexFacts::enter_loop(const Var& v, const Expr& extent) {
  const auto end = value_of(extent);
  const bool is_number = end && end->is_constant() && end->value() > 0;
  const Dim variable = name_unknown(v, is_number ? end->value() - 1 : INT64_MAX);
  if (!end || is_number) return;
  facts_.assume_le(variable, *end - Dim(1));
  // A loop over a product of sizes has iterations only if no size is zero.
  if (end->terms().size() == 1 && end->terms()[0].coefficient > 0)
    for (const auto& atom : end->terms()[0].atoms)
      if (const Dim size = Dim::of_atom(atom); facts_.provably_le(0, size)) facts_.add_lemma(1, size);
}

void IndexFacts::define(const Var& v, const Expr& value) {
  const auto known = value_of(value);
  if (known && has_limits(value))
    dims_.insert_or_assign(v, *known);
  else
    dims_.erase(v);
}

bool IndexFacts::has_limits(const Expr& e) const {
  return std::ranges::none_of(variables_in(e), [&](const Var& v) { return without_limit_.contains(v); });
}

bool IndexFacts::begins_range(const Binary& x) {
  const VarRef* ref = as<VarRef>(x.a);
  if (!ref || x.op != BinaryOp::ge || constant_integer(x.b) != 0 || dims_.contains(ref->var)) return false;
  name_unknown(ref->var, INT64_MAX);
  without_limit_.insert(ref->var);
  return true;
}

void IndexFacts::assume(const Expr& condition) {
  const Binary* x = as<Binary>(condition);
  if (!x) return;
  if (x->op == BinaryOp::logical_and) return assume(x->a), assume(x->b);
  if (!is_comparison(x->op) || x->a.type() != dtype::i64) return;
  if (begins_range(*x)) return;
  auto a = value_of(x->a), b = value_of(x->b);
  if (!a || !b) return;
  if (a->is_constant() && b->is_constant()) return;
  const VarRef* ref = as<VarRef>(x->a);
  if (ref && (x->op == BinaryOp::lt || x->op == BinaryOp::le) && has_limits(x->b)) without_limit_.erase(ref->var);
  if (!has_limits(x->a) || !has_limits(x->b)) return;  // the arithmetic may wrap
  if (x->op == BinaryOp::lt) facts_.add_lemma(*a + Dim(1), *b);
  if (x->op == BinaryOp::le) facts_.add_lemma(*a, *b);
  if (x->op == BinaryOp::gt) facts_.add_lemma(*b + Dim(1), *a);
  if (x->op == BinaryOp::ge) facts_.add_lemma(*b, *a);
}

bool IndexFacts::in_range(const Expr& index, const Dim& extent) const {
  auto d = value_of(index);
  return d && facts_.provably_le(0, *d) && facts_.provably_lt(*d, extent);
}

std::optional<Halo> IndexFacts::beyond(const Expr& index, const Dim& extent) const {
  auto d = value_of(index);
  auto lowest = d ? facts_.lower_bound(*d) : std::nullopt;
  auto left = lowest ? facts_.lower_bound(extent - Dim(1) - *d) : std::nullopt;
  return left ? std::optional(Halo{-*lowest, -*left}) : std::nullopt;
}

std::optional<Dim> IndexFacts::value_of(const Expr& e) const {
  return dim_of(e, [&](const Var& v) {
    auto it = dims_.find(v);
    return it == dims_.end() ? std::nullopt : std::optional(it->second);
  });
}

Expr IndexFacts::expression_of(const Dim& d) const { return substitute(Expr(d), unknown_); }

IndexFacts facts_within(const Stage& stage, std::vector<Symbol> symbols) {
  std::vector<Axis> axes = stage.axes;
  if (stage.reduction) axes.insert(axes.end(), stage.reduction->axes.begin(), stage.reduction->axes.end());
  for (const Axis& a : axes) std::ranges::copy(a.extent.symbols(), std::back_inserter(symbols));
  IndexFacts facts(symbols);
  for (const Axis& a : axes) facts.enter_loop(a.var, Expr(a.extent));
  return facts;
}

static std::vector<Symbol> symbols_in(const Shape& shape) {
  std::vector<Symbol> symbols;
  for (const Dim& d : shape) std::ranges::copy(d.symbols(), std::back_inserter(symbols));
  return symbols;
}

static std::optional<Halo> halo_read(const Load& l, size_t d, const IndexFacts& facts, const Ranges& ranges) {
  const Dim& extent = l.buffer->shape[d];
  const auto range = range_of(l.indices[d], ranges);
  return range && extent.is_constant() ? std::optional(beyond(*range, extent.value()))
                                       : facts.beyond(l.indices[d], extent);
}

std::optional<Halo> halo_read(const Load& l, size_t d, const Stage& stage) {
  return halo_read(l, d, facts_within(stage, symbols_in(l.buffer->shape)), ranges_of(stage));
}

std::vector<Halo> halo_read(const Load& l, const Stage& stage) {
  const IndexFacts facts = facts_within(stage, symbols_in(l.buffer->shape));
  const Ranges ranges = ranges_of(stage);
  std::vector<Halo> read;
  for (size_t d = 0; d < l.indices.size(); ++d) {
    const auto halo = halo_read(l, d, facts, ranges);
    if (!halo) return {};
    read.push_back(*halo);
  }
  return read;
}

}  // namespace dlcc::tensor

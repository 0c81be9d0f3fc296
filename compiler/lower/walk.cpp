#include "lower/walk.h"

#include <algorithm>
#include <type_traits>

#include "tensor/dim_of.h"

namespace dlcc::lower {
namespace {

// `AnyRegion` is Region or const Region.
template <class AnyRegion, class Visit>
void walk(AnyRegion& region, const Visit& visit) {
  for (auto& step : region.steps) {
    visit(step);
    if (auto* branch = std::get_if<std::shared_ptr<Branch>>(&step)) {
      walk<AnyRegion>((*branch)->then_region, visit);
      walk<AnyRegion>((*branch)->else_region, visit);
    }
    if (auto* loop = std::get_if<std::shared_ptr<Loop>>(&step)) {
      walk<AnyRegion>((*loop)->test, visit);
      walk<AnyRegion>((*loop)->body, visit);
    }
  }
}

// `AnyStep` is Step or const Step.
template <class AnyStep, class Visit>
void visit_values(AnyStep& any_step, const Visit& visit) {
  std::visit(
      [&](auto& step) {
        using S = std::remove_cvref_t<decltype(step)>;
        if constexpr (std::is_same_v<S, Invoke>) {
          for (auto& id : step.operands) visit(id);
        } else if constexpr (std::is_same_v<S, Copy>) {
          visit(step.from), visit(step.to);
        } else if constexpr (std::is_same_v<S, Read>) {
          visit(step.from);
        } else if constexpr (std::is_same_v<S, Write>) {
          visit(step.to);
        } else if constexpr (std::is_same_v<S, Call>) {
          for (auto& id : step.operands) visit(id);
          for (auto& id : step.results) visit(id);
        }
      },
      any_step);
}

}  // namespace

void for_each_step(const Region& region, const std::function<void(const Step&)>& visit) { walk(region, visit); }

void for_each_call(const Region& region, const std::function<void(const Invoke&)>& visit) {
  walk(region, [&](const Step& step) {
    if (const auto* call = std::get_if<Invoke>(&step)) visit(*call);
  });
}

void for_each_call(Region& region, const std::function<void(Invoke&)>& visit) {
  walk(region, [&](Step& step) {
    if (auto* call = std::get_if<Invoke>(&step)) visit(*call);
  });
}

void for_each_function_call(const Region& region, const std::function<void(const Call&)>& visit) {
  walk(region, [&](const Step& step) {
    if (const auto* call = std::get_if<Call>(&step)) visit(*call);
  });
}

void for_each_function(const Program& program, const std::function<void(const Function&)>& visit) {
  visit(program);
  for (const Function& f : program.functions) visit(f);
}

void for_each_function(Program& program, const std::function<void(Function&)>& visit) {
  visit(program);
  for (Function& f : program.functions) visit(f);
}

void for_each_value(Region& region, const std::function<void(ValueId&)>& visit) {
  walk(region, [&](Step& step) { visit_values(step, visit); });
}

void for_each_value(const Step& step, const std::function<void(ValueId)>& visit) { visit_values(step, visit); }

void for_each_scalar_expr(const Step& step, const std::function<void(const tensor::Expr&)>& visit) {
  std::visit(overloaded{
                 [&](const Invoke& s) {
                   for (const tensor::Expr& e : s.scalars) visit(e);
                 },
                 [](const Copy&) {},
                 [&](const Compute& s) { visit(s.value); },
                 [](const Read&) {},
                 [&](const Write& s) { visit(s.value); },
                 [&](const Require& s) { visit(s.condition); },
                 [&](const CheckSize& s) { visit(tensor::Expr(s.size)); },
                 [](const Call&) {},
                 [&](const std::shared_ptr<Branch>& s) {
                   visit(s->condition);
                   for (const Branch::Merge& m : s->merges) visit(m.then_value), visit(m.else_value);
                 },
                 [&](const std::shared_ptr<Loop>& s) {
                   for (const Loop::Carried& c : s->carried) visit(c.initial), visit(c.next);
                   visit(s->condition);
                 },
             },
             step);
}

void for_each_definition(const Step& step, const std::function<void(const tensor::Var&)>& visit) {
  if (const auto* compute = std::get_if<Compute>(&step)) visit(compute->result);
  if (const auto* read = std::get_if<Read>(&step)) visit(read->result);
  if (const auto* branch = std::get_if<std::shared_ptr<Branch>>(&step))
    for (const Branch::Merge& m : (*branch)->merges) visit(m.result);
  if (const auto* loop = std::get_if<std::shared_ptr<Loop>>(&step)) {
    for (const Loop::Carried& c : (*loop)->carried) visit(c.var);
    for (const Step& s : (*loop)->test.steps) for_each_definition(s, visit);
  }
}

tensor::Expr definition_in(const Region& region, const tensor::Expr& e) {
  const auto* ref = tensor::as<tensor::VarRef>(e);
  for (const Step& step : region.steps)
    if (const auto* c = std::get_if<Compute>(&step); ref && c && c->result == ref->var) return c->value;
  return e;
}

namespace {

bool is_scalar(const tensor::Expr& e, const tensor::Var& v) {
  const auto* ref = tensor::as<tensor::VarRef>(e);
  return ref && ref->var == v;
}

}  // namespace

std::optional<tensor::Expr> upper_limit(const Loop& loop, const tensor::Var& scalar) {
  std::vector<tensor::Expr> conjuncts = {loop.condition};
  while (!conjuncts.empty()) {
    const tensor::Expr condition = definition_in(loop.test, conjuncts.back());
    conjuncts.pop_back();
    const auto* b = tensor::as<tensor::Binary>(condition);
    if (!b) continue;
    if (b->op == tensor::BinaryOp::lt && is_scalar(b->a, scalar)) return b->b;
    if (b->op == tensor::BinaryOp::logical_and) conjuncts.insert(conjuncts.end(), {b->b, b->a});
  }
  return std::nullopt;
}

std::optional<Dim> as_dim(const tensor::Expr& e, const std::vector<Symbol>& symbols) {
  return tensor::dim_of(e, [&](const tensor::Var& v) {
    auto at = std::ranges::find_if(symbols, [&](const Symbol& s) { return scalar_of(s) == v; });
    return at == symbols.end() ? std::nullopt : std::optional(Dim::symbol(*at));
  });
}

bool counts_by_one(const Loop& loop, const tensor::Var& scalar) {
  const auto carried = std::ranges::find(loop.carried, scalar, &Loop::Carried::var);
  if (carried == loop.carried.end()) return false;
  const auto* sum = tensor::as<tensor::Binary>(definition_in(loop.body, carried->next));
  return sum && sum->op == tensor::BinaryOp::add && is_scalar(sum->a, scalar) && tensor::constant_integer(sum->b) == 1;
}

std::optional<Dim> trip_count(const Loop& loop, const tensor::Var& counter, const std::vector<Symbol>& symbols) {
  const auto* less = tensor::as<tensor::Binary>(definition_in(loop.test, loop.condition));
  if (!less || less->op != tensor::BinaryOp::lt || !is_scalar(less->a, counter)) return std::nullopt;
  const auto limit = as_dim(less->b, symbols);
  const auto carried = std::ranges::find(loop.carried, counter, &Loop::Carried::var);
  if (!limit || carried == loop.carried.end() || !counts_by_one(loop, counter)) return std::nullopt;
  const auto first = tensor::constant_integer(carried->initial);
  if (!first) return std::nullopt;
  const Dim trips = max(*limit - Dim(*first), Dim(0));
  return trips.is_overflow() ? std::nullopt : std::optional(trips);
}

std::optional<int64_t> constant_trip_count(const Loop& loop) {
  for (const Loop::Carried& c : loop.carried)
    if (auto trips = trip_count(loop, c.var, {})) return trips->constant();
  return std::nullopt;
}

}  // namespace dlcc::lower

#include "tensor/passes/hoist_indices.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "tensor/analysis.h"
#include "tensor/index_facts.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// The variables that a loop and the statements within it bind, and the buffers that they write or allocate.
struct Changed {
  std::set<Var> variables;
  std::set<Buffer> buffers;
  bool is_known = true;  // no intrinsic is called
};

Changed changed_in(const Stmt& loop) {
  Changed found;
  for_each_stmt(loop, [&](const Stmt& s) {
    if (const For* f = as<For>(s)) found.variables.insert(f->var);
    if (const Let* l = as<Let>(s)) found.variables.insert(l->var);
    if (const Store* w = as<Store>(s)) found.buffers.insert(w->buffer);
    if (const Allocate* a = as<Allocate>(s)) found.buffers.insert(a->buffer);
    found.is_known &= !as<IntrinsicCall>(s);
  });
  return found;
}

class Hoister {
 public:
  explicit Hoister(const std::vector<Symbol>& symbols) : facts_(symbols) {}

  Stmt run(const Stmt& s) {
    const For* loop = as<For>(s);
    if (!loop) return map_nested(s, [&](const Stmt& x) { return run(x); });
    if (loop->kind == LoopKind::vector) return hoisted(s, *loop);
    const IndexFacts outside = facts_;
    facts_.enter_loop(loop->var, loop->extent);
    Stmt result = map_nested(s, [&](const Stmt& x) { return run(x); });
    facts_ = outside;
    return result;
  }

 private:
  // Whether the index contains loads, each evaluation within the loop has the same value, and so has one before it.
  bool can_be_hoisted(const Expr& index, const Changed& changed) const {
    const std::vector<Load> loads = loads_of(index);
    const std::vector<Var> variables = variables_in(index);
    auto is_fixed = [&](const Load& l) {
      for (size_t d = 0; d < l.indices.size(); ++d)
        if (!facts_.in_range(l.indices[d], l.buffer->shape[d])) return false;
      return !changed.buffers.contains(l.buffer);
    };
    return !loads.empty() && std::ranges::all_of(loads, is_fixed) &&
           std::ranges::none_of(variables, [&](const Var& v) { return changed.variables.contains(v); });
  }

  Stmt hoisted(const Stmt& s, const For& loop) const {
    const Changed changed = changed_in(s);
    if (!changed.is_known || !as<Literal>(loop.extent)) return s;
    std::vector<std::pair<Var, Expr>> lets;
    auto variable_for = [&](const Expr& index) {
      for (const auto& [v, value] : lets)
        if (structurally_equal(value, index)) return v;
      return lets.emplace_back(make_var("index", index.type()), index).first;
    };
    Stmt result = rewrite(s, [&](const Expr& e) {
      const Load* l = as<Load>(e);
      if (!l) return e;
      std::vector<Expr> indices = l->indices;
      for (Expr& index : indices)
        if (can_be_hoisted(index, changed)) index = Expr(variable_for(index));
      return load(l->buffer, std::move(indices), l->otherwise);
    });
    for (size_t k = lets.size(); k-- > 0;) result = let(lets[k].first, lets[k].second, result);
    return result;
  }

  IndexFacts facts_;
};

}  // namespace

Stmt hoist_indices(const Stmt& s, const std::vector<Symbol>& symbols) { return Hoister(symbols).run(s); }

}  // namespace dlcc::tensor

#include "tensor/schedules/position_tables.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "tensor/analysis.h"
#include "tensor/index_facts.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// Conversions between floats and integers, roundings, and integer divisions take several instructions for a vector;
// is_expensive() has those that take more. A quotient of an axis itself, floordiv(axis + c, d), is left in place: it
// comes from a reshape or a repetition, which other schedules and the code generator recognize.
bool takes_several_instructions(const Expr& e, const std::vector<Axis>& axes) {
  bool found = is_expensive(e);
  for_each_expr(e, [&](const Expr& x) {
    const Cast* c = as<Cast>(x);
    found |= c && is_float(x.type()) != is_float(c->a.type());
    const Binary* b = as<Binary>(x);
    if (!b || (b->op != BinaryOp::floor_div && b->op != BinaryOp::floor_mod)) return;
    for (const Axis& axis : axes) {
      const auto stride = stride_along(b->a, axis.var);
      found |= !stride || std::abs(*stride) > 1;
    }
  });
  return found;
}

Dim elements_of(const std::vector<Axis>& axes) {
  Dim elements = 1;
  for (const Axis& a : axes) elements = elements * a.extent;
  return elements;
}

class Tabulation {
 public:
  Tabulation(TensorFunction& f, const Machine& machine) : f_(f), machine_(machine) {}

  void run() {
    for (Stage& stage : f_.stages)
      if (!stage.body) tabulate(stage);
    f_.stages.insert(f_.stages.begin(), tables_.begin(), tables_.end());
  }

 private:
  // Loads whose indices are in range lose their predicate first, since the index that a table holds has no known range.
  void tabulate(Stage& stage) {
    const Ranges ranges = ranges_of(stage);
    Tabulated done;
    for (Expr& value : stage.values) {
      const Expr simple = simplify(value, ranges);
      const Expr changed = tabulated(simple, stage, ranges, done);
      if (!changed.same_node(simple)) value = changed;
    }
  }

  // Expressions and what tabulated() made of them, by node. The expressions keep their nodes, and so the keys.
  using Tabulated = std::map<const ExprNode*, std::pair<Expr, Expr>>;

  // The expression with its largest sub-expressions that are worth a table replaced. `done`: results for shared nodes.
  Expr tabulated(const Expr& e, const Stage& stage, const Ranges& ranges, Tabulated& done) {
    if (const auto known = done.find(e.get()); known != done.end()) return known->second.second;
    const std::vector<Axis> axes = axes_of(e, stage);
    auto operands_tabulated = [&](const Expr& whole) {
      return map_operands(whole, [&](const Expr& operand) { return tabulated(operand, stage, ranges, done); });
    };
    const Expr result = is_worth_a_table(e, axes, stage, ranges) ? entry(e, axes, ranges)
                        : axes.size() > 1                        ? operands_tabulated(converted_factors(e, stage))
                                                                 : operands_tabulated(e);
    done.emplace(e.get(), std::pair(e, result));
    return result;
  }

  // float(a) * float(b) for an expression float(a * b) of two small counts, each for one axis, such as the rows and the
  // columns of a window that are inside an image; other expressions unchanged.
  Expr converted_factors(const Expr& e, const Stage& stage) const {
    const Cast* conversion = as<Cast>(e);
    const Binary* product = conversion ? as<Binary>(conversion->a) : nullptr;
    if (!product || product->op != BinaryOp::mul || product->a.type() != dtype::i64) return e;
    if (e.type() != dtype::f32 && e.type() != dtype::f64) return e;
    if (axes_of(product->a, stage).size() != 1 || axes_of(product->b, stage).size() != 1) return e;
    const IndexFacts facts = facts_within(stage, symbols_of(f_));
    const Dim limit = int64_t{1} << 12;  // float32 has all integers up to 2^24
    if (!facts.in_range(product->a, limit) || !facts.in_range(product->b, limit)) return e;
    return cast(e.type(), product->a) * cast(e.type(), product->b);
  }

  // The axes of the stage that the expression depends on; none if it depends on other variables but symbols.
  static std::vector<Axis> axes_of(const Expr& e, const Stage& stage) {
    const std::vector<Var> variables = variables_in(e);
    std::vector<Axis> axes;
    for (const Axis& a : stage.axes)
      if (std::ranges::count(variables, a.var)) axes.push_back(a);
    const auto symbols = std::ranges::count_if(variables, is_symbol_var);
    return variables.size() == axes.size() + static_cast<size_t>(symbols) ? axes : std::vector<Axis>();
  }

  // A table of one axis may have a symbolic size. One of several axes must stay in the cache, and is not worth scarce
  // memory.
  bool is_worth_a_table(const Expr& e, const std::vector<Axis>& axes, const Stage& stage, const Ranges& ranges) const {
    const bool is_storable = is_float(e.type()) || e.type() == dtype::i32 || e.type() == dtype::i64;
    if (axes.empty() || !is_storable) return false;
    const Dim entries = elements_of(axes);
    const int64_t max_bytes = machine_.memory_is_scarce ? 0 : machine_.l1_bytes / 2;
    return (axes.size() == 1 || provably_le(entries * Dim(bits(e.type()) / 8), max_bytes)) && entries != Dim(0) &&
           !provably_lt(elements_of(stage.axes), entries * Dim(machine_.min_table_uses)) &&
           takes_several_instructions(e, axes) && may_be_computed_first(e, ranges);
  }

  // Whether the expression can be computed before the stages and at every point of its axes: it loads from parameters
  // alone, and no load depends on a condition or a requirement of its stage.
  bool may_be_computed_first(const Expr& e, const Ranges& ranges) const {
    return std::ranges::all_of(loads_of(e), [&](const Load& l) {
      bool is_safe = std::ranges::count(f_.params, l.buffer) > 0;
      for (size_t d = 0; d < l.indices.size(); ++d)
        is_safe &= l.otherwise || provably_in_range(l.indices[d], l.buffer->shape[d], ranges);
      return is_safe;
    });
  }

  // The entry of a table at a point of the axes. Indices are stored in 32 bits if they fit.
  Expr entry(const Expr& e, const std::vector<Axis>& axes, const Ranges& ranges) {
    const auto range = e.type() == dtype::i64 ? range_of(e, ranges) : std::nullopt;
    const bool is_narrow = range && range->low >= INT32_MIN && range->high <= INT32_MAX;
    std::vector<Expr> index;
    for (const Axis& a : axes) index.push_back(Expr(a.var));
    return cast(e.type(), load(table_of(is_narrow ? cast(dtype::i32, e) : e, axes), std::move(index)));
  }

  // The table of these values; one that an earlier expression has made if it is equal.
  Buffer table_of(const Expr& value, const std::vector<Axis>& axes) {
    for (const Stage& table : tables_)
      if (std::ranges::equal(table.axes, axes, {}, &Axis::extent, &Axis::extent) &&
          structurally_equal(table.values[0], at_axes(value, axes, table.axes)))
        return table.results[0];
    Stage table;
    Shape shape;
    for (const Axis& a : axes) {
      table.axes.push_back({make_var(a.var->name), a.extent});
      shape.push_back(a.extent);
    }
    table.results = {make_buffer("positions", value.type(), shape, Scope::global, storage_alignment)};
    table.values = {at_axes(value, axes, table.axes)};
    tables_.push_back(table);
    return table.results[0];
  }

  static Expr at_axes(const Expr& value, const std::vector<Axis>& from, const std::vector<Axis>& to) {
    Substitution axes;
    for (size_t k = 0; k < from.size(); ++k) axes.emplace(from[k].var, Expr(to[k].var));
    return substitute(value, axes);
  }

  TensorFunction& f_;
  const Machine& machine_;
  std::vector<Stage> tables_;
};

}  // namespace

void tabulate_positions(TensorFunction& f, const Machine& machine) { Tabulation(f, machine).run(); }

}  // namespace dlcc::tensor

#include "tensor/reads_in_range.h"

#include <algorithm>
#include <map>
#include <set>

#include "tensor/analysis.h"
#include "tensor/linear.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// The sizes for which every axis has an index, if each symbol may have every value within its bounds independently of
// the others.
class PossibleSizes {
 public:
  // Empty if the axes' extents relate symbols with each other.
  static std::optional<PossibleSizes> of(const std::vector<Axis>& axes) {
    PossibleSizes sizes;
    for (const Axis& a : axes)
      if (a.extent.lower_bound().value_or(0) < 1 && !sizes.assume_positive(a.extent)) return std::nullopt;
    return sizes;
  }

  // Whether the dim is negative for some of the sizes.
  bool may_be_negative(const Dim& d) const {
    const Dim bounded = d.substitute(bounded_);
    return is_sum_of_symbols(bounded) && bounded.lower_bound().value_or(-1) < 0;
  }

 private:
  static bool is_sum_of_symbols(const Dim& d) {
    return !d.is_overflow() && std::ranges::all_of(d.terms(), [](const Dim::Term& t) {
      return t.atoms.empty() || (t.atoms.size() == 1 && t.atoms[0]->kind == DimAtom::Kind::symbol);
    });
  }

  // The extent n + c is positive where n is at least 1 - c.
  bool assume_positive(const Dim& extent) {
    const std::vector<Symbol> symbols = extent.symbols();
    if (symbols.size() != 1) return false;
    const auto offset = (extent - Dim::symbol(symbols[0])).constant();
    if (!offset || *offset < -max_elements) return false;
    Symbol bounded = symbols[0];
    if (auto it = bounded_.find(bounded.name); it != bounded_.end()) bounded = it->second.symbols()[0];
    bounded.low = std::max(bounded.low, 1 - *offset);
    return bounded_.insert_or_assign(bounded.name, Dim::symbol(bounded)), true;
  }

  std::map<std::string, Dim> bounded_;  // symbols with raised lower bounds
};

// The smallest and the largest index that is read.
struct IndexRange {
  Dim low, high;
  bool has_sizes = false;  // whether the index has symbols, which may be related to those of the buffer
};

// Empty if the bounds of the index are not certainly reached. A sum of multiples of different axes reaches both.
std::optional<IndexRange> indices_read(const Expr& index, const Stage& stage, const std::vector<Axis>& axes) {
  ExprOrder order;
  const Linear form = linear_form(simplify(index, ranges_of(stage)), order);
  IndexRange read{form.constant, form.constant};
  for (const auto& [atom, coefficient] : form.terms) {
    const VarRef* ref = as<VarRef>(atom);
    if (ref && is_symbol_var(ref->var)) {
      const Dim size = Dim(coefficient) * Dim::symbol({ref->var->name});
      read = {read.low + size, read.high + size, true};
      continue;
    }
    const auto axis = ref ? std::ranges::find(axes, ref->var, &Axis::var) : axes.end();
    if (axis == axes.end()) return std::nullopt;
    Dim& end = coefficient > 0 ? read.high : read.low;
    end = end + Dim(coefficient) * (axis->extent - Dim(1));
  }
  return read;
}

std::optional<std::string> out_of_range(const Load& load, const Expr& whole, const Stage& stage,
                                        const std::vector<Axis>& axes, const PossibleSizes& sizes) {
  const Shape& shape = load.buffer->shape;
  for (size_t d = 0; d < std::min(shape.size(), load.indices.size()); ++d) {
    const auto read = indices_read(load.indices[d], stage, axes);
    if (!read) continue;
    auto is_outside = [&](const Dim& size) {
      return read->has_sizes ? provably_lt(size, 0) : sizes.may_be_negative(size);
    };
    const bool is_negative = is_outside(read->low);
    if (!is_negative && !is_outside(shape[d] - Dim(1) - read->high)) continue;
    return fmt::format("{} reads index {} of axis {}, which has {} elements", print(whole),
                       (is_negative ? read->low : read->high).str(), d, shape[d].str());
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> read_out_of_range(const Stage& stage) {
  auto is_empty = [](const Axis& a) { return a.extent.constant().value_or(1) == 0; };
  if (!stage.requirements.empty() || std::ranges::any_of(stage.axes, is_empty) ||
      (stage.reduction && std::ranges::any_of(stage.reduction->axes, is_empty)))
    return std::nullopt;
  std::vector<Axis> axes = stage.axes;
  if (stage.reduction) axes.insert(axes.end(), stage.reduction->axes.begin(), stage.reduction->axes.end());
  const auto sizes = PossibleSizes::of(axes);
  if (!sizes) return std::nullopt;
  for (const Expr& value : stage.values) {
    std::set<const ExprNode*> selected;  // nodes in arms of selects, which may not be evaluated
    for_each_expr(value, [&](const Expr& e) {
      const Select* select = as<Select>(e);
      if (!select) return;
      for (const Expr& arm : {select->a, select->b})
        for_each_expr(arm, [&](const Expr& part) { selected.insert(&*part); });
    });
    std::optional<std::string> found;
    for_each_expr(value, [&](const Expr& e) {
      const Load* load = as<Load>(e);
      const bool is_read = load && !load->otherwise && !selected.contains(&*e);
      if (is_read && !found) found = out_of_range(*load, e, stage, axes, *sizes);
    });
    if (found) return found;
  }
  return std::nullopt;
}

}  // namespace dlcc::tensor

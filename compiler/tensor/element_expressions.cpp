#include "tensor/element_expressions.h"

#include <algorithm>
#include <map>
#include <ranges>

#include "support/row_major.h"
#include "tensor/simplify.h"
#include "tensor/small_reduction.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

using Position = std::vector<int64_t>;

class Unroller {
 public:
  Unroller(const TensorFunction& f, std::span<const KnownElements> args) : f_(f), args_(args) {}

  KnownElements result(const Buffer& b) {
    if (!is_static(b->shape)) return nullptr;
    auto known = std::make_shared<ElementExpressions>();
    known->shape = static_shape(b->shape);
    const int64_t count = element_count(known->shape);
    if (count > ElementExpressions::max_elements) return nullptr;
    for (int64_t k = 0; k < count; ++k) known->elements.push_back(element(b, index_at(known->shape, k)));
    const bool any = std::ranges::any_of(known->elements, [](const Expr& e) { return bool(e); });
    return any || count == 0 ? known : nullptr;
  }

 private:
  using Point = EvaluationPoint<Expr>;

  // ---- elements of buffers

  Expr element(const Buffer& b, const Position& index) {
    auto param = std::ranges::find(f_.params, b);
    if (param != f_.params.end()) {
      const KnownElements& known = args_[static_cast<size_t>(param - f_.params.begin())];
      if (!known) return {};
      int64_t position = 0;
      for (size_t d = 0; d < index.size(); ++d) position = position * known->shape[d] + index[d];
      return known->elements[static_cast<size_t>(position)];
    }
    auto [it, is_new] = elements_.try_emplace({b.get(), index});
    if (!is_new) return it->second;
    Expr value = computed_element(b, index);  // may add other elements
    if (value) value = simplify(cast(b->type, value));
    int64_t nodes = 0;
    if (value) for_each_expr(value, [&](const Expr&) { ++nodes; });
    return elements_[{b.get(), index}] = nodes > ElementExpressions::max_nodes ? Expr() : value;
  }

  // By the last stage that writes the element: statements may change what an earlier stage wrote.
  Expr computed_element(const Buffer& b, const Position& index) {
    for (const Stage& s : std::views::reverse(f_.stages)) {
      auto result = std::ranges::find(s.results, b);
      if (result == s.results.end()) continue;
      if (s.body) return {};
      Point point;
      bool inside = true;
      for (size_t d = 0; d < s.axes.size(); ++d) {
        const Dim from = s.origin.empty() ? Dim(0) : s.origin[d];
        if (!from.is_constant() || !s.axes[d].extent.is_constant()) return {};
        const int64_t at = index[d] - from.value();
        inside = inside && at >= 0 && at < s.axes[d].extent.value();
        point.variables[s.axes[d].var.get()] = Expr(at);
      }
      const auto k = static_cast<size_t>(result - s.results.begin());
      const auto value_of = [&](const Expr& e, Point& at) { return value(e, at); };
      if (inside) return s.reduction ? reduced_value(s, k, point, value_of) : value(s.values[k], point);
    }
    return {};
  }

  // ---- expressions; null where an operand is not known

  Expr value(const Expr& e, Point& point) {
    if (auto it = point.known.find(e.get()); it != point.known.end()) return it->second;
    Expr v = evaluated(e, point);
    point.known.emplace(e.get(), v);
    return v;
  }

  Expr evaluated(const Expr& e, Point& point) {
    if (const VarRef* x = as<VarRef>(e)) {
      auto it = point.variables.find(x->var.get());
      return it == point.variables.end() ? e : it->second;
    }
    if (const Load* x = as<Load>(e)) return loaded(*x, point);
    if (const Select* x = as<Select>(e)) {
      const Expr condition = value(x->condition, point);
      if (auto chosen = condition ? constant_integer(simplify(condition)) : std::nullopt)
        return value(*chosen != 0 ? x->a : x->b, point);
    }
    bool is_known = true;
    for_each_operand(*e, [&](const Expr& operand) { is_known = is_known && value(operand, point); });
    return is_known ? map_operands(e, [&](const Expr& operand) { return value(operand, point); }) : Expr();
  }

  Expr loaded(const Load& x, Point& point) {
    Position index;
    bool inside = true;
    for (size_t d = 0; d < x.indices.size(); ++d) {
      const Expr at = value(x.indices[d], point);
      const auto number = at ? constant_integer(simplify(at)) : std::nullopt;
      const Dim& extent = x.buffer->shape[d];
      if (!number || !extent.is_constant()) return {};
      index.push_back(*number);
      inside = inside && *number >= 0 && *number < extent.value();
    }
    if (inside) return element(x.buffer, index);
    return x.otherwise ? value(x.otherwise, point) : Expr();
  }

  const TensorFunction& f_;
  std::span<const KnownElements> args_;
  std::map<std::pair<const BufferNode*, Position>, Expr> elements_;
};

}  // namespace

std::vector<KnownElements> element_expressions(const TensorFunction& f, std::span<const KnownElements> args) {
  Unroller unroller(f, args);
  std::vector<KnownElements> results;
  for (const Buffer& b : f.results) results.push_back(unroller.result(b));
  return results;
}

}  // namespace dlcc::tensor

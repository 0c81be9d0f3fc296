#include "tensor/evaluate_symbolic.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <ranges>

#include "support/row_major.h"
#include "tensor/small_reduction.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

using Known = std::optional<Dim>;

// Whether elements of the type are represented: bool and the integers that are not packed.
bool has_values(DType type) { return (is_bool(type) || is_integer(type)) && bits(type) >= 8; }

Known of_bool(bool b) { return Dim(b ? 1 : 0); }

std::optional<bool> as_bool(const Known& v) {
  auto number = v ? v->constant() : std::nullopt;
  return number ? std::optional(*number != 0) : std::nullopt;
}

// The exact integer as an element of the type; empty if it may not fit.
Known fitted(DType type, const Dim& exact) {
  if (exact.is_overflow() || is_float(type)) return std::nullopt;
  if (auto number = exact.constant()) return Dim(*constant_integer(literal(type, *number)));
  if (type == dtype::i64 || type == dtype::i32) return exact;
  auto low = exact.lower_bound(), high = exact.upper_bound();
  if (!low || (*low < 0 && !is_signed(type))) return std::nullopt;
  if (type == dtype::u64 || type == dtype::u32) return exact;
  const int width = is_bool(type) ? 1 : bits(type) - is_signed(type);
  const int64_t most = (int64_t{1} << width) - 1, least = is_signed(type) ? -most - 1 : 0;
  return high && *low >= least && *high <= most ? Known(exact) : std::nullopt;
}

Known compared(BinaryOp op, const Dim& a, const Dim& b) {
  auto decide = [](bool holds, bool fails) { return holds ? of_bool(true) : fails ? of_bool(false) : Known(); };
  switch (op) {
    case BinaryOp::eq:
      return decide(a == b, provably_different(a, b));
    case BinaryOp::ne:
      return decide(provably_different(a, b), a == b);
    case BinaryOp::lt:
      return decide(provably_lt(a, b), provably_le(b, a));
    case BinaryOp::le:
      return decide(provably_le(a, b), provably_lt(b, a));
    case BinaryOp::gt:
      return compared(BinaryOp::lt, b, a);
    default:
      return compared(BinaryOp::le, b, a);
  }
}

// Whether a / b rounded toward zero is proved to equal a / b rounded toward minus infinity.
bool rounds_down(const Dim& a, const Dim& b) { return provably_le(0, a) && provably_le(0, b); }

// Arithmetic of exact integers; the caller fits the result into its type.
Known computed(BinaryOp op, const Dim& a, const Dim& b) {
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::floor_div:
      return floor_div(a, b);
    case BinaryOp::floor_mod:
      return floor_mod(a, b);
    case BinaryOp::min:
      return min(a, b);
    case BinaryOp::max:
      return max(a, b);
    case BinaryOp::div:
      if (b == Dim(0)) return Dim(0);
      if (rounds_down(a, b)) return floor_div(a, b);
      if (a.is_constant() && b.is_constant() && b.value() != -1) return Dim(a.value() / b.value());
      return b == Dim(-1) ? Known(Dim(0) - a) : std::nullopt;
    case BinaryOp::rem:
      if (b == Dim(0)) return Dim(0);
      if (rounds_down(a, b)) return floor_mod(a, b);
      if (a.is_constant() && b.is_constant() && b.value() != -1) return Dim(a.value() % b.value());
      return b == Dim(-1) ? Known(Dim(0)) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// Three-valued logic: `decides` is the operand that decides alone, false for `and`, true for `or`.
Known logical(const Known& a, const Known& b, bool decides) {
  auto x = as_bool(a), y = as_bool(b);
  if (x == decides || y == decides) return of_bool(decides);
  return x && y ? of_bool(!decides) : Known();
}

class Evaluator {
 public:
  Evaluator(const TensorFunction& f, std::span<const KnownValue> args) : f_(f), args_(args) {
    for (const Buffer& b : f.params) symbols_of(b->shape);
    for (const Buffer& b : f.results) symbols_of(b->shape);
    for (const Stage& s : f.stages)
      for (const Axis& a : s.axes) symbols_of({a.extent});
  }

  bool requirements_hold() {
    return std::ranges::all_of(f_.stages, [&](const Stage& s) {
      return !can_fail(s.body) && (s.requirements.empty() || requirements_hold(s));
    });
  }

  KnownValue result(const Buffer& b) {
    if (!is_static(b->shape) || !has_values(b->type)) return nullptr;
    auto value = std::make_shared<SymbolicTensor>();
    value->shape = static_shape(b->shape);
    const int64_t count = element_count(value->shape);
    if (count > SymbolicTensor::max_elements) return nullptr;
    bool any = count == 0;
    for (int64_t k = 0; k < count; ++k) {
      value->elements.push_back(element(b, index_at(value->shape, k)));
      any = any || value->elements.back();
    }
    value->conditional = conditional_;
    return any ? value : nullptr;
  }

 private:
  using Index = std::vector<int64_t>;
  using Point = EvaluationPoint<Known>;

  void symbols_of(const Shape& shape) {
    for (const Dim& d : shape)
      if (!d.is_constant())
        for (const Symbol& s : d.symbols()) symbols_.emplace(scalar_of(s).get(), Dim::symbol(s));
  }

  static std::optional<int64_t> position(const std::vector<int64_t>& shape, const Index& index) {
    int64_t at = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (index[d] < 0 || index[d] >= shape[d]) return std::nullopt;
      at = at * shape[d] + index[d];
    }
    return at;
  }

  bool requirements_hold(const Stage& s) {
    std::vector<int64_t> extents;
    Dim count = 1;
    for (const Axis& a : s.axes) count = count * a.extent;
    if (count == Dim(0)) return true;  // an extent is 0; others may be symbolic
    if (!count.is_constant() || count.value() > SymbolicTensor::max_elements) return false;
    for (const Axis& a : s.axes) extents.push_back(a.extent.value());
    for (int64_t k = 0; k < count.value(); ++k) {
      const Index index = index_at(extents, k);
      Point point;
      for (size_t d = 0; d < index.size(); ++d) point.variables[s.axes[d].var.get()] = Dim(index[d]);
      for (const Requirement& r : s.requirements)
        if (as_bool(value(r.condition, point)) != true) return false;
    }
    return true;
  }

  // ---- elements of buffers

  Known element(const Buffer& b, const Index& index) {
    auto param = std::ranges::find(f_.params, b);
    if (param != f_.params.end()) {
      const KnownValue& value = args_[static_cast<size_t>(param - f_.params.begin())];
      auto at = value ? position(value->shape, index) : std::nullopt;
      return at ? value->elements[static_cast<size_t>(*at)] : std::nullopt;
    }
    auto [it, is_new] = elements_.try_emplace({b.get(), index});
    if (is_new) {
      Known value = computed_element(b, index);  // may add other elements
      elements_[{b.get(), index}] = value;
      return value;
    }
    return it->second;
  }

  // By the last stage that writes the element: statements may change what an earlier stage wrote.
  Known computed_element(const Buffer& b, const Index& index) {
    for (const Stage& s : std::views::reverse(f_.stages)) {
      auto result = std::ranges::find(s.results, b);
      if (result == s.results.end()) continue;
      if (s.body) return std::nullopt;
      Point point;
      bool inside = true;
      for (size_t d = 0; d < s.axes.size(); ++d) {
        const Dim from = s.origin.empty() ? Dim(0) : s.origin[d];
        if (!from.is_constant() || !s.axes[d].extent.is_constant()) return std::nullopt;
        const int64_t at = index[d] - from.value();
        inside = inside && at >= 0 && at < s.axes[d].extent.value();
        point.variables[s.axes[d].var.get()] = Dim(at);
      }
      if (inside) return stage_value(s, static_cast<size_t>(result - s.results.begin()), point);
    }
    return std::nullopt;
  }

  Known stage_value(const Stage& s, size_t k, Point& point) {
    for (const Requirement& r : s.requirements) {
      auto holds = as_bool(value(r.condition, point));
      if (holds == false) return std::nullopt;
      conditional_ = conditional_ || !holds;
    }
    const auto value_of = [&](const Expr& e, Point& at) { return value(e, at); };
    return s.reduction ? reduced_value(s, k, point, value_of) : value(s.values[k], point);
  }

  // ---- expressions

  Known value(const Expr& e, Point& point) {
    if (auto it = point.known.find(e.get()); it != point.known.end()) return it->second;
    Known v = std::visit([&](const auto& x) { return computed_value(*e, x, point); }, e->v);
    point.known.emplace(e.get(), v);
    return v;
  }

  Known computed_value(const ExprNode& e, const Literal& x, Point&) {
    return is_float(e.type) ? Known() : fitted(e.type, x.integer);
  }

  Known computed_value(const ExprNode&, const VarRef& x, Point& point) {
    if (auto it = point.variables.find(x.var.get()); it != point.variables.end()) return it->second;
    auto it = symbols_.find(x.var.get());
    return it == symbols_.end() ? std::nullopt : Known(it->second);
  }

  Known computed_value(const ExprNode& e, const Unary& x, Point& point) {
    Known a = value(x.a, point);
    if (!a) return std::nullopt;
    switch (x.op) {
      case UnaryOp::logical_not:
        return logical(as_bool(a) ? of_bool(!*as_bool(a)) : Known(), of_bool(true), false);
      case UnaryOp::negate:
        return fitted(e.type, Dim(0) - *a);
      case UnaryOp::abs:
        return fitted(e.type, max(*a, Dim(0) - *a));
      default:
        return std::nullopt;
    }
  }

  Known computed_value(const ExprNode& e, const Binary& x, Point& point) {
    Known a = value(x.a, point);
    if (x.op == BinaryOp::logical_and && as_bool(a) == false) return a;
    Known b = value(x.b, point);
    if (x.op == BinaryOp::logical_and || x.op == BinaryOp::logical_or)
      return logical(a, b, x.op == BinaryOp::logical_or);
    if (!a || !b) return std::nullopt;
    if (x.op == BinaryOp::logical_xor) return compared(BinaryOp::ne, *a, *b);
    if (is_comparison(x.op)) return compared(x.op, *a, *b);
    Known exact = computed(x.op, *a, *b);
    return exact ? fitted(e.type, *exact) : std::nullopt;
  }

  Known computed_value(const ExprNode&, const Fma&, Point&) { return std::nullopt; }
  Known computed_value(const ExprNode&, const Bitcast&, Point&) { return std::nullopt; }

  Known computed_value(const ExprNode&, const Select& x, Point& point) {
    if (auto chosen = as_bool(value(x.condition, point))) return value(*chosen ? x.a : x.b, point);
    Known a = value(x.a, point), b = value(x.b, point);
    return a && b && *a == *b ? a : std::nullopt;
  }

  Known computed_value(const ExprNode& e, const Cast& x, Point& point) {
    Known a = value(x.a, point);
    if (!a) return std::nullopt;
    return is_bool(e.type) ? compared(BinaryOp::ne, *a, Dim(0)) : fitted(e.type, *a);
  }

  Known computed_value(const ExprNode&, const Load& x, Point& point) {
    Index index;
    bool inside = true;
    for (size_t d = 0; d < x.indices.size(); ++d) {
      Known at = value(x.indices[d], point);
      const Dim& extent = x.buffer->shape[d];
      if (!at || !at->is_constant() || !extent.is_constant()) return std::nullopt;
      index.push_back(at->value());
      inside = inside && index.back() >= 0 && index.back() < extent.value();
    }
    if (inside) return element(x.buffer, index);
    return x.otherwise ? value(x.otherwise, point) : std::nullopt;
  }

  const TensorFunction& f_;
  std::span<const KnownValue> args_;
  std::map<const VarNode*, Dim> symbols_;
  std::map<std::pair<const BufferNode*, Index>, Known> elements_;
  bool conditional_ = false;
};

}  // namespace

bool SymbolicTensor::is_constant() const {
  return !conditional && std::ranges::all_of(elements, [](const Known& v) { return v && v->is_constant(); });
}

KnownValue value_of(const Constant& c) {
  if (!has_values(c.dtype()) || c.count() > SymbolicTensor::max_elements) return nullptr;
  auto value = std::make_shared<SymbolicTensor>();
  value->shape = c.shape();
  for (int64_t k = 0; k < c.count(); ++k) {
    const int64_t v = c.integer_at(k);
    value->elements.push_back(c.dtype() == dtype::u64 && v < 0 ? Known() : Known(Dim(v)));
  }
  return value;
}

Constant constant_of(DType type, const SymbolicTensor& value) {
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(type, static_cast<int64_t>(value.elements.size()))));
  const size_t width = static_cast<size_t>(bits(type)) / 8;
  for (size_t k = 0; k < value.elements.size(); ++k) {
    const int64_t v = value.elements[k]->value();
    std::memcpy(bytes.data() + k * width, &v, width);
  }
  return Constant(type, value.shape, std::move(bytes));
}

bool requirements_hold(const TensorFunction& f, std::span<const KnownValue> args) {
  return Evaluator(f, args).requirements_hold();
}

std::vector<KnownValue> evaluate_symbolic(const TensorFunction& f, std::span<const KnownValue> args) {
  Evaluator evaluator(f, args);
  std::vector<KnownValue> results;
  for (const Buffer& b : f.results) results.push_back(evaluator.result(b));
  return results;
}

}  // namespace dlcc::tensor

#include "tensor/operation_count.h"

#include <algorithm>

#include "tensor/analysis.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

constexpr double operations_of_function = 24;  // of exp, and of a division

double operations_of(const Expr& root) {
  double total = 0;
  for_each_expr(root, [&](const Expr& e) { total += is_expensive_node(e) ? operations_of_function : 1; });
  return total;
}

std::optional<double> points(const std::vector<Axis>& axes) {
  double all = 1;
  for (const Axis& a : axes) {
    if (!a.extent.is_constant()) return std::nullopt;
    all *= static_cast<double>(a.extent.value());
  }
  return all;
}

// Counts the operations of statements. A loop whose extent depends on counters around it has its largest extent.
class StatementCounter {
 public:
  std::optional<double> count(const Stmt& s) {
    double all = 0;
    bool known = true;
    auto add = [&](std::optional<double> part) {
      known = known && part;
      all += part.value_or(0);
    };
    if (const For* x = as<For>(s)) {
      const auto extent = range_of(x->extent, ranges_);
      if (!extent) return std::nullopt;
      ranges_[x->var] = {0, std::max<int64_t>(extent->high - 1, 0)};
      add(count(x->body));
      all = (all + 1) * static_cast<double>(std::max<int64_t>(extent->high, 0)) + operations_of(x->extent);
    } else if (const Let* x = as<Let>(s)) {
      if (x->value.type() == dtype::i64)
        if (const auto range = range_of(x->value, ranges_)) ranges_[x->var] = *range;
      all = operations_of(x->value);
      add(count(x->body));
    } else if (const Sequence* x = as<Sequence>(s)) {
      for (const Stmt& part : x->body) add(count(part));
    } else if (const Allocate* x = as<Allocate>(s)) {
      add(count(x->body));
    } else if (const IfThen* x = as<IfThen>(s)) {
      all = operations_of(x->condition);
      add(count(x->then_body));
      add(count(x->else_body));
    } else if (s) {
      all = 1;
      for_each_root_expr(s, [&](const Expr& e) { all += operations_of(e); });
    }
    return known ? std::optional(all) : std::nullopt;
  }

 private:
  Ranges ranges_;
};

std::optional<double> count_operations(const Stage& stage) {
  if (stage.body) return StatementCounter().count(stage.body);
  const auto results = points(stage.axes);
  const auto reduced = stage.reduction ? points(stage.reduction->axes) : std::optional(1.0);
  if (!results || !reduced) return std::nullopt;
  double once = 1, of_result = 0;
  for (const Expr& e : stage.values) once += operations_of(e);
  if (stage.reduction)
    for (const Expr& e : stage.reduction->combined) once += operations_of(e);
  for (const Requirement& r : stage.requirements) of_result += operations_of(r.condition);
  return *results * (*reduced * once + of_result);
}

}  // namespace

std::optional<double> count_operations(const TensorFunction& f) {
  double all = 0;
  for (const Stage& stage : f.stages) {
    const auto part = count_operations(stage);
    if (!part) return std::nullopt;
    all += *part;
  }
  return all;
}

}  // namespace dlcc::tensor

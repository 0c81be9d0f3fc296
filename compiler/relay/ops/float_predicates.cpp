// isnan, isinf, isfinite: the kinds of floats.
#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct FloatPredicate {
  const char* name;
  const char* summary;
  Expr (*holds)(Expr);
};

Expr is_nan(Expr a) { return unary(tensor::UnaryOp::is_nan, a); }
Expr is_inf(Expr a) { return unary(tensor::UnaryOp::is_inf, a); }
Expr is_finite(Expr a) { return logical_not(logical_or(is_nan(a), is_inf(a))); }

const FloatPredicate float_predicate_functions[] = {
    {"isnan", "whether x is not a number", is_nan},
    {"isinf", "whether x is infinite", is_inf},
    {"isfinite", "whether x is neither infinite nor NaN", is_finite},
};

}  // namespace

void float_predicates(OperatorTable& table) {
  for (const FloatPredicate& p : float_predicate_functions) {
    table.add<NoAttrs>({
        .name = p.name,
        .summary = p.summary,
        .attributes = {},
        .arguments = {"data"},
        .type = [](const NoAttrs&, const Operands& in) -> TypeResult {
          if (auto e = check_type(in[0], "data", types::real)) return *e;
          return tensor_result(in[0].shape, dtype::boolean);
        },
        .compute =
            [&p](const NoAttrs&, const Operands& in) {
              Definition d(p.name);
              Tensor x = d.input("data", in[0].dtype, in[0].shape);
              d.result("result", dtype::boolean, x.shape(), [&](Index i) { return p.holds(x(i)); });
              return d.finish();
            },
    });
  }
}

}  // namespace dlcc::relay::ops

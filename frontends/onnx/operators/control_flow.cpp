// If: its branches are subgraphs that may use values of the enclosing graphs.
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/schema.h"

namespace dlcc::frontends::onnx {
namespace {

void check_branches_agree(Node& n, const Values& then_values, const Values& else_values) {
  for (size_t k = 0; k < then_values.size(); ++k) {
    const relay::TensorType &a = then_values[k].type, &b = else_values[k].type;
    n.check(a.dtype == b.dtype, DiagnosticId::type_mismatch,
            fmt::format("result {} is {} in one branch and {} in the other", k, describe(a), describe(b)));
    n.check(a.shape == b.shape, DiagnosticId::dynamic_shape,
            fmt::format("result {} is {} in one branch and {} in the other", k, describe(a), describe(b)),
            "both branches must give the same shape, unless the condition is known at compile time");
  }
}

Values convert_if(Node& n) {
  const Value& condition = n.in(0);
  const auto *then_graph = n.graph("then_branch"), *else_graph = n.graph("else_branch");
  n.check(is_bool(condition.type.dtype) && product(condition.type.shape) == Dim(1), DiagnosticId::type_mismatch,
          "the condition must be one bool");
  if (n.failed()) return {};
  auto wanted = static_cast<size_t>(n.output_count());
  auto arity = [&](const schema::GraphProto& g) {
    return n.check(static_cast<size_t>(g.output_size()) == wanted && wanted > 0, DiagnosticId::wrong_arity,
                   fmt::format("the branches must have {} outputs, found {}", wanted, g.output_size()));
  };
  if (!arity(*then_graph) || !arity(*else_graph)) return {};
  if (const Constant* known = condition.constant())
    return n.context().import_inline(known->integer_at(0) != 0 ? *then_graph : *else_graph, {}).value_or(Values{});

  auto then_branch = n.context().import_branch(*then_graph), else_branch = n.context().import_branch(*else_graph);
  if (!then_branch || !else_branch) return {};
  check_branches_agree(n, then_branch->results, else_branch->results);
  Value scalar = condition.rank() == 0 ? condition : n.reshape(condition, {});
  if (n.failed()) return {};
  relay::If operation{scalar.atom, then_branch->block, else_branch->block};
  BlockBuilder& builder = n.context().builder;
  relay::Var result = builder.bind(std::move(operation), type_of(then_branch->results), "if", n.location());
  if (wanted == 1) return {{result, then_branch->results[0].type}};
  return builder.fields(result, wanted, "if", n.location());
}

}  // namespace

void add_control_flow(Table& table) { table.add({{"If", 1, "cond", 1, 1, any_number, convert_if}}); }

}  // namespace dlcc::frontends::onnx

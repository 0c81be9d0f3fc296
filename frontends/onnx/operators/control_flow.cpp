// If: its branches are subgraphs that may use values of the enclosing graphs.
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/schema.h"
#include "frontends/onnx/structure.h"

namespace dlcc::frontends::onnx {
namespace {

// A remedy: ways to make a condition known at compile time.
std::string how_to_decide(Node& n) {
  std::vector<std::string> options;
  for (const InputDim& d : n.context().builder.dims()) options.push_back(fmt::format("--dim {}=N", d.name));
  const std::string constant = "make its condition a constant";
  if (options.empty()) return constant;
  return fmt::format("give the size that decides it a value ({}), or {}", fmt::join(options, " or "), constant);
}

// The results have one type, or differ in sizes alone.
void check_branches_agree(Node& n, const Values& then_values, const Values& else_values) {
  for (size_t k = 0; k < then_values.size(); ++k) {
    const Value &a = then_values[k], &b = else_values[k];
    const std::string found =
        fmt::format("result {} is {} in one branch and {} in the other", k, describe(a), describe(b));
    if (a.structure || b.structure) {
      n.check(same_structure(a, b), DiagnosticId::dynamic_shape,
              is_strings(a) && is_strings(b) ? fmt::format("result {} is other strings in each branch", k) : found,
              "make the condition a constant; for an input of the model: --input NAME=value:1");
      continue;
    }
    n.check(a.type.dtype == b.type.dtype, DiagnosticId::type_mismatch, found);
    n.check(a.type.shape.size() == b.type.shape.size(), DiagnosticId::dynamic_shape, found,
            "an If whose branches differ in rank must be decided at compile time: " + how_to_decide(n));
  }
}

// The types of the results. Sizes in which the branches differ become new, data-dependent symbols.
Values joined_results(BlockBuilder& builder, const Values& then_values, const Values& else_values) {
  Values joined = then_values;
  for (size_t k = 0; k < joined.size(); ++k) {
    joined[k].role.clear();
    Shape& shape = joined[k].type.shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      const Dim& other = else_values[k].type.shape[d];
      if (!(shape[d] == other)) shape[d] = builder.new_size(max(shape[d], other));
    }
  }
  return joined;
}

// The results of an If as separate values.
Values results_of(Node& n, relay::If operation, const Values& types) {
  BlockBuilder& builder = n.context().builder;
  relay::Var result = builder.bind(std::move(operation), type_of(types), "if", n.location());
  if (types.size() == 1) return {{result, types[0].type}};
  return builder.fields(result, types.size(), "if", n.location());
}

Values convert_if(Node& n) {
  const Value& condition = n.in(0);
  const auto *then_graph = n.graph("then_branch"), *else_graph = n.graph("else_branch");
  n.check(!condition.structure && is_bool(condition.type.dtype) && product(condition.type.shape) == Dim(1),
          DiagnosticId::type_mismatch, "the condition must be one bool");
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
  const Values tensors = tensors_in(then_branch->results);
  if (!n.failed()) check_branches_agree(n, tensors, tensors_in(else_branch->results));
  Value scalar = condition.rank() == 0 ? condition : n.reshape(condition, {});
  if (n.failed()) return {};
  Values computed;
  if (!tensors.empty()) {
    const Values types = joined_results(n.context().builder, tensors, tensors_in(else_branch->results));
    computed = results_of(n, {scalar.atom, then_branch->block, else_branch->block}, types);
  }
  auto next = computed.begin();
  Values results;
  for (const Value& v : then_branch->results) results.push_back(with_tensors(v, [&] { return *next++; }));
  return results;
}

}  // namespace

void add_control_flow(Table& table) {
  table.add_with_structures({{"If", 1, "cond", 1, 1, any_number, convert_if}});
  table.only_if("If", "the branches agree in the ranks of their results, or the condition is known at compile time");
}

}  // namespace dlcc::frontends::onnx

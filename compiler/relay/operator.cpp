#include "relay/operator.h"

#include <algorithm>

#include "support/similar_names.h"
#include "tensor/analysis.h"
#include "tensor/evaluate.h"

namespace dlcc::relay {

// One registration function per file in relay/ops, named after the file.
namespace ops {
#define OPERATOR_FILE(stem) void stem(OperatorTable&);
#include "relay/operator_files.def"
#undef OPERATOR_FILE
}  // namespace ops

const OperatorTable& operators() {
  static const OperatorTable table = [] {
    OperatorTable t;
#define OPERATOR_FILE(stem) ops::stem(t);
#include "relay/operator_files.def"
#undef OPERATOR_FILE
    return t;
  }();
  return table;
}

const Operator* OperatorTable::find(const std::string& name) const {
  auto it = operators_.find(name);
  return it == operators_.end() ? nullptr : it->second.get();
}

std::vector<std::string> Operator::operand_names(size_t operands) const {
  std::vector<std::string> names = arguments;
  if (operands > arguments.size()) names.insert(names.end(), values.begin(), values.end());
  return names;
}

const Operator* op(const std::string& name) {
  const Operator* found = operators().find(name);
  DLCC_CHECK(found, "there is no operator {}", name);
  return found;
}

std::optional<MissingDefinition> missing_definition(const Operation& operation) {
  const Call* call = std::get_if<Call>(&operation);
  const OperatorRef* callee = call ? std::get_if<OperatorRef>(&call->callee) : nullptr;
  if (!callee || callee->op->has_definition()) return std::nullopt;
  return MissingDefinition{
      fmt::format("{} has a type but no definition, so that it cannot be computed", callee->op->name),
      "compute it with other operators: 'dlcc ops' lists those that have a definition"};
}

std::optional<std::vector<Constant>> evaluate(const Operator& op, const Attrs& attrs, const Operands& operands,
                                              const std::vector<Constant>& values) {
  const tensor::TensorFunction f = op.compute(attrs, operands);
  if (!tensor::symbols_of(f).empty()) return std::nullopt;
  tensor::EvaluationResult result = tensor::evaluate(f, values);
  return result.status == tensor::Status::ok ? std::optional(std::move(result.results)) : std::nullopt;
}

}  // namespace dlcc::relay

#include "relay/evaluate.h"

#include <algorithm>

#include "relay/interpret.h"

namespace dlcc::relay {

// Appends the tensors of a result. False if the result contains a value that is no tensor.
static bool flatten(const Value& value, std::vector<Constant>& list) {
  if (const Constant* c = as<Constant>(value)) {
    list.push_back(*c);
    return true;
  }
  const auto* tuple = as<TupleValue>(value);
  return tuple && std::ranges::all_of(tuple->fields, [&](const Value& field) { return flatten(field, list); });
}

std::optional<Evaluation> evaluate(const Module& module, std::span<const Constant> args, tensor::Precision precision,
                                   Diagnostics& diagnostics) {
  std::vector<Value> values;
  for (const Constant& a : args) values.push_back(tensor_value(a));
  const auto run = interpret(module, values, precision, diagnostics);
  if (!run) return std::nullopt;
  Evaluation result{{run->status, {}}, run->location};
  if (run->status != tensor::Status::ok || flatten(run->value, result.results)) return result;
  diagnostics.error(DiagnosticId::unsupported_construct, module.functions.at("main").location,
                    "the result of @main is no tensor: " + str(module.functions.at("main").result_type));
  return std::nullopt;
}

}  // namespace dlcc::relay

// Gradient: the derivatives of a tensor of the graph, the sum of its elements, with respect to others. The nodes
// between them are imported once more, with the operands of the node as the values of the tensors that it names, and
// then differentiated (relay/differentiate.h). Common subexpressions with the first import are eliminated later.
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/schema.h"

namespace dlcc::frontends::onnx {
namespace {

// The tensors that the attributes xs and zs name, with their values. A differentiated one is a variable of its own.
std::map<std::string, Value> tensors_named(Node& n, const std::vector<std::string>& names, size_t differentiated,
                                           std::vector<relay::Var>& variables) {
  std::map<std::string, Value> given;
  for (size_t k = 0; k < names.size(); ++k) {
    Value value = n.in(static_cast<int>(k));
    const std::string list = k < differentiated ? "xs" : "zs";
    if (k < differentiated) {
      if (!n.check(is_float(value.type.dtype) && bits(value.type.dtype) >= 16, DiagnosticId::type_mismatch,
                   fmt::format("'{}' in attribute 'xs' is {}: only tensors of floats have derivatives", names[k],
                               describe(value.type))))
        return given;
      const relay::Type type = relay::tensor_type(value.type.shape, value.type.dtype);
      variables.push_back(
          n.context().builder.bind(relay::Alias{value.atom}, type, variable_name(names[k]), n.location()));
      value.atom = variables.back();
    }
    n.check(given.emplace(names[k], value).second, DiagnosticId::bad_attribute,
            fmt::format("attribute '{}' names '{}', which is named before", list, names[k]));
  }
  return given;
}

Values convert_gradient(Node& n) {
  const auto xs = n.texts("xs"), zs = n.texts("zs");
  const std::string y = n.text("y", "");
  n.check(xs && !xs->empty(), DiagnosticId::bad_attribute, "attribute 'xs' must name at least one tensor");
  n.check(!y.empty(), DiagnosticId::bad_attribute, "attribute 'y' must name a tensor");
  if (n.failed()) return {};
  std::vector<std::string> names = *xs;
  if (zs) names.insert(names.end(), zs->begin(), zs->end());
  if (!n.check(n.input_count() == static_cast<int>(names.size()) && n.output_count() <= static_cast<int>(xs->size()),
               DiagnosticId::wrong_arity,
               fmt::format("needs an input for each name in 'xs' and 'zs', {}, and at most an output for each in 'xs', "
                           "{}; found {} and {}",
                           names.size(), xs->size(), n.input_count(), n.output_count())))
    return {};
  std::vector<relay::Var> variables;
  const auto given = tensors_named(n, names, xs->size(), variables);
  if (n.failed()) return {};
  BlockBuilder& builder = n.context().builder;
  const size_t first = builder.current().bindings.size();
  const std::optional<Value> target = n.context().import_again(y, given);
  const Values rejected(xs->size(), Value::poison());
  if (!target || target->poisoned) return rejected;
  if (!n.check(!target->structure && is_float(target->type.dtype) && bits(target->type.dtype) >= 16,
               DiagnosticId::type_mismatch,
               fmt::format("'{}' in attribute 'y' is {}: only tensors of floats have derivatives", y,
                           target->structure ? "no tensor" : describe(target->type))))
    return {};
  return builder.gradients(first, *target, variables, n.location(), n.context().diagnostics).value_or(rejected);
}

}  // namespace

void add_gradient(Table& table) {
  table.add({{"ai.onnx.preview.training.Gradient", 1, "Inputs", 1, any_number, any_number, convert_gradient}});
  table.only_if("ai.onnx.preview.training.Gradient",
                "no loop, recurrent layer or operator without a derivative is between the tensors");
}

}  // namespace dlcc::frontends::onnx

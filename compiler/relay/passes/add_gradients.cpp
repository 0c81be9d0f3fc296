// The program of a function and its gradients:
//
//   def @main(%x: Tensor[(4), float32]) { sum(%x * %x) }
//   becomes
//   def @main(%x: Tensor[(4), float32]) { (sum(%x * %x), <the gradient of %x, here 2 %x>) }
//
// Contract: @main returns a tuple of the fields of its result, and then the gradient of each parameter that is a tensor
// of floats, in order (relay/differentiate.h). Without such parameters, and where an operation has no gradient, which
// is reported, the module stays as it is. Calls of functions have none: inline-functions comes first.
#include "relay/differentiate.h"
#include "relay/passes/passes.h"

namespace dlcc::relay {

Module add_gradients(Module module, PassContext& context) {
  const auto found = module.functions.find("main");
  if (found == module.functions.end()) return module;
  Function& main = found->second;
  std::vector<Var> variables;
  std::vector<std::string> names;
  for (size_t k = 0; k < main.params.size(); ++k) {
    const auto* t = as<TensorType>(main.params[k]->type);
    if (!t || !is_float(t->dtype) || bits(t->dtype) < 16) continue;
    variables.push_back(main.params[k]);
    const bool is_named = k < module.input_names.size() && !module.input_names[k].empty();
    names.push_back("gradient_of_" + (is_named ? module.input_names[k] : main.params[k]->name));
  }
  if (variables.empty()) return module;
  Diagnostics ignored;
  auto gradients = differentiate(module, main.body.bindings, {main.body.result}, variables, main.location,
                                 context.diagnostics ? *context.diagnostics : ignored);
  if (!gradients) return module;

  std::vector<Binding>& bindings = main.body.bindings;
  MakeTuple results;
  const Type result_type = type_of(module, main.body.result);
  if (const auto* tuple = as<TupleType>(result_type)) {
    for (size_t k = 0; k < tuple->fields.size(); ++k) {
      const Var field = module.fresh("", tuple->fields[k]);
      bindings.push_back({field, Project{main.body.result, static_cast<int>(k)}, main.location});
      results.fields.emplace_back(field);
    }
  } else {
    results.fields.push_back(main.body.result);
  }
  if (!module.output_names.empty()) {
    module.output_names.resize(results.fields.size());
    module.output_names.insert(module.output_names.end(), names.begin(), names.end());
  }
  bindings.insert(bindings.end(), gradients->bindings.begin(), gradients->bindings.end());
  results.fields.insert(results.fields.end(), gradients->of.begin(), gradients->of.end());
  std::vector<Type> types;
  for (const Atom& field : results.fields) types.push_back(type_of(module, field));
  main.result_type = tuple_type(std::move(types));
  const Var all = module.fresh("", main.result_type);
  bindings.push_back({all, std::move(results), main.location});
  main.body.result = all;
  return module;
}

}  // namespace dlcc::relay

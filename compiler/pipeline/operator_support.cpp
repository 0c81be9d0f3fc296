#include "pipeline/operator_support.h"

#include "pipeline/compile.h"
#include "relay/sample_calls.h"

namespace dlcc {
namespace {

// A module whose @main calls the operator on its parameters.
relay::Module module_of_call(const relay::Operator& op, const relay::SampleCall& sample) {
  relay::Module module;
  relay::Function& main = module.functions["main"];
  std::vector<relay::Atom> args;
  for (const relay::TensorType& type : sample.operands) {
    main.params.push_back(module.fresh("x", relay::tensor_type(type.shape, type.dtype)));
    args.emplace_back(main.params.back());
  }
  auto bind = [&](relay::Operation operation) {
    relay::Var var = module.fresh("y");
    main.body.bindings.push_back({var, std::move(operation), {}});
    return var;
  };
  if (op.variadic) args = {bind(relay::MakeTuple{args})};
  main.body.result = bind(relay::Call{relay::OperatorRef{&op}, args, sample.attrs});
  return module;
}

bool can_be_lowered(const relay::Operator& op, const relay::SampleCall& sample, const std::string& target) {
  Diagnostics ignored;
  CompileOptions options;
  options.target = target;
  relay::Module module = module_of_call(op, sample);
  if (!relay::infer_types(module, ignored)) return false;
  Compiler compiler(options, ignored);
  auto optimized = compiler.optimize(std::move(module));
  return optimized && compiler.plan(*optimized);
}

}  // namespace

std::optional<std::vector<OperatorSupport>> operator_support(const std::string& target, Diagnostics& diagnostics) {
  if (!targets::find_target(target, "", "", diagnostics)) return std::nullopt;
  std::vector<OperatorSupport> result;
  for (const auto& [name, op] : relay::operators().all()) {
    OperatorSupport& support = result.emplace_back(op.get());
    for (const auto& [type, sample] : relay::sample_calls(*op))
      if (can_be_lowered(*op, sample, target)) support.types.push_back(type);
  }
  return result;
}

}  // namespace dlcc

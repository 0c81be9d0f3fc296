// The compute definitions of a module's operations, compiled to bytecode at their first evaluation.
#pragma once

#include <unordered_map>

#include "relay/actual_sizes.h"
#include "relay/operator.h"
#include "tensor/evaluate.h"

namespace dlcc::relay {

struct Stopped {  // thrown to leave an evaluation: with a status, or, when it is ok, after a diagnostic
  tensor::Status status = tensor::Status::ok;
};

class Definitions {
 public:
  Definitions(const Module& module, tensor::Precision precision) : module_(module), precision_(precision) {}

  const tensor::CompiledKernel& of(const CallTensor&);

  // The definition of a call for operands of these types. Operands whose values became attributes of the definition are
  // removed from `args`. If the function has symbolic sizes, the operands' shapes may differ between its activations;
  // `sizes` then has the values of its symbols, else it may be null. Throws Stopped if the operands' sizes do not fit.
  const tensor::CompiledKernel& of(const Operator&, const Call&, const Type& result, std::vector<Constant>& args,
                                   const ActualSizes* sizes);

 private:
  // The type of an operator's result in this run: its sizes may depend on elements of the operands.
  Type type_in_run(const Operator&, const Attrs&, const Operands&, const std::vector<Constant>& args) const;

  struct Applied {  // the definition of a call for these operands
    struct Argument {
      DType dtype;
      std::vector<int64_t> shape;
    };
    std::vector<Argument> args;
    Operands types;
    bool has_symbols = false;  // in the attributes
    std::optional<tensor::CompiledKernel> definition;

    bool fits(const std::vector<Constant>&) const;  // whether operands are as `args`
  };

  const Module& module_;
  tensor::Precision precision_;
  std::unordered_map<std::string, tensor::CompiledKernel> functions_;
  std::unordered_map<const Call*, Applied> operators_;
};

}  // namespace dlcc::relay

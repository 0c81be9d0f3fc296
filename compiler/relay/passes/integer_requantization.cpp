// Requantizes sums of products of bytes in integers, on machines without floating-point instructions. The steps of each
// channel, multipliers and offsets are found for the constants of a call (tensor/passes/integer_requantization.h), so
// that each call has a tensor function of its own.
#include "tensor/passes/integer_requantization.h"

#include "relay/passes/passes.h"

namespace dlcc::relay {

namespace {

class Requantizer {
 public:
  Requantizer(Module& module, const tensor::Machine& machine) : module_(module), machine_(machine), names_(module) {}

  void run(Block& block) {
    for (Binding& b : block.bindings) {
      for_each_block(b.op, [&](Block& inner) { run(inner); });
      if (CallTensor* call = std::get_if<CallTensor>(&b.op)) rewrite(*call);
    }
  }

 private:
  void rewrite(CallTensor& call) {
    std::vector<const Constant*> known;
    for (const Atom& a : call.args) known.push_back(std::get_if<Constant>(&a));
    auto requantized = tensor::requantize_in_integers(module_.tensor_functions.at(call.function), known,
                                                      machine_.has_long_multiply);
    if (!requantized) return;
    std::vector<Atom> args = std::move(call.args);
    args.insert(args.end(), requantized->constants.begin(), requantized->constants.end());
    call = names_.add(call.function, std::move(requantized->function), std::move(args));
  }

  Module& module_;
  const tensor::Machine& machine_;
  TensorFunctionNames names_;
};

}  // namespace

Module integer_requantization(Module module, PassContext& context) {
  if (context.machine.has_fpu) return module;
  Requantizer requantizer(module, context.machine);
  for (auto& [name, function] : module.functions) requantizer.run(function.body);
  return module;
}

}  // namespace dlcc::relay

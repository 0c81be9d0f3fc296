// Requantizes sums of products of bytes in integers, on machines without floating-point instructions. The steps of each
// channel, multipliers and offsets are found for the constants of a call (tensor/passes/integer_requantization.h), so
// that each call has a tensor function of its own. Calls of equal functions get numbers of one format where they can:
// their kernels then have the same text and are shared.
#include "tensor/passes/integer_requantization.h"

#include <algorithm>
#include <map>

#include "relay/passes/passes.h"

namespace dlcc::relay {

namespace {

using tensor::FixedPointFormat, tensor::FixedPointLimits, tensor::IntegerRequantization, tensor::TensorFunction;

int certain_bits(const FixedPointFormat& f) { return f.fraction - f.doubtful; }

class Requantizer {
 public:
  Requantizer(Module& module, const tensor::Machine& machine)
      : module_(module), any_{.has_long_product = machine.has_long_multiply} {}

  void run() {
    for (auto& [name, function] : module_.functions) find(function.body);
    TensorFunctionNames names(module_);
    while (std::ranges::count_if(calls_, [&](Requantized& c) { return agree(c); }) > 0) {
    }
    for (Requantized& c : calls_) {
      std::vector<Atom> args = std::move(c.call->args);
      args.insert(args.end(), c.requantized.constants.begin(), c.requantized.constants.end());
      const std::string name = c.call->function;
      if (uses_.at(name) == 1) {
        module_.tensor_functions.at(name) = std::move(c.requantized.function);
        c.call->args = std::move(args);
      } else {
        *c.call = names.add(name, std::move(c.requantized.function), std::move(args));
      }
    }
  }

 private:
  struct Requantized {
    CallTensor* call;
    IntegerRequantization requantized;
    FixedPointLimits* agreed;  // of the calls of equal functions
  };

  void find(Block& block) {
    for (Binding& b : block.bindings) {
      for_each_block(b.op, [&](Block& inner) { find(inner); });
      CallTensor* call = std::get_if<CallTensor>(&b.op);
      if (call) ++uses_[call->function];
      auto requantized = call && call->layouts.empty() ? requantize(*call, any_) : std::nullopt;
      if (!requantized) continue;
      TensorFunction unnamed = module_.tensor_functions.at(call->function);
      unnamed.name.clear();
      FixedPointLimits& agreed = agreed_.emplace(tensor::print(unnamed), any_).first->second;
      lower(agreed, requantized->format);
      calls_.push_back({call, std::move(*requantized), &agreed});
    }
  }

  std::optional<IntegerRequantization> requantize(const CallTensor& call, const FixedPointLimits& limits) const {
    std::vector<const Constant*> known;
    for (const Atom& a : call.args) known.push_back(std::get_if<Constant>(&a));
    return tensor::requantize_in_integers(module_.tensor_functions.at(call.function), known, limits);
  }

  static void lower(FixedPointLimits& limits, const FixedPointFormat& f) {
    limits.fraction = std::min(limits.fraction, f.fraction);
    limits.certain = std::min(limits.certain, certain_bits(f));
  }

  // Gives the call a number of the lowest format that calls of equal functions have so far. False if it has it, or if
  // the call needs a format of its own.
  bool agree(Requantized& c) const {
    const FixedPointFormat& f = c.requantized.format;
    if (f.fraction == c.agreed->fraction && certain_bits(f) == c.agreed->certain) return false;
    auto other = requantize(*c.call, *c.agreed);
    if (!other) return false;
    c.requantized = std::move(*other);
    lower(*c.agreed, c.requantized.format);
    return true;
  }

  Module& module_;
  FixedPointLimits any_;
  std::map<std::string, FixedPointLimits> agreed_;  // by the text of the function
  std::map<std::string, int> uses_;                 // calls of each function
  std::vector<Requantized> calls_;
};

}  // namespace

Module integer_requantization(Module module, PassContext& context) {
  if (!context.machine.has_fpu) Requantizer(module, context.machine).run();
  return module;
}

}  // namespace dlcc::relay

// Joins a contraction with the window reduction that is the only reader of its result, if line-buffer fusion
// (tensor/schedules/line_buffer.h) is estimated to be faster. Examples: a 1×1 expansion and its depthwise convolution;
// a convolution and its pooling.
#include "relay/passes/passes.h"
#include "relay/passes/replace.h"
#include "tensor/analysis.h"
#include "tensor/passes/compose.h"
#include "tensor/schedules/line_buffer.h"

namespace dlcc::relay {
namespace {

class Joiner {
 public:
  Joiner(Module& module, const PassContext& context) : module_(module), context_(context), names_(module) {}

  void run(Block& block) {
    Uses uses(block);
    std::map<int, const Binding*> computed;  // calls whose result is used once, by its variable
    for (Binding& b : block.bindings) {
      for_each_block(b.op, [&](Block& inner) { run(inner); });
      CallTensor* call = std::get_if<CallTensor>(&b.op);
      if (!call) continue;
      for (size_t k = 0; k < call->args.size(); ++k) {
        const Var* read = std::get_if<Var>(&call->args[k]);
        auto producer = read ? computed.find((*read)->id) : computed.end();
        if (producer != computed.end() && join(*producer->second, b, k)) break;
      }
      if (uses[b.var] == 1) computed[b.var->id] = &b;
    }
  }

 private:
  // Makes `reader` compute its operand `k` itself. False when that is not estimated faster.
  bool join(const Binding& producer, Binding& reader, size_t k) {
    const CallTensor &first = std::get<CallTensor>(producer.op), &second = std::get<CallTensor>(reader.op);
    if (first.function == second.function) return false;  // the two parts would share buffers
    const tensor::TensorFunction& a = module_.tensor_functions.at(first.function);
    const tensor::TensorFunction& b = module_.tensor_functions.at(second.function);
    if (a.results.size() != 1 || b.results.size() != 1) return false;
    if (a.stages.size() + b.stages.size() > tensor::most_stages_of_chain) return false;  // before they are copied
    std::vector<Atom> args;
    std::vector<tensor::Buffer> params;
    auto operand = [&](const Atom& arg, const tensor::Buffer& like) {
      args.push_back(arg);
      params.push_back(tensor::make_buffer(fmt::format("p{}", params.size()), like->type, like->shape));
      return tensor::Source{-1, static_cast<int>(params.size()) - 1};
    };
    std::vector<tensor::Part> parts = {{a, {}}, {b, {}}};
    for (size_t i = 0; i < first.args.size(); ++i) parts[0].operands.push_back(operand(first.args[i], a.params[i]));
    for (size_t i = 0; i < second.args.size(); ++i)
      parts[1].operands.push_back(i == k ? tensor::Source{0, 0} : operand(second.args[i], b.params[i]));
    std::string name = name_of(first, second);
    tensor::TensorFunction joined = tensor::compose(name, std::move(params), std::move(parts), {{1, 0}});
    if (!tensor::prefers_line_buffer(joined, which_are_constant(args), context_.schedule, context_.machine))
      return false;
    module_.tensor_functions.emplace(name, std::move(joined));
    reader.op = CallTensor{name, std::move(args), {}};
    reader.location = producer.location;
    return true;
  }

  std::string name_of(const CallTensor& first, const CallTensor& second) {
    auto without_prefix = [](const std::string& name) {
      constexpr std::string_view prefix = "fused_";
      return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    };
    return names_.unused("line_buffer_" + without_prefix(first.function) + "_" + without_prefix(second.function));
  }

  Module& module_;
  const PassContext& context_;
  TensorFunctionNames names_;
};

}  // namespace

Module fuse_line_buffers(Module module, PassContext& context) {
  if (context.channel_block <= 1) return module;
  Joiner joiner(module, context);
  for (auto& [name, function] : module.functions) joiner.run(function.body);
  return module;
}

}  // namespace dlcc::relay

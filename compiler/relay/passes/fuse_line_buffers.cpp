// Joins a contraction with the window reduction that is the only reader of its result, if line-buffer fusion
// (tensor/schedules/line_buffer.h) is estimated to be faster, or, where memory is scarce, to lower the memory that a
// network needs. Examples: a 1×1 expansion and its depthwise convolution; a convolution and its pooling.
#include <algorithm>
#include <set>

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
    if (context_.machine.memory_is_scarce) find_most_bytes(block);
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
    if (context_.machine.memory_is_scarce
            ? !saves_memory(a, first.args, b, second.args, joined, args)
            : !tensor::prefers_line_buffer(joined, which_are_constant(args), context_.schedule, context_.machine))
      return false;
    module_.tensor_functions.emplace(name, std::move(joined));
    reader.op = CallTensor{name, std::move(args), {}};
    reader.location = producer.location;
    return true;
  }

  // The bytes of a call's results and of those operands that the block computes; 0 if they are not known. A value that
  // is an operand twice counts once.
  int64_t bytes_of(const tensor::TensorFunction& f, const std::vector<Atom>& args) const {
    std::map<int, const tensor::BufferNode*> operands;
    for (size_t k = 0; k < args.size(); ++k)
      if (const Var* var = std::get_if<Var>(&args[k]); var && is_computed_.contains((*var)->id))
        operands[(*var)->id] = f.params[k].get();
    int64_t bytes = bytes_of(*f.results[0]);
    for (const auto& [id, buffer] : operands) bytes += bytes_of(*buffer);
    return bytes;
  }
  static int64_t bytes_of(const tensor::BufferNode& b) {
    return product(b.shape).constant().value_or(0) * bits(b.type) / 8;
  }

  // The largest number of bytes that a call of the block needs.
  void find_most_bytes(const Block& block) {
    most_bytes_ = 0;
    is_computed_.clear();
    for (const Binding& b : block.bindings) is_computed_.insert(b.var->id);
    for (const Binding& b : block.bindings)
      if (const auto* call = std::get_if<CallTensor>(&b.op))
        most_bytes_ = std::max(most_bytes_, bytes_of(module_.tensor_functions.at(call->function), call->args));
  }

  // Whether both calls together, with a line buffer, need at most three quarters of the bytes that one of them needs,
  // and whether that is at least half of what any call of the block needs. The images are of bytes, which are stored
  // with the channels last.
  bool saves_memory(const tensor::TensorFunction& a, const std::vector<Atom>& of_a, const tensor::TensorFunction& b,
                    const std::vector<Atom>& of_b, const tensor::TensorFunction& joined,
                    const std::vector<Atom>& of_joined) const {
    if (bits(a.results[0]->type) != 8 || bits(joined.results[0]->type) != 8) return false;
    const int64_t apart = std::max(bytes_of(a, of_a), bytes_of(b, of_b)), together = bytes_of(joined, of_joined);
    if (2 * apart < most_bytes_ || 4 * together > 3 * apart) return false;
    const auto lines =
        tensor::line_buffer_bytes(joined, which_are_constant(of_joined), context_.schedule, context_.machine);
    return lines && 4 * (together + *lines) <= 3 * apart;
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
  std::set<int> is_computed_;  // the variables of the block's bindings, where memory is scarce
  int64_t most_bytes_ = 0;     // that a call of the block needs, where memory is scarce
};

}  // namespace

Module fuse_line_buffers(Module module, PassContext& context) {
  if (context.channel_block <= 1 && !context.machine.memory_is_scarce) return module;
  Joiner joiner(module, context);
  for (auto& [name, function] : module.functions) joiner.run(function.body);
  return module;
}

}  // namespace dlcc::relay

#include "lower/evaluate.h"

#include <cstring>

namespace dlcc::lower {
namespace {

using Bytes = std::vector<std::byte>;

class Evaluator {
 public:
  Evaluator(const Program& program, std::span<const Constant> inputs, size_t level) : program_(program), level_(level) {
    memory_.resize(program.values.size());
    for (size_t v = 0; v < program.values.size(); ++v) {
      const Value& value = program.values[v];
      auto fill = [&](std::span<const std::byte> bytes) { memory_[v].assign(bytes.begin(), bytes.end()); };
      switch (value.storage) {
        case Storage::input:
          fill(inputs[static_cast<size_t>(value.index)].bytes());
          break;
        case Storage::constant:
          fill(program.constants[static_cast<size_t>(value.index)].bytes());
          break;
        case Storage::output:
        case Storage::temporary:
          memory_[v].resize(static_cast<size_t>(value.bytes));
          break;
        case Storage::view:
          break;
      }
    }
  }

  tensor::Status run(const Region& region) {
    for (const Step& step : region.steps) {
      tensor::Status status =
          std::visit(overloaded{
                         [&](const Invoke& s) { return invoke(s); },
                         [&](const Copy& s) {
                           std::span<std::byte> to = bytes(s.to);
                           std::memmove(to.data(), bytes(s.from).data(), to.size());
                           return tensor::Status::ok;
                         },
                         [&](const std::shared_ptr<Branch>& s) {
                           return run(bytes(s->condition)[0] != std::byte{0} ? s->then_region : s->else_region);
                         },
                         [&](const std::shared_ptr<Repeat>& s) {
                           tensor::Status status = tensor::Status::ok;
                           while (status == tensor::Status::ok && bytes(s->condition)[0] != std::byte{0})
                             status = run(s->body);
                           return status;
                         },
                     },
                     step);
      if (status != tensor::Status::ok) return status;
    }
    return tensor::Status::ok;
  }

  Constant value(ValueId id) {
    const Value& v = program_.values[static_cast<size_t>(id)];
    std::span<std::byte> b = bytes(id);
    return Constant(v.type, v.shape, Bytes(b.begin(), b.end()));
  }

 private:
  std::span<std::byte> bytes(ValueId id) {
    const Value& v = program_.values[static_cast<size_t>(id)];
    Bytes& owner = memory_[static_cast<size_t>(v.storage == Storage::view ? v.base : id)];
    return std::span(owner).subspan(static_cast<size_t>(v.storage == Storage::view ? v.base_offset : 0),
                                    static_cast<size_t>(v.bytes));
  }

  tensor::Status invoke(const Invoke& call) {
    const tensor::Kernel& kernel = program_.kernels[static_cast<size_t>(call.kernel)].variants[level_];
    std::vector<Constant> args;
    // A parameter may have another shape than its operand (merged axes), but has the same bytes.
    for (size_t k = 0; k < kernel.params.size(); ++k)
      if (kernel.params[k].access == tensor::Access::read)
        args.push_back(Constant::view(kernel.params[k].buffer->type, static_shape(kernel.params[k].buffer->shape),
                                      bytes(call.operands[k]), nullptr));
    tensor::EvaluationResult r = tensor::evaluate(kernel, args);
    size_t next = 0;
    for (size_t k = 0; k < kernel.params.size() && r.status == tensor::Status::ok; ++k) {
      if (kernel.params[k].access != tensor::Access::write) continue;
      std::span<const std::byte> from = r.results[next++].bytes();
      std::memcpy(bytes(call.operands[k]).data(), from.data(), from.size());
    }
    return r.status;
  }

  const Program& program_;
  size_t level_;
  std::vector<Bytes> memory_;
};

}  // namespace

tensor::EvaluationResult evaluate(const Program& program, std::span<const Constant> inputs, size_t level) {
  Evaluator evaluator(program, inputs, level);
  tensor::EvaluationResult result{evaluator.run(program.body), {}};
  for (ValueId v : program.outputs) result.results.push_back(evaluator.value(v));
  return result;
}

}  // namespace dlcc::lower

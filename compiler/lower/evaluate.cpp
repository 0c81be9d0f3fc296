#include "lower/evaluate.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "lower/instantiate.h"
#include "lower/memory_sizes.h"
#include "lower/run_entry.h"
#include "shape/solve_sizes.h"

namespace dlcc::lower {
namespace {

using Contents = std::vector<std::byte>;

// Kernels and functions compiled once for all calls.
struct CompiledCode {
  std::map<int, tensor::CompiledKernel> kernels;
  std::map<const tensor::ExprNode*, tensor::CompiledScalar> scalars;
};

// One call of a function, or the run of the program.
class Evaluator {
 public:
  using Memory = std::span<std::byte>;

  Evaluator(const Program& program, const Function& function, std::span<const Memory> inputs, size_t level,
            CompiledCode& code)
      : program_(program), function_(function), level_(level), code_(code) {
    const MemorySizes memory_sizes(program, function);
    own_.resize(function.values.size());
    memory_.resize(function.values.size());
    for (size_t v = 0; v < function.values.size(); ++v) {
      const Value& value = function.values[v];
      const auto index = static_cast<size_t>(value.index);
      switch (value.storage) {
        case Storage::input:
          memory_[v] = inputs[index];
          break;
        case Storage::constant:
          memory_[v] = read_only(program.constants[index]);
          break;
        case Storage::output:
        case Storage::temporary:
          own_[v].resize(static_cast<size_t>(memory_sizes(static_cast<ValueId>(v)).at({}).value()));
          memory_[v] = own_[v];
          break;
        case Storage::view:
          break;
      }
    }
  }

  // The bytes of a constant, which no step writes.
  static Memory read_only(const Constant& c) {
    std::span<const std::byte> bytes = c.bytes();
    return {const_cast<std::byte*>(bytes.data()), bytes.size()};
  }

  tensor::Status run() { return run(function_.body); }

  tensor::Status run(const Region& region) {
    for (const Step& step : region.steps) {
      tensor::Status status =
          std::visit(overloaded{
                         [&](const Invoke& s) { return invoke(s); },
                         [&](const Copy& s) {
                           std::span<std::byte> to = bytes(s.to);
                           if (!to.empty()) std::memmove(to.data(), bytes(s.from).data(), to.size());
                           return tensor::Status::ok;
                         },
                         [&](const Compute& s) { return define(s.result, scalar(s.value)); },
                         [&](const Read& s) { return define(s.result, element(s.from, s.element)); },
                         [&](const Write& s) {
                           const Constant value = scalar(s.value);
                           std::span<const std::byte> from = value.bytes();
                           std::span<std::byte> to = bytes(s.to).subspan(s.element * from.size());
                           if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
                           return tensor::Status::ok;
                         },
                         [&](const Require& s) { return holds(s.condition) ? tensor::Status::ok : s.status; },
                         [&](const CheckSize& s) { return check(s.size); },
                         [&](const Call& s) { return call(s); },
                         [&](const std::shared_ptr<Branch>& s) { return run(*s); },
                         [&](const std::shared_ptr<Loop>& s) { return run(*s); },
                     },
                     step);
      if (status != tensor::Status::ok) return status;
    }
    return tensor::Status::ok;
  }

  tensor::Status run(const Branch& branch) {
    bool taken = holds(branch.condition);
    tensor::Status status = run(taken ? branch.then_region : branch.else_region);
    if (status == tensor::Status::ok)
      for (const Branch::Merge& m : branch.merges) define(m.result, scalar(taken ? m.then_value : m.else_value));
    return status;
  }

  tensor::Status run(const Loop& loop) {
    for (const Loop::Carried& c : loop.carried) define(c.var, scalar(c.initial));
    for (;;) {
      tensor::Status status = run(loop.test);
      if (status != tensor::Status::ok || !holds(loop.condition)) return status;
      status = run(loop.body);
      if (status != tensor::Status::ok) return status;
      std::vector<Constant> next;  // all values are computed before a variable changes
      for (const Loop::Carried& c : loop.carried) next.push_back(scalar(c.next));
      for (size_t k = 0; k < next.size(); ++k) define(loop.carried[k].var, std::move(next[k]));
    }
  }

  // The values of the data-dependent sizes, by symbol.
  const std::map<std::string, int64_t>& sizes() const { return sizes_; }

  Constant value(ValueId id) {
    const Value& v = function_.values[static_cast<size_t>(id)];
    std::span<std::byte> b = bytes(id);
    std::vector<int64_t> shape;
    for (const Dim& d : v.shape) shape.push_back(number(d));
    return Constant(v.type, std::move(shape), Contents(b.begin(), b.end()));
  }

 private:
  tensor::Status define(const tensor::Var& var, Constant c) {
    if (tensor::is_symbol_var(var)) sizes_[var->name] = c.integer_at(0);
    scalars_.insert_or_assign(var, std::move(c));
    return tensor::Status::ok;
  }

  Constant scalar(const tensor::Expr& e) {
    const tensor::CompiledScalar& compiled = code_.scalars.try_emplace(e.get(), e).first->second;
    std::vector<Constant> values;
    for (const tensor::Var& v : compiled.variables()) values.push_back(scalars_.at(v));
    return compiled.value(values);
  }

  // A size, after the definition of its symbols.
  int64_t number(const Dim& d) const {
    const auto size = d.evaluate(sizes_);
    DLCC_CHECK(size, "the size {} is not defined yet", d.str());
    return *size;
  }

  tensor::Status check(const Dim& size) const {
    const auto number = size.evaluate(sizes_);
    const bool is_valid = number && *number >= 0 && *number <= tensor::max_elements;
    return is_valid ? tensor::Status::ok : tensor::Status::dimension_out_of_range;
  }

  bool holds(const tensor::Expr& condition) { return scalar(condition).integer_at(0) != 0; }

  Constant element(ValueId id, int64_t index) {
    const Value& v = function_.values[static_cast<size_t>(id)];
    auto size = static_cast<size_t>(storage_bytes(v.type, 1));
    std::span<std::byte> at = bytes(id).subspan(static_cast<size_t>(index) * size, size);
    return Constant(v.type, {}, Contents(at.begin(), at.end()));
  }

  Memory bytes(ValueId id) {
    const Value& v = function_.values[static_cast<size_t>(id)];
    if (v.storage != Storage::view) return memory_[static_cast<size_t>(id)].first(static_cast<size_t>(number(v.bytes)));
    const Memory base = memory_[static_cast<size_t>(v.base)];
    int64_t offset = number(v.base_offset), end = static_cast<int64_t>(base.size());
    if (v.begin) offset += scalar(v.begin).integer_at(0) * v.stride;
    const int64_t size = number(v.bytes);
    DLCC_CHECK(offset >= 0 && offset <= end - size, "a view of {} bytes at {} in {} bytes", size, offset, end);
    return base.subspan(static_cast<size_t>(offset), static_cast<size_t>(size));
  }

  tensor::Status invoke(Invoke call) {
    for (tensor::Expr& e : call.scalars)
      if (!program_.data_sizes.empty() && e.type() == dtype::i64) e = tensor::Expr(scalar(e).integer_at(0));
    const tensor::Kernel& kernel = program_.kernels[static_cast<size_t>(call.kernel)].at_level(level_);
    std::vector<Constant> args;
    // A parameter may have another shape than its operand (merged axes), but has the same bytes.
    for (size_t k = 0; k < kernel.params.size(); ++k)
      if (kernel.params[k].access == tensor::Access::read)
        args.push_back(Constant::view(kernel.params[k].buffer->type,
                                      *shape_in_call(kernel, *kernel.params[k].buffer, call), bytes(call.operands[k]),
                                      nullptr));
    for (const tensor::Expr& e : call.scalars) {
      const auto literal = tensor::constant_integer(e);
      args.push_back(literal && e.type() == dtype::i64 ? Constant::of<int64_t>(dtype::i64, {}, {*literal}) : scalar(e));
    }
    tensor::EvaluationResult r = code_.kernels.try_emplace(call.kernel, kernel).first->second.run(args);
    size_t next = 0;
    for (size_t k = 0; k < kernel.params.size() && r.status == tensor::Status::ok; ++k) {
      if (kernel.params[k].access != tensor::Access::write) continue;
      std::span<const std::byte> from = r.results[next++].bytes();
      if (!from.empty()) std::memcpy(bytes(call.operands[k]).data(), from.data(), from.size());
    }
    return r.status;
  }

  tensor::Status call(const Call& call) {
    const Function& callee = program_.functions[static_cast<size_t>(call.function)];
    std::vector<Memory> inputs;
    for (ValueId v : call.operands) inputs.push_back(bytes(v));
    Evaluator evaluator(program_, callee, inputs, level_, code_);
    const tensor::Status status = evaluator.run();
    for (size_t k = 0; k < call.results.size() && status == tensor::Status::ok; ++k)
      std::ranges::copy(evaluator.bytes(callee.outputs[k]), bytes(call.results[k]).begin());
    return status;
  }

  const Program& program_;
  const Function& function_;
  size_t level_;
  CompiledCode& code_;
  std::vector<Contents> own_;   // the memory of outputs and temporaries
  std::vector<Memory> memory_;  // by value; empty for views
  std::map<tensor::Var, Constant> scalars_;
  std::map<std::string, int64_t> sizes_;  // data-dependent sizes defined so far
};

// An element, by its row-major index, as a constant of rank 0.
Constant element_of(const Constant& tensor, int64_t index) {
  const auto size = static_cast<size_t>(storage_bytes(tensor.dtype(), 1));
  const auto bytes = tensor.bytes().subspan(static_cast<size_t>(index) * size, size);
  return Constant(tensor.dtype(), {}, Contents(bytes.begin(), bytes.end()));
}

}  // namespace

ProgramResult evaluate(const Program& program, std::span<const Constant> inputs, size_t level) {
  if (!entry_symbols(program).empty()) {
    std::vector<GivenShape> shapes;
    for (size_t k = 0; k < program.inputs.size(); ++k)
      shapes.push_back({"", program.values[static_cast<size_t>(program.inputs[k])].shape, inputs[k].shape()});
    std::string problem;
    auto sizes = solve_sizes(program.dims, shapes, problem);
    if (!sizes) return {{tensor::Status::dimension_out_of_range, {}}, {}};
    auto element = [&](const Read& read) {
      return element_of(inputs[static_cast<size_t>(program.values[static_cast<size_t>(read.from)].index)],
                        read.element);
    };
    if (auto status = run_entry(program, *sizes, element); status != tensor::Status::ok) return {{status, {}}, {}};
    if (auto status = status_at(program, *sizes); status != tensor::Status::ok) return {{status, {}}, {}};
    ProgramResult result = evaluate(instantiate(program, *sizes), inputs, level);
    result.sizes.insert(sizes->begin(), sizes->end());
    return result;
  }
  std::vector<Evaluator::Memory> memory;
  for (const Constant& c : inputs) memory.push_back(Evaluator::read_only(c));
  CompiledCode code;
  Evaluator evaluator(program, program, memory, level, code);
  ProgramResult result{{evaluator.run(), {}}, {}};
  if (result.status != tensor::Status::ok) return result;
  for (ValueId v : program.outputs) result.results.push_back(evaluator.value(v));
  result.sizes = evaluator.sizes();
  return result;
}

}  // namespace dlcc::lower

#include "symbolic_program.h"

#include <array>
#include <numeric>
#include <random>

#include "lower/walk.h"
#include "random_program.h"
#include "tensor/visit.h"

namespace dlcc::lower {

namespace {

// Scales the values of a program by 1, n, m or n * m; values that must have equal sizes, and views and their bases, by
// the same.
class Scaling {
 public:
  explicit Scaling(uint32_t seed) : random_(seed), program_(Generator(seed).run()) {
    for_each_function(program_, [&](Function& f) {
      functions_.push_back(&f);
      first_.push_back(group_.size());
      group_.resize(group_.size() + f.values.size());
    });
    std::iota(group_.begin(), group_.end(), size_t{0});
  }

  Program run(const std::vector<InputDim>& dims) {
    program_.dims = dims;
    for (size_t f = 0; f < functions_.size(); ++f) join_in(f);
    choose_factors();
    for (size_t f = 0; f < functions_.size(); ++f) {
      for (size_t v = 0; v < functions_[f]->values.size(); ++v) scale(f, static_cast<ValueId>(v));
      for_each_call(functions_[f]->body, [&](Invoke& call) { scale(*functions_[f], call); });
    }
    return std::move(program_);
  }

 private:
  // The number of a value among those of all functions, of which the first is the program.
  size_t id(size_t function, ValueId v) const { return first_[function] + static_cast<size_t>(v); }
  size_t group(size_t v) { return group_[v] == v ? v : group_[v] = group(group_[v]); }
  void join(size_t a, size_t b) { group_[group(a)] = group(b); }

  void join_in(size_t f) {
    const Function& function = *functions_[f];
    for (size_t v = 0; v < function.values.size(); ++v)
      if (function.values[v].base >= 0) join(id(f, static_cast<ValueId>(v)), id(f, function.values[v].base));
    for_each_step(function.body, [&](const Step& step) {
      if (const auto* copy = std::get_if<Copy>(&step)) join(id(f, copy->from), id(f, copy->to));
      if (const auto* call = std::get_if<Invoke>(&step))
        for (auto [written, read] : call->in_place) join(id(f, call->operands[written]), id(f, call->operands[read]));
      const auto* call = std::get_if<Call>(&step);
      if (!call) return;
      const size_t callee = static_cast<size_t>(call->function) + 1;
      for (size_t k = 0; k < call->operands.size(); ++k)
        join(id(f, call->operands[k]), id(callee, functions_[callee]->inputs[k]));
      for (size_t k = 0; k < call->results.size(); ++k)
        join(id(f, call->results[k]), id(callee, functions_[callee]->outputs[k]));
    });
  }

  // Views that begin at a scalar, and elements that are scalars, have constant offsets.
  void choose_factors() {
    const std::array factors = {Dim(1), Dim::symbol(n), Dim::symbol(m), Dim::symbol(n) * Dim::symbol(m)};
    for (size_t v = 0; v < group_.size(); ++v) factor_.emplace(v, factors[random_() % factors.size()]);
    for (size_t f = 0; f < functions_.size(); ++f) {
      const std::vector<Value>& values = functions_[f]->values;
      for (size_t v = 0; v < values.size(); ++v)
        if (values[v].begin) fix(id(f, static_cast<ValueId>(v)));
      for_each_step(functions_[f]->body, [&](const Step& step) {
        if (const auto* read = std::get_if<Read>(&step)) fix(id(f, read->from));
      });
    }
  }
  void fix(size_t v) { factor_.at(group(v)) = Dim(1); }

  void scale(size_t f, ValueId v) {
    Value& value = functions_[f]->values[v];
    value.bytes = value.bytes * factor_.at(group(id(f, v)));
    value.base_offset = value.base_offset * factor_.at(group(id(f, v)));
    value.shape = {value.bytes};
  }
  void scale(const Function& f, Invoke& call) {
    tensor::Kernel& kernel = program_.kernels[call.kernel].variants[0];
    for (const Symbol& s : {m, n}) {  // in the order of their names
      kernel.scalars.push_back(scalar_of(s));
      call.scalars.push_back(tensor::symbol_var(s));
    }
    for (size_t k = 0; k < kernel.params.size(); ++k) {
      auto buffer = std::make_shared<tensor::BufferNode>(*kernel.params[k].buffer);
      buffer->shape = f.values[call.operands[k]].shape;
      kernel.params[k].buffer = buffer;
    }
  }

  std::mt19937 random_;
  Program program_;
  std::vector<Function*> functions_;  // the program, then its functions
  std::vector<size_t> first_;         // the numbers of their first values
  std::vector<size_t> group_;
  std::map<size_t, Dim> factor_;  // by the first value of a group
};

}  // namespace

Program symbolic_program(uint32_t seed, const std::vector<InputDim>& dims) { return Scaling(seed).run(dims); }

int count_of_calls(const Program& program) {
  int count = 0;
  for_each_function(program, [&](const Function& f) { for_each_function_call(f.body, [&](const Call&) { ++count; }); });
  return count;
}

}  // namespace dlcc::lower

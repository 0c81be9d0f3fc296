#include "lower/run_entry.h"

#include "tensor/evaluate.h"

namespace dlcc::lower {
namespace {

Constant evaluate(const tensor::Expr& e, const std::map<tensor::Var, Constant>& scalars) {
  const tensor::CompiledScalar compiled(e);
  std::vector<Constant> values;
  for (const tensor::Var& v : compiled.variables()) values.push_back(scalars.at(v));
  return compiled.value(values);
}

}  // namespace

tensor::Status run_entry(const Program& program, Sizes& sizes, const std::function<Constant(const Read&)>& element) {
  std::map<tensor::Var, Constant> scalars;
  for (const auto& [name, size] : sizes) scalars.emplace(scalar_of({name}), small_number(dtype::i64, size));
  for (const Step& step : program.entry.steps) {
    if (const auto* read = std::get_if<Read>(&step)) {
      scalars.insert_or_assign(read->result, element(*read));
    } else if (const auto* compute = std::get_if<Compute>(&step)) {
      scalars.insert_or_assign(compute->result, evaluate(compute->value, scalars));
    } else if (const auto* require = std::get_if<Require>(&step)) {
      if (evaluate(require->condition, scalars).integer_at(0) == 0) return require->status;
    }
  }
  for (const Symbol& s : program.input_sizes) sizes[s.name] = scalars.at(scalar_of(s)).integer_at(0);
  return tensor::Status::ok;
}

Constant small_number(DType type, int64_t number) { return evaluate(tensor::cast(type, tensor::Expr(number)), {}); }

}  // namespace dlcc::lower

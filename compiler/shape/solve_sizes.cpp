#include "shape/solve_sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "shape/caller_sizes.h"

namespace dlcc {
namespace {

class Solver {
 public:
  Solver(const std::vector<InputDim>& dims, std::string& problem) : dims_(dims), problem_(problem) {}

  bool solve(const std::vector<GivenShape>& inputs) {
    for (const GivenShape& input : inputs)
      for (size_t k = 0; k < input.declared.size(); ++k)
        if (!read_symbol(input, k)) return false;
    for (const InputDim& d : dims_)
      if (!values_.contains(d.symbol.name)) return fail(fmt::format("no axis of an input gives the size '{}'", d.name));
    return std::ranges::all_of(inputs, [&](const GivenShape& input) { return agrees(input); });
  }

  std::map<std::string, int64_t>& values() { return values_; }

 private:
  // Sets the symbol of a linear axis, unless an earlier axis has set it.
  bool read_symbol(const GivenShape& input, size_t k) {
    const auto axis = as_linear(input.declared[k]);
    const auto dim = axis ? std::ranges::find(dims_, axis->symbol, &InputDim::symbol) : dims_.end();
    if (dim == dims_.end() || values_.contains(axis->symbol.name)) return true;
    const int64_t multiple_of_scale = input.actual[k] - axis->offset, value = multiple_of_scale / axis->scale;
    if (multiple_of_scale % axis->scale != 0 || value < dim->symbol.low || value > dim->symbol.high)
      return fail(fmt::format("{} is {}, but it is declared as {}, where {} is {}", axis_name(input, k),
                              input.actual[k], in_caller_sizes(input.declared[k], dims_).str(), dim->name,
                              bounds_of(*dim)));
    values_[axis->symbol.name] = value;
    origins_[axis->symbol.name] = axis_name(input, k);
    return true;
  }

  bool agrees(const GivenShape& input) {
    for (size_t k = 0; k < input.declared.size(); ++k) {
      const auto expected = input.declared[k].evaluate(values_);
      if (expected == input.actual[k]) continue;
      return fail(fmt::format("{} is {} instead of {}{}", axis_name(input, k), input.actual[k],
                              expected ? std::to_string(*expected) : input.declared[k].str(),
                              origins_of(input.declared[k])));
    }
    return true;
  }

  // ": axis 0 of input 'x' gives n = 2" for the sizes in the dim; "" without any.
  std::string origins_of(const Dim& d) {
    std::string text;
    for (const InputDim& dim : dims_)
      if (std::ranges::count(d.symbols(), dim.symbol) > 0)
        text += fmt::format("{} {} gives {} = {}", text.empty() ? ":" : ",", origins_[dim.symbol.name], dim.name,
                            dim.multiple * values_[dim.symbol.name]);
    return text;
  }

  static std::string axis_name(const GivenShape& input, size_t k) {
    return fmt::format("axis {} of input '{}'", k, input.name);
  }

  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  const std::vector<InputDim>& dims_;
  std::string& problem_;
  std::map<std::string, int64_t> values_;       // by symbol
  std::map<std::string, std::string> origins_;  // by symbol: the axis that gave its value
};

}  // namespace

std::optional<LinearAxis> as_linear(const Dim& d) {
  const std::vector<Symbol> symbols = d.symbols();
  if (symbols.size() != 1) return std::nullopt;
  const Dim offset = d.substitute({{symbols[0].name, Dim(0)}}), symbol = Dim::symbol(symbols[0]);
  const auto scale = (d.substitute({{symbols[0].name, Dim(1)}}) - offset).constant();
  const bool is_linear = scale && *scale > 0 && offset.is_constant() && Dim(*scale) * symbol + offset == d;
  return is_linear ? std::optional(LinearAxis{symbols[0], *scale, offset.value()}) : std::nullopt;
}

std::optional<std::map<std::string, int64_t>> solve_sizes(const std::vector<InputDim>& dims,
                                                          const std::vector<GivenShape>& inputs, std::string& problem) {
  Solver solver(dims, problem);
  if (!solver.solve(inputs)) return std::nullopt;
  return std::move(solver.values());
}

}  // namespace dlcc

#include "lower/sample_sizes.h"

#include <algorithm>
#include <array>

#include "lower/largest_size.h"

namespace dlcc::lower {
namespace {

// The numbers that requirements of the form `symbol == number` demand.
Sizes required_sizes(const Program& program) {
  Sizes required;
  for (const Step& step : program.body.steps) {
    const auto* require = std::get_if<Require>(&step);
    const auto* equality = require ? tensor::as<tensor::Binary>(require->condition) : nullptr;
    const auto* symbol = equality ? tensor::as<tensor::VarRef>(equality->a) : nullptr;
    const auto number = symbol ? tensor::constant_integer(equality->b) : std::nullopt;
    if (number && equality->op == tensor::BinaryOp::eq) required.emplace(symbol->var->name, *number);
  }
  return required;
}

std::vector<Sizes> with_data_sizes(const Program& program, const std::vector<Sizes>& given) {
  if (program.data_sizes.empty()) return given;
  const Sizes required = required_sizes(program);
  std::vector<Sizes> samples;
  for (const Sizes& sizes : given) {
    const Sizes largest = with_largest_data_sizes(program, sizes);
    Sizes half = largest, none = largest, demanded = largest;
    for (const DataSize& d : program.data_sizes) {
      const std::string& name = d.symbol.name;
      half[name] /= 2;
      none[name] = 0;
      if (auto number = required.find(name); number != required.end()) demanded[name] = number->second;
    }
    samples.insert(samples.end(), {largest, half, none, demanded});
  }
  return samples;
}

}  // namespace

std::vector<Sizes> sample_sizes(const Program& program) {
  if (program.dims.empty()) return with_data_sizes(program, {{}});
  std::vector<Sizes> samples(4);
  for (int64_t k = 0; const InputDim& d : program.dims) {
    const std::array wanted = {d.symbol.low, 17 + 2 * k, 40 + 3 * k, d.is_bounded() ? d.symbol.high : 300 + k};
    for (size_t s = 0; s < samples.size(); ++s)
      samples[s][d.symbol.name] = std::clamp(wanted[s], d.symbol.low, d.symbol.high);
    ++k;
  }
  return with_data_sizes(program, samples);
}

}  // namespace dlcc::lower

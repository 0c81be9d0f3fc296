#include "targets/llvm/match_inputs.h"

#include <algorithm>

#include "shape/caller_sizes.h"
#include "shape/solve_sizes.h"

namespace dlcc::targets {

namespace {

// Whether type and shape are those of the interface; an axis with symbols may have any size.
bool fits(const Constant& given, const emit::TensorInterface& wanted) {
  return given.dtype() == wanted.type &&
         std::ranges::equal(given.shape(), wanted.shape,
                            [](int64_t size, const Dim& d) { return !d.is_constant() || d.value() == size; });
}

}  // namespace

std::optional<SymbolValues> match_inputs(const emit::Interface& interface, const std::vector<Constant>& inputs,
                                         Diagnostics& diagnostics) {
  if (inputs.size() != interface.inputs.size()) {
    diagnostics.error(DiagnosticId::bad_data, {},
                      fmt::format("the model has {} inputs, {} were given", interface.inputs.size(), inputs.size()));
    return std::nullopt;
  }
  bool fit = true;
  std::vector<GivenShape> shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const emit::TensorInterface& wanted = interface.inputs[i];
    const Constant& given = inputs[i];
    shapes.push_back({wanted.name, wanted.shape, given.shape()});
    if (fits(given, wanted)) continue;
    fit = false;
    Shape shape = wanted.shape;
    for (Dim& d : shape) d = in_caller_sizes(d, interface.input_dims());
    diagnostics.error(DiagnosticId::bad_data, {},
                      fmt::format("input '{}' is {}{}, but {}{} was given", wanted.name, name(wanted.type), str(shape),
                                  name(given.dtype()), str(shape_of(given.shape()))));
  }
  if (!fit) return std::nullopt;
  std::string problem;
  auto symbols = solve_sizes(interface.input_dims(), shapes, problem);
  if (!symbols) diagnostics.error(DiagnosticId::bad_data, {}, problem);
  return symbols;
}

std::vector<int64_t> caller_sizes(const emit::Interface& interface, const SymbolValues& symbols) {
  std::vector<int64_t> sizes;
  for (const emit::DimInterface& d : interface.dims) sizes.push_back(d.multiple * symbols.at(d.symbol.name));
  return sizes;
}

}  // namespace dlcc::targets

#include "relay/input_dims.h"

#include <algorithm>
#include <functional>

#include "shape/solve_sizes.h"

namespace dlcc::relay {
namespace {

// Calls `visit` for every axis of the tensors among @main's parameters, in their order.
void for_each_input_axis(const Module& module, const std::function<void(const Var& param, const Dim&)>& visit) {
  auto main = module.functions.find("main");
  if (main == module.functions.end()) return;
  for (const Var& p : main->second.params)
    for_each_field(p->type, [&](const Type& field) {
      if (const auto* tensor = as<TensorType>(field))
        for (const Dim& d : tensor->shape) visit(p, d);
    });
}

}  // namespace

std::vector<InputDim> input_dims(const Module& module) {
  std::vector<InputDim> dims;
  for_each_input_axis(module, [&](const Var&, const Dim& d) {
    for (const Symbol& s : d.symbols()) {
      if (std::ranges::count(dims, s, &InputDim::symbol) > 0) continue;
      auto known = std::ranges::find(module.dims, s, &InputDim::symbol);
      dims.push_back(known != module.dims.end() ? *known : InputDim{s.name, s});
    }
  });
  return dims;
}

// The first term of the dim that is a product of the symbol and other sizes; "" if there is none.
static std::string product_with(const Symbol& s, const Dim& d) {
  for (const Dim::Term& t : d.terms())
    if (const Dim term = Dim::sum_of({t}); t.atoms.size() > 1 && std::ranges::count(term.symbols(), s) > 0)
      return term.str();
  return "";
}

void check_input_dims(const Module& module, Diagnostics& diagnostics) {
  std::vector<Symbol> determined, reported;
  for_each_input_axis(module, [&](const Var&, const Dim& d) {
    if (auto axis = as_linear(d)) determined.push_back(axis->symbol);
  });
  for_each_input_axis(module, [&](const Var& param, const Dim& d) {
    for (const Symbol& s : d.symbols()) {
      if (std::ranges::count(determined, s) + std::ranges::count(reported, s) > 0) continue;
      reported.push_back(s);
      const std::string product = product_with(s, d);
      diagnostics.error(
          DiagnosticId::dynamic_shape, module.functions.at("main").location,
          fmt::format("the shapes of the inputs do not determine the size '{}' in {} of input '{}'", s.name, d.str(),
                      param->name),
          {},
          fmt::format("{1}declare an axis of an input as {0}, or as a multiple of it such as 2 * {0} + 1; or "
                      "give it a value: --dim {0}=N",
                      s.name,
                      product.empty() ? "" : fmt::format("a product such as {} does not give its factors; ", product)));
    }
  });
}

}  // namespace dlcc::relay

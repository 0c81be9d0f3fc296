#include "pipeline/bind_parameters.h"

#include <algorithm>

#include "relay/actual_sizes.h"
#include "relay/input_dims.h"
#include "relay/type_arguments.h"
#include "relay/types_in.h"
#include "support/similar_names.h"

namespace dlcc {

// Whether the array is a value of the type. Adds the sizes that the type's symbols have.
static bool fits(const relay::Type& param, const Constant& array, std::map<std::string, Dim>& sizes) {
  const relay::Type type = relay::substitute(param, sizes);
  const relay::TensorType* tensor = relay::as<relay::TensorType>(type);
  relay::ActualSizes found;
  if (!tensor || tensor->dtype != array.dtype()) return false;
  if (found.match(*tensor, array.shape()) != tensor::Status::ok) return false;
  relay::for_each_symbol(type, [&](const Symbol& s) {
    if (const auto size = found.value_of(Dim::symbol(s))) sizes.emplace(s.name, Dim(*size));
  });
  return true;
}

bool bind_parameters(relay::Module& module, const std::vector<NamedArray>& arrays, const std::string& file,
                     Diagnostics& diagnostics) {
  const auto main = module.functions.find("main");
  if (main == module.functions.end()) return true;  // an error of its own
  relay::Function& f = main->second;
  const size_t errors = diagnostics.error_count();
  std::map<std::string, Dim> sizes;
  std::map<int, relay::Atom> values;
  for (const NamedArray& array : arrays) {
    const auto param = std::ranges::find(f.params, array.name, [](const relay::Var& p) { return p->name; });
    if (param == f.params.end()) {
      std::vector<std::string> names;
      for (const relay::Var& p : f.params) names.push_back(p->name);
      diagnostics.error(DiagnosticId::undefined_value, {.file = file},
                        fmt::format("@main has no parameter '{}'", array.name), {}, suggest_names(array.name, names));
    } else if (!fits((*param)->type, array.value, sizes)) {
      const relay::Type found = relay::tensor_type(array.value.shape(), array.value.dtype());
      diagnostics.error(DiagnosticId::bad_data, {.file = file},
                        fmt::format("%{} is {}, the file has {}", array.name,
                                    relay::str(relay::substitute((*param)->type, sizes)), relay::str(found)));
    } else {
      values.emplace((*param)->id, array.value);
    }
  }
  if (diagnostics.error_count() > errors) return false;
  for (size_t k = f.params.size(); k-- > 0;) {
    if (!values.contains(f.params[k]->id)) continue;
    if (module.input_names.size() == f.params.size())
      module.input_names.erase(module.input_names.begin() + static_cast<std::ptrdiff_t>(k));
    f.params.erase(f.params.begin() + static_cast<std::ptrdiff_t>(k));
  }
  f.body = relay::clone(module, f.body, values);
  for (const relay::Var& p : f.params) p->type = relay::substitute(p->type, sizes);
  f.result_type = relay::substitute(f.result_type, sizes);
  relay::substitute_sizes(f.body, sizes);
  module.dims = relay::input_dims(module);
  return relay::infer_types(module, diagnostics);
}

}  // namespace dlcc

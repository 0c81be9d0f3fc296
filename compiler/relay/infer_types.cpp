// Type inference of a module: by one run of Inference, or by more where functions have no types.
#include <algorithm>
#include <optional>

#include "relay/foreign_sizes.h"
#include "relay/inference.h"
#include "relay/types_in.h"
#include "relay/visit.h"

namespace dlcc::relay {

namespace {

using IsWanted = bool (*)(const Type&);

bool has_parameter(const Function&, IsWanted);

bool has_parameter(const Block& block, IsWanted is_wanted) {
  bool found = false;
  for (const Binding& b : block.bindings) {
    if (found) return true;
    if (const MakeFunction* made = std::get_if<MakeFunction>(&b.op))
      found = has_parameter(*made->function, is_wanted);
    else
      for_each_block(b.op, [&](const Block& inner) { found |= has_parameter(inner, is_wanted); });
  }
  return found;
}

// Whether the function, or one in it, has a parameter of such a type.
bool has_parameter(const Function& function, IsWanted is_wanted) {
  return std::ranges::any_of(function.params, [&](const Var& p) { return is_wanted(p->type); }) ||
         has_parameter(function.body, is_wanted);
}

bool has_parameter(const Module& module, IsWanted is_wanted) {
  return std::ranges::any_of(module.functions, [&](const auto& f) { return has_parameter(f.second, is_wanted); });
}

// Whether a tensor in the type, outside of data, has a size "?".
bool has_unnamed_size(const Type& type) {
  bool found = false;
  for_each_field(type, [&](const Type& field) {
    const TensorType* t = as<TensorType>(field);
    found |= t && std::ranges::count(t->shape, unknown_dim()) > 0;
  });
  return found;
}

// Reports the first reason why the types that inference found are not those of a program.
void report_wrong_types(const Diagnostics& reasons, Diagnostics& diagnostics) {
  const Diagnostic& first = reasons.list().front();
  std::vector<std::string> details = {"with the types that were found: " + first.message};
  details.insert(details.end(), first.details.begin(), first.details.end());
  diagnostics.error(DiagnosticId::cannot_infer, first.location,
                    "the types of functions without types cannot be inferred from their uses", std::move(details),
                    "give the parameters types, with ? for a size that is another one in each value");
}

// That the value of a variable has sizes of a function that is not around it (foreign_sizes.h).
void report_foreign_sizes(const Binding& b, Diagnostics& diagnostics) {
  const std::string name = b.var->name.empty() ? "this value" : "%" + b.var->name;
  diagnostics.error(DiagnosticId::cannot_infer, b.location,
                    fmt::format("the sizes of {} are those of another function", name),
                    {"so far: " + relay::str(b.var->type)},
                    "write its type, with ? for these sizes, or the types of the function's parameters");
}

// The module with the types that it has when it is inferred once more, as its text would be; empty if it has none then.
std::optional<Module> inferred_again(const Module& module, Diagnostics& reasons) {
  Module again = copy_with_own_variables(module);
  return Inference(again, reasons).run() ? std::optional(std::move(again)) : std::nullopt;
}

}  // namespace

// What inference finds for functions without types is a program with types like any other: it must have types when it
// is inferred once more. Such functions get any sizes where data have tensors of any sizes. Where the types that follow
// do not fit, they have the sizes that are known first.
bool infer_types(Module& module, Diagnostics& diagnostics) {
  const bool is_complete = !module.functions.contains("");
  if (!is_complete || !has_parameter(module, is_incomplete)) return Inference(module, diagnostics).run();
  // Types were removed where sizes were chosen, and "?" in a parameter becomes a size of the function.
  auto is_final = [](const Inference& inference, const Module& typed) {
    return inference.chosen_sizes().empty() && !has_parameter(typed, has_unnamed_size);
  };
  Module typed = copy_with_own_variables(module);
  Diagnostics found, reasons;
  Inference any(typed, found, Inference::SizesOfOpenFunctions::any);
  if (any.run()) {
    if (auto again = inferred_again(typed, reasons)) {
      module = is_final(any, typed) ? std::move(typed) : std::move(*again);
      find_foreign_sizes(module, any.chosen_sizes(), [&](const Binding& b) { report_foreign_sizes(b, found); });
      for (const Diagnostic& d : found.list()) diagnostics.add(d);
      return !found.has_errors();
    }
  }
  Inference first(module, diagnostics);
  if (!first.run()) return false;
  reasons = {};
  if (auto again = inferred_again(module, reasons)) {
    if (!is_final(first, module)) module = std::move(*again);
    return true;
  }
  report_wrong_types(reasons, diagnostics);
  return false;
}

}  // namespace dlcc::relay

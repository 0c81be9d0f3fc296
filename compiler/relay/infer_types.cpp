// Type inference of a module: by one run of Inference, or by more where functions have no types.
#include <algorithm>

#include "relay/foreign_sizes.h"
#include "relay/inference.h"
#include "relay/types_in.h"
#include "relay/visit.h"

namespace dlcc::relay {

namespace {

bool has_open_parameter(const Function&);

bool has_open_parameter(const Block& block) {
  bool found = false;
  for (const Binding& b : block.bindings) {
    if (found) return true;
    if (const MakeFunction* made = std::get_if<MakeFunction>(&b.op))
      found = has_open_parameter(*made->function);
    else
      for_each_block(b.op, [&](const Block& inner) { found |= has_open_parameter(inner); });
  }
  return found;
}

// Whether a parameter of the function, or of one in it, has no type.
bool has_open_parameter(const Function& function) {
  return std::ranges::any_of(function.params, [](const Var& p) { return is_incomplete(p->type); }) ||
         has_open_parameter(function.body);
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

}  // namespace

// What inference finds for functions without types is a program with types like any other: it must have types when it
// is inferred once more, as its text would be. Such functions get any sizes where data have tensors of any sizes. Where
// the types that follow do not fit, they have the sizes that are known first.
bool infer_types(Module& module, Diagnostics& diagnostics) {
  const bool is_open =
      std::ranges::any_of(module.functions, [](const auto& f) { return has_open_parameter(f.second); });
  const bool is_complete = !module.functions.contains("");
  if (!is_open || !is_complete) return Inference(module, diagnostics).run();
  Module typed = copy_with_own_variables(module);
  Diagnostics found, reasons;
  Inference any(typed, found, Inference::SizesOfOpenFunctions::any);
  if (any.run() && Inference(typed, reasons).run()) {
    module = std::move(typed);
    find_foreign_sizes(module, any.chosen_sizes(), [&](const Binding& b) { report_foreign_sizes(b, found); });
    for (const Diagnostic& d : found.list()) diagnostics.add(d);
    return !found.has_errors();
  }
  if (!Inference(module, diagnostics).run()) return false;
  reasons = {};
  if (Inference(module, reasons).run()) return true;
  report_wrong_types(reasons, diagnostics);
  return false;
}

}  // namespace dlcc::relay

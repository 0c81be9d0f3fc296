#include "pipeline/random_inputs.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "lower/equal_sizes.h"
#include "lower/instantiate.h"
#include "pipeline/tensor_files.h"
#include "shape/caller_sizes.h"
#include "support/similar_names.h"

namespace dlcc {
namespace {

void report_unknown_names(const emit::Interface& interface, const std::map<std::string, int64_t>& sizes,
                          Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const InputDim& d : interface.dims) names.push_back(d.name);
  for (const auto& [name, size] : sizes)
    if (std::ranges::count(names, name) == 0)
      diagnostics.error(DiagnosticId::bad_option, {},
                        fmt::format("--size {}={}: no input has a symbolic size of this name", name, size), {},
                        names.empty() ? "all sizes are numbers" : suggest_names(name, names));
}

int64_t memory_of_machine() { return int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE); }

}  // namespace

std::optional<RandomInputs> random_inputs(const Planned& planned, const std::map<std::string, int64_t>& sizes,
                                          Diagnostics& diagnostics) {
  const size_t errors = diagnostics.error_count();
  const emit::Interface& interface = planned.interface;
  report_unknown_names(interface, sizes, diagnostics);
  RandomInputs inputs{lower::typical_sizes(planned.program), {}};
  std::map<std::string, Dim> symbols;
  std::set<std::string> given_symbols;
  for (const InputDim& d : interface.dims) {
    int64_t& value = inputs.symbols.at(d.symbol.name);
    if (auto given = sizes.find(d.name); given != sizes.end()) {
      if (given->second < d.low() || given->second > d.high() || given->second % d.multiple != 0)
        diagnostics.error(DiagnosticId::bad_option, {},
                          fmt::format("--size {}={}: the size must be {}", d.name, given->second, bounds_of(d)));
      value = given->second / d.multiple;
      given_symbols.insert(d.symbol.name);
    }
  }
  lower::satisfy_equalities(planned.program, given_symbols, inputs.symbols);
  for (const InputDim& d : interface.dims) symbols.emplace(d.symbol.name, inputs.symbols.at(d.symbol.name));
  for (emit::TensorInterface t : interface.inputs) {
    for (Dim& d : t.shape) d = d.substitute(symbols);
    const auto count = product(t.shape).constant();
    if (!count || *count > memory_of_machine() / std::max(1, bits(t.type) / 8))
      diagnostics.error(
          DiagnosticId::bad_option, {},
          fmt::format("input '{}' would have the shape {}, more than the memory of this machine", t.name, str(t.shape)),
          {}, "measure smaller sizes: --size NAME=N");
    if (diagnostics.error_count() == errors) inputs.values.push_back(random_tensor(t, inputs.values.size() + 1));
  }
  return diagnostics.error_count() == errors ? std::optional(std::move(inputs)) : std::nullopt;
}

}  // namespace dlcc

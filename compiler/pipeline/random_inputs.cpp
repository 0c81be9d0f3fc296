#include "pipeline/random_inputs.h"

#include <algorithm>

#include "pipeline/tensor_files.h"
#include "shape/caller_sizes.h"
#include "support/similar_names.h"

namespace dlcc {
namespace {

// The caller's number for a size; empty, with a diagnostic, if it is unknown or not allowed.
std::optional<int64_t> size_of(const InputDim& d, const std::map<std::string, int64_t>& sizes,
                               Diagnostics& diagnostics) {
  auto given = sizes.find(d.name);
  if (given == sizes.end() && d.typical != 0) return d.typical;
  if (given == sizes.end()) {
    diagnostics.error(DiagnosticId::bad_option, {},
                      fmt::format("the size '{}' of the random inputs is not known", d.name), {},
                      fmt::format("--size {0}={1}, or a typical size: --dim {0}={1}..@{1}", d.name, d.low()));
    return std::nullopt;
  }
  const int64_t size = given->second;
  if (size >= d.low() && size <= d.high() && size % d.multiple == 0) return size;
  diagnostics.error(DiagnosticId::bad_option, {},
                    fmt::format("--size {}={}: the size must be {}", d.name, size, bounds_of(d)));
  return std::nullopt;
}

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

}  // namespace

std::optional<std::vector<Constant>> random_inputs(const emit::Interface& interface,
                                                   const std::map<std::string, int64_t>& sizes,
                                                   Diagnostics& diagnostics) {
  const size_t errors = diagnostics.error_count();
  report_unknown_names(interface, sizes, diagnostics);
  std::map<std::string, Dim> symbols;
  for (const InputDim& d : interface.dims)
    if (auto size = size_of(d, sizes, diagnostics)) symbols.emplace(d.symbol.name, *size / d.multiple);
  if (diagnostics.error_count() != errors) return std::nullopt;
  std::vector<Constant> inputs;
  for (emit::TensorInterface t : interface.inputs) {
    for (Dim& d : t.shape) d = d.substitute(symbols);
    const auto count = product(t.shape).constant();
    if (!count || *count > int64_t{1} << 40) {
      diagnostics.error(DiagnosticId::bad_option, {},
                        fmt::format("input '{}' would have more than 2^40 elements at these sizes", t.name));
      return std::nullopt;
    }
    inputs.push_back(random_tensor(t, inputs.size() + 1));
  }
  return inputs;
}

}  // namespace dlcc

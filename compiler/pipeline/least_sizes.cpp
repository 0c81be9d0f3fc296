#include "pipeline/least_sizes.h"

#include <algorithm>
#include <optional>

#include "relay/input_dims.h"
#include "relay/passes/passes.h"

namespace dlcc {
namespace {

constexpr int64_t most_refused = 4096;  // values of a size that are tried

// The sizes that @main requires outside of branches and loops.
std::vector<Dim> required_sizes(const relay::Module& module) {
  relay::PassContext context;
  const relay::Module checked = relay::require_sizes(module, context);
  std::vector<Dim> sizes;
  for (const relay::Binding& b : checked.functions.at("main").body.bindings)
    if (const auto* required = std::get_if<relay::RequireSizes>(&b.op))
      sizes.insert(sizes.end(), required->sizes.begin(), required->sizes.end());
  return sizes;
}

// The least value of the symbol at which no size that depends on it alone is negative. Empty if it is not below the
// symbol's upper bound, or not among the first values.
std::optional<int64_t> least_accepted(const Symbol& symbol, const std::vector<Dim>& sizes) {
  const std::vector<Symbol> alone = {symbol};
  const int64_t end = symbol.high - symbol.low > most_refused ? symbol.low + most_refused : symbol.high;
  auto is_refused = [&](int64_t value) {
    return std::ranges::any_of(sizes, [&](const Dim& d) {
      if (d.symbols() != alone) return false;
      const auto size = d.evaluate({{symbol.name, value}});
      return size && *size < 0;
    });
  };
  int64_t value = symbol.low;
  while (value < end && is_refused(value)) ++value;
  return value < end ? std::optional(value) : std::nullopt;
}

}  // namespace

std::map<std::string, SizeRange> ranges_of_accepted_sizes(const relay::Module& module) {
  std::map<std::string, SizeRange> ranges;
  const std::vector<InputDim> dims = relay::input_dims(module);
  if (dims.empty()) return ranges;
  const std::vector<Dim> sizes = required_sizes(module);
  for (const InputDim& d : dims) {
    const auto least = least_accepted(d.symbol, sizes);
    if (!least || *least == d.symbol.low) continue;
    SizeRange range;
    range.low = *least * d.multiple, range.high = d.high(), range.multiple = d.multiple;
    if (d.typical != 0) range.typical = std::max(d.typical, range.low);
    ranges.emplace(d.name, range);
  }
  return ranges;
}

}  // namespace dlcc

#include "tensor/schedules/tuning_config.h"

#include <fmt/format.h>

namespace dlcc::tensor {

std::span<const TuningParameter> tuning_parameters() {
  static const std::vector<TuningParameter> all = {
#define TUNING_PARAMETER(name, about, ...) {#name, about, &TuningConfig::name, {__VA_ARGS__}},
#include "tensor/schedules/tuning_config.def"
#undef TUNING_PARAMETER
  };
  return all;
}

std::string str(const TuningConfig& config) {
  std::string text;
  for (const TuningParameter& p : tuning_parameters())
    if (auto value = config.*p.value) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", p.name, *value);
  return text;
}

Machine apply_config(Machine machine, const TuningConfig& config) {
  machine.winograd_block_bytes =
      config.winograd_block_kib ? *config.winograd_block_kib << 10 : machine.winograd_block_bytes;
  machine.k_unroll = config.k_unroll.value_or(machine.k_unroll);
  machine.accumulators_in_flight = static_cast<int>(config.accumulators.value_or(machine.accumulators_in_flight));
  return machine;
}

}  // namespace dlcc::tensor

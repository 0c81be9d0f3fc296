// Tuning configurations: parameters of a schedule in place of estimates from the target's table. They change packed
// constants, scratch and the order of the work, never the layouts of operands and results. A value that the definition,
// its layouts or the options do not admit is ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/machine.h"

namespace dlcc::tensor {

// A parameter without a value is estimated.
struct TuningConfig {
#define TUNING_PARAMETER(name, about, ...) std::optional<int64_t> name;
#include "tensor/schedules/tuning_config.def"
#undef TUNING_PARAMETER
  bool operator==(const TuningConfig&) const = default;
};

struct TuningParameter {
  const char* name;
  const char* about;
  std::optional<int64_t> TuningConfig::*value;
  std::vector<int64_t> values;  // the candidates
};
std::span<const TuningParameter> tuning_parameters();

std::string str(const TuningConfig&);  // "panel_width 48, k_unroll 8"; empty without values

// The machine with the numbers that the configuration overrides.
Machine apply_config(Machine, const TuningConfig&);

}  // namespace dlcc::tensor

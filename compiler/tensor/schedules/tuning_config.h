// What a schedule may do otherwise than the target's table suggests, while all others find every value stored as
// before: only constants, scratch and the order of the work differ. What a definition, its layouts or the options do
// not admit is not done, whatever was chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/machine.h"

namespace dlcc::tensor {

// Empty: as estimated.
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
  std::vector<int64_t> values;  // that it may have
};
std::span<const TuningParameter> tuning_parameters();

std::string str(const TuningConfig&);  // "panel 48, step 8"; empty when nothing is chosen

// The machine, with those of its numbers replaced that are chosen.
Machine apply_config(Machine, const TuningConfig&);

}  // namespace dlcc::tensor

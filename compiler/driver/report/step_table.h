// The steps of a program as tables of text and as JSON: their costs for `inspect`, their times for `bench`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "pipeline/profile.h"

namespace dlcc::driver {

std::string step_table(const std::vector<lower::StepCost>&);
nlohmann::json step_json(const lower::StepCost&);

// A remark on a step that copies operands to scratch or only moves data; "" for other steps.
std::string remark(const lower::StepCost&);

std::string profile_table(const Profile&);
nlohmann::json profile_json(const Profile&);  // {"peak_gflops", "bandwidth_gbs", ..., "layers": [...]}

}  // namespace dlcc::driver

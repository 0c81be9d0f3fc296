// The steps of a program as tables for people and as JSON; `inspect` shows what they are, `bench` how they ran.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "pipeline/profile.h"

namespace dlcc::driver {

std::string step_table(const std::vector<lower::StepCost>&);
nlohmann::json step_json(const lower::StepCost&);

// What stands out in a step, in words: converted copies of operands, mere movement. Empty for most.
std::string remark(const lower::StepCost&);

std::string profile_table(const Profile&);
nlohmann::json profile_json(const Profile&);  // {"peak_gflops", "bandwidth_gbs", ..., "layers": [...]}

}  // namespace dlcc::driver

// The checker of storage plans. It runs at every compilation and shares no code with the planner, so that a defect of
// the planner is an internal error and never a wrong result. check_plan.cpp lists its rules.
#pragma once

#include <string>

#include "lower/plan.h"
#include "lower/program.h"

namespace dlcc::lower {

// Executes the program over a map from each byte of memory to the value last written there: every read must find its
// own value in every byte. Programs with symbols are executed at several sizes, which `jobs` threads share. Returns an
// empty string for a correct plan, else a message about a violation.
std::string check_storage(const Program&, const StoragePlan&, int jobs = 1);

}  // namespace dlcc::lower

// In-place results: a result may share the memory of a parameter.
#pragma once

#include <utility>
#include <vector>

#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {

// The pairs (result, parameter) of equal type, shape and layout of which the parameter is read only at the element that
// is written next. `layouts` of parameters, then results, as the kernels see them.
std::vector<std::pair<int, int>> in_place_pairs(const ScheduleRequest&, const std::vector<Layout>& layouts);

}  // namespace dlcc::tensor

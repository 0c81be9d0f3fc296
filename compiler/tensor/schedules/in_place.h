// In-place results: a result may share the memory of a parameter.
#pragma once

#include <utility>
#include <vector>

#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {

// The pairs (result, parameter) of equal type, shape and layout in which the parameter's element i is read only to
// compute the result's element i. `layouts` of the parameters, then of the results, as in the kernels.
std::vector<std::pair<int, int>> in_place_pairs(const ScheduleRequest&, const std::vector<Layout>& layouts);

}  // namespace dlcc::tensor

// Layouts of constants that schedules do not pack themselves.
#pragma once

#include <vector>

#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {

// Gives constant vectors along the blocked axis of the result, such as a bias along the channels, a layout padded to
// whole blocks, so that kernels load whole vectors. `layouts` of parameters, then results.
void pad_constant_vectors(const ScheduleRequest&, std::vector<Layout>& layouts);

}  // namespace dlcc::tensor

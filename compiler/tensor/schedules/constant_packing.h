// Layouts of constants that schedules do not pack themselves.
#pragma once

#include <vector>

#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {

// Pads constant vectors along the blocked axis of the result, such as a bias along the channels, to whole blocks in
// storage, so that kernels load whole vectors. `layouts`, which the function changes, are those of the parameters, then
// of the results.
void pad_constant_vectors(const ScheduleRequest&, std::vector<Layout>& layouts);

}  // namespace dlcc::tensor

// The choice between the two schedules of a convolution that reads a dense image and whose readers need a dense result:
// register tiles of channels (contraction.h), whose result is stored in blocks of channels and then copied, or register
// tiles of pixels (tiled_reduction.h), which store the dense result themselves.
#pragma once

#include <vector>

#include "tensor/ir.h"
#include "tensor/machine.h"
#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {

// Whether register tiles of pixels are estimated to be faster: where rows fill their vectors better than channels fill
// their blocks, or the sums are so short that the copy takes longer than they do. `constant` as in ScheduleRequest; the
// machine is the storage machine.
bool prefers_dense_result(const TensorFunction&, const std::vector<bool>& constant, const ScheduleOptions&,
                          const Machine&);

}  // namespace dlcc::tensor

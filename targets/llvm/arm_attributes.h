// The section .ARM.attributes of an object: what its code requires of a CPU and of the program that it is linked into
// (Arm, "Addenda to, and Errata in, the ABI for the Arm Architecture", section 3).
#pragma once

#include <cstddef>
#include <vector>

namespace dlcc::targets {

// Changes the attribute Tag_ABI_VFP_args from "floats are passed in registers of the FPU" to "compatible with both
// calling conventions": the functions of a model's interface have no floats as parameters or results. Linkers then
// accept the object in programs of either convention (-mfloat-abi=hard, softfp).
void allow_both_calling_conventions(std::vector<std::byte>& attributes);

}  // namespace dlcc::targets

// Verification after passes and schedules. verify() is declared in ir.h; verify.cpp and type_rules.h list the rules.
#pragma once

#include <string_view>

#include "support/diagnostics.h"
#include "support/verify_builds.h"
#include "tensor/ir.h"

namespace dlcc::tensor {

// Verifies the result of a pass or a schedule. Throws InternalError with the name of the pass and all violations.
void check_verified(const TensorFunction&, std::string_view pass);
void check_verified(const Kernel&, std::string_view pass);

// check_verified() in builds that verify after every pass (CMake option DLCC_VERIFY); nothing in other builds.
template <class Function>
void verify_after(std::string_view pass, const Function& f) {
  if constexpr (verify_every_pass) check_verified(f, pass);
}

}  // namespace dlcc::tensor

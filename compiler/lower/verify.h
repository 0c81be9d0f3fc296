// The verifier of programs. verify.cpp lists its rules.
#pragma once

#include <string_view>

#include "lower/program.h"
#include "support/diagnostics.h"
#include "support/verify_builds.h"

namespace dlcc::lower {

// Reports each violation; true if there is none.
bool verify(const Program&, Diagnostics&);

// Throws InternalError with the name of the pass and all violations.
void check_verified(const Program&, std::string_view pass);

// Verifies the program in builds with DLCC_VERIFY.
inline void verify_after(std::string_view pass, const Program& program) {
  if constexpr (verify_every_pass) check_verified(program, pass);
}

}  // namespace dlcc::lower

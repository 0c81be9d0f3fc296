// Whether this build of dlcc verifies both IRs after every pass and every schedule, independent of options: CMake's
// DLCC_VERIFY, which the `dev` preset sets.
#pragma once

namespace dlcc {

#ifdef DLCC_VERIFY
inline constexpr bool verify_every_pass = true;
#else
inline constexpr bool verify_every_pass = false;
#endif

}  // namespace dlcc

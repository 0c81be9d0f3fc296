// Builds that verify both IRs after every pass and every schedule, whatever the options: CMake's DLCC_VERIFY, on in the
// `dev` preset.
#pragma once

namespace dlcc {

#ifdef DLCC_VERIFY
inline constexpr bool verify_every_pass = true;
#else
inline constexpr bool verify_every_pass = false;
#endif

}  // namespace dlcc

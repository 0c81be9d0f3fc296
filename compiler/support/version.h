// dlcc's version; CMake sets DLCC_VERSION from the project's.
#pragma once

namespace dlcc {
inline constexpr const char* version = DLCC_VERSION;
}

// The file of source locations in the prelude.
#pragma once

namespace dlcc::relay {

inline constexpr const char* prelude_file = "<prelude>";

}  // namespace dlcc::relay

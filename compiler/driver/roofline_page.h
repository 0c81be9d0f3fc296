// A profile as one HTML page without scripts or external references: the roofline with a dot for each step, the
// distribution of the latency, and a table of the steps. Follows the reader's light or dark mode.
#pragma once

#include <string>

#include "emit/interface.h"
#include "pipeline/profile.h"

namespace dlcc::driver {

std::string roofline_page(const emit::Interface&, const Profile&);

}  // namespace dlcc::driver

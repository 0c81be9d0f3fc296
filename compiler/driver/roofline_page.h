// A profile as one HTML page without scripts or references: the roofline with a dot for each step, the distribution of
// the latency, and the steps as a table. Light or dark as the reader's system says.
#pragma once

#include <string>

#include "emit/interface.h"
#include "pipeline/profile.h"

namespace dlcc::driver {

std::string roofline_page(const emit::Interface&, const Profile&);

}  // namespace dlcc::driver

// The call of an operator as text.
#pragma once

#include <string>

#include "relay/operator.h"

namespace dlcc::driver {

// nn.softmax(data, axis=-1): arguments, then attributes with their defaults, or with the type of what a call must give.
std::string operator_signature(const relay::Operator&);

}  // namespace dlcc::driver

// Operands of one element that are known become literals of a definition.
#pragma once

#include <vector>

#include "relay/ir.h"
#include "tensor/ir.h"

namespace dlcc::relay {

// Replaces the loads of parameters whose arguments are constants of one element by literals. Removes these parameters
// and arguments. Elements of less than a byte stay operands.
void embed_scalars(tensor::TensorFunction&, std::vector<Atom>& args);

}  // namespace dlcc::relay

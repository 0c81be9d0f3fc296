// Operands that a definition need not read from memory.
#pragma once

#include <vector>

#include "relay/ir.h"
#include "tensor/ir.h"

namespace dlcc::relay {

// Replaces the loads of parameters whose arguments are constants of one element by literals. Removes these parameters
// and arguments. Elements of less than a byte stay operands.
void embed_scalars(tensor::TensorFunction&, std::vector<Atom>& args);

// Removes the parameters and arguments of a definition that reads none of them, but for those that define its symbols.
void drop_unread_args(tensor::TensorFunction&, std::vector<Atom>& args);

}  // namespace dlcc::relay

// Lookups of bytes in tables of 256 bytes, for which some CPUs have vector instructions. A function of bytes that takes
// long is such a table.
#pragma once

#include <cstdint>
#include <set>

#include "tensor/ir.h"

namespace dlcc::tensor {

inline constexpr int64_t lookup_table_entries = 256;

// The conversions of bytes to indices of such tables in the expression: the instructions take the bytes themselves.
std::set<const ExprNode*> conversions_to_lookup_indices(const Expr&);

}  // namespace dlcc::tensor

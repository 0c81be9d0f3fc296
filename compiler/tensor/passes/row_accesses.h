// Which rows of a buffer the iterations of a loop access.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

struct Accesses {
  std::map<Buffer, std::vector<std::vector<Expr>>> indices;  // of each access of a buffer
  std::set<Buffer> written;
};

// The accesses of the buffers that the statement does not allocate itself.
Accesses accesses_in(const Stmt&);

bool accesses(const Stmt&, const Buffer&);

// The first dimension whose index is the variable in every access; empty if there is none. An iteration of the
// variable's loop then accesses a row that no other iteration accesses.
std::optional<size_t> row_dimension(const std::vector<std::vector<Expr>>& accesses, const Var&);

// The statements of a sequence; any other statement alone.
std::vector<Stmt> statements_of(const Stmt&);

}  // namespace dlcc::tensor

// Strip-mines vector loops: cuts each into vectors of as many iterations as a vector register has lanes.
#pragma once

#include <map>

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

// For each statement that a pass has copied, the statement of which it is a copy: debug information refers to that.
using StatementOrigins = std::map<const StmtNode*, Stmt>;

// To follow legalize_vector_loops(). A vector has the largest power of two of iterations that the loop has and for
// which the widest type of its body fits one register. The rest of the loop is vectors of descending powers of two, the
// last of which may be a single iteration. The loop over full vectors counts elements:
//
//   vector v in 21 { y[v] = x[v] }    becomes, with 8 lanes,
//
//   for v in 2 { let v.1 = 8 * v; vector lane in 8 { y[v.1 + lane] = x[v.1 + lane] } }
//   vector lane in 4 { y[16 + lane] = x[16 + lane] }
//   y[20] = x[20]
//
// It is unrolled if its variable indexes a register buffer, since such indices are constant in generated code. A buffer
// that a vector loop allocates belongs to one iteration. It is privatized: outside of the vector, it gets a dimension
// for the lanes. Loops of unknown extent become serial, as do all on machines without vectors.
//
// `has_byte_lookups`: the CPU looks up vectors of bytes in tables of 256 bytes. The conversion of such bytes to indices
// is then no value of its own, whose width limits the number of lanes. If `origins` is not null, the copied statements
// are added to it.
Stmt strip_mine_vector_loops(const Stmt&, const Machine&, bool has_byte_lookups, StatementOrigins* origins = nullptr);

}  // namespace dlcc::tensor

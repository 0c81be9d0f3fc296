// Functions from bytes to bytes as tables, for the pass simplify_quantization:
//
//   quantize(f(dequantize(x)))  becomes  take(table, x), where the table has the 256 results of f
//
// for functions f of each element that take longer than a load, such as GELU, which is several operations on
// dequantized data. All of them have results of the shape of x. The results are those of the definitions of these
// operations, evaluated at compile time.
#pragma once

#include <optional>

#include "relay/passes/block_rewriter.h"

namespace dlcc::relay {

// The result of a call of qnn.quantize as a table's elements. Nothing if its operand is no such function of one tensor
// of bytes, or one that is cheaper to compute.
std::optional<Atom> looked_up(BlockRewriter&, const Call& quantize);

}  // namespace dlcc::relay

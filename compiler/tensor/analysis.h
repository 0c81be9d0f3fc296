// What a definition's structure says about it. Fusion, layouts and schedules decide by these facts, never by operator
// names (Relax, algorithm 1).
#pragma once

#include <optional>
#include <vector>

#include "tensor/ir.h"
#include "tensor/simplify.h"

namespace dlcc::tensor {

// Ordered by how much fusion may do with a function; the kind of a chain is the largest of its parts.
enum class Pattern : uint8_t {
  elementwise,  // every operand is read at the result's own index, or not at all along broadcast dimensions
  injective,    // one unreduced stage that reads anywhere: transposition, slicing, gathering
  reduction,    // one reduced stage, unreduced ones behind it
  contraction,  // a sum of products of two operands, elementwise stages behind it
  opaque,       // anything else: several reductions, several results, pieces
};
Pattern pattern_of(const TensorFunction&);

// Every stage fills a box of the only result with elements of operands: a concatenation.
bool consists_of_pieces(const TensorFunction&);

// The stage reads `buffer` only at its own axes, in order.
bool reads_at_own_index(const Stage&, const BufferNode* buffer);

// The stage axis that is index `d` of every read of the buffer, or -1.
int axis_read_at(const Stage&, const Buffer&, int d);

// A stage that is a sum of products of two loads.
struct Contraction {
  int stage;     // its index in the function
  int epilogue;  // index of the one elementwise stage behind it, or -1
  Load data;     // the factor whose elements are broadcast
  Load weights;  // the factor that has the axes along which vectors run; the constant one if one is
};

// The function's contraction when it consists of one, optionally followed by one stage that reads its result at its own
// index. `constant[k]` says that parameter k is known at compile time.
std::optional<Contraction> find_contraction(const TensorFunction&, const std::vector<bool>& constant);

// How many neighbours along an axis of a contraction share its data, which is read at floordiv(axis, q) only: the
// greatest common divisor of all q; 0 when the axis does not appear in the data, 1 when it appears in another way.
int64_t n_per_group(const Load& data, const Var& axis);

// The result's axis that only the weights of a contraction have, but for groups of whole blocks, when vectors along it
// would not be contiguous in dense order and fill half of a block: an image's channels. -1 when there is none.
int channel_axis(const TensorFunction&, const std::vector<bool>& constant, int64_t block);

// A sum of products with its epilogue, and a reduction with its own, which is all that reads the first one's result.
// Both have the function's parameters; the second one's last parameter is that result.
struct Chain {
  TensorFunction first, second;
};
std::optional<Chain> split_at_window_reduction(const TensorFunction&);

// The function gives its only operand's elements in unchanged row-major order: a reshape. It costs nothing: the result
// is a view of the operand.
bool is_view(const TensorFunction&);

// The function gives a contiguous range of its only operand's elements in unchanged order, beginning at the returned
// element: a reshape, or a slice of the outermost dimension. Empty when it is not that.
std::optional<int64_t> contiguous_slice(const TensorFunction&);

// The function only lays its operands next to each other, and in storage each is a contiguous run of the result: the
// element of the stored result that each operand's storage begins with. Layouts of parameters, then of the result.
std::optional<std::vector<int64_t>> piece_offsets(const TensorFunction&, const std::vector<Layout>&);

// Multiply-accumulate operations: the sum over all contraction stages of their points times their terms.
int64_t multiply_accumulates(const TensorFunction&);

// The expression contains functions that cost many instructions.
bool is_expensive(const Expr&);

// Bounds of each index of a read; empty when some cannot be derived.
std::vector<Range> ranges_read(const Load&, const Ranges&);

// Bounds of the axes of a stage and of its reduction.
Ranges ranges_of(const Stage&);

}  // namespace dlcc::tensor

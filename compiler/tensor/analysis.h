// Analysis of definitions. Fusion, layouts and schedules decide by the structure of a definition, never by the name of
// an operator (Lai et al., "Relax: Composable Abstractions for End-to-End Dynamic Machine Learning", ASPLOS 2025,
// algorithm 1).
#pragma once

#include <optional>
#include <vector>

#include "tensor/ir.h"
#include "tensor/simplify.h"

namespace dlcc::tensor {

// The access pattern of a function, ordered from the easiest to fuse to the hardest. The pattern of a fused group is
// the maximum of its members' patterns.
enum class OpPattern : uint8_t {
  elementwise,  // each operand is read at the result's index, broadcast dimensions left out
  injective,    // one stage without reduction that reads at any index: transposition, slicing, gathering
  reduction,    // one reduction, then elementwise stages
  contraction,  // one sum of products of two operands, then elementwise stages
  row_chain,    // reductions and elementwise stages in any other order, of which the last is elementwise: softmax
  opaque,       // anything else: several results, concatenation, a result that is a reduction of reductions
};
OpPattern pattern_of(const TensorFunction&);

// All symbols of a function, each once, sorted by name: of the shapes of its buffers, of axes and origins, and of its
// expressions.
std::vector<Symbol> symbols_of(const TensorFunction&);

// Whether some stage has a body of statements.
bool has_body(const TensorFunction&);

// Whether the reduction may be evaluated in any order (tensor/ir.h).
bool is_order_independent(const Reduction&);

// Whether the stage computes the whole of its only result from values, without a body and without requirements.
bool is_plain(const Stage&);

// Whether neighbours along dimension `d` of a dense buffer are neighbours in memory.
bool is_innermost(const BufferNode&, size_t d);

// Whether the expression, or any expression of the stage, loads from the buffer.
bool reads(const Expr&, const Buffer&);
bool reads(const Stage&, const Buffer&);

// Whether every load of `buffer` in the stage's values has exactly the stage's axes as indices, in order; 0 stands for
// an axis of one index, too.
bool reads_at_own_index(const Stage&, const BufferNode* buffer);

// The dimension of the load whose index is the variable; -1 if no index uses the variable; empty if the variable occurs
// in any other way.
std::optional<int> dimension_along(const Load&, const Var&);

// The position of the stage's axis that is index `d` of every load of the buffer; -1 if there is no such axis.
int axis_read_at(const Stage&, const Buffer&, int d);

// A contraction: a stage that is a sum of products of two loads.
struct Contraction {
  int stage;     // the index of the contraction in the function's stages
  int epilogue;  // the index of the elementwise stage after it, or -1
  Load data;     // the factor without the N axis: its elements are broadcast to vectors
  // The factor with the N axis, along which vectors are loaded. It is the constant factor if exactly one is constant;
  // else the factor with the innermost axis that the other factor does not have. This axis must be an index by itself:
  // the columns of an image do not count, since taps are added to them.
  Load weights;
};

// The contraction of a function that consists of a contraction and at most one further stage, which reads the sums at
// its own index. Empty for any other function. constant[k]: parameter k is known at compile time.
std::optional<Contraction> find_contraction(const TensorFunction&, const std::vector<bool>& constant);

// The number of consecutive indices of an axis of a contraction that read the same data: the output channels per group
// of a grouped convolution. If the axis occurs in the data's indices only as floordiv(axis, q), this is the greatest
// common divisor of all q. If the axis does not occur: 0. If it occurs in any other way: 1.
int64_t n_per_group(const Load& data, const Var& axis);

// The position of the axis of a contraction's result to store in blocks of `block` elements, such as the channels of an
// image; -1 if there is none. The axis occurs in the weights. It does not occur in the data, unless as the index of
// groups of whole blocks. It is not the innermost axis of the result, and its extent is at least half a block. If no
// factor is constant and the innermost axis of the result occurs in the weights, as in a matrix product, there is none.
int channel_axis(const TensorFunction&, const std::vector<bool>& constant, int64_t block);

// A function split in two: a contraction with its epilogue, and a reduction with its epilogue. Only the reduction reads
// the result of `first`. Both functions have the parameters of the whole; the last parameter of `second` is the result
// of `first`.
struct Chain {
  TensorFunction first, second;
};
constexpr size_t most_stages_of_chain = 4;
// Empty if the function is not such a chain.
std::optional<Chain> split_at_window_reduction(const TensorFunction&);

// Whether all symbols of the function occur in the shapes of its parameters and results.
bool defines_symbols(const TensorFunction&);

// Whether the function computes its only result from indices and sizes alone, and the expression is not expensive.
bool is_cheap_source(const TensorFunction&);

// The number of multiply-accumulate operations in all contractions of the function.
Dim multiply_accumulates(const TensorFunction&);

// Whether the expression contains a function that takes many instructions: a transcendental one, a float division.
bool is_expensive(const Expr&);
bool is_expensive_node(const Expr&);  // the same for the expression without its operands

// Whether the expression becomes many instructions: functions become polynomials. Quotients and roots are expensive,
// but one instruction each, where there is an FPU.
bool has_long_code(const Expr&);

// Whether the index is provably in [0, extent).
bool provably_in_range(const Expr& index, const Dim& extent, const Ranges&);

// The bounds of each index of a load; empty if some index has none.
std::vector<Range> ranges_read(const Load&, const Ranges&);

// The ranges of the axes of a stage and of its reduction; axes of symbolic extents have none.
Ranges ranges_of(const Stage&);

}  // namespace dlcc::tensor

// What the operator files in relay/ops share: checks for type relations, axes, broadcasting and index maps. Checks
// return the error they found, or nothing, so that a relation reads as a list of `if (auto e = ...) return *e;`.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "relay/operator.h"

namespace dlcc::relay {

using tensor::Definition;
using tensor::Expr;
using tensor::Index;
using tensor::Tensor;
using tensor::TensorFunction;

using Failure = std::optional<TypeError>;
template <class T>
using Checked = std::variant<T, TypeError>;

// ---- errors and element types

TypeError shape_error(std::string message, std::string help = "");
TypeError attribute_error(std::string message, std::string help = "");
Failure first_of(std::initializer_list<Failure>);

// A named set of element types, for checks and their messages.
struct TypeClass {
  const char* text;
  bool (*contains)(DType);
};
namespace types {
extern const TypeClass movable;   // everything of at least 8 bits: what can be copied
extern const TypeClass ordinary;  // bool, integers and floats of at least 16 bits: what can be chosen and compared
extern const TypeClass number;    // integers and floats of at least 16 bits: what can be calculated with
extern const TypeClass real;      // float16, bfloat16, float32, float64
extern const TypeClass integer;   // 8 to 64 bits
extern const TypeClass boolean;
extern const TypeClass index;  // integers whose values fit int64
}  // namespace types

// `what` names the operand in the message.
Failure check_type(const TensorType&, const char* what, const TypeClass&);
Failure check_same_type(const TensorType& a, const char* what_a, const TensorType& b, const char* what_b);
Failure check_rank(const TensorType&, const char* what, int rank);
Failure check_equal(const Dim& a, const std::string& what_a, const Dim& b, const std::string& what_b);
Failure check_positive(const char* attribute, const std::vector<int64_t>& values);
Failure check_layout(const char* attribute, const std::string& found, const std::string& expected);

Failure check_pad_mode(const std::string& mode);

// The type of a result; an error when its size in bytes does not fit int64 or a dimension is negative.
TypeResult tensor_result(Shape shape, DType type);

// Tensor and tuple types behind results that were checked already.
const Shape& shape_in(const TypeResult&);

// ---- axes

Failure check_axis(const char* attribute, int64_t axis, int rank);
int wrap_axis(int64_t axis, int rank);  // 0 <= result < rank for a checked axis
Failure check_axes(const char* attribute, const std::vector<int64_t>& axes, int rank);  // each in range, none twice
std::vector<bool> axis_mask(const std::vector<int64_t>& axes, int rank);                // for checked axes
std::vector<bool> reduced_axes(const std::optional<std::vector<int64_t>>& axes, bool exclude, int rank);  // None: all

// The shape after reducing the marked axes, and the index of an element from the indices of both kinds of axes.
Shape reduced_shape(const Shape&, const std::vector<bool>& reduced, bool keepdims);
Shape extents_of(const Shape&, const std::vector<bool>& marked);
std::vector<Expr> merge_index(const std::vector<bool>& reduced, bool keepdims, Index kept, Index folded);

// ---- broadcasting, by numpy's rules

Checked<Shape> broadcast(const Shape& a, const Shape& b);
Failure check_broadcasts_to(const Shape& from, const Shape& to);
// The type relation of two broadcast operands of one element type.
TypeResult broadcast_result(const Operands& in, const TypeClass&, DType result);
std::vector<Expr> broadcast_index(const Shape& operand, const Shape& result, Index result_index);

// ---- elements

// The element in its stored type, without the widening of float16 and bfloat16: for operators that only move data.
Expr stored(const Tensor&, std::vector<Expr> index);
// Element k of a rank-1 integer tensor as int64; the one element of a scalar.
Expr integer_at(const Tensor&, int64_t k);
Expr scalar(const Tensor&);
// A literal of a type in which arithmetic is done.
Expr number(DType, double);

// The number of elements of a shape.
Expr size_as(DType, const Shape&);

Expr not_equal(Expr a, Expr b);
Expr all_of(const std::vector<Expr>&);  // true for none
Expr any_of(const std::vector<Expr>&);  // false for none

// ---- index maps

Expr flatten_index(const Shape&, Index);  // row-major position
std::vector<Expr> unflatten_index(const Shape&, Expr position);
// The index in `from` of the element that has `to_index` in `to`, for shapes of equal element count and order. Equal
// runs of dimensions are mapped one by one, so that splitting or merging some leaves the others untouched.
std::vector<Expr> reshape_index(const Shape& from, const Shape& to, Index to_index);

// The definition of an operator that changes only the shape.
TensorFunction define_view(const char* name, const TensorType& data, const Shape& result);

// The position in an axis of `extent` elements of the element that stands at `at`, which may lie outside, when the axis
// is padded in mode "edge", "reflect" or "wrap". With `once`, `at` is at most one reflection away.
Expr padded_position(const std::string& mode, Expr at, const Dim& extent, bool once);

// ---- reductions

// The type in which the sum behind a mean is made: wide enough that integers hardly overflow.
DType mean_type(DType);

// Declares the fold of marked axes as the next result. With `divide` the fold is a sum, which is divided by the number
// of folded elements.
void define_reduction(Definition&, const Tensor&, const std::vector<bool>& folded, bool keepdims,
                      const tensor::Reducer&, bool divide);

// ---- operands that decide a shape

// A rank-1 tensor of integers with a static length.
Failure check_list_operand(const TensorType&, const char* what);

// For each of `rank` axes: whether the operand's elements (negative ones count from the end) name it.
std::vector<Expr> marked_axes(const Tensor& axes, int rank);

// For each axis of `data`: whether it is marked, when leaving out marked axes of size 1 gives `result`. The condition
// that the marks do just that.
Expr drops_to(const std::vector<Expr>& marked, const Shape& data, const Shape& result);

// The condition that each named axis is in range and none is named twice, given `marked_axes`.
Expr axes_valid(const Tensor& axes, const std::vector<Expr>& marked);

}  // namespace dlcc::relay

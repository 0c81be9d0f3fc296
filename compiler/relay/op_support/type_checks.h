// Checks for operators' type relations. A check returns the error that it found, or nothing, so that a relation reads
// as a list of `if (auto e = ...) return *e;`.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "relay/operator_spec.h"

namespace dlcc::relay {

using Failure = std::optional<TypeError>;
template <class T>
using Checked = std::variant<T, TypeError>;

TypeError shape_error(std::string message, std::string help = "");
TypeError empty_error(const char* use, const Shape& data);  // "there is no element to take": index_out_of_range
// A size is negative, or 0 where an operator needs a positive one: dimension_out_of_range.
TypeError out_of_range_error(std::string message, std::string help = "");
TypeError attribute_error(std::string message, std::string help = "");
Failure first_of(std::initializer_list<Failure>);

// ---- element types

// A named set of element types, for checks and their messages.
struct TypeClass {
  const char* text;
  bool (*contains)(DType);
};
namespace types {
extern const TypeClass movable;   // everything of at least 8 bits: can be copied
extern const TypeClass ordinary;  // bool, integers and floats of at least 16 bits: can be selected and compared
extern const TypeClass number;    // integers and floats of at least 16 bits: have arithmetic
extern const TypeClass real;      // float16, bfloat16, float32, float64
extern const TypeClass integer;   // 8 to 64 bits
extern const TypeClass boolean;
extern const TypeClass index;  // integers whose values fit int64
}  // namespace types

// `what` names the operand in the message.
Failure check_type(const TensorType&, const char* what, const TypeClass&);
Failure check_same_type(const TensorType& a, const char* what_a, const TensorType& b, const char* what_b);
// The two factors of a contraction must have one type, unless the type of the sums is given.
Failure check_factors(const TensorType& a, const char* what_a, const TensorType& b, const char* what_b,
                      std::optional<DType> sums);

// ---- sizes and attributes

Failure check_rank(const TensorType&, const char* what, int rank);
// The error that two sizes are not proved equal. If they may be, it names them as its unproved pair, and its help tells
// how to require that they are. A size that does not fit 63 bits equals no other and cannot be checked at run time: it
// is an error of its own.
TypeError unequal_sizes(TypeError, const Dim&, const Dim&);
Failure check_equal(const Dim& a, const std::string& what_a, const Dim& b, const std::string& what_b);
Failure check_positive(const char* attribute, const std::vector<int64_t>& values);
// Layouts of data with 1, 2 or 3 spatial axes.
inline constexpr const char* channels_first[] = {"NCW", "NCHW", "NCDHW"};
inline constexpr const char* channels_last[] = {"NWC", "NHWC", "NDHWC"};
inline constexpr const char* channels_first_kernels[] = {"OIW", "OIHW", "OIDHW"};
Failure check_layout(const char* attribute, const std::string& found, const std::string& expected);
Failure check_pad_mode(const std::string& mode);

// ---- axes

Failure check_axis(const char* attribute, int64_t axis, int rank);
int wrap_axis(int64_t axis, int rank);  // 0 <= result < rank for a checked axis
Failure check_axes(const char* attribute, const std::vector<int64_t>& axes, int rank);  // each in range, none twice
std::vector<bool> axis_mask(const std::vector<int64_t>& axes, int rank);                // for checked axes

// ---- results

// The type of a result; an error when its size in bytes does not fit int64 or a dimension is negative.
TypeResult tensor_result(Shape shape, DType type);

// The shape of a type relation's result that is known to be a tensor.
const Shape& shape_in(const TypeResult&);

}  // namespace dlcc::relay

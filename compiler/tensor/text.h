// The vocabulary of the text form, for printer and parser (docs/TENSOR_IR.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensor/ir.h"

namespace dlcc::tensor {

std::string_view short_name(DType);  // "f32", "bool", "f8e5m2"
std::optional<DType> dtype_of_short_name(std::string_view);
std::string_view text_of(UnaryOp);  // as in ops.def
std::string_view text_of(BinaryOp);
bool is_infix(BinaryOp);
int precedence(BinaryOp);                                    // of an infix operator; higher binds tighter
inline constexpr int highest_precedence = 11;                // of operands that never need parentheses
std::string_view text_of(Status);                            // "index_out_of_range"
std::string_view text_of(LoopKind);                          // "for", "parallel", "vector", "unrolled"
std::string_view text_of(ReducerKind);                       // "sum"; "reduce" for other
std::optional<ReducerKind> reducer_named(std::string_view);  // "sum"; empty for "reduce" and anything else
bool is_reserved(std::string_view word);                     // cannot name a variable or buffer
std::string quoted_name(const std::string& function);        // "@f"; "@\"a b\"" for a name that is no word

// The reduction of a named kind over `axes`, of values of type `type`.
Reduction named_reduction(ReducerKind, std::vector<Axis> axes, DType type);

}  // namespace dlcc::tensor

// The checks and their messages.
#include "relay/op_support/type_checks.h"

#include <algorithm>

namespace dlcc::relay {

TypeError shape_error(std::string message, std::string help) {
  return {DiagnosticId::shape_mismatch, std::move(message), std::move(help)};
}

TypeError empty_error(const char* use, const Shape& data) {
  TypeError error = shape_error(fmt::format("there is no element to {}", use), "the data has shape " + str(data));
  error.status = tensor::Status::index_out_of_range;
  return error;
}

TypeError out_of_range_error(std::string message, std::string help) {
  TypeError error = shape_error(std::move(message), std::move(help));
  error.status = tensor::Status::dimension_out_of_range;
  return error;
}

TypeError attribute_error(std::string message, std::string help) {
  return {DiagnosticId::bad_attribute, std::move(message), std::move(help)};
}

Failure first_of(std::initializer_list<Failure> failures) {
  for (const Failure& f : failures)
    if (f) return f;
  return std::nullopt;
}

namespace types {
const TypeClass movable{"a type of at least 8 bits", [](DType t) { return bits(t) >= 8; }};
const TypeClass ordinary{"bool, an integer or a float of at least 16 bits",
                         [](DType t) { return is_float(t) ? bits(t) >= 16 : bits(t) >= 8; }};
const TypeClass number{"an integer or a float of at least 16 bits",
                       [](DType t) { return !is_bool(t) && ordinary.contains(t); }};
const TypeClass real{"float16, bfloat16, float32 or float64", [](DType t) { return is_float(t) && bits(t) >= 16; }};
const TypeClass integer{"an integer of 8 to 64 bits", [](DType t) { return is_integer(t) && bits(t) >= 8; }};
const TypeClass boolean{"bool", is_bool};
const TypeClass index{"a signed integer, or an unsigned one of up to 32 bits",
                      [](DType t) { return integer.contains(t) && t != dtype::u64; }};
}  // namespace types

Failure check_type(const TensorType& type, const char* what, const TypeClass& expected) {
  if (expected.contains(type.dtype)) return std::nullopt;
  return TypeError{DiagnosticId::unsupported_type,
                   fmt::format("{} must be {}, found {}", what, expected.text, name(type.dtype)),
                   "convert it with cast"};
}

Failure check_same_type(const TensorType& a, const char* what_a, const TensorType& b, const char* what_b) {
  if (a.dtype == b.dtype) return std::nullopt;
  return TypeError{DiagnosticId::type_mismatch,
                   fmt::format("{} and {} must have one element type, found {} and {}", what_a, what_b, name(a.dtype),
                               name(b.dtype)),
                   "convert one of them with cast"};
}

Failure check_factors(const TensorType& a, const char* what_a, const TensorType& b, const char* what_b,
                      std::optional<DType> sums) {
  return sums ? check_type(b, what_b, types::number) : check_same_type(a, what_a, b, what_b);
}

Failure check_rank(const TensorType& type, const char* what, int rank) {
  int found = static_cast<int>(type.shape.size());
  if (found == rank) return std::nullopt;
  return shape_error(fmt::format("{} must have {} dimension{}, found {}", what, rank, rank == 1 ? "" : "s", found));
}

TypeError unequal_sizes(TypeError error, const Dim& a, const Dim& b) {
  if (a.is_overflow() || b.is_overflow())
    return {DiagnosticId::too_large, error.message + ": a size does not fit 63 bits", ""};
  if (provably_different(a, b)) return error;
  error.unproved = {a, b};
  error.help = "the two sizes cannot be proved equal; name them with the same symbol or check with match_cast";
  return error;
}

Failure check_equal(const Dim& a, const std::string& what_a, const Dim& b, const std::string& what_b) {
  if (a == b) return std::nullopt;
  return unequal_sizes(shape_error(fmt::format("{} must equal {}, found {} and {}", what_a, what_b, a.str(), b.str())),
                       a, b);
}

Failure check_positive(const char* attribute, const std::vector<int64_t>& values) {
  for (int64_t v : values)
    if (v < 1) return attribute_error(fmt::format("{} must be at least 1, found {}", attribute, v));
  return std::nullopt;
}

Failure check_layout(const char* attribute, const std::string& found, const std::string& expected) {
  if (found == expected) return std::nullopt;
  return TypeError{DiagnosticId::unsupported_attribute,
                   fmt::format("{} must be \"{}\", found \"{}\"", attribute, expected, found),
                   "transpose the operand; dlcc chooses how tensors are stored by itself"};
}

Failure check_pad_mode(const std::string& mode) {
  for (const char* known : {"constant", "edge", "reflect", "symmetric", "wrap"})
    if (mode == known) return std::nullopt;
  return attribute_error(
      fmt::format(R"(pad_mode must be "constant", "edge", "reflect", "symmetric" or "wrap", found "{}")", mode));
}

TypeResult tensor_result(Shape shape, DType type) {
  for (const Dim& d : shape)
    if (d.is_constant() && d.value() < 0)
      return out_of_range_error(fmt::format("the result would have shape {}, with a negative size", str(shape)));
  bool overflow = std::ranges::any_of(shape, [](const Dim& d) { return d.is_overflow(); });
  if (overflow || (product(shape) * Dim(bits(type))).is_overflow())
    return TypeError{DiagnosticId::too_large,
                     fmt::format("the size of a result of shape {} does not fit 63 bits", str(shape)), ""};
  return tensor_type(std::move(shape), type);
}

const Shape& shape_in(const TypeResult& result) {
  const Type* type = std::get_if<Type>(&result);
  DLCC_CHECK(type && as<TensorType>(*type), "not the type of a tensor");
  return as<TensorType>(*type)->shape;
}

Failure check_axis(const char* attribute, int64_t axis, int rank) {
  if (-rank <= axis && axis < rank) return std::nullopt;
  if (rank == 0) return attribute_error(fmt::format("{} is {}, but a scalar has no axes", attribute, axis));
  return attribute_error(fmt::format("{} must be in [{}, {}], found {}", attribute, -rank, rank - 1, axis));
}

int wrap_axis(int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

Failure check_axes(const char* attribute, const std::vector<int64_t>& axes, int rank) {
  std::vector<bool> seen(rank, false);
  for (int64_t axis : axes) {
    if (auto e = check_axis(attribute, axis, rank)) return e;
    int k = wrap_axis(axis, rank);
    if (seen[k]) return attribute_error(fmt::format("{} names axis {} twice", attribute, k));
    seen[k] = true;
  }
  return std::nullopt;
}

std::vector<bool> axis_mask(const std::vector<int64_t>& axes, int rank) {
  std::vector<bool> mask(rank, false);
  for (int64_t axis : axes) mask[wrap_axis(axis, rank)] = true;
  return mask;
}

}  // namespace dlcc::relay

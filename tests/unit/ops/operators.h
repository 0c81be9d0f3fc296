// Applies operators in tests: infers the type, verifies the definition and evaluates it.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "relay/operator.h"
#include "support/float_formats.h"
#include "tensor/evaluate.h"

namespace dlcc::relay {

using Values = std::vector<double>;
constexpr double NaN = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// A constant from values of any type.
inline Constant tensor_of(DType type, std::vector<int64_t> shape, const Values& values) {
  std::vector<std::byte> bytes;
  for (double v : values) {
    uint64_t raw = is_bool(type) || is_integer(type) ? static_cast<uint64_t>(static_cast<int64_t>(v)) : 0;
    if (type == dtype::f64) raw = std::bit_cast<uint64_t>(v);
    if (type == dtype::f32) raw = std::bit_cast<uint32_t>(static_cast<float>(v));
    if (type == dtype::f16) raw = float_to_half(static_cast<float>(v));
    if (type == dtype::bf16) raw = float_to_bfloat16(static_cast<float>(v));
    for (int b = 0; b < bits(type) / 8; ++b) bytes.push_back(static_cast<std::byte>(raw >> (8 * b)));
  }
  return Constant(type, std::move(shape), std::move(bytes));
}
inline Constant floats(std::vector<int64_t> shape, const Values& values) {
  return tensor_of(dtype::f32, std::move(shape), values);
}
inline Constant ints(const Values& values) {
  return tensor_of(dtype::i64, {static_cast<int64_t>(values.size())}, values);
}
inline Constant ints(std::vector<int64_t> shape, const Values& values) {
  return tensor_of(dtype::i64, std::move(shape), values);
}

// 0, 1, 2, ...
inline Values counting(int64_t count, double first = 0) {
  Values values;
  for (int64_t k = 0; k < count; ++k) values.push_back(first + static_cast<double>(k));
  return values;
}

inline AttrList list(std::vector<int64_t> values) { return AttrList(values.begin(), values.end()); }

inline Operands types_of(const std::vector<Constant>& args) {
  Operands types;
  for (const Constant& c : args) types.push_back({shape_of(c.shape()), c.dtype()});
  return types;
}

// The type of a call, which is no error.
inline Type type_of_call(const std::string& name, const Attrs& attrs, const Operands& types) {
  TypeResult type = op(name)->type(attrs, types);
  if (auto* e = std::get_if<TypeError>(&type)) FAIL(name << ": " << e->message);
  return std::get<Type>(type);
}

// The results of a definition, which is valid.
inline tensor::EvaluationResult evaluate_definition(const tensor::TensorFunction& f,
                                                    const std::vector<Constant>& args) {
  Diagnostics diagnostics;
  CHECK_MESSAGE(tensor::verify(f, diagnostics), diagnostics.str());
  return tensor::evaluate(f, args);
}

inline tensor::EvaluationResult evaluate_operator(const std::string& name, const Attrs& attrs,
                                                  const std::vector<Constant>& args) {
  const Operands types = types_of(args);
  const Type inferred = type_of_call(name, attrs, types);
  tensor::TensorFunction f = op(name)->compute(attrs, types);
  std::vector<Type> results = {inferred};
  if (const TupleType* tuple = as<TupleType>(inferred)) results = tuple->fields;
  REQUIRE(f.results.size() == results.size());
  for (size_t k = 0; k < results.size(); ++k)
    CHECK(str(tensor_type(f.results[k]->shape, f.results[k]->type)) == str(results[k]));
  return evaluate_definition(f, args);
}

// The results of an operator that does not fail.
inline std::vector<Constant> apply_all(const std::string& name, const Attrs& attrs, const std::vector<Constant>& args) {
  tensor::EvaluationResult r = evaluate_operator(name, attrs, args);
  CHECK(r.status == tensor::Status::ok);
  return r.results;
}
inline Constant apply(const std::string& name, const Attrs& attrs, const std::vector<Constant>& args) {
  return apply_all(name, attrs, args).at(0);
}

// The status of an operator that may fail.
inline tensor::Status status_of(const std::string& name, const Attrs& attrs, const std::vector<Constant>& args) {
  return evaluate_operator(name, attrs, args).status;
}

// The error of a type relation: "shape-mismatch: ...", or "" when there is none.
inline std::string error_of(const std::string& name, const Attrs& attrs, const Operands& types) {
  TypeResult type = op(name)->type(attrs, types);
  auto* e = std::get_if<TypeError>(&type);
  return e ? diagnostic_name(e->id) + ": " + e->message : "";
}
inline std::string type_of(const std::string& name, const Attrs& attrs, const Operands& types) {
  TypeResult type = op(name)->type(attrs, types);
  auto* t = std::get_if<Type>(&type);
  return t ? str(*t) : std::get<TypeError>(type).message;
}
inline TensorType tensor_type_of(DType type, Shape shape) { return {std::move(shape), type}; }
inline TensorType f32(Shape shape) { return {std::move(shape), dtype::f32}; }
inline TensorType i64(Shape shape) { return {std::move(shape), dtype::i64}; }

// Compares type-independent values: equal, both NaN, or within a relative 1e-6.
inline void check_values(const Constant& c, const std::vector<int64_t>& shape, const Values& expected) {
  CHECK(c.shape() == shape);
  REQUIRE(c.count() == static_cast<int64_t>(expected.size()));
  for (int64_t k = 0; k < c.count(); ++k) {
    double found = is_float(c.dtype()) ? c.number_at(k) : static_cast<double>(c.integer_at(k));
    double want = expected[static_cast<size_t>(k)];
    bool same =
        found == want || (std::isnan(found) && std::isnan(want)) || std::abs(found - want) <= 1e-6 * std::abs(want);
    CHECK_MESSAGE(same, "element " << k << ": found " << found << ", expected " << want);
  }
}

}  // namespace dlcc::relay

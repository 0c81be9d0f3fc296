#include "relay/passes/byte_tables.h"

#include <map>
#include <numeric>

#include "relay/passes/byte_contractions.h"
#include "tensor/analysis.h"

namespace dlcc::relay {

namespace {

constexpr int64_t entries = 256;
constexpr size_t most_operations = 32;  // of a function

// All bytes of a type, in the order of their bits as an unsigned number.
Constant all_bytes(DType type) {
  std::vector<uint8_t> values(entries);
  std::iota(values.begin(), values.end(), uint8_t{0});
  if (type == dtype::u8) return Constant::of(type, {entries}, values);
  return Constant::of(type, {entries}, std::vector<int8_t>(values.begin(), values.end()));
}

// Evaluates an expression of one tensor of bytes for all its values.
class Tabulation {
 public:
  explicit Tabulation(BlockRewriter& r) : r_(r) {}

  // The results of a call; empty if it reads anything but functions of the tensor and single numbers, or if an element
  // of its result is no function of the element at the same index.
  std::optional<Constant> results_of(const Call& call) {
    const Operator& callee = *std::get<OperatorRef>(call.callee).op;
    if (callee.variadic || !callee.has_definition()) return std::nullopt;
    Operands types, given;  // of the tabulated values, and of the call
    std::vector<Constant> values;
    for (const Atom& a : call.args) {
      auto value = results_at(a);
      if (!value) return std::nullopt;
      types.push_back({shape_of(value->shape()), value->dtype()});
      given.push_back(r_.tensor(a));
      values.push_back(std::move(*value));
    }
    const bool is_function = bytes_ && is_elementwise(callee, call.attrs, given, r_.tensor(*bytes_).shape) &&
                             is_elementwise(callee, call.attrs, types, {Dim(entries)});
    if (!is_function) return std::nullopt;
    is_costly_ |= callee.tolerance > 0;  // an approximation, such as that of exp
    auto results = evaluate(callee, call.attrs, types, values);
    return results ? std::optional(std::move(results->front())) : std::nullopt;
  }

  const std::optional<Atom>& bytes() const { return bytes_; }
  bool is_costly() const { return is_costly_; }

 private:
  std::optional<Constant> results_at(const Atom& a) {
    const Var* v = std::get_if<Var>(&a);
    if (v && !as<TensorType>((*v)->type)) return std::nullopt;
    if (is_known(r_, a)) {
      const bool is_number = std::ranges::all_of(r_.tensor(a).shape, [](const Dim& d) { return d == Dim(1); });
      const auto number = is_number ? known(r_, a) : std::nullopt;
      return number ? std::optional(number->reshaped({})) : std::nullopt;
    }
    if (!v) return std::nullopt;
    if (auto it = results_.find((*v)->id); it != results_.end()) return it->second;
    if (is_byte(r_.tensor(a).dtype)) {
      if (bytes_ && std::get<Var>(*bytes_) != *v) return std::nullopt;
      bytes_ = a;
      return all_bytes(r_.tensor(a).dtype);
    }
    const Operation* definition = r_.definition(a);
    const Call* call = definition ? std::get_if<Call>(definition) : nullptr;
    const bool is_operator = call && std::holds_alternative<OperatorRef>(call->callee);
    if (!is_operator || operations_++ == most_operations) return std::nullopt;
    auto results = results_of(*call);
    if (results) results_.emplace((*v)->id, *results);
    return results;
  }

  // Whether the operator has one tensor of this shape as its result and reads its operands at the result's index.
  static bool is_elementwise(const Operator& callee, const Attrs& attrs, const Operands& types, const Shape& shape) {
    const TypeResult found = callee.type(attrs, types);
    const Type* type = std::get_if<Type>(&found);
    const TensorType* result = type ? as<TensorType>(*type) : nullptr;
    return result && result->shape == shape &&
           tensor::pattern_of(callee.compute(attrs, types)) == tensor::OpPattern::elementwise;
  }

  BlockRewriter& r_;
  std::map<int, Constant> results_;  // by variable
  size_t operations_ = 0;            // that have been visited
  std::optional<Atom> bytes_;        // the tensor
  bool is_costly_ = false;
};

}  // namespace

std::optional<Atom> looked_up(BlockRewriter& r, const Call& quantize) {
  Tabulation function(r);
  const auto table = function.results_of(quantize);
  if (!table || !is_byte(table->dtype()) || !function.is_costly() || !function.bytes()) return std::nullopt;
  const Atom bytes = *function.bytes();
  const bool is_signed = r.tensor(bytes).dtype == dtype::i8;
  const Atom index = is_signed ? r.emit("cast", {bytes}, {{"dtype", std::string("uint8")}}) : bytes;
  return r.emit("take", {*table, r.emit("cast", {index}, {{"dtype", std::string("int32")}})});
}

}  // namespace dlcc::relay

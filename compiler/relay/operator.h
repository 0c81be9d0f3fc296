// What an operator is: its attributes, its type relation, and its compute definition, which is its only semantics. One
// file in relay/ops defines one operator or one family; docs/ADDING_AN_OPERATOR.md shows how.
//
//   struct SoftmaxAttrs { int64_t axis = -1; };
//
//   void softmax(OperatorTable& table) {          // called from the list that CMake makes of the files in relay/ops
//     table.add<SoftmaxAttrs>({
//         .name = "nn.softmax",
//         .summary = "exp(x) / sum(exp(x)) along one axis",
//         .attributes = {{"axis", &SoftmaxAttrs::axis, "the axis that sums to one; negative counts from the last"}},
//         .arguments = {"data"},
//         .type = [](const SoftmaxAttrs& a, const Operands& in) { ... },
//         .compute = [](const SoftmaxAttrs& a, const Operands& in) { ... },
//     });
//   }
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "relay/attr_fields.h"
#include "relay/ir.h"
#include "tensor/builder.h"

namespace dlcc::relay {

// Types of the tensors an operator is applied to. For a variadic operator (one tuple argument) the tuple's fields.
using Operands = std::vector<TensorType>;

// The outcome of a type relation: a type, or why there is none.
using TypeResult = std::variant<Type, TypeError>;

struct NoAttrs {};

template <class A>
struct OperatorSpec {
  std::string name;
  std::string summary;
  std::vector<Field<A>> attributes;
  std::vector<std::string> arguments;
  bool variadic = false;  // the one argument is a tuple of any number of tensors
  std::function<TypeResult(const A&, const Operands&)> type;
  std::function<tensor::TensorFunction(const A&, const Operands&)> compute;
  double tolerance = 0;  // accuracy class: largest relative error of float32 code against float64; 0 means correctly
                         // rounded apart from the order of sums
};

// An operator with its attribute type erased.
struct Operator {
  std::string name;
  std::string summary;
  std::vector<ErasedField> attributes;
  std::vector<std::string> arguments;
  bool variadic;
  double tolerance;

  // Attributes that read_attrs rejects are TypeErrors.
  std::function<TypeResult(const Attrs&, const Operands&)> type;
  // The definition for operands of these types; `type` succeeded for them. Parameters in the operands' order.
  std::function<tensor::TensorFunction(const Attrs&, const Operands&)> compute;
};

class OperatorTable {
 public:
  template <class A>
  void add(OperatorSpec<A> spec);
  void insert(Operator);  // aborts when the name is taken

  const Operator* find(const std::string& name) const;
  const std::map<std::string, std::unique_ptr<const Operator>>& all() const { return operators_; }

 private:
  std::map<std::string, std::unique_ptr<const Operator>> operators_;
};

// The table of all operators in relay/ops; built once, immutable.
const OperatorTable& operators();

// Looks up an operator that is known to exist.
const Operator* op(const std::string& name);

template <class A>
void OperatorTable::add(OperatorSpec<A> spec) {
  std::vector<ErasedField> fields(spec.attributes.begin(), spec.attributes.end());
  auto type = [fields, relation = std::move(spec.type)](const Attrs& attrs, const Operands& in) -> TypeResult {
    A a;
    if (auto error = read_attrs(fields, attrs, &a)) return *error;
    return relation(a, in);
  };
  auto compute = [fields, define = std::move(spec.compute)](const Attrs& attrs, const Operands& in) {
    A a;
    auto error = read_attrs(fields, attrs, &a);
    DLCC_CHECK(!error, "{}", error ? error->message : "");
    return define(a, in);
  };
  insert({std::move(spec.name), std::move(spec.summary), std::move(fields), std::move(spec.arguments), spec.variadic,
          spec.tolerance, std::move(type), std::move(compute)});
}

}  // namespace dlcc::relay

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

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "relay/ir.h"
#include "tensor/builder.h"

namespace dlcc::relay {

// Types of the tensors an operator is applied to. For a variadic operator (one tuple argument) the tuple's fields.
using Operands = std::vector<TensorType>;

// Outcome of a type relation: a type, or why there is none.
struct TypeError {
  DiagnosticId id;      // shape_mismatch, type_mismatch, bad_attribute, ...
  std::string message;  // expected and found, without the operands' types, which the caller prints
  std::string help;
};
using TypeResult = std::variant<Type, TypeError>;

// An attribute as a field of an operator's plain struct A. Fields may be bool, int64_t, double, std::string, DType,
// std::vector<int64_t>, std::vector<Dim>, or std::optional of these (None); AttrValue takes any value, for attributes
// whose type is a choice, and is checked by the type relation.
template <class A>
struct Field {
  using Pointer = std::variant<bool A::*, int64_t A::*, double A::*, std::string A::*, DType A::*,
                               std::vector<int64_t> A::*, std::vector<Dim> A::*, std::optional<int64_t> A::*,
                               std::optional<DType> A::*, std::optional<std::vector<int64_t>> A::*, AttrValue A::*>;
  std::string name;
  Pointer pointer;
  std::string doc;
  bool required = false;
};

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
  struct Attribute {
    std::string name, type, doc;
    AttrValue default_value;
    bool required;
  };
  std::string name;
  std::string summary;
  std::vector<Attribute> attributes;
  std::vector<std::string> arguments;
  bool variadic;
  double tolerance;

  // Attributes that do not exist, lack or have values of the wrong type are TypeErrors of id bad_attribute.
  std::function<TypeResult(const Attrs&, const Operands&)> type;
  // The definition for operands of these types; `type` succeeded for them. Parameters in the operands' order.
  std::function<tensor::TensorFunction(const Attrs&, const Operands&)> compute;
};

class OperatorTable {
 public:
  template <class A>
  void add(OperatorSpec<A> spec);

  const Operator* find(const std::string& name) const;
  const std::map<std::string, std::unique_ptr<const Operator>>& all() const { return operators_; }

 private:
  std::map<std::string, std::unique_ptr<const Operator>> operators_;
};

// The table of all operators in relay/ops; built once, immutable.
const OperatorTable& operators();

// Looks up an operator that is known to exist.
const Operator* op(const std::string& name);

namespace detail {
template <class A>
std::optional<TypeError> read_attrs(const std::vector<Field<A>>&, const Attrs&, A& out);
template <class A>
Operator::Attribute describe(const Field<A>&);
}  // namespace detail

template <class A>
void OperatorTable::add(OperatorSpec<A> spec) {
  auto fields = spec.attributes;
  Operator op{.name = spec.name,
              .summary = spec.summary,
              .attributes = {},
              .arguments = spec.arguments,
              .variadic = spec.variadic,
              .tolerance = spec.tolerance};
  for (const Field<A>& f : fields) op.attributes.push_back(detail::describe(f));
  op.type = [fields, type = spec.type](const Attrs& attrs, const Operands& in) -> TypeResult {
    A a;
    if (auto error = detail::read_attrs(fields, attrs, a)) return *error;
    return type(a, in);
  };
  op.compute = [fields, compute = spec.compute](const Attrs& attrs, const Operands& in) {
    A a;
    auto error = detail::read_attrs(fields, attrs, a);
    DLCC_CHECK(!error, "{}", error ? error->message : "");
    return compute(a, in);
  };
  std::string name = op.name;
  bool inserted = operators_.emplace(name, std::make_unique<const Operator>(std::move(op))).second;
  DLCC_CHECK(inserted, "operator {} is defined twice", name);
}

}  // namespace dlcc::relay

#include "relay/operator_attrs.h"

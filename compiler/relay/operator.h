// What an operator is: its attributes, its type relation, and its compute definition, which is its only semantics. An
// operator without a definition has a type only: programs that use it can be read, checked and printed. Operators are
// specified as relay/operator_spec.h shows.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <typeinfo>
#include <variant>
#include <vector>

#include "relay/ir.h"
#include "relay/operator_attrs.h"
#include "tensor/builder.h"
#include "tensor/evaluate_symbolic.h"

namespace dlcc::relay {

using tensor::Expr;
using tensor::KnownValue;
using tensor::Tensor;

// A tensor that an operator is applied to: its type, and its value as far as it is known at compile time.
struct Operand : TensorType {
  Operand(TensorType type, KnownValue value = nullptr)  // NOLINT: a type is an operand of unknown value
      : TensorType(std::move(type)), value(std::move(value)) {}
  Operand(Shape shape, DType dtype) : TensorType{std::move(shape), dtype} {}
  KnownValue value;
};
// For a variadic operator: the fields of its tuples.
using Operands = std::vector<Operand>;

// Outcome of a type relation: a type, or why there is none.
using TypeResult = std::variant<Type, TypeError>;

class CallGradient;  // call_gradient.h

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
  std::vector<std::string> values;  // attributes that may be operands after `arguments` instead
  bool variadic;
  double tolerance;
  bool takes_any_value = false;                          // see OperatorSpec
  std::vector<std::vector<int64_t>> sample_shapes = {};  // see OperatorSpec
  Attrs sample_attrs = {};
  int64_t least_value = INT64_MIN;  // see OperatorSpec

  bool has_definition() const { return static_cast<bool>(compute); }
  std::string short_name() const { return name.substr(name.rfind('.') + 1); }  // "conv2d" of nn.conv2d
  // The first of the operands from which `sizes` are computed.
  size_t first_size_operand() const { return values.empty() ? 0 : arguments.size(); }
  bool accepts(size_t operands) const {
    return operands == arguments.size() || operands == arguments.size() + values.size();
  }
  // The names of the operands of a call with this number of operands.
  std::vector<std::string> operand_names(size_t operands) const;

  // The attributes as an object of the operator's struct, for attributes that `type` accepted; see attributes_of.
  std::function<std::shared_ptr<const void>(const Attrs&)> read;
  const std::type_info* attrs_type;  // the operator's struct
  // The attributes in the form in which equal ones are equal: a bool for 1, a list for its only element, and none where
  // it is the default. `values_given`: whether those of `values` are operands.
  std::function<Attrs(const Attrs&, bool values_given)> canonical;
  // An unknown attribute, a missing one, or a value of the wrong type is a TypeError with id bad_attribute.
  std::function<TypeResult(const Attrs&, const Operands&)> type;
  // The definition for operands of these types; `type` succeeded for them. Parameters in the operands' order. Null for
  // an operator that has a type only, as is compute_as.
  std::function<tensor::TensorFunction(const Attrs&, const Operands&)> compute;
  // The definition for a result of type `result`, which has numbers where `type` gives unknown sizes: the definition
  // requires that the operands lead to them.
  std::function<tensor::TensorFunction(const Attrs&, const Operands&, const Type& result)> compute_as;
  // Sizes that must be at least 1 in every run; null if there are none. `type` succeeded for the operands.
  std::function<std::vector<Dim>(const Attrs&, const Operands&)> positive_sizes;
  // Defines the sizes of `axes` of the result as a vector of int64, computed from the operands from
  // first_size_operand() on. Null: see OperatorSpec::sizes.
  std::function<tensor::TensorFunction(const Attrs&, const Operands&, const std::vector<size_t>& axes)> sizes;
  // OperatorSpec describes these three.
  bool sizes_suffice;
  Attrs of_given_sizes;
  bool dequantizes;
  std::function<std::vector<Dim>(const Attrs&, const Operands&)> largest_sizes;  // null: nothing bounds the sizes
  std::function<void(const Attrs&, bool values_given, CallGradient&)> gradient;  // null: not known
};

template <class A>
struct OperatorSpec;
namespace detail {
struct ErasedSpec;
}

class OperatorTable {
 public:
  template <class A>
  void add(OperatorSpec<A>);  // in relay/operator_spec.h

  const Operator* find(const std::string& name) const;
  const std::map<std::string, std::unique_ptr<const Operator>>& all() const { return operators_; }

 private:
  void add_erased(detail::ErasedSpec);

  std::map<std::string, std::unique_ptr<const Operator>> operators_;
};

// The table of all operators in relay/ops; built once, immutable.
const OperatorTable& operators();

// Looks up an operator that is known to exist.
const Operator* op(const std::string& name);

// The message about a call of an operator without a definition that is to be compiled or evaluated, and its remedy.
struct MissingDefinition {
  std::string message, help;
};
std::optional<MissingDefinition> missing_definition(const Operation&);

// The results of an operator applied to constants, of which `operands` has the types. Empty if its definition returns a
// status, or depends on symbols of the attributes. `type` succeeded for the operands.
std::optional<std::vector<Constant>> evaluate(const Operator&, const Attrs&, const Operands& operands,
                                              const std::vector<Constant>& values);

// The attributes of a call of an operator whose attribute struct is A, defaults included. After inference.
template <class A>
A attributes_of(const Call& call) {
  const Operator& op = *std::get<OperatorRef>(call.callee).op;
  DLCC_CHECK(*op.attrs_type == typeid(A), "{} has attributes of another struct", op.name);
  return *static_cast<const A*>(op.read(call.attrs).get());
}

}  // namespace dlcc::relay

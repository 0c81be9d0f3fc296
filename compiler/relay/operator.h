// What an operator is: its attributes, its type relation, and its compute definition, which is its only semantics. An
// operator without a definition has a type only: programs that use it can be read, checked and printed. One file in
// relay/ops defines one operator or one family; docs/ADDING_AN_OPERATOR.md shows how.
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
#include <any>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
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

// An attribute as a field of an operator's plain struct A. Fields may be bool, int64_t, double, std::string, DType,
// std::vector<int64_t>, std::vector<double>, std::vector<Dim>, or std::optional of int64_t, DType and
// std::vector<int64_t> (None); a field of type AttrValue takes any value, which the type relation checks.
template <class A>
struct Field {
  template <class T, class Base>  // A, or the base of A that declares the member
  Field(std::string name, T Base::*member, std::string doc, bool required = false)
      : name(std::move(name)),
        doc(std::move(doc)),
        required(required),
        type(&detail::field_type<T>()),
        address([member](A& attrs) -> void* { return &(attrs.*member); }) {}

  std::string name, doc;
  bool required;
  const detail::FieldType* type;
  std::function<void*(A&)> address;
};

struct NoAttrs {};

template <class A>
struct OperatorSpec {
  std::string name;
  std::string summary;
  A defaults = {};
  std::vector<Field<A>> attributes;
  std::vector<std::string> arguments;
  bool variadic = false;  // the one argument is a tuple of any number of tensors; without a definition, several may be
  // Attributes that may be given as operands after the arguments instead, all of them or none: `newshape` of reshape(x,
  // newshape). So one operator serves for static, symbolic and unknown shapes. Inference turns operands with known
  // values into attributes; for the others the type relation gives "?" for the sizes that depend on them.
  std::vector<std::string> values = {};
  std::function<TypeResult(const A&, const Operands&)> type;
  std::function<tensor::TensorFunction(const A&, const Operands&)> compute = {};  // null: type only
  // Instead of `compute` if there are `values`: the definition for a result of this shape, the first result if there
  // are several. It requires that operands of unknown value give that shape (status shape_mismatch).
  std::function<tensor::TensorFunction(const A&, const Operands&, const Shape& result)> compute_as = {};
  // Sizes that must be at least 1 in every run, such as the number of windows along an axis.
  std::function<std::vector<Dim>(const A&, const Operands&)> positive_sizes = {};
  // For an operator whose only result has data-dependent sizes: the size of each axis of the result, computed from the
  // operands after the arguments. An invalid operand gives a negative size, or one that the definition rejects. Null:
  // there is native code for a result of unknown sizes only if the model declares them.
  std::function<std::vector<Expr>(const A&, const Operands&, const std::vector<Tensor>& values)> sizes = {};
  // Whether the definition for given sizes of the result can do without the operands after the arguments.
  bool sizes_suffice = false;
  // The result is the real numbers that the first operand stores as integers. Graph passes compute with the stored
  // integers of weights, so importers do not evaluate the operator.
  bool dequantizes = false;
  // The largest size of each axis of the result that the operands allow. Null: nothing bounds the sizes.
  std::function<std::vector<Dim>(const A&, const Operands&)> largest_sizes = {};
  double tolerance = 0;  // accuracy class: largest relative error of float32 code against float64; 0 means correctly
                         // rounded apart from the order of sums
  // The result is the operand, which may be a value of any type: an annotation. Inference replaces the call by the
  // operand unless it is a tensor.
  bool takes_any_value = false;
  // Operands' shapes and attributes that the type relation accepts, for an operator for which the general ones of
  // relay/sample_calls.cpp do not fit.
  std::vector<std::vector<int64_t>> sample_shapes = {};
  Attrs sample_attrs = {};
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
  std::vector<std::string> values;  // attributes that may be operands after `arguments` instead
  bool variadic;
  double tolerance;
  bool takes_any_value = false;                          // see OperatorSpec
  std::vector<std::vector<int64_t>> sample_shapes = {};  // see OperatorSpec
  Attrs sample_attrs = {};

  bool has_definition() const { return static_cast<bool>(compute); }
  std::string short_name() const { return name.substr(name.rfind('.') + 1); }  // "conv2d" of nn.conv2d
  bool accepts(size_t operands) const {
    return operands == arguments.size() || operands == arguments.size() + values.size();
  }
  // The names of the operands of a call with this number of operands.
  std::vector<std::string> operand_names(size_t operands) const;

  // The attributes as a value of the operator's struct, for attributes that `type` accepted; see attributes_of.
  std::function<std::any(const Attrs&)> read;
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
  // Defines the sizes of `axes` of the result as a vector of int64, computed from the operands after the arguments.
  // Null: see OperatorSpec::sizes.
  std::function<tensor::TensorFunction(const Attrs&, const Operands&, const std::vector<size_t>& axes)> sizes;
  bool sizes_suffice, dequantizes;                                               // see OperatorSpec
  std::function<std::vector<Dim>(const Attrs&, const Operands&)> largest_sizes;  // null: nothing bounds the sizes
};

class OperatorTable {
 public:
  template <class A>
  void add(OperatorSpec<A> spec);
  void add(Operator);

  const Operator* find(const std::string& name) const;
  const std::map<std::string, std::unique_ptr<const Operator>>& all() const { return operators_; }

 private:
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

// The results of an operator applied to constants, of which `operands` has the types; empty if its definition returns a
// status. `type` succeeded for the operands.
std::optional<std::vector<Constant>> evaluate(const Operator&, const Attrs&, const Operands& operands,
                                              const std::vector<Constant>& values);

// The attributes of a call of an operator whose attribute struct is A, defaults included. After inference.
template <class A>
A attributes_of(const Call& call) {
  return std::any_cast<A>(std::get<OperatorRef>(call.callee).op->read(call.attrs));
}

namespace detail {

// The definition of the vector of the sizes of `axes`. Its parameters are the operands from `first` on.
tensor::TensorFunction define_sizes(const std::string& name, const Operands&, size_t first,
                                    const std::vector<size_t>& axes,
                                    const std::function<std::vector<Expr>(const std::vector<Tensor>& values)>& sizes);

}  // namespace detail

template <class A>
void OperatorTable::add(OperatorSpec<A> spec) {
  Operator op{.name = spec.name,
              .summary = spec.summary,
              .attributes = {},
              .arguments = spec.arguments,
              .values = spec.values,
              .variadic = spec.variadic,
              .tolerance = spec.tolerance,
              .takes_any_value = spec.takes_any_value,
              .sample_shapes = spec.sample_shapes,
              .sample_attrs = spec.sample_attrs,
              .sizes_suffice = spec.sizes_suffice,
              .dequantizes = spec.dequantizes};
  for (const Field<A>& f : spec.attributes)
    op.attributes.push_back({f.name, f.type->text, f.doc, f.type->value(f.address(spec.defaults)), f.required});
  // `values_given`: as operands.
  auto parse = [fields = spec.attributes, values = spec.values, defaults = spec.defaults](const Attrs& attrs, A& out,
                                                                                          bool values_given) {
    out = defaults;
    std::vector<detail::AttrSlot> slots;
    for (const Field<A>& f : fields) {
      const bool is_operand = values_given && std::ranges::count(values, f.name) > 0;
      slots.push_back({f.name, f.required && !is_operand, f.type, f.address(out), is_operand});
    }
    return detail::read_attrs(slots, attrs);
  };
  auto given = [arguments = spec.arguments.size(), values = spec.values.size()](const Operands& in) {
    return values > 0 && in.size() > arguments;
  };
  auto read = [parse](const Attrs& attrs, bool values_given) {
    A a;
    auto error = parse(attrs, a, values_given);
    DLCC_CHECK(!error, "{}", error ? error->message : "");
    return a;
  };
  op.read = [read](const Attrs& attrs) { return std::any(read(attrs, false)); };
  if (spec.positive_sizes)
    op.positive_sizes = [read, given, sizes = spec.positive_sizes](const Attrs& attrs, const Operands& in) {
      return sizes(read(attrs, given(in)), in);
    };
  op.type = [parse, given, type = spec.type](const Attrs& attrs, const Operands& in) -> TypeResult {
    A a;
    if (auto error = parse(attrs, a, given(in))) return *error;
    return type(a, in);
  };
  if (spec.compute_as) {
    op.compute_as = [read, given, compute = spec.compute_as](const Attrs& attrs, const Operands& in,
                                                             const Type& result) {
      const TupleType* results = as<TupleType>(result);
      return compute(read(attrs, given(in)), in, as<TensorType>(results ? results->fields[0] : result)->shape);
    };
    op.compute = [type = op.type, compute = op.compute_as](const Attrs& attrs, const Operands& in) {
      return compute(attrs, in, std::get<Type>(type(attrs, in)));
    };
  } else if (spec.compute) {
    op.compute = [read, compute = spec.compute](const Attrs& attrs, const Operands& in) {
      return compute(read(attrs, false), in);
    };
    op.compute_as = [compute = op.compute](const Attrs& attrs, const Operands& in, const Type&) {
      return compute(attrs, in);
    };
  }
  if (spec.sizes)
    op.sizes = [read, given, name = op.short_name(), first = spec.arguments.size(), sizes = spec.sizes](
                   const Attrs& attrs, const Operands& in, const std::vector<size_t>& axes) {
      return detail::define_sizes(name, in, first, axes, [&](const std::vector<Tensor>& values) {
        return sizes(read(attrs, given(in)), in, values);
      });
    };
  if (spec.largest_sizes)
    op.largest_sizes = [read, given, sizes = spec.largest_sizes](const Attrs& attrs, const Operands& in) {
      return sizes(read(attrs, given(in)), in);
    };
  add(std::move(op));
}

}  // namespace dlcc::relay

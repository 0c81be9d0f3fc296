// The specification of an operator over a plain struct of its attributes. One file in relay/ops specifies one operator
// or one family; docs/ADDING_AN_OPERATOR.md shows how.
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

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "relay/operator.h"

namespace dlcc::relay {

// The type of the attribute struct is erased as early as possible: what operator_spec.cpp does with the parts below is
// compiled once, and not for every struct.
namespace detail {

template <class R, class... Args>
using ErasedFunction = std::function<R(const void* attrs, Args...)>;

// A function whose first parameter is an A, called with the address of the A.
template <class A, class Signature>
class AttrsFunction;
template <class A, class R, class... Args>
class AttrsFunction<A, R(Args...)> {
 public:
  AttrsFunction() = default;
  template <class F>
  AttrsFunction(F f)  // NOLINT: a function or a lambda
      : erased([f = std::move(f)](const void* attrs, Args... args) -> R {
          return f(*static_cast<const A*>(attrs), args...);
        }) {}

  ErasedFunction<R, Args...> erased;
};

struct ErasedField {
  const char *name, *doc;
  bool required;
  const FieldType* type;
  std::array<char, sizeof(int std::string::*)> member;  // the bytes of a pointer to a data member
  void* (*address_of)(const ErasedField&, void* attrs);

  void* address(void* attrs) const { return address_of(*this, attrs); }
};

struct ErasedSpec {
  Operator op;  // without functions and attributes
  std::vector<ErasedField> fields;
  std::shared_ptr<void> (*copy)(const void* attrs);
  std::shared_ptr<void> defaults;
  ErasedFunction<TypeResult, const Operands&> type;
  ErasedFunction<tensor::TensorFunction, const Operands&> compute;
  ErasedFunction<tensor::TensorFunction, const Operands&, const Shape&> compute_as;
  ErasedFunction<std::vector<Dim>, const Operands&> positive_sizes, largest_sizes;
  ErasedFunction<std::vector<Expr>, const Operands&, const std::vector<Tensor>&, tensor::Definition&> sizes;
  ErasedFunction<void, CallGradient&> gradient;
};

}  // namespace detail

// An attribute as a field of an operator's plain struct A. Fields may be bool, int64_t, double, std::string, DType,
// std::vector<int64_t>, std::vector<double>, std::vector<Dim>, or std::optional of int64_t, DType and
// std::vector<int64_t> (None); a field of type AttrValue takes any value, which the type relation checks. The texts
// are literals.
template <class A>
struct Field : detail::ErasedField {
  template <class T, class Base>  // A, or the base of A that declares the member
  Field(const char* name, T Base::*pointer, const char* doc, bool required = false)
      : ErasedField{name, doc, required, &detail::field_type<T>(), {}, [](const ErasedField& f, void* attrs) -> void* {
                      T Base::*pointer;
                      std::memcpy(&pointer, f.member.data(), sizeof pointer);
                      return &(static_cast<A*>(attrs)->*pointer);
                    }} {
    static_assert(sizeof pointer == sizeof member);
    std::memcpy(member.data(), &pointer, sizeof pointer);
  }
};

struct NoAttrs {};

// Names from literals. A list of std::string in each specification would be slow to compile.
struct Names : std::vector<std::string> {
  Names() = default;
  Names(std::initializer_list<const char*>);
  Names(std::vector<std::string> names) : vector(std::move(names)) {}  // NOLINT
};

template <class A>
struct OperatorSpec {
  std::string name;
  std::string summary;
  A defaults = {};
  std::vector<Field<A>> attributes;
  Names arguments;
  // The one argument is a tuple of any number of tensors. An operator without a definition may have several such
  // tuples.
  bool variadic = false;
  // Attributes that may be given as operands after the arguments instead, all of them or none: `newshape` of reshape(x,
  // newshape). So one operator serves for static, symbolic and unknown shapes. Inference turns operands with known
  // values into attributes; for the others the type relation gives "?" for the sizes that depend on them.
  Names values = {};
  // The least value of an element of such an operand. Smaller ones are codes that only attributes have.
  int64_t least_value = INT64_MIN;
  detail::AttrsFunction<A, TypeResult(const Operands&)> type;
  detail::AttrsFunction<A, tensor::TensorFunction(const Operands&)> compute = {};  // null: type only
  // Instead of `compute` if there are `values` or `sizes`: the definition for a result of this shape, the first result
  // if there are several. It requires that operands of unknown value give that shape (status shape_mismatch).
  detail::AttrsFunction<A, tensor::TensorFunction(const Operands&, const Shape& result)> compute_as = {};
  // Sizes that must be at least 1 in every run, such as the number of windows along an axis.
  detail::AttrsFunction<A, std::vector<Dim>(const Operands&)> positive_sizes = {};
  // For an operator whose only result has data-dependent sizes: the size of each axis of the result, computed from the
  // operands after the arguments, or from all operands if there are no `values`. They are elements of the last stage of
  // the definition, to which the function may add stages that they read, such as one that counts. An invalid operand
  // gives a negative size, or one that the definition of the result rejects. Null: there is native code for a result of
  // unknown sizes only if the model declares them.
  detail::AttrsFunction<A, std::vector<Expr>(const Operands&, const std::vector<Tensor>& values, tensor::Definition&)>
      sizes = {};
  // Whether the definition for given sizes of the result can do without the operands after the arguments.
  bool sizes_suffice = false;
  // Attributes that are set with the given sizes, so that none of them is read as a code: allowzero of reshape.
  Attrs of_given_sizes = {};
  // The result is the real numbers that the first operand stores as integers. Graph passes compute with the stored
  // integers of weights, so importers do not evaluate the operator.
  bool dequantizes = false;
  // The largest size of each axis of the result that the operands allow. Null: nothing bounds the sizes.
  detail::AttrsFunction<A, std::vector<Dim>(const Operands&)> largest_sizes = {};
  // Adds the gradients of the operands, given those of the results (relay/call_gradient.h). Null: they are not known.
  // Operators with integer results need no rule.
  detail::AttrsFunction<A, void(CallGradient&)> gradient = {};
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

template <class A>
void OperatorTable::add(OperatorSpec<A> spec) {
  auto copy = [](const void* attrs) -> std::shared_ptr<void> {
    return std::make_shared<A>(*static_cast<const A*>(attrs));
  };
  add_erased({.op = {.name = std::move(spec.name),
                     .summary = std::move(spec.summary),
                     .attributes = {},
                     .arguments = std::move(spec.arguments),
                     .values = std::move(spec.values),
                     .variadic = spec.variadic,
                     .tolerance = spec.tolerance,
                     .takes_any_value = spec.takes_any_value,
                     .sample_shapes = std::move(spec.sample_shapes),
                     .sample_attrs = std::move(spec.sample_attrs),
                     .least_value = spec.least_value,
                     .attrs_type = &typeid(A),
                     .sizes_suffice = spec.sizes_suffice,
                     .of_given_sizes = spec.of_given_sizes,
                     .dequantizes = spec.dequantizes},
              .fields = {spec.attributes.begin(), spec.attributes.end()},
              .copy = copy,
              .defaults = copy(&spec.defaults),
              .type = std::move(spec.type.erased),
              .compute = std::move(spec.compute.erased),
              .compute_as = std::move(spec.compute_as.erased),
              .positive_sizes = std::move(spec.positive_sizes.erased),
              .largest_sizes = std::move(spec.largest_sizes.erased),
              .sizes = std::move(spec.sizes.erased),
              .gradient = std::move(spec.gradient.erased)});
}

}  // namespace dlcc::relay

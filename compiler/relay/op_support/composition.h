// Operators that are a few calls of other operators. One function makes the calls; the type relation and the definition
// follow from it:
//
//   Value l2_normalize(const L2Attrs& a, Composition& c) {
//     const Value x = c.operand(0), squares = c.call("multiply", {x, x});
//     ...
//     return c.call("divide", {x, c.call("sqrt", {sum})});
//   }
//   table.add(composed<L2Attrs>({.name = "nn.l2_normalize", ...}, l2_normalize));
//
// So does the gradient, unless the specification has a rule of its own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"
#include "tensor/passes/compose.h"

namespace dlcc::relay::ops {

// An operand of the composed operator, or a result of a call.
struct Value {
  tensor::Source source;
  TensorType type;

  const Shape& shape() const { return type.shape; }
  DType dtype() const { return type.dtype; }
  int rank() const { return static_cast<int>(type.shape.size()); }
};

class Composition {
 public:
  // `result`: the shape of the composition's result, for a definition; null for the type relation.
  explicit Composition(const Operands& operands, const Shape* result = nullptr)
      : operands_(operands), result_(result) {}

  const Operands& operands() const { return operands_; }
  size_t operand_count() const { return operands_.size(); }
  Value operand(size_t k) const { return {{-1, static_cast<int>(k)}, operands_.at(k)}; }

  // Calls an operator, whose operands are tensors; a variadic one takes them all. A call that the operator's type
  // relation rejects ends the composition with its error.
  Value call(const std::string& op, const std::vector<Value>& args, const Attrs& attrs = {});
  std::vector<Value> call_all(const std::string& op, const std::vector<Value>& args, const Attrs& attrs = {});

  // Calls an operator with operands that decide sizes of its result: `shape` has those that are known. The others are
  // sizes of the composition's result, which has this shape.
  Value call_as(const std::string& op, const std::vector<Value>& args, const Attrs& attrs, const Shape& shape);

  // A tensor whose elements are computed from those of `args`, for what no operator computes.
  using Elements = std::function<Expr(const std::vector<Tensor>& args, Index)>;
  Value compute(DType, const Shape&, const std::vector<Value>& args, const Elements&);
  // The same with a reduction of elements, of the reducer's type, over further axes of the given extents.
  using Terms = std::function<Expr(const std::vector<Tensor>& args, Index, Index reduced)>;
  Value reduce(DType, const Shape&, const tensor::Reducer&, const Shape& extents, const std::vector<Value>& args,
               const Terms&);
  Value sum(DType, const Shape&, const Shape& extents, const std::vector<Value>& args, const Terms&);

  // Calls of operators that many compositions need. A cast to the value's own type is the value, and a reshape to its
  // own shape.
  Value number(DType, double);
  Value cast(const Value&, DType);
  Value reshape(const Value&, const Shape&);
  Value transpose(const Value&, const std::vector<int64_t>& axes);

  // Ends the composition with the error, if there is one.
  void require(const Failure&) const;
  [[noreturn]] void fail(TypeError) const;

  // The functions of an operator that follow from the one that makes the calls and returns the results.
  using Calls = detail::ErasedFunction<std::vector<Value>, Composition&>;
  struct Functions {
    detail::ErasedFunction<TypeResult, const Operands&> type;
    detail::ErasedFunction<TensorFunction, const Operands&, const Shape&> compute;  // for a result of this shape
    detail::ErasedFunction<std::vector<Dim>, const Operands&> positive_sizes;
    detail::ErasedFunction<void, CallGradient&> gradient;  // known if each part is a call
  };
  static Functions functions(const std::string& name, const Calls&);

 private:
  struct Part {  // a call, or a computation of its own
    std::vector<Value> args;
    std::function<TensorFunction(const Operands&)> define;
    std::function<std::vector<Dim>(const Operands&)> positive_sizes;  // null: none
    const Operator* callee = nullptr;                                 // null: a computation of its own
    Attrs attrs = {};
    std::optional<Constant> number = {};  // of a part that is one

    Operands operands() const;
  };
  std::vector<Value> add_call(const Operator&, const std::vector<Value>& args, const Attrs&, const Shape* shape);
  Value add(Part, const TensorType& result);
  TensorFunction definition(const std::string& name, const std::vector<Value>& results);
  std::vector<Dim> positive_sizes() const;
  void add_gradient(CallGradient&, const std::vector<Value>& results) const;

  const Operands& operands_;
  const Shape* result_;
  std::vector<Part> parts_;
};

// The specification with the type relation and the definition of the function that makes the calls. It returns the
// result, or the results as a list.
template <class A, class F>
OperatorSpec<A> composed(OperatorSpec<A> spec, F make) {
  auto functions = Composition::functions(spec.name, [make](const void* attrs, Composition& c) -> std::vector<Value> {
    const A& a = *static_cast<const A*>(attrs);
    if constexpr (std::is_same_v<decltype(make(a, c)), Value>)
      return {make(a, c)};
    else
      return make(a, c);
  });
  spec.type.erased = std::move(functions.type);
  spec.compute_as.erased = std::move(functions.compute);
  if (!spec.variadic) spec.positive_sizes.erased = std::move(functions.positive_sizes);
  if (!spec.gradient.erased) spec.gradient.erased = std::move(functions.gradient);
  return spec;
}

}  // namespace dlcc::relay::ops

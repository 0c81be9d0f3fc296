// What the rule of an operator's gradient (OperatorSpec::gradient) works with: the tensors of a call, and the gradients
// of its results, to which it adds those of the operands.
//
//   .gradient = [](const NoAttrs&, CallGradient& g) {  // of exp: the derivative is the result itself
//     g.add(0, g.gradient() * g.result());
//   },
//
// The gradient of a tensor x is that of one number y, the sum of all elements of the differentiated results: a tensor
// of x's type, whose elements are the derivatives of y with respect to those of x.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "relay/operator.h"

namespace dlcc::relay {

class GradientCode;

// A tensor in a rule. Its functions and the operations below emit calls of operators, with broadcasting.
class Term {
 public:
  Term(GradientCode& code, Atom atom, TensorType type) : code_(&code), atom_(std::move(atom)), type_(std::move(type)) {}

  const Atom& atom() const { return atom_; }
  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  int rank() const { return static_cast<int>(type_.shape.size()); }
  GradientCode& code() const { return *code_; }

  Term map(const std::string& op, const Attrs& attrs = {}) const;  // the operator applied to the tensor alone
  Term cast_to(DType) const;
  Term reshaped(const Shape&) const;
  Term transposed(const std::vector<int64_t>& axes) const;
  Term broadcast_to(const Shape&) const;
  Term summed_to(const Shape&) const;  // over the axes along which a tensor of this shape is broadcast to the term's
  Term sum_over(const std::vector<int64_t>& axes) const;  // keeps the axes, with size 1
  // The tensor with elements [first, first + count) of one axis only, and the tensor between zeros along it.
  Term sliced(int64_t axis, const Dim& first, const Dim& count) const;
  Term padded(int64_t axis, const Dim& before, const Dim& after) const;

 private:
  GradientCode* code_;
  Atom atom_;
  TensorType type_;
};

Term operator-(const Term&);
Term operator+(const Term&, const Term&);
Term operator-(const Term&, const Term&);
Term operator*(const Term&, const Term&);
Term operator/(const Term&, const Term&);
Term operator+(const Term&, double);
Term operator-(double, const Term&);
Term operator*(const Term&, double);
Term operator/(const Term&, double);
Term operator/(double, const Term&);
// Comparisons, as tensors of bool.
Term operator>(const Term&, const Term&);
Term operator>(const Term&, double);
Term operator>(double, const Term&);
Term equal(const Term&, const Term&);
Term equal(const Term&, double);
Term where(const Term& condition, const Term& x, const Term& y);
Term where(const Term& condition, const Term& x, double y);
Term where(const Term& condition, double x, const Term& y);

// Thrown to leave a rule for a call whose gradient is not known.
struct NoGradient {
  std::string reason, help;
};

// The operations that differentiation has emitted so far, in order, each of them typed.
class GradientCode {
 public:
  explicit GradientCode(Module& module) : module_(module) {}

  Term term(const Atom&);  // a tensor of the program
  // The results of an operator; a variadic one takes all terms. A call that the type relation rejects throws
  // NoGradient.
  Term call(const std::string& op, const std::vector<Term>& args, const Attrs& attrs = {});
  std::vector<Term> call_all(const Operator&, const std::vector<Term>& args, const Attrs& attrs = {});
  Term number(DType, double);
  Term size(DType, const Dim&);             // as a number
  Term inverse_of_size(DType, const Dim&);  // 1 / size, also of sizes that the type does not have
  Term full(const Shape&, DType, double);   // a tensor whose elements are one number
  // The value with this type, whose sizes it has: they are checked at run time where this is not known.
  Term checked(const Term&, const TensorType&);

  Var emit(Operation, Type);
  std::vector<Binding>& bindings() { return bindings_; }
  SourceLocation location;  // of what is emitted next

 private:
  Module& module_;
  std::vector<Binding> bindings_;
};

// A call of an operator of which at least one result has a gradient.
class CallGradient {
 public:
  // An operand or a result of the call: its gradient so far, and whether one is wanted. `field`: the tensor is this
  // field of `atom`, a tuple; -1: it is the atom.
  struct Slot {
    Atom atom;
    TensorType type;
    int field = -1;
    std::optional<Term> gradient = {};
    bool wanted = false;
  };
  // The gradients of operations that the rule emits; see add_through.
  using Through =
      std::function<void(std::vector<Binding>, const std::vector<Term>& results, const std::vector<Term>& gradients)>;

  CallGradient(GradientCode& code, const Call& call, std::vector<Slot> operands, std::vector<Slot> results,
               const Through& through)
      : code_(code), call_(call), operands_(std::move(operands)), results_(std::move(results)), through_(through) {}

  // A variadic operator has the fields of its tuple as operands.
  size_t operand_count() const { return operands_.size(); }
  Term operand(size_t k) const { return tensor(operands_.at(k)); }
  std::vector<Term> all_operands() const;
  size_t result_count() const { return results_.size(); }
  Term result(size_t k = 0) const { return tensor(results_.at(k)); }
  // The gradient of a result: zeros if there is none.
  bool has_gradient(size_t result) const { return results_.at(result).gradient.has_value(); }
  Term gradient(size_t result = 0) const;

  // Whether the operand's gradient is needed. A rule may save work for those that are not, and may add to them.
  bool wants(size_t operand) const { return operands_.at(operand).wanted; }
  // Adds to the gradient of an operand. It is summed over the axes along which the operand was broadcast, and converted
  // to its element type.
  void add(size_t operand, const Term& gradient);
  // For an operator that is a few calls of others: the function makes the calls on the operands, and the gradients of
  // its results, one for each of this call, are followed through them to the operands.
  void add_through(const std::function<std::vector<Term>()>& calls);

  const Operator& op() const { return *std::get<OperatorRef>(call_.callee).op; }
  const Attrs& attrs() const { return call_.attrs; }
  GradientCode& code() const { return code_; }
  [[noreturn]] void refuse(std::string reason, std::string help = "") const;

  // The gradients of the operands that were added.
  const std::vector<Slot>& operands() const { return operands_; }

 private:
  Term tensor(const Slot&) const;

  GradientCode& code_;
  const Call& call_;
  std::vector<Slot> operands_, results_;
  const Through& through_;
};

}  // namespace dlcc::relay

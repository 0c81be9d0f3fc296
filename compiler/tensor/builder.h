// An embedded language for the compute definitions of operators.
//
//   Definition d("nn.softmax");
//   Tensor x = d.input("x", dtype::f32, {8, 10});
//   Tensor largest = d.reduce("largest", {8}, max_of(x.type()), {10}, [&](Index i, Index k) { return x(i[0], k[0]); });
//   Tensor y = d.result("y", {8, 10}, [&](Index i) { return exp(x(i) - largest(i[0])); });
//   TensorFunction f = d.finish();
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

using Index = const std::vector<Expr>&;
using Point = std::function<Expr(Index)>;
using ReducedPoint = std::function<Expr(Index axes, Index reduced)>;
using ReducedTuplePoint = std::function<std::vector<Expr>(Index axes, Index reduced)>;

// A tensor within a definition; a call loads an element.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Buffer buffer) : buffer_(std::move(buffer)) {}

  DType type() const { return buffer_->type; }
  const Shape& shape() const { return buffer_->shape; }
  const Dim& extent(int d) const { return buffer_->shape[d]; }
  int rank() const { return buffer_->rank(); }
  const Buffer& buffer() const { return buffer_; }

  // The element at an index that is in range. float16 and bfloat16 elements are cast to float32.
  Expr operator()(const std::vector<Expr>& index) const;
  template <class... I>
  Expr operator()(Expr first, I... rest) const {
    return (*this)(std::vector<Expr>{first, Expr(rest)...});
  }
  Expr operator()() const { return (*this)(std::vector<Expr>{}); }  // of rank 0

  // The element, or `otherwise` if the index is out of range (a predicated load).
  Expr at_or(const std::vector<Expr>& index, Expr otherwise) const;

 private:
  Buffer buffer_;
};

// The type in which arithmetic on elements of a type is done: float32 for float16 and bfloat16, else the type itself.
DType compute_type(DType);

// A reduction without its axes, over values of type `type`. The `arg` reducers reduce pairs (value, index) and keep the
// first extremum, or the last.
struct Reducer {
  std::vector<Var> left, right;
  std::vector<Expr> combined, identity;
};
Reducer sum_of(DType type);
Reducer product_of(DType type);
Reducer max_of(DType type);
Reducer min_of(DType type);
Reducer max_number_of(DType type);  // the largest element that is a number; lowest() if there is none
Reducer arg_max_of(DType value, DType index, bool last = false);  // NaN counts as largest, as in numpy
Reducer arg_min_of(DType value, DType index, bool last = false);  // NaN counts as smallest, as in numpy

class Definition {
 public:
  explicit Definition(std::string name);

  Tensor input(std::string name, DType type, Shape shape);

  // A stage with one value per point of `shape`, cast to `type`. `compute` makes an intermediate tensor, `result` the
  // next result of the function.
  Tensor compute(std::string name, DType type, Shape shape, const Point&);
  Tensor result(std::string name, DType type, Shape shape, const Point&);

  // A stage that reduces over axes of the given extents. The values have the reducer's type.
  Tensor reduce(std::string name, Shape shape, const Reducer&, Shape extents, const ReducedPoint&);
  Tensor reduce_result(std::string name, DType type, Shape shape, const Reducer&, Shape extents, const ReducedPoint&);
  std::vector<Tensor> reduce_tuple(std::vector<std::string> names, Shape shape, const Reducer&, Shape extents,
                                   const ReducedTuplePoint&);

  // Declares a result that is computed in boxes; `compute_box` adds the stage for one box.
  Tensor declare_result(std::string name, DType type, Shape shape);
  void compute_box(const Tensor& of, std::vector<Dim> origin, Shape shape, const Point&);

  // A tensor that the body of a stage defines; an intermediate unless it is marked as a result.
  Tensor declare(std::string name, DType type, Shape shape);
  // A stage of statements that store to the tensors. Statements: tensor/statements.h.
  void body(const std::vector<Tensor>& results, Stmt statements);

  // Makes an intermediate the next result.
  void mark_result(const Tensor&);

  // Adds a requirement, over the axes of the next stage, to that stage.
  void require_next(std::function<Expr(Index)> condition, Status status);

  TensorFunction finish();

 private:
  Stage make_stage(const Shape& shape, std::vector<Expr>& index);
  TensorFunction function_;
  std::vector<std::pair<std::function<Expr(Index)>, Status>> pending_;
};

// The element of a list, which is not empty, at this index.
Expr element_at(const std::vector<Expr>& list, const Expr& index);

// Scalar functions of floats.
Expr exp(Expr);
// e^x for x <= 0, with three quarters of the instructions of exp. For x < -87 (float64: -708) it is 0 instead of a
// number below 2^-125 (2^-1021).
Expr exp_of_nonpositive(Expr x);
Expr log(Expr);
Expr sqrt(Expr);
Expr tanh(Expr);
Expr expm1(Expr);  // e^x - 1, accurate near 0
Expr log1p(Expr);  // log(1 + x), accurate near 0
Expr erf(Expr);
Expr sigmoid(Expr);
Expr floor(Expr);
Expr ceil(Expr);
Expr abs(Expr);
Expr pow(Expr, Expr);
Expr trunc(Expr);
Expr round_even(Expr);

}  // namespace dlcc::tensor

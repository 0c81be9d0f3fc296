#include "frontends/onnx/operators/pairwise_coupling.h"

#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/loop_function.h"
#include "frontends/onnx/operators/ml_scores.h"

namespace dlcc::frontends::onnx {
namespace {

// The probabilities minimize p' Q p, where Q[i, i] is the sum of r[j, i]^2 and Q[i, j] = -r[j, i] r[i, j], and r[i, j]
// is the probability of class i against class j. One class after the other gets the optimal probability.
class Coupling {
 public:
  Coupling(Node& n, size_t classes) : n_(n), classes_(static_cast<int64_t>(classes)) {}

  Value solve(const Value& against) {  // r, [rows, classes, classes]
    Value turned = n_.call("transpose", {against}, {{"axes", relay::AttrList{0, 2, 1}}});
    Value squares = total(multiply(n_, turned, turned), -1);  // [rows, classes, 1]
    std::vector<float> eye(static_cast<size_t>(classes_ * classes_));
    for (int64_t k = 0; k < classes_; ++k) eye[static_cast<size_t>(k * classes_ + k)] = 1;
    const Value diagonal = multiply(n_, real_table(dtype::f32, eye, classes_, classes_), squares);
    matrix_ = subtract(n_, diagonal, multiply(n_, against, turned));
    if (matrix_.poisoned) return matrix_;
    const Shape rows = {matrix_.type.shape[0], Dim(classes_)};
    LoopParts loop;
    loop.count = integer_scalar(100);
    loop.initial = {n_.call("full", {n_.scalar(dtype::f32, 1.0 / static_cast<double>(classes_))},
                            {{"shape", relay::sizes_attribute(rows)}})};
    loop.names = {"probabilities"};
    loop.iteration = [&](const Value&, const Values& carried) { return improved(carried[0]); };
    auto results = loop_function(n_, std::move(loop));
    return results ? results->front() : Value::poison();
  }

 private:
  Value total(const Value& x, int64_t axis) {
    return n_.call("sum", {x}, {{"axis", relay::AttrList{axis}}, {"keepdims", true}});
  }

  // Row `k` of the matrices, [rows, classes].
  Value row(int64_t k) { return n_.call("take", {matrix_, integer_scalar(k)}, {{"axis", 1}, {"mode", "fast"}}); }
  Value column(const Value& x, int64_t k) {
    return n_.call("strided_slice", {x},
                   {{"begin", relay::AttrList{k}}, {"end", relay::AttrList{k + 1}}, {"axes", relay::AttrList{1}}});
  }

  // A step for all rows that are not yet optimal within 0.005 / classes.
  std::optional<Iteration> improved(const Value& p) {
    Value product = n_.call("nn.batch_matmul", {matrix_, n_.call("expand_dims", {p}, {{"axis", 2}})});
    Value qp = n_.call("squeeze", {product}, {{"axis", relay::AttrList{2}}});  // Q p
    Value pqp = total(multiply(n_, p, qp), 1);                                 // p' Q p, [rows, 1]
    Value error =
        n_.call("max", {n_.call("abs", {subtract(n_, qp, pqp)})}, {{"axis", relay::AttrList{1}}, {"keepdims", true}});
    Value open = n_.call("greater_equal", {error, n_.scalar(dtype::f32, 0.005 / static_cast<double>(classes_))});
    Value next = p;
    for (int64_t k = 0; k < classes_; ++k) {
      const Value own = row(k), diagonal = column(own, k), mine = column(qp, k);
      const Value change = divide(n_, subtract(n_, pqp, mine), diagonal), rest = plus(n_, change, 1);
      Value larger = multiply(n_, change, add(n_, multiply(n_, change, diagonal), times(n_, mine, 2)));
      pqp = divide(n_, divide(n_, add(n_, pqp, larger), rest), rest);
      qp = divide(n_, add(n_, qp, multiply(n_, change, own)), rest);
      std::vector<float> unit(static_cast<size_t>(classes_));
      unit[static_cast<size_t>(k)] = 1;
      next = divide(n_, add(n_, next, multiply(n_, change, real_list(dtype::f32, unit))), rest);
    }
    Value again = n_.call("any", {open}, {});
    return Iteration{again, {n_.call("where", {open, next, p})}, {}};
  }

  Node& n_;
  const int64_t classes_;
  Value matrix_;  // Q of each row
};

}  // namespace

Value coupled_probabilities(Node& n, const Value& of_pairs, const std::vector<std::pair<size_t, size_t>>& pairs,
                            size_t classes) {
  Value other = subtract(n, n.scalar(dtype::f32, 1), of_pairs);
  if (of_pairs.poisoned) return of_pairs;
  Value none = zeros(n, dtype::f32, {of_pairs.type.shape[0], Dim(1)});
  const auto count = static_cast<int64_t>(pairs.size());
  std::vector<int64_t> from(classes * classes, 2 * count);  // on the diagonal 0
  for (size_t k = 0; k < pairs.size(); ++k) {
    from[pairs[k].first * classes + pairs[k].second] = static_cast<int64_t>(k);
    from[pairs[k].second * classes + pairs[k].first] = count + static_cast<int64_t>(k);
  }
  Value all = n.call("concatenate", {of_pairs, other, none}, {{"axis", 1}});
  Value against = n.call("take", {all, integers(from)}, {{"axis", 1}, {"mode", "fast"}});
  if (against.poisoned) return against;
  const auto size = static_cast<int64_t>(classes);
  return Coupling(n, classes).solve(n.reshape(against, {of_pairs.type.shape[0], Dim(size), Dim(size)}));
}

}  // namespace dlcc::frontends::onnx

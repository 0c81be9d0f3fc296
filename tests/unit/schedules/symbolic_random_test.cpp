// Random functions with symbols: their kernels compute the definition at all sizes.
#include <doctest/doctest.h>

#include <random>

#include "harness.h"
#include "tensor/builder.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

// A random function of a matrix or a stack of matrices: elementwise stages, reductions, permutations, padded reads and
// products follow each other. Every axis is a number or over the symbols n, s and count.
class RandomFunction {
 public:
  explicit RandomFunction(uint32_t seed) : random_(seed), definition_("random") {}

  TensorFunction make() {
    Shape shape;
    for (int rank = pick(2, 3); rank > 0; --rank) shape.push_back(extent());
    Tensor t = definition_.input("x", dtype::f32, shape);
    for (int stages = pick(0, 2); stages > 0; --stages) t = next(t, false);
    next(t, true);
    return definition_.finish();
  }

 private:
  int pick(int low, int high) { return low + static_cast<int>(random_() % static_cast<uint32_t>(high - low + 1)); }

  Dim extent() {
    const Dim n = Dim::symbol({"n", 1}), s = Dim::symbol({"s", 1, 40}), count = Dim::symbol({"count", 0});
    const Dim choices[] = {n, n, s, count, Dim(2) * s, n + Dim(3), Dim(1), Dim(5), Dim(16), Dim(24)};
    return choices[pick(0, 9)];
  }

  std::string name() { return "t" + std::to_string(names_++); }

  Tensor stage(const Shape& shape, bool last, const Point& value) {
    return last ? definition_.result("y", dtype::f32, shape, value)
                : definition_.compute(name(), dtype::f32, shape, value);
  }
  Tensor reduced(const Shape& shape, bool last, const Reducer& reducer, const Dim& extent, const ReducedPoint& value) {
    return last ? definition_.reduce_result("y", dtype::f32, shape, reducer, {extent}, value)
                : definition_.reduce(name(), shape, reducer, {extent}, value);
  }

  Tensor next(const Tensor& t, bool last) {
    const Shape shape = t.shape();
    switch (pick(0, 4)) {
      case 0: {  // with an operand that is broadcast
        Tensor b = definition_.input(name(), dtype::f32, {shape.back()});
        return stage(shape, last, [&](Index i) { return t(i) * t(i) + b(i.back()); });
      }
      case 1: {  // the axes rotated
        Shape rotated(shape.begin() + 1, shape.end());
        rotated.push_back(shape[0]);
        return stage(rotated, last, [&](Index i) {
          std::vector<Expr> at(i.begin(), i.end() - 1);
          at.insert(at.begin(), i.back());
          return t(at);
        });
      }
      case 2: {  // padding
        Shape padded = shape;
        padded.back() = padded.back() + Dim(2);
        return stage(padded, last, [&](Index i) {
          std::vector<Expr> at = i;
          at.back() = at.back() - Expr(1);
          return t.at_or(at, literal(dtype::f32, 0.5));
        });
      }
      case 3: {  // a sum along an axis, which is kept with the extent 1
        const auto axis = static_cast<size_t>(pick(0, static_cast<int>(shape.size()) - 1));
        Shape kept = shape;
        kept[axis] = 1;
        return reduced(kept, last, sum_of(dtype::f32), shape[axis], [&](Index i, Index k) {
          std::vector<Expr> at = i;
          at[axis] = k[0];
          return t(at);
        });
      }
      default: {  // a product with a matrix
        const Dim columns = extent();
        Tensor w = definition_.input(name(), dtype::f32, {shape.back(), columns});
        Shape product = shape;
        product.back() = columns;
        return reduced(product, last, sum_of(dtype::f32), shape.back(), [&](Index i, Index k) {
          std::vector<Expr> at = i;
          at.back() = k[0];
          return t(at) * w(k[0], i.back());
        });
      }
    }
  }

  std::mt19937 random_;
  Definition definition_;
  int names_ = 0;
};

}  // namespace

TEST_CASE("kernels of random functions with symbols compute the definition") {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    TensorFunction f = RandomFunction(seed).make();
    CAPTURE(print(f));
    check_symbolic_schedule(f, {}, {}, {.threads = seed % 3 == 0 ? 4 : 1}, {0, 1, 2, 7, 17, 33});
  }
}

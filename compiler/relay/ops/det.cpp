// linalg.det: determinants by elimination with partial pivoting (Golub and Van Loan, Matrix Computations, 3.4).
#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"
#include "tensor/statements.h"

namespace dlcc::relay::ops {

using tensor::Statements;

namespace {

TypeResult type_of_det(const NoAttrs&, const Operands& in) {
  const Shape& shape = in[0].shape;
  if (auto e = check_type(in[0], "data", types::real)) return *e;
  if (shape.size() < 2)
    return shape_error(fmt::format("data must have at least 2 dimensions, found shape {}", str(shape)));
  if (auto e = check_equal(shape[shape.size() - 2], "rows of data", shape.back(), "columns of data")) return *e;
  return tensor_result(Shape(shape.begin(), shape.end() - 2), in[0].dtype);
}

// The elimination of one matrix, a copy of which is in `work`.
class Elimination {
 public:
  Elimination(Statements& s, Tensor work, std::vector<Expr> matrix)
      : s_(s), work_(std::move(work)), matrix_(std::move(matrix)), size_(work_.shape().back()), type_(work_.type()) {}

  // The determinant, as a local scalar.
  Tensor run() {
    const Tensor product = s_.local("product", type_);
    s_.store(product, {}, number(type_, 1));
    s_.loop("k", Expr(size_), [&](const Expr& k) {
      const Expr pivot_row = find_pivot(k);
      s_.if_then(pivot_row > k, [&] {
        exchange(k, pivot_row);
        s_.store(product, {}, Expr(number(type_, 0)) - scalar(product));
      });
      const Expr pivot = s_.let("pivot", at(k, k));
      s_.store(product, {}, scalar(product) * pivot);
      s_.if_then(not_equal(pivot, number(type_, 0)), [&] { eliminate(k, pivot); });
    });
    return product;
  }

 private:
  std::vector<Expr> index(const Expr& row, const Expr& column) const {
    std::vector<Expr> all = matrix_;
    all.push_back(row);
    all.push_back(column);
    return all;
  }
  Expr at(const Expr& row, const Expr& column) const { return work_(index(row, column)); }

  // The row from k on whose element in column k is largest.
  Expr find_pivot(const Expr& k) {
    const Tensor best = s_.local("best", dtype::i64);
    s_.store(best, {}, k);
    s_.loop("i", Expr(size_) - k, [&](const Expr& i) {
      s_.if_then(tensor::abs(at(k + i, k)) > tensor::abs(at(scalar(best), k)), [&] { s_.store(best, {}, k + i); });
    });
    return s_.let("pivot_row", scalar(best));
  }

  void exchange(const Expr& a, const Expr& b) {
    s_.loop("j", Expr(size_), [&](const Expr& j) {
      const Expr kept = s_.let("kept", at(a, j));
      s_.store(work_, index(a, j), at(b, j));
      s_.store(work_, index(b, j), kept);
    });
  }

  // Subtracts multiples of row k from the rows below it.
  void eliminate(const Expr& k, const Expr& pivot) {
    const Expr below = Expr(size_) - k - Expr(1);
    s_.loop("i", below, [&](const Expr& i) {
      const Expr row = s_.let("row", k + Expr(1) + i), factor = s_.let("factor", at(row, k) / pivot);
      s_.loop("j", below, [&](const Expr& j) {
        const Expr column = s_.let("column", k + Expr(1) + j);
        s_.store(work_, index(row, column), at(row, column) - factor * at(k, column));
      });
    });
  }

  Statements& s_;
  Tensor work_;
  std::vector<Expr> matrix_;  // its index in the batch
  Dim size_;
  DType type_;
};

TensorFunction define_det(const NoAttrs&, const Operands& in) {
  Definition d("det");
  const Tensor x = d.input("data", in[0].dtype, in[0].shape);
  const Shape batch(x.shape().begin(), x.shape().end() - 2);
  const Tensor work = d.declare("work", tensor::compute_type(x.type()), x.shape());
  const Tensor result = d.declare("result", x.type(), batch);
  Statements s;
  s.loops(
      batch,
      [&](Index i) {
        const std::vector<Expr> matrix = i;
        s.loops({x.shape().back(), x.shape().back()}, [&](Index element) {
          std::vector<Expr> at = matrix;
          at.insert(at.end(), element.begin(), element.end());
          s.store(work, at, x(at));
        });
        s.store(result, matrix, scalar(Elimination(s, work, matrix).run()));
      },
      tensor::LoopKind::parallel);
  d.body({work, result}, s.finish());
  d.mark_result(result);
  return d.finish();
}

}  // namespace

void det(OperatorTable& table) {
  table.add<NoAttrs>({
      .name = "linalg.det",
      .summary = "the determinants of square matrices, the last two axes",
      .arguments = {"data"},
      .type = type_of_det,
      .compute = define_det,
  });
}

}  // namespace dlcc::relay::ops

// Loads and conditions that operators' definitions share.
#include "relay/op_support/elements.h"

namespace dlcc::relay {

Expr stored(const Tensor& tensor, std::vector<Expr> index) { return tensor::load(tensor.buffer(), std::move(index)); }

Expr integer_at(const Tensor& list, int64_t k) { return cast(dtype::i64, list(Expr(k))); }

Expr scalar(const Tensor& tensor) { return tensor(std::vector<Expr>{}); }

Expr number(DType type, double value) { return tensor::literal(type, value); }

Expr not_equal(Expr a, Expr b) { return tensor::binary(tensor::BinaryOp::ne, std::move(a), std::move(b)); }

Expr all_of(const std::vector<Expr>& conditions) {
  Expr all = tensor::literal(dtype::boolean, int64_t{1});
  for (const Expr& c : conditions) all = logical_and(all, c);
  return all;
}

Expr any_of(const std::vector<Expr>& conditions) {
  Expr any = tensor::literal(dtype::boolean, int64_t{0});
  for (const Expr& c : conditions) any = logical_or(any, c);
  return any;
}

}  // namespace dlcc::relay

// Matrix products: Gemm and MatMul.
#include "frontends/onnx/operators/products.h"

#include <cmath>

#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

Value scaled(Node& n, const Value& value, double factor) {
  return factor == 1 ? value : n.call("multiply", {value, n.scalar(value.type.dtype, factor)});
}

// Adds C, which must broadcast to the product's shape.
Value add_bias(Node& n, const Value& product, const Value& bias) {
  if (product.poisoned || bias.poisoned) return Value::poison();
  if (bias.rank() == 1 && bias.type.shape[0] == product.type.shape[1])
    return n.call("nn.bias_add", {product, bias}, {{"axis", 1}});
  const Shape &rows = product.type.shape, &c = bias.type.shape;
  const bool fits =
      c.size() <= 2 && std::equal(c.rbegin(), c.rend(), rows.rbegin(), [](const Dim& from, const Dim& to) {
        return from == to || from == Dim(1) || !from.is_constant() || !to.is_constant();
      });
  if (!n.check(
          fits, DiagnosticId::shape_mismatch,
          fmt::format("{} of shape {} cannot be broadcast to the product's shape {}", n.in(2).role, str(c), str(rows)),
          "C has one element for each column, or the shape of the product"))
    return Value::poison();
  const Value sum = n.call("add", {product, bias});
  if (sum.poisoned) return sum;
  const auto checked = n.with_shape(sum, product.type.shape);
  n.check(checked.has_value(), DiagnosticId::shape_mismatch,
          fmt::format("C must broadcast to the product's shape {}", str(product.type.shape)));
  return checked.value_or(Value::poison());
}

// Reports matrices whose inner sizes differ.
void check_inner_sizes(Node& n, bool transpose_a, bool transpose_b) {
  const Shape &a = n.in(0).type.shape, &b = n.in(1).type.shape;
  const size_t inner_a = transpose_a ? 0 : 1, inner_b = transpose_b ? 1 : 0;
  if (!provably_different(a[inner_a], b[inner_b])) return;
  n.fail(DiagnosticId::shape_mismatch,
         fmt::format("axis {} of A must equal axis {} of B, found {} and {}", inner_a, inner_b, a[inner_a].str(),
                     b[inner_b].str()),
         a[inner_a] == b[1 - inner_b]   ? fmt::format("with transB={} they are equal", transpose_b ? 0 : 1)
         : a[1 - inner_a] == b[inner_b] ? fmt::format("with transA={} they are equal", transpose_a ? 0 : 1)
                                        : "the columns of A' must be as many as the rows of B'");
}

Values convert_gemm(Node& n) { return {general_product(n)}; }

Values convert_matmul(Node& n) { return {matrix_product(n, n.in(0), n.in(1))}; }

}  // namespace

Value matrix_product(Node& n, Value a, Value b) {
  if (a.poisoned || b.poisoned) return Value::poison();
  if (!n.check(a.rank() >= 1 && b.rank() >= 1, DiagnosticId::shape_mismatch,
               fmt::format("{} and {} must have at least one axis", a.role, b.role)))
    return Value::poison();
  bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a = n.call("expand_dims", {a}, {{"axis", 0}});
  if (column) b = n.call("expand_dims", {b}, {{"axis", 1}});
  Value product = n.call(b.rank() == 2 ? "nn.matmul" : "nn.batch_matmul", {a, b});
  if (row) product = n.call("squeeze", {product}, {{"axis", relay::AttrList{-2}}});
  if (column) product = n.call("squeeze", {product}, {{"axis", relay::AttrList{-1}}});
  return product;
}

Value general_product(Node& n) {
  const Value &a = n.in(0), &b = n.in(1);
  double alpha = n.number("alpha", 1), beta = n.number("beta", 1);
  bool transpose_a = n.flag("transA", false), transpose_b = n.flag("transB", false);
  n.ignore("broadcast");  // before operator set 7; C is always broadcast
  if (!n.check(a.rank() == 2 && b.rank() == 2, DiagnosticId::shape_mismatch, "A and B must be matrices"))
    return Value::poison();
  check_inner_sizes(n, transpose_a, transpose_b);
  Value product;
  if (transpose_b && !transpose_a) {
    relay::Attrs attrs;
    if (auto units = b.type.shape[0].constant()) attrs["units"] = *units;
    product = n.call("nn.dense", {a, b}, attrs);
  } else {
    product = n.call("nn.matmul", {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
  }
  const DType type = a.type.dtype;
  const bool has_bias = n.has(2) && beta != 0;
  const bool fractions = alpha != std::floor(alpha) || (has_bias && beta != std::floor(beta));
  const DType computed = is_integer(type) && fractions ? dtype::f64 : type;
  product = scaled(n, n.cast(product, computed), alpha);
  if (!has_bias) return n.cast(product, type);
  return n.cast(add_bias(n, product, scaled(n, n.cast(n.in(2), computed), beta)), type);
}

void add_products(Table& table) {
  table.add({
      {"Gemm", 1, "A B C", 3, 3, 1, convert_gemm},
      {"Gemm", 11, "A B C", 2, 3, 1, convert_gemm},
      {"MatMul", 1, "A B", 2, 2, 1, convert_matmul},
  });
}

}  // namespace dlcc::frontends::onnx

// nn.dense, nn.matmul, nn.batch_matmul: matrix products M x K times K x N, with one definition.
#include "relay/attr_structs.h"
#include "relay/call_gradient.h"
#include "relay/op_support/broadcasting.h"

namespace dlcc::relay::ops {

namespace {

// The two matrices of a product: which of the last two axes of each operand is M, N or K.
struct Matrices {
  int a_m, a_k, b_n, b_k;

  Matrices(const MatmulAttrs& attrs, const Operands& in) {
    int a = static_cast<int>(in[0].shape.size()), b = static_cast<int>(in[1].shape.size());
    a_m = attrs.transpose_a ? a - 1 : a - 2;
    a_k = attrs.transpose_a ? a - 2 : a - 1;
    b_n = attrs.transpose_b ? b - 2 : b - 1;
    b_k = attrs.transpose_b ? b - 1 : b - 2;
  }
};

Shape batch_of(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }

// `a_name`, `b_name` are the operands in messages. A first operand of rank 1 has no axis M.
TypeResult type_of_matmul(const MatmulAttrs& attrs, const Operands& in, const char* a_name, const char* b_name) {
  if (auto e = first_of(
          {check_type(in[0], a_name, types::number), check_factors(in[0], a_name, in[1], b_name, attrs.out_dtype)}))
    return *e;
  DType type = attrs.out_dtype.value_or(in[0].dtype);
  if (auto e = check_type({{}, type}, "out_dtype", types::number)) return *e;
  size_t lowest_rank = attrs.transpose_a ? 2 : 1;
  if (in[0].shape.size() < lowest_rank || in[1].shape.size() < 2)
    return shape_error(
        fmt::format("{} and {} must be matrices, found {} and {}", a_name, b_name, str(in[0].shape), str(in[1].shape)));
  Matrices m(attrs, in);
  if (auto e = check_equal(in[0].shape[m.a_k], fmt::format("axis {} of {}", m.a_k, a_name), in[1].shape[m.b_k],
                           fmt::format("axis {} of {}", m.b_k, b_name))) {
    if (e->help.empty()) e->help = "the columns of the first matrix meet the rows of the second; transpose one of them";
    return *e;
  }
  const Dim& columns = in[1].shape[m.b_n];
  if (attrs.units && !(columns == Dim(*attrs.units)))
    return shape_error(fmt::format("units is {}, but {} has {}", *attrs.units, b_name, columns.str()));
  Shape shape;
  if (in[0].shape.size() >= 2) {
    Checked<Shape> batch = broadcast(batch_of(in[0].shape), batch_of(in[1].shape));
    if (std::get_if<TypeError>(&batch))
      return shape_error(fmt::format("the batch axes {} of {} and {} of {} cannot be broadcast",
                                     str(batch_of(in[0].shape)), a_name, str(batch_of(in[1].shape)), b_name),
                         "the axes before the last two are aligned at the last of them; each pair must be equal or "
                         "have a 1");
    shape = std::get<Shape>(batch);
    shape.push_back(in[0].shape[m.a_m]);
  }
  shape.push_back(columns);
  return tensor_result(shape, type);
}

TensorFunction define_matmul(const MatmulAttrs& attrs, const Operands& in, const char* name, const char* a_name,
                             const char* b_name) {
  Definition d(name);
  Tensor a = d.input(a_name, in[0].dtype, in[0].shape), b = d.input(b_name, in[1].dtype, in[1].shape);
  Matrices m(attrs, in);
  Shape shape = shape_in(type_of_matmul(attrs, in, a_name, b_name));
  DType type = attrs.out_dtype.value_or(a.type()), inner = tensor::compute_type(type);
  bool has_m = a.rank() >= 2;
  Shape batch(shape.begin(), shape.end() - (has_m ? 2 : 1));
  auto element = [&](const Tensor& t, Index i, int free_axis, Expr free, int k_axis, Expr k) {
    std::vector<Expr> at;
    if (t.rank() >= 2)
      at = broadcast_index(batch_of(t.shape()), batch, {i.begin(), i.begin() + static_cast<ptrdiff_t>(batch.size())});
    at.resize(t.rank());
    if (free_axis >= 0) at[free_axis] = free;
    at[k_axis] = k;
    return cast(inner, t(at));
  };
  for (const Tensor* t : {&a, &b})
    if (t->rank() >= 2) require_broadcast_next(d, batch_of(t->shape()), batch);
  d.reduce_result("result", type, shape, tensor::sum_of(inner), {a.extent(m.a_k)}, [&](Index i, Index k) {
    Expr row = has_m ? i[i.size() - 2] : Expr(0);
    return element(a, i, m.a_m, row, m.a_k, k[0]) * element(b, i, m.b_n, i.back(), m.b_k, k[0]);
  });
  return d.finish();
}

// For the product Y = A B: G B^T for A and A^T G for B, or the transposes of these. The rows of all batches are those
// of one matrix where B is a matrix.
void gradient_of_matmul(const MatmulAttrs& attrs, CallGradient& g) {
  Term a = g.operand(0), gradient = g.gradient();
  const Term b = g.operand(1).cast_to(gradient.dtype());
  a = a.cast_to(gradient.dtype());
  const bool is_row = a.rank() == 1, is_flat = !attrs.transpose_a && b.rank() == 2;
  if (is_row || is_flat) {
    const Shape rows = is_row ? Shape() : Shape(a.shape().begin(), a.shape().end() - 1);
    a = a.reshaped({product(rows), a.shape().back()});
    gradient = gradient.reshaped({product(rows), gradient.shape().back()});
  }
  auto multiply = [&](const Term& first, bool transpose_first, const Term& second, bool transpose_second) {
    return g.code().call("nn.batch_matmul", {first, second},
                         {{"transpose_a", transpose_first}, {"transpose_b", transpose_second}});
  };
  if (g.wants(0)) {
    const Term of_a = attrs.transpose_a ? multiply(b, attrs.transpose_b, gradient, true)
                                        : multiply(gradient, false, b, !attrs.transpose_b);
    g.add(0, is_row || is_flat ? of_a.reshaped(g.operand(0).shape()) : of_a);
  }
  if (g.wants(1))
    g.add(1, attrs.transpose_b ? multiply(gradient, true, a, attrs.transpose_a)
                               : multiply(a, !attrs.transpose_a, gradient, false));
}

TypeResult type_of_2d_weight(const MatmulAttrs& a, const Operands& in, const char* a_name, const char* b_name) {
  if (auto e = check_rank(in[1], b_name, 2)) return *e;
  return type_of_matmul(a, in, a_name, b_name);
}

}  // namespace

void matmul(OperatorTable& table) {
  using A = MatmulAttrs;
  Field<A> units{"units", &A::units, "number of columns of the result; the second operand's if None"};
  Field<A> out_dtype{"out_dtype", &A::out_dtype, "element type of sums and result; the operands' if None"};
  Field<A> transpose_a{"transpose_a", &A::transpose_a, "swap the last two axes of tensor_a"};
  Field<A> transpose_b{"transpose_b", &A::transpose_b, "swap the last two axes of tensor_b"};
  table.add<A>({
      .name = "nn.dense",
      .summary = "data times the transposed weight: result[.., o] = sum(k) data[.., k] * weight[o, k]",
      .defaults = {.transpose_b = true},
      .attributes = {units, out_dtype},
      .arguments = {"data", "weight"},
      .type = [](const A& a, const Operands& in) { return type_of_2d_weight(a, in, "data", "weight"); },
      .compute = [](const A& a, const Operands& in) { return define_matmul(a, in, "nn.dense", "data", "weight"); },
      .gradient = gradient_of_matmul,
  });
  table.add<A>({
      .name = "nn.matmul",
      .summary = "tensor_a times the matrix tensor_b",
      .attributes = {units, out_dtype, transpose_a, transpose_b},
      .arguments = {"tensor_a", "tensor_b"},
      .type = [](const A& a, const Operands& in) { return type_of_2d_weight(a, in, "tensor_a", "tensor_b"); },
      .compute = [](const A& a,
                    const Operands& in) { return define_matmul(a, in, "nn.matmul", "tensor_a", "tensor_b"); },
      .gradient = gradient_of_matmul,
  });
  table.add<A>({
      .name = "nn.batch_matmul",
      .summary = "products of matrices; the axes before the last two are broadcast",
      .attributes = {out_dtype, transpose_a, transpose_b},
      .arguments = {"tensor_a", "tensor_b"},
      .type = [](const A& a, const Operands& in) -> TypeResult {
        if (in[0].shape.size() < 2)
          return shape_error(fmt::format("tensor_a must have at least 2 dimensions, found shape {}", str(in[0].shape)));
        return type_of_matmul(a, in, "tensor_a", "tensor_b");
      },
      .compute = [](const A& a,
                    const Operands& in) { return define_matmul(a, in, "nn.batch_matmul", "tensor_a", "tensor_b"); },
      .gradient = gradient_of_matmul,
  });
}

}  // namespace dlcc::relay::ops

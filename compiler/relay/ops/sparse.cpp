// Sparse tensors. nn.sparse_dense, nn.internal.sparse_dense_padded, nn.sparse_conv2d, nn.sparse_add,
// nn.sparse_transpose (compressed rows, of elements or of blocks), sparse_fill_empty_rows and sparse_reshape have a
// type only.
#include "relay/op_support/composition.h"
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct SparseDenseAttrs {
  bool sparse_lhs = false;
};
struct SparseConvAttrs {
  std::string layout = "NHWC";
  std::vector<int64_t> kernel_size = {1, 1};
};
struct SparseToDenseAttrs {
  std::vector<Dim> output_shape;
};

// The operands sparse_data, sparse_indices and sparse_indptr from operand `first` on. `columns`: blocks may be columns,
// which are stored with 2 dimensions.
Failure check_rows(const Operands& in, size_t first, bool columns = false) {
  if (auto e = first_of(
          {check_type(in[first], "sparse_data", types::number),
           check_type(in[first + 1], "sparse_indices", types::index), check_rank(in[first + 1], "sparse_indices", 1),
           check_type(in[first + 2], "sparse_indptr", types::index), check_rank(in[first + 2], "sparse_indptr", 1)}))
    return e;
  const size_t rank = in[first].shape.size();
  if (rank == 1 || rank == 3 || (columns && rank == 2)) return std::nullopt;
  return shape_error(fmt::format("sparse_data must have 1 dimension, or 3 for blocks, found {}", rank));
}

// The rows of a sparse matrix: the pointers mark the beginnings of rows, or of rows of blocks.
Dim rows_of(const Operands& in, size_t first) {
  const Dim rows = in[first + 2].shape[0] - Dim(1);
  return in[first].shape.size() > 1 ? rows * in[first].shape[1] : rows;
}

TypeResult type_of_sparse_dense(const SparseDenseAttrs& a, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "dense_data", types::number), check_rank(in[0], "dense_data", 2),
                         check_rows(in, 1), check_same_type(in[0], "dense_data", in[1], "sparse_data")}))
    return *e;
  const Dim rows = rows_of(in, 1);
  if (a.sparse_lhs) return tensor_result({rows, in[0].shape[1]}, in[0].dtype);
  return tensor_result({in[0].shape[0], rows}, in[0].dtype);
}

TypeResult type_of_sparse_conv(const SparseConvAttrs& a, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "dense_data", types::number), check_rank(in[0], "dense_data", 4),
                         check_rows(in, 1, true), check_same_type(in[0], "dense_data", in[1], "sparse_data")}))
    return *e;
  if (a.layout != "NHWC" && a.layout != "NCHW")
    return attribute_error(fmt::format("layout must be \"NHWC\" or \"NCHW\", found \"{}\"", a.layout));
  Shape shape = in[0].shape;
  shape[a.layout == "NHWC" ? 3 : 1] = rows_of(in, 1);
  return tensor_result(shape, in[0].dtype);
}

TypeResult type_of_sparse_add(const NoAttrs&, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "dense_data", types::number), check_rank(in[0], "dense_data", 2),
                         check_rows(in, 1), check_same_type(in[0], "dense_data", in[1], "sparse_data")}))
    return *e;
  return tensor_result(in[0].shape, in[0].dtype);
}

TypeResult type_of_sparse_transpose(const NoAttrs&, const Operands& in) {
  if (auto e = check_rows(in, 0)) return *e;
  std::vector<Type> types;
  for (const Operand& o : in) types.push_back(tensor_type(o.shape, o.dtype));
  return tuple_type(std::move(types));
}

TypeResult type_of_fill_empty_rows(const NoAttrs&, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "sparse_indices", types::index), check_rank(in[0], "sparse_indices", 2),
                         check_rank(in[1], "sparse_values", 1), check_type(in[2], "dense_shape", types::index),
                         check_rank(in[2], "dense_shape", 1)}))
    return *e;
  const Type list = tensor_type(Shape{unknown_dim()}, dtype::i64);
  return tuple_type({tensor_type({unknown_dim(), in[0].shape[1]}, dtype::i64), list, list});
}

TypeResult type_of_sparse_reshape(const NoAttrs&, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "sparse_indices", types::index), check_rank(in[0], "sparse_indices", 2),
                         check_type(in[1], "prev_shape", types::index), check_rank(in[1], "prev_shape", 1),
                         check_type(in[2], "new_shape", types::index), check_rank(in[2], "new_shape", 1)}))
    return *e;
  const Dim rank = in[2].shape[0];
  return tuple_type({tensor_type({in[0].shape[0], rank}, in[0].dtype), tensor_type(Shape{rank}, in[2].dtype)});
}

// The indices are one position, a vector of positions on a line, or a matrix with one position in each row.
Value sparse_to_dense(const SparseToDenseAttrs& a, Composition& c) {
  Checked<PartialList> sizes = list_value(c.operands(), 3, a.output_shape, "output_shape");
  if (auto* e = std::get_if<TypeError>(&sizes)) c.fail(*e);
  Shape shape;
  for (const auto& size : std::get<PartialList>(sizes)) shape.push_back(size.value_or(unknown_dim()));
  Value indices = c.operand(0), values = c.operand(1);
  const Value fill = c.operand(2);
  c.require(first_of({check_type(indices.type, "sparse_indices", types::index),
                      check_same_type(values.type, "sparse_values", fill.type, "default_value"),
                      check_rank(fill.type, "default_value", 0)}));
  if (indices.rank() > 2)
    c.fail(shape_error(fmt::format("sparse_indices must have at most 2 dimensions, found {}", indices.rank())));
  const Dim count = indices.rank() == 0 ? Dim(1) : indices.shape()[0];
  const Dim depth = indices.rank() == 2 ? indices.shape()[1] : Dim(1);
  c.require(
      check_equal(depth, "the numbers of a position", static_cast<int64_t>(shape.size()), "the axes of output_shape"));
  indices = c.call("transpose", {c.reshape(indices, {count, depth})});
  values = values.rank() == 0 ? c.call("broadcast_to", {values}, {{"shape", sizes_attribute({count})}}) : values;
  const Value filled = c.operand_count() > 3 ? c.call_as("full", {fill, c.operand(3)}, {}, shape)
                                             : c.call("full", {fill}, {{"shape", sizes_attribute(shape)}});
  return c.call("scatter_nd", {filled, indices, values});
}

template <class A>
void add_type(OperatorTable& table, const char* name, const char* summary, std::vector<std::string> arguments,
              TypeResult (*type)(const A&, const Operands&), std::vector<Field<A>> fields = {}) {
  table.add<A>({.name = name,
                .summary = summary,
                .attributes = std::move(fields),
                .arguments = std::move(arguments),
                .type = type});
}

}  // namespace

void sparse(OperatorTable& table) {
  using D = SparseDenseAttrs;
  const std::vector<Field<D>> fields = {{"sparse_lhs", &D::sparse_lhs, "the sparse matrix is the left factor"}};
  const std::vector<std::string> rows = {"sparse_data", "sparse_indices", "sparse_indptr"};
  std::vector<std::string> operands = {"dense_data"};
  operands.insert(operands.end(), rows.begin(), rows.end());
  add_type<D>(table, "nn.sparse_dense", "the product of a matrix and a transposed sparse one", operands,
              type_of_sparse_dense, fields);
  add_type<D>(table, "nn.internal.sparse_dense_padded", "nn.sparse_dense with padded rows", operands,
              type_of_sparse_dense, fields);
  using C = SparseConvAttrs;
  add_type<C>(
      table, "nn.sparse_conv2d", "a convolution with a sparse weight", operands, type_of_sparse_conv,
      {{"layout", &C::layout, "\"NHWC\" or \"NCHW\""}, {"kernel_size", &C::kernel_size, "taps per spatial axis"}});
  add_type<NoAttrs>(table, "nn.sparse_add", "the sum of a matrix and a sparse one", operands, type_of_sparse_add);
  add_type<NoAttrs>(table, "nn.sparse_transpose", "the transpose of a sparse matrix", rows, type_of_sparse_transpose);
  add_type<NoAttrs>(table, "sparse_fill_empty_rows", "a sparse tensor with a default value in each empty row",
                    {"sparse_indices", "sparse_values", "dense_shape", "default_value"}, type_of_fill_empty_rows);
  add_type<NoAttrs>(table, "sparse_reshape", "the positions in a tensor of another shape, and that shape",
                    {"sparse_indices", "prev_shape", "new_shape"}, type_of_sparse_reshape);
  using S = SparseToDenseAttrs;
  table.add(composed<S>(
      {.name = "sparse_to_dense",
       .summary = "a tensor with values at some positions and a default value elsewhere",
       .attributes = {{"output_shape", &S::output_shape, "the result's shape", true}},
       .arguments = {"sparse_indices", "sparse_values", "default_value"},
       .values = {"output_shape"},
       .sizes = [](const S&, const Operands&, const std::vector<Tensor>& v, Definition&) { return elements_of(v[0]); },
       .sample_shapes = {{2}, {2}, {}},
       .sample_attrs = {{"output_shape", std::vector<int64_t>{4}}}},
      sparse_to_dense));
}

}  // namespace dlcc::relay::ops

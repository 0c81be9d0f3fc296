// sort, argsort, searchsorted, invert_permutation, unravel_index: order and positions.
#include "relay/op_support/composition.h"

namespace dlcc::relay::ops {

namespace {

struct SortAttrs {
  int64_t axis = -1;
  bool is_ascend = true;
  std::optional<DType> dtype = dtype::i32;
};
struct SearchSortedAttrs {
  bool right = false;
  DType dtype = dtype::i32;
};

// The sorted elements and their positions, which are int64.
std::vector<Value> all_sorted(const SortAttrs& a, Composition& c) {
  const Value x = c.operand(0);
  c.require(check_axis("axis", a.axis, x.rank()));
  const Dim extent = x.shape()[wrap_axis(a.axis, x.rank())];
  return c.call_all(
      "topk", {x},
      {{"k", sizes_attribute({extent})}, {"axis", a.axis}, {"is_ascend", a.is_ascend}, {"dtype", "int64"}});
}

Value sorted(const SortAttrs& a, Composition& c) { return all_sorted(a, c)[0]; }

Value sorting_positions(const SortAttrs& a, Composition& c) {
  const DType type = a.dtype.value_or(dtype::i32);
  c.require(check_type({{}, type}, "dtype", types::number));
  return c.cast(all_sorted(a, c)[1], type);
}

// The position of a value is the number of elements before it.
Value searched(const SearchSortedAttrs& a, Composition& c) {
  const Value sequence = c.operand(0), values = c.operand(1);
  c.require(first_of({check_type(sequence.type, "sorted_sequence", types::number),
                      check_same_type(sequence.type, "sorted_sequence", values.type, "values")}));
  if (a.dtype != dtype::i32 && a.dtype != dtype::i64)
    c.fail(attribute_error(fmt::format("dtype must be \"int32\" or \"int64\", found \"{}\"", name(a.dtype))));
  const int rank = sequence.rank();
  if (rank == 0) c.fail(shape_error("sorted_sequence must have an axis"));
  if (rank > 1) {
    c.require(check_rank(values.type, "values", rank));
    for (int k = 0; k + 1 < rank; ++k)
      c.require(check_equal(values.shape()[k], fmt::format("axis {} of the values", k), sequence.shape()[k],
                            fmt::format("axis {} of the sorted sequence", k)));
  }
  return c.sum(a.dtype, values.shape(), {sequence.shape().back()}, {sequence, values},
               [rank, right = a.right, type = a.dtype](const std::vector<Tensor>& args, Index i, Index r) {
                 std::vector<Expr> at(i.begin(), i.begin() + (rank - 1));
                 at.push_back(r[0]);
                 const Expr element = args[0](at), value = args[1](i);
                 const Expr is_before = right ? element <= value : element < value;
                 return select(is_before, number(type, 1), number(type, 0));
               });
}

Value inverted(const NoAttrs&, Composition& c) {
  const Value x = c.operand(0);
  c.require(first_of({check_type(x.type, "data", types::index), check_rank(x.type, "data", 1)}));
  const Value positions =
      c.call("iota", {}, {{"shape", sizes_attribute(x.shape())}, {"dtype", std::string(name(x.dtype()))}});
  return c.call("scatter_elements", {c.call("zeros_like", {x}), x, positions});
}

// ---- unravel_index

TypeResult type_of_unravel(const NoAttrs&, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "data", types::index), check_type(in[1], "shape", types::index),
                         check_rank(in[1], "shape", 1)}))
    return *e;
  if (!in[1].shape[0].is_constant())
    return TypeError{DiagnosticId::dynamic_shape, "the number of sizes must be known at compile time", ""};
  Shape shape = in[0].shape;
  shape.insert(shape.begin(), in[1].shape[0]);
  return tensor_result(shape, in[0].dtype);
}

TensorFunction define_unravel(const NoAttrs& a, const Operands& in) {
  Definition d("unravel_index");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), sizes = d.input("shape", in[1].dtype, in[1].shape);
  const int64_t count = sizes.extent(0).value();
  for (int64_t k = 0; k < count; ++k)
    d.require_next([=](Index) { return integer_at(sizes, k) > Expr(0); }, tensor::Status::shape_mismatch);
  d.result("result", x.type(), shape_in(type_of_unravel(a, in)), [&](Index i) {
    Expr rest = cast(dtype::i64, x(std::vector<Expr>(i.begin() + 1, i.end()))), result(0);
    for (int64_t k = count; k-- > 0;) {
      const Expr size = max(integer_at(sizes, k), Expr(1));
      result = select(equal(i[0], Expr(k)), floor_mod(rest, size), result);
      rest = floor_div(rest, size);
    }
    return result;
  });
  return d.finish();
}

}  // namespace

void sort(OperatorTable& table) {
  using A = SortAttrs;
  const std::vector<Field<A>> fields = {{"axis", &A::axis, "the axis to sort"},
                                        {"is_ascend", &A::is_ascend, "the smallest first"},
                                        {"dtype", &A::dtype, "the element type of positions; int32 if None"}};
  table.add(composed<A>({.name = "sort",
                         .summary = "the elements of an axis in ascending or descending order; NaN is the largest",
                         .attributes = fields,
                         .arguments = {"data"}},
                        sorted));
  table.add(
      composed<A>({.name = "argsort",
                   .summary = "the positions of the elements of an axis in sorted order; equal ones keep their order",
                   .attributes = fields,
                   .arguments = {"data"}},
                  sorting_positions));
  using S = SearchSortedAttrs;
  table.add(composed<S>(
      {.name = "searchsorted",
       .summary = "the positions along the last axis of a sorted tensor at which values can be inserted in order",
       .attributes = {{"right", &S::right, "behind equal elements instead of before them"},
                      {"dtype", &S::dtype, "the element type of positions: int32 or int64"}},
       .arguments = {"sorted_sequence", "values"}},
      searched));
  table.add(composed<NoAttrs>({.name = "invert_permutation",
                               .summary = "the positions of 0, 1, 2 ... in a permutation of these numbers",
                               .arguments = {"data"}},
                              inverted));
  table.add<NoAttrs>({
      .name = "unravel_index",
      .summary = "the indices, along a new first axis, of row-major positions in a tensor of the given shape",
      .arguments = {"data", "shape"},
      .type = type_of_unravel,
      .compute = define_unravel,
      .sample_shapes = {{2}, {3}},
  });
}

}  // namespace dlcc::relay::ops

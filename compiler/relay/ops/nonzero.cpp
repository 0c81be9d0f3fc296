// argwhere, nonzero: the positions of the elements that are not zero, in row-major order. The number of rows of
// argwhere's result is data-dependent; nonzero gives as many as there may be, and their actual number.
#include "relay/op_support/sorting.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

TypeResult type_of_argwhere(const NoAttrs&, const Operands& in) {
  if (auto e = check_type(in[0], "condition", types::ordinary)) return *e;
  return tensor_result({unknown_dim(), static_cast<int64_t>(in[0].shape.size())}, dtype::i32);
}

TypeResult type_of_nonzero(const NoAttrs&, const Operands& in) {
  if (auto e = check_type(in[0], "condition", types::ordinary)) return *e;
  const Dim rank = static_cast<int64_t>(in[0].shape.size());
  TypeResult positions = tensor_result({product(in[0].shape), rank}, dtype::i64);
  if (std::holds_alternative<TypeError>(positions)) return positions;
  return tuple_type({std::get<Type>(positions), tensor_type(Shape{Dim(1)}, dtype::i64)});
}

Expr is_nonzero(const Expr& value) {
  return is_bool(value.type()) ? value : not_equal(value, tensor::cast(value.type(), Expr(0)));
}

// Stream compaction in one sequential pass. Stores positions as long as there is room, and returns their number.
Expr store_positions(Statements& s, const Tensor& x, const Tensor& positions) {
  const Dim &room = positions.extent(0), most = product(x.shape());
  Tensor found = s.local("found", dtype::i64);
  s.store(found, {}, Expr(0));
  s.loops(x.shape(), [&](Index i) {
    s.if_then(is_nonzero(x(i)), [&] {
      const Expr at = s.let("at", scalar(found));
      auto store = [&] {
        for (size_t k = 0; k < i.size(); ++k)
          s.store(positions, {at, Expr(static_cast<int64_t>(k))}, cast(positions.type(), i[k]));
      };
      if (provably_le(most, room))
        store();
      else
        s.if_then(at < Expr(room), store);
      s.store(found, {}, at + Expr(1));
    });
  });
  return scalar(found);
}

TensorFunction define_argwhere(const NoAttrs&, const Operands& in, const Shape& result) {
  Definition d("argwhere");
  Tensor x = d.input("condition", in[0].dtype, in[0].shape);
  Tensor positions = d.declare("positions", dtype::i32, result);
  Statements s;
  s.require(equal(store_positions(s, x, positions), Expr(result[0])), tensor::Status::shape_mismatch);
  d.body({positions}, s.finish());
  d.mark_result(positions);
  return d.finish();
}

std::vector<Expr> sizes_of_argwhere(const NoAttrs&, const Operands&, const std::vector<Tensor>& operands,
                                    Definition& d) {
  const Tensor& x = operands[0];
  auto one_if = [&](Index i) { return cast(dtype::i64, is_nonzero(x(i))); };
  const Expr count = x.rank() == 0 ? one_if({})
                                   : scalar(d.reduce("count", {}, tensor::sum_of(dtype::i64), x.shape(),
                                                     [&](Index, Index r) { return one_if(r); }));
  return {count, Expr(static_cast<int64_t>(x.rank()))};
}

TensorFunction define_nonzero(const NoAttrs&, const Operands& in) {
  Definition d("nonzero");
  Tensor x = d.input("condition", in[0].dtype, in[0].shape);
  Tensor positions = d.declare("positions", dtype::i64, {product(x.shape()), static_cast<int64_t>(x.rank())});
  Tensor count = d.declare("count", dtype::i64, {1});
  Statements s;
  const Expr found = store_positions(s, x, positions);
  s.store(count, {Expr(0)}, found);
  d.body({positions, count}, s.finish());
  d.mark_result(positions);
  d.mark_result(count);
  return d.finish();
}

}  // namespace

void nonzero(OperatorTable& table) {
  table.add<NoAttrs>({
      .name = "argwhere",
      .summary = "the positions of the elements that are not zero, in row-major order",
      .arguments = {"condition"},
      .type = type_of_argwhere,
      .compute_as = define_argwhere,
      .sizes = sizes_of_argwhere,
      .largest_sizes =
          [](const NoAttrs&, const Operands& in) {
            return Shape{product(in[0].shape), static_cast<int64_t>(in[0].shape.size())};
          },
  });
  table.add<NoAttrs>({
      .name = "nonzero",
      .summary = "the positions of the elements that are not zero, in row-major order, and their number; rows of "
                 "positions from that number on are unspecified",
      .arguments = {"condition"},
      .type = type_of_nonzero,
      .compute = define_nonzero,
  });
}

}  // namespace dlcc::relay::ops

// argwhere: the positions of the elements that are not zero, in row-major order, and their number.
#include "relay/op_support/sorting.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

TypeResult type_of_argwhere(const NoAttrs&, const Operands& in) {
  if (auto e = check_type(in[0], "condition", types::ordinary)) return *e;
  const Dim rank = static_cast<int64_t>(in[0].shape.size());
  TypeResult positions = tensor_result({product(in[0].shape), rank}, dtype::i64);
  if (std::holds_alternative<TypeError>(positions)) return positions;
  return tuple_type({std::get<Type>(positions), tensor_type(Shape{Dim(1)}, dtype::i64)});
}

// Stream compaction in one sequential pass, with the number of positions found so far.
TensorFunction define_argwhere(const NoAttrs&, const Operands& in) {
  Definition d("argwhere");
  Tensor x = d.input("condition", in[0].dtype, in[0].shape);
  const auto rank = static_cast<int64_t>(x.rank());
  Tensor positions = d.declare("positions", dtype::i64, {product(x.shape()), rank});
  Tensor count = d.declare("count", dtype::i64, {1});
  Statements s;
  Tensor found = s.local("found", dtype::i64);
  s.store(found, {}, Expr(0));
  s.loops(x.shape(), [&](Index i) {
    const Expr value = x(i);
    const Expr is_set = is_bool(value.type()) ? value : not_equal(value, tensor::cast(value.type(), Expr(0)));
    s.if_then(is_set, [&] {
      const Expr at = s.let("at", scalar(found));
      for (int64_t k = 0; k < rank; ++k) s.store(positions, {at, Expr(k)}, i[static_cast<size_t>(k)]);
      s.store(found, {}, at + Expr(1));
    });
  });
  s.store(count, {Expr(0)}, scalar(found));
  d.body({positions, count}, s.finish());
  d.mark_result(positions);
  d.mark_result(count);
  return d.finish();
}

}  // namespace

void argwhere(OperatorTable& table) {
  table.add<NoAttrs>({
      .name = "argwhere",
      .summary = "the positions of the elements that are not zero, in row-major order, and their number; rows of "
                 "positions from that number on are unspecified",
      .arguments = {"condition"},
      .type = type_of_argwhere,
      .compute = define_argwhere,
  });
}

}  // namespace dlcc::relay::ops

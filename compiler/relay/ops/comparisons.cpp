// Comparisons and logical connectives of two broadcast operands, as one table. Results are bool; a comparison
// with NaN is false, but not_equal with NaN is true.
#include "relay/op_support/broadcasting.h"

namespace dlcc::relay::ops {

namespace {

struct Comparison {
  const char* name;
  const char* summary;
  const TypeClass& types;
  tensor::BinaryOp op;
};

const Comparison comparison_functions[] = {
    {"equal", "lhs = rhs", types::ordinary, tensor::BinaryOp::eq},
    {"not_equal", "lhs differs from rhs", types::ordinary, tensor::BinaryOp::ne},
    {"less", "lhs < rhs", types::number, tensor::BinaryOp::lt},
    {"less_equal", "lhs <= rhs", types::number, tensor::BinaryOp::le},
    {"greater", "lhs > rhs", types::number, tensor::BinaryOp::gt},
    {"greater_equal", "lhs >= rhs", types::number, tensor::BinaryOp::ge},
    {"logical_and", "both are true", types::boolean, tensor::BinaryOp::logical_and},
    {"logical_or", "one or both are true", types::boolean, tensor::BinaryOp::logical_or},
    {"logical_xor", "exactly one is true", types::boolean, tensor::BinaryOp::logical_xor},
};

}  // namespace

void comparisons(OperatorTable& table) {
  for (const Comparison& p : comparison_functions) {
    table.add<NoAttrs>({
        .name = p.name,
        .summary = p.summary,
        .attributes = {},
        .arguments = {"lhs", "rhs"},
        .type = [&p](const NoAttrs&, const Operands& in) -> TypeResult {
          return broadcast_result(in, p.types, dtype::boolean);
        },
        .compute =
            [&p](const NoAttrs&, const Operands& in) {
              Definition d(p.name);
              Tensor a = d.input("lhs", in[0].dtype, in[0].shape), b = d.input("rhs", in[1].dtype, in[1].shape);
              Shape shape = std::get<Shape>(broadcast(a.shape(), b.shape()));
              require_broadcast_next(d, a.shape(), shape);
              require_broadcast_next(d, b.shape(), shape);
              d.result("result", dtype::boolean, shape, [&](Index i) {
                return binary(p.op, a(broadcast_index(a.shape(), shape, i)), b(broadcast_index(b.shape(), shape, i)));
              });
              return d.finish();
            },
    });
  }
}

}  // namespace dlcc::relay::ops

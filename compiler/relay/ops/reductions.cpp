// sum, mean, prod, max, min, all, any: reductions over some axes, as one table. Without axes they are the identity.
#include "relay/op_support/reductions.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct ReduceAttrs {
  std::optional<std::vector<int64_t>> axis;
  bool keepdims = false, exclude = false;
};

struct Reduction {
  const char* name;
  const char* summary;
  const TypeClass& types;
  tensor::Reducer (*reducer)(DType);
  bool divide = false;  // by the number of reduced elements
};

const Reduction all_reductions[] = {
    {"sum", "the sum", types::number, tensor::sum_of},
    {"mean", "the sum divided by the number of elements; integers toward zero", types::number, tensor::sum_of, true},
    {"prod", "the product", types::number, tensor::product_of},
    {"max", "the largest element; NaN if one is NaN", types::ordinary, tensor::max_of},
    {"min", "the smallest element; NaN if one is NaN", types::ordinary, tensor::min_of},
    {"all", "whether all are true", types::boolean, tensor::min_of},
    {"any", "whether one is true", types::boolean, tensor::max_of},
};

TypeResult type_of_reduction(const Reduction& f, const ReduceAttrs& a, const Operands& in) {
  int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of(
          {check_type(in[0], "data", f.types), check_axes("axis", a.axis.value_or(std::vector<int64_t>{}), rank)}))
    return *e;
  return tensor_result(reduced_shape(in[0].shape, reduced_axes(a.axis, a.exclude, rank), a.keepdims), in[0].dtype);
}

TensorFunction define(const Reduction& f, const ReduceAttrs& a, const Operands& in) {
  Definition d(f.name);
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  DType type = f.divide ? mean_type(x.type()) : tensor::compute_type(x.type());
  define_reduction(d, x, reduced_axes(a.axis, a.exclude, x.rank()), a.keepdims, f.reducer(type), f.divide);
  return d.finish();
}

}  // namespace

void reductions(OperatorTable& table) {
  for (const Reduction& f : all_reductions) {
    table.add<ReduceAttrs>({
        .name = f.name,
        .summary = std::string(f.summary) + ", over some axes",
        .attributes = {{"axis", &ReduceAttrs::axis, "the axes to reduce; all if None"},
                       {"keepdims", &ReduceAttrs::keepdims, "keep reduced axes, with size 1"},
                       {"exclude", &ReduceAttrs::exclude, "reduce the axes that `axis` does not name"}},
        .arguments = {"data"},
        .type = [&f](const ReduceAttrs& a, const Operands& in) { return type_of_reduction(f, a, in); },
        .compute = [&f](const ReduceAttrs& a, const Operands& in) { return define(f, a, in); },
    });
  }
}

}  // namespace dlcc::relay::ops

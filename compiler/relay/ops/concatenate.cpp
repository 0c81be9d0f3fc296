// concatenate: joins any number of tensors along one axis. Each operand fills its own box of the result.
#include "relay/op_support/elements.h"
#include "relay/op_support/gradients.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct ConcatenateAttrs {
  int64_t axis = 0;
};

TypeResult type_of_concatenate(const ConcatenateAttrs& a, const Operands& in) {
  if (in.empty())
    return TypeError{DiagnosticId::wrong_arity, "there is nothing to concatenate", "give at least one tensor"};
  int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of({check_type(in[0], "field 0", types::movable), check_axis("axis", a.axis, rank)})) return *e;
  int axis = wrap_axis(a.axis, rank);
  Shape shape = in[0].shape;
  for (size_t n = 1; n < in.size(); ++n) {
    std::string what = fmt::format("field {}", n);
    if (auto e =
            first_of({check_same_type(in[0], "field 0", in[n], what.c_str()), check_rank(in[n], what.c_str(), rank)}))
      return *e;
    for (int k = 0; k < rank; ++k)
      if (k != axis)
        if (auto e = check_equal(in[n].shape[k], fmt::format("axis {} of {}", k, what), shape[k],
                                 fmt::format("axis {} of field 0", k)))
          return *e;
    shape[axis] = shape[axis] + in[n].shape[axis];
  }
  return tensor_result(shape, in[0].dtype);
}

TensorFunction define_concatenate(const ConcatenateAttrs& a, const Operands& in) {
  Definition d("concatenate");
  std::vector<Tensor> fields;
  for (size_t n = 0; n < in.size(); ++n) fields.push_back(d.input(fmt::format("data{}", n), in[n].dtype, in[n].shape));
  Tensor result = d.declare_result("result", in[0].dtype, shape_in(type_of_concatenate(a, in)));
  std::vector<Dim> origin(result.rank(), Dim(0));
  int axis = wrap_axis(a.axis, result.rank());
  for (const Tensor& x : fields) {
    d.compute_box(result, origin, x.shape(), [&](Index i) { return stored(x, i); });
    origin[axis] = origin[axis] + x.extent(axis);
  }
  return d.finish();
}

}  // namespace

void concatenate(OperatorTable& table) {
  table.add<ConcatenateAttrs>({
      .name = "concatenate",
      .summary = "joins tensors along one axis",
      .attributes = {{"axis", &ConcatenateAttrs::axis, "the axis along which the tensors are joined"}},
      .arguments = {"data"},
      .variadic = true,
      .type = type_of_concatenate,
      .compute = define_concatenate,
      .gradient =
          [](const ConcatenateAttrs& a, CallGradient& g) {
            const int axis = wrap_axis(a.axis, g.result().rank());
            Dim first = 0;
            for (size_t k = 0; k < g.operand_count(); ++k) {
              const Dim count = g.operands()[k].type.shape[static_cast<size_t>(axis)];
              if (g.wants(k)) g.add(k, g.gradient().sliced(axis, first, count));
              first = first + count;
            }
          },
  });
}

}  // namespace dlcc::relay::ops

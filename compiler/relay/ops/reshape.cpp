// reshape: the same elements in the same order under another shape. The definition is an index map, so that it is
// recognised as a view.
#include <algorithm>

#include "relay/op_support/indices.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct ReshapeAttrs {
  std::vector<Dim> newshape;
  bool allowzero = false;
};

// The remaining size of a tensor of `count` elements, given all others.
Checked<Dim> inferred_size(const Shape& data, const Shape& known) {
  Shape from = data, to;
  for (const Dim& d : known) {  // equal sizes cancel, also symbolic ones
    auto same = std::ranges::find(from, d);
    if (same != from.end() && !(d == Dim(0)))
      from.erase(same);
    else
      to.push_back(d);
  }
  Dim have = product(from), divisor = product(to);
  if (divisor == Dim(0)) return attribute_error("-1 cannot be resolved beside a size of 0", "write the size");
  if (!divisor.is_constant())
    return TypeError{DiagnosticId::dynamic_shape,
                     fmt::format("-1 cannot be resolved: {} may not be divisible by {}", have.str(), divisor.str()),
                     ""};
  if (floor_mod(have, divisor) == Dim(0)) return floor_div(have, divisor);
  return shape_error(fmt::format("-1 cannot be resolved: {} elements are not divisible by {}", product(data).str(),
                                 product(known).str()));
}

Checked<Shape> resolve(const ReshapeAttrs& a, const Shape& data) {
  Shape shape, known;
  std::optional<size_t> unknown;
  for (size_t k = 0; k < a.newshape.size(); ++k) {
    Dim size = a.newshape[k];
    if (size == Dim(0) && !a.allowzero) {
      if (k >= data.size())
        return attribute_error(fmt::format("newshape[{}] is 0, but the data has only {} dimensions", k, data.size()));
      size = data[k];
    }
    if (size == Dim(-1)) {
      if (unknown) return attribute_error("newshape holds -1 twice");
      unknown = k;
    } else if (size.is_constant() && size.value() < 0) {
      return TypeError{DiagnosticId::unsupported_attribute, fmt::format("newshape[{}] is {}", k, size.str()),
                       "sizes are positive, 0 (the data's size) or -1 (the remaining number of elements)"};
    } else {
      known.push_back(size);
    }
    shape.push_back(size);
  }
  if (unknown) {
    Checked<Dim> size = inferred_size(data, known);
    if (auto* e = std::get_if<TypeError>(&size)) return *e;
    shape[*unknown] = std::get<Dim>(size);
  } else if (auto e = check_equal(product(shape), fmt::format("the element count of {}", str(shape)), product(data),
                                  fmt::format("that of {}", str(data)))) {
    return *e;
  }
  return shape;
}

TypeResult type_of_reshape(const ReshapeAttrs& a, const Operands& in) {
  if (auto e = check_type(in[0], "data", types::movable)) return *e;
  Checked<Shape> shape = resolve(a, in[0].shape);
  if (auto* e = std::get_if<TypeError>(&shape)) return *e;
  return tensor_result(std::get<Shape>(shape), in[0].dtype);
}

TypeResult type_of_batch_flatten(const NoAttrs&, const Operands& in) {
  if (auto e = check_type(in[0], "data", types::movable)) return *e;
  if (in[0].shape.empty()) return shape_error("data must have at least 1 dimension, found a scalar");
  return tensor_result({in[0].shape[0], product(Shape(in[0].shape.begin() + 1, in[0].shape.end()))}, in[0].dtype);
}

}  // namespace

void reshape(OperatorTable& table) {
  table.add<ReshapeAttrs>({
      .name = "reshape",
      .summary = "the same elements in row-major order under another shape",
      .attributes = {{"newshape", &ReshapeAttrs::newshape,
                      "sizes; 0 is the data's size of the same axis, -1 the remaining number of elements", true},
                     {"allowzero", &ReshapeAttrs::allowzero, "0 is a size of zero"}},
      .arguments = {"data"},
      .type = type_of_reshape,
      .compute = [](const ReshapeAttrs& a,
                    const Operands& in) { return define_view("reshape", in[0], shape_in(type_of_reshape(a, in))); },
  });
  table.add<NoAttrs>({
      .name = "nn.batch_flatten",
      .summary = "merges all axes but the first",
      .attributes = {},
      .arguments = {"data"},
      .type = type_of_batch_flatten,
      .compute =
          [](const NoAttrs& a, const Operands& in) {
            return define_view("nn.batch_flatten", in[0], shape_in(type_of_batch_flatten(a, in)));
          },
  });
}

}  // namespace dlcc::relay::ops

// reshape: the same elements in the same order under another shape. The definition is an index map, so that it is
// recognized as a view.
#include <algorithm>

#include "relay/op_support/composition.h"
#include "relay/op_support/gradients.h"
#include "relay/op_support/indices.h"
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct ReshapeAttrs {
  std::vector<Dim> newshape;
  bool allowzero = false;
};

// The attributes without TVM's codes for axes of the data.
struct ExplicitSizes : ReshapeAttrs {
  std::vector<size_t> indices = {};  // of the sizes in the attribute; empty if they are the same
};

bool is_axis_code(const Dim& size) { return size == Dim(-2) || size == Dim(-3) || size == Dim(-4); }

// TVM's codes for axes of the data are replaced by sizes: -2 stands for the remaining axes, -3 for the product of the
// next two, and -4 splits the next axis into the two sizes behind it. Beside them, 0 is the next axis.
Checked<ExplicitSizes> without_axis_codes(const ReshapeAttrs& a, const Shape& data) {
  if (std::ranges::none_of(a.newshape, is_axis_code)) return ExplicitSizes{a};
  std::vector<Dim> sizes;
  std::vector<size_t> indices;
  size_t next = 0;  // axis of the data
  for (size_t k = 0; k < a.newshape.size(); ++k) {
    const Dim& size = a.newshape[k];
    const size_t index = k;
    const size_t needed = size == Dim(-3) ? 2 : size == Dim(-4) || size == Dim(0) ? 1 : 0;
    if (needed > 0 && next + needed > data.size())
      return attribute_error(
          fmt::format("newshape[{}] is {}, but the data has only {} dimensions", k, size.str(), data.size()));
    if (size == Dim(-2)) {
      while (next < data.size()) sizes.push_back(data[next++]);
    } else if (size == Dim(-3)) {
      sizes.push_back(data[next] * data[next + 1]);
      next += 2;
    } else if (size == Dim(-4)) {
      if (k + 2 >= a.newshape.size())
        return attribute_error(fmt::format("newshape[{}] is -4, behind which two sizes must be", k));
      Dim left = a.newshape[k + 1], right = a.newshape[k + 2];
      if (left == Dim(-1) && provably_le(1, right)) left = floor_div(data[next], right);
      if (right == Dim(-1) && provably_le(1, left)) right = floor_div(data[next], left);
      sizes.insert(sizes.end(), {left, right});
      indices.resize(sizes.size() - 2, index), indices.insert(indices.end(), {index + 1, index + 2});
      next += 1, k += 2;
    } else {
      sizes.push_back(size == Dim(0) ? data[next] : size);
      ++next;
    }
    indices.resize(sizes.size(), index);
  }
  return ExplicitSizes{{std::move(sizes), a.allowzero}, std::move(indices)};
}

// The size that makes `known` and itself the element count of the data. If it is not known whether the count is
// divisible, the definition requires it; unknown where a size may be 0.
Checked<Dim> remaining_size(const Shape& data, const Shape& known) {
  Shape from = data, to;
  for (const Dim& d : known) {  // equal sizes cancel, also those that may be 0
    auto same = std::ranges::find(from, d);
    if (same != from.end() && !(d == Dim(0)))
      from.erase(same);
    else
      to.push_back(d);
  }
  Dim have = product(from), divisor = product(to);
  if (divisor == Dim(0)) return attribute_error("-1 cannot be resolved beside a size of 0", "write the size");
  Dim rest = floor_mod(have, divisor);
  if (rest.is_constant() && !(rest == Dim(0)))
    return shape_error(fmt::format("no size in place of -1 fits: {} has {} elements, which are not a multiple of {}",
                                   str(data), product(data).str(), product(known).str()),
                       "the other sizes must divide the number of elements");
  return provably_le(1, divisor) ? floor_div(have, divisor) : unknown_dim();
}

// One axis of the result as far as it is known: a size, or the remaining number of elements (-1). A size that may be 0
// or -1 stands for itself: a run in which it means another size is rejected.
struct Axis {
  std::optional<Dim> size;
  bool is_rest = false;
  bool may_mean_other = false;  // 0 or -1 may mean another size
};

// Whether a size of newshape that is 0 in a run means a size of 0.
bool zero_means_itself(const Dim& size, size_t k, const Shape& data, bool allow_zero) {
  return allow_zero || (k < data.size() && data[k] == size);
}

// What a value of newshape means, which has this index in the operand or attribute. With `allow_zero`, 0 is a size, and
// not the data's size.
Checked<Axis> axis_of(const std::optional<Dim>& size, size_t k, size_t index, const Shape& data, bool allow_zero) {
  if (!size) return Axis{};
  if (*size == Dim(0) && !allow_zero) {
    if (k < data.size()) return Axis{data[k]};
    return attribute_error(fmt::format("newshape[{}] is 0, but the data has only {} dimensions", index, data.size()));
  }
  if (*size == Dim(-1)) return Axis{{}, true};
  if (provably_lt(*size, 0))
    return TypeError{
        DiagnosticId::unsupported_attribute, fmt::format("newshape[{}] is {}", index, size->str()),
        "sizes are positive, 0 (the data's size), -1 (the remaining number of elements) or TVM's codes -2, -3, -4"};
  if (size->is_constant()) return Axis{*size};
  const int64_t least = zero_means_itself(*size, k, data, allow_zero) ? 0 : 1;
  return Axis{*size, false, !provably_le(least, *size)};
}

Checked<Shape> resolve(const PartialList& sizes, const std::vector<size_t>& indices, const Shape& data,
                       bool allow_zero) {
  Shape shape, known;
  std::vector<size_t> rest, unknown, doubtful;
  for (size_t k = 0; k < sizes.size(); ++k) {
    Checked<Axis> axis = axis_of(sizes[k], k, indices.empty() ? k : indices[k], data, allow_zero);
    if (auto* e = std::get_if<TypeError>(&axis)) return *e;
    const auto& [size, is_rest, may_mean_other] = std::get<Axis>(axis);
    if (!size) (is_rest ? rest : unknown).push_back(k);
    if (may_mean_other) doubtful.push_back(k);
    if (size && !may_mean_other) known.push_back(*size);
    shape.push_back(size.value_or(unknown_dim()));
  }
  if (rest.size() > 1) return attribute_error("newshape holds -1 twice");
  if (doubtful.size() == 1 && rest.empty() && unknown.empty()) {  // the others tell its size
    Checked<Dim> size = remaining_size(data, known);
    if (auto* e = std::get_if<TypeError>(&size)) return *e;
    if (!(std::get<Dim>(size) == unknown_dim())) shape[doubtful[0]] = std::get<Dim>(size);
  } else if (rest.size() + unknown.size() == 1) {
    for (size_t k : doubtful) known.push_back(shape[k]);
    Checked<Dim> size = remaining_size(data, known);
    if (auto* e = std::get_if<TypeError>(&size)) return *e;
    shape[rest.empty() ? unknown[0] : rest[0]] = std::get<Dim>(size);
  } else if (rest.empty() && unknown.empty() && provably_different(product(shape), product(data))) {
    return *check_equal(product(shape), fmt::format("the element count of {}", str(shape)), product(data),
                        fmt::format("that of {}", str(data)));
  }
  return shape;
}

TypeResult type_of_reshape(const ReshapeAttrs& given, const Operands& in) {
  if (auto e = check_type(in[0], "data", types::movable)) return *e;
  Checked<ExplicitSizes> explicit_sizes = without_axis_codes(given, in[0].shape);
  if (auto* e = std::get_if<TypeError>(&explicit_sizes)) return *e;
  const ExplicitSizes& a = std::get<ExplicitSizes>(explicit_sizes);
  Checked<PartialList> sizes = list_value(in, 1, a.newshape, "newshape");
  if (auto* e = std::get_if<TypeError>(&sizes)) return *e;
  Checked<Shape> shape = resolve(std::get<PartialList>(sizes), a.indices, in[0].shape, a.allowzero);
  if (auto* e = std::get_if<TypeError>(&shape)) return *e;
  return tensor_result(std::get<Shape>(shape), in[0].dtype);
}

// Whether a size of the attribute may be 0 where the data's size, which 0 means, is another one. (A negative size of
// the result is rejected in any case.)
bool may_be_other_size(const ReshapeAttrs& a, const Shape& data, size_t k) {
  const Dim& size = a.newshape[k];
  return !size.is_constant() && !zero_means_itself(size, k, data, a.allowzero) && !provably_le(1, size);
}

// The condition that newshape means `shape`: each size is equal and not 0, or 0 where the data has that size, or -1 at
// most once.
Expr means_shape(const Tensor& newshape, const Shape& shape, const Shape& data, bool allow_zero) {
  std::vector<Expr> fits;
  Expr unknown(0);
  for (size_t k = 0; k < shape.size(); ++k) {
    Expr size = integer_at(newshape, static_cast<int64_t>(k));
    Expr zero = equal(size, Expr(0));
    Expr same = equal(size, Expr(shape[k]));
    if (!allow_zero && k < data.size() && data[k] == shape[k]) {
      same = logical_or(same, zero);
    } else if (!allow_zero) {
      same = logical_and(same, logical_not(zero));
      if (k < data.size()) same = logical_or(same, logical_and(zero, equal(Expr(data[k]), Expr(shape[k]))));
    }
    fits.push_back(logical_or(same, equal(size, Expr(-1))));
    unknown = unknown + cast(dtype::i64, equal(size, Expr(-1)));
  }
  fits.push_back(unknown <= Expr(1));
  return all_of(fits);
}

constexpr int64_t least_value = -1;  // of an operand: only the attribute has codes for axes of the data

// That no size is a code, then that the sizes mean those of the result.
void require_shape_next(Definition& d, const Tensor& newshape, const Shape& result, const Shape& data,
                        bool allow_zero) {
  d.require_next(
      [=](Index) {
        std::vector<Expr> are_sizes;
        for (size_t k = 0; k < result.size(); ++k)
          are_sizes.push_back(integer_at(newshape, static_cast<int64_t>(k)) >= Expr(least_value));
        return all_of(are_sizes);
      },
      tensor::Status::dimension_out_of_range);
  d.require_next([=](Index) { return means_shape(newshape, result, data, allow_zero); },
                 tensor::Status::shape_mismatch);
}

TensorFunction define_reshape(const ReshapeAttrs& given, const Operands& in, const Shape& result) {
  Definition d("reshape");
  const ReshapeAttrs a = std::get<ExplicitSizes>(without_axis_codes(given, in[0].shape));
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  if (in.size() > 1)
    require_shape_next(d, d.input("newshape", in[1].dtype, in[1].shape), result, x.shape(), a.allowzero);
  for (size_t k = 0; k < a.newshape.size(); ++k) {
    if (!may_be_other_size(a, x.shape(), k)) continue;
    Expr fits = not_equal(Expr(a.newshape[k]), Expr(0));
    if (k < x.shape().size()) fits = logical_or(fits, equal(Expr(x.shape()[k]), Expr(result[k])));
    d.require_next([=](Index) { return fits; }, tensor::Status::shape_mismatch);
  }
  require_equal_next(d, product(result), product(x.shape()));
  d.result("result", x.type(), result, [&](Index i) { return stored(x, reshape_index(x.shape(), result, i)); });
  return d.finish();
}

// Sizes that disagree with the number of elements need no check here: the definition rejects them. Several -1 become
// such sizes.
std::vector<Expr> sizes_of_reshape(const ReshapeAttrs& a, const Operands& in, const std::vector<Tensor>& values,
                                   Definition&) {
  std::vector<Expr> sizes = elements_of(values[0]);
  const Shape& data = in[0].shape;
  Expr rest(product(data));  // the number of elements, divided by the sizes that are given
  Expr unknown(0);           // the number of -1
  for (size_t k = 0; k < sizes.size(); ++k) {
    if (!a.allowzero && k < data.size()) sizes[k] = select(equal(sizes[k], Expr(0)), Expr(data[k]), sizes[k]);
    const Expr is_unknown = equal(sizes[k], Expr(-1));
    rest = floor_div(rest, max(select(is_unknown, Expr(1), sizes[k]), Expr(1)));
    unknown = unknown + cast(dtype::i64, is_unknown);
  }
  rest = select(unknown <= Expr(1), rest, Expr(product(data) + Dim(1)));
  for (Expr& size : sizes) size = select(equal(size, Expr(-1)), rest, size);
  return sizes;
}

// The codes of the sizes are read from the last axis to the first.
Value reshape_from_end(ReshapeAttrs a, Composition& c) {
  const Value x = c.operand(0);
  if (std::ranges::count(a.newshape, Dim(-4)) > 0) c.fail(attribute_error("newshape has no code -4 here"));
  std::ranges::reverse(a.newshape);
  TensorType data = x.type;
  std::ranges::reverse(data.shape);
  const TypeResult type = type_of_reshape(a, {data});
  if (const auto* e = std::get_if<TypeError>(&type)) {
    TypeError error = *e;
    error.message = "read from the last axis to the first: " + error.message;
    c.fail(error);
  }
  Shape shape = shape_in(type);
  std::ranges::reverse(shape);
  if (std::ranges::count(shape, unknown_dim()) > 0) c.fail(shape_error("the sizes of the result must be known"));
  return c.reshape(x, shape);
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
                      "sizes; 0 is the data's size of the same axis, -1 the remaining number of elements, -2 the "
                      "data's remaining axes, -3 the product of its next two, -4 splits the next into two sizes",
                      true},
                     {"allowzero", &ReshapeAttrs::allowzero, "0 is a size of zero"}},
      .arguments = {"data"},
      .values = {"newshape"},
      .least_value = least_value,
      .type = type_of_reshape,
      .compute_as = define_reshape,
      .sizes = sizes_of_reshape,
      .sizes_suffice = true,
      .of_given_sizes = {{"allowzero", true}},
      .gradient = gradient_of_reshape,
  });
  table.add(composed<ReshapeAttrs>(
      {.name = "contrib_reverse_reshape",
       .summary = "the same elements in row-major order under another shape, whose codes count from the end",
       .attributes = {{"newshape", &ReshapeAttrs::newshape, "sizes; codes as those of reshape, but for -4", true},
                      {"allowzero", &ReshapeAttrs::allowzero, "0 is a size of zero"}},
       .arguments = {"data"},
       .sample_shapes = {{2, 3, 4}},
       .sample_attrs = {{"newshape", AttrList{-1, 0}}}},
      reshape_from_end));
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
      .gradient = gradient_of_reshape,
  });
}

}  // namespace dlcc::relay::ops

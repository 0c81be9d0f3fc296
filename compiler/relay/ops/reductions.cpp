// sum, mean, prod, max, min, logsumexp, all, any: reductions over some axes, as one table. If there is no axis to
// reduce, they are the identity.
#include "relay/op_support/reductions.h"

#include <algorithm>
#include <numeric>

#include "relay/call_gradient.h"
#include "relay/op_support/axis_order.h"
#include "relay/op_support/shape_operands.h"

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
  bool divide = false;       // by the number of reduced elements
  bool log_sum_exp = false;  // the logarithm of the sum of e^x
};

const Reduction all_reductions[] = {
    {"sum", "the sum", types::number, tensor::sum_of},
    {"mean", "the sum divided by the number of elements; integers toward zero", types::number, tensor::sum_of, true},
    {"prod", "the product", types::number, tensor::product_of},
    {"max", "the largest element; NaN if one is NaN", types::ordinary, tensor::max_of},
    {"min", "the smallest element; NaN if one is NaN", types::ordinary, tensor::min_of},
    {"logsumexp", "log(sum(exp(x))), without overflow", types::real, tensor::sum_of, false, true},
    {"all", "whether all are true", types::boolean, tensor::min_of},
    {"any", "whether one is true", types::boolean, tensor::max_of},
};

using Mask = std::vector<bool>;

TypeResult type_of_reduction(const Reduction& f, const ReduceAttrs& a, const Operands& in) {
  const Shape& data = in[0].shape;
  const int rank = static_cast<int>(data.size());
  if (auto e = check_type(in[0], "data", f.types)) return *e;
  if (in.size() == 1) {
    if (auto e = check_axes("axis", a.axis.value_or(std::vector<int64_t>{}), rank)) return *e;
    return tensor_result(reduced_shape(data, reduced_axes(a.axis, a.exclude, rank), a.keepdims), in[0].dtype);
  }
  if (auto e = check_list_operand(in[1], "axis")) return *e;
  if (rank > 16) return shape_error("data must have at most 16 dimensions where the axes are an operand");
  const int64_t named = in[1].shape[0].value(), kept = a.exclude ? named : rank - named;
  if (named > rank) return shape_error(fmt::format("axis names {} of {} axes", named, rank));
  Shape shape(static_cast<size_t>(a.keepdims ? rank : kept), unknown_dim());
  for (size_t k = 0; a.keepdims && k < shape.size(); ++k)
    if (data[k] == Dim(1)) shape[k] = 1;
  return tensor_result(shape, in[0].dtype);
}

// ---- axes that are an operand

// The sets of `count` axes whose reduction gives the shape `result`.
std::vector<Mask> reductions_to(const Shape& result, const Shape& data, int64_t count, bool keepdims) {
  std::vector<Mask> found;
  for (uint32_t set = 0; set < uint32_t{1} << data.size(); ++set) {
    Mask mask(data.size());
    for (size_t k = 0; k < data.size(); ++k) mask[k] = set >> k & 1;
    if (std::ranges::count(mask, true) == count && std::ranges::equal(reduced_shape(data, mask, keepdims), result))
      found.push_back(mask);
  }
  return found;
}

// The masks in groups that differ only in axes of size 1: all masks of a group give the same values.
std::vector<std::vector<Mask>> equivalent(const std::vector<Mask>& masks, const Shape& data) {
  std::map<Mask, std::vector<Mask>> groups;
  for (const Mask& mask : masks) {
    Mask essential = mask;
    for (size_t k = 0; k < data.size(); ++k) essential[k] = mask[k] && !(data[k] == Dim(1));
    groups[essential].push_back(mask);
  }
  std::vector<std::vector<Mask>> list;
  for (auto& [essential, group] : groups) list.push_back(std::move(group));
  return list;
}

// The operand names exactly the axes of one of the masks, or with `exclude` all others.
Expr means_one_of(const std::vector<Mask>& masks, const Tensor& axes, int rank, bool exclude) {
  std::vector<Expr> marked = marked_axes(axes, rank), any;
  for (const Mask& mask : masks) {
    std::vector<Expr> same;
    for (int k = 0; k < rank; ++k) same.push_back(mask[k] != exclude ? marked[k] : logical_not(marked[k]));
    any.push_back(all_of(same));
  }
  return any_of(any);
}

// m + log(sum(e^(x - m))) for the largest element m, so that no finite element overflows. Where m is infinite or NaN, 0
// takes its place. Gives the shape and the elements of the result.
std::pair<Shape, tensor::Point> log_sum_exp(Definition& d, const Tensor& x, const Mask& mask, bool keepdims,
                                            DType type) {
  Shape extents = extents_of(x.shape(), mask), shape = reduced_shape(x.shape(), mask, keepdims);
  if (extents.empty()) return {shape, [=](Index i) { return x(i); }};
  auto element = [=](Index i, Index r) { return x(merge_index(mask, keepdims, i, r)); };
  Tensor largest = d.reduce("largest", shape, tensor::max_of(type), extents, element);
  auto shift = [=](Index i) {
    Expr m = largest(i), infinite = unary(tensor::UnaryOp::is_inf, m), nan = unary(tensor::UnaryOp::is_nan, m);
    return select(logical_or(infinite, nan), number(type, 0), m);
  };
  Tensor total = d.reduce("total", shape, tensor::sum_of(type), extents,
                          [=](Index i, Index r) { return exp(element(i, r) - shift(i)); });
  return {shape, [=](Index i) { return log(total(i)) + shift(i); }};
}

// The reduction of the axes of one mask, as an intermediate.
Tensor reduce(Definition& d, const Tensor& x, const Mask& mask, const Reduction& f, bool keepdims, DType type) {
  if (f.log_sum_exp) {
    auto [shape, value] = log_sum_exp(d, x, mask, keepdims, type);
    return d.compute("logarithm", type, shape, value);
  }
  Shape extents = extents_of(x.shape(), mask), shape = reduced_shape(x.shape(), mask, keepdims);
  auto element = [&](Index i, Index r) { return cast(type, x(merge_index(mask, keepdims, i, r))); };
  Tensor reduced = d.reduce("reduced", shape, f.reducer(type), extents, element);
  if (!f.divide) return reduced;
  return d.compute("mean", type, shape, [&](Index i) { return reduced(i) / size_as(type, extents); });
}

// The reduction of the axes of one mask, as the result.
void define_result(Definition& d, const Tensor& x, const Mask& mask, const Reduction& f, bool keepdims, DType type) {
  if (!f.log_sum_exp) return define_reduction(d, x, mask, keepdims, f.reducer(type), f.divide);
  auto [shape, value] = log_sum_exp(d, x, mask, keepdims, type);
  d.result("result", x.type(), shape, value);
}

// Where the result's shape allows several groups of masks, the reductions of all groups are computed and the operand
// selects one.
TensorFunction define_by_operand(const Reduction& f, const ReduceAttrs& a, const Operands& in, const Shape& result) {
  Definition d(f.name);
  Tensor x = d.input("data", in[0].dtype, in[0].shape), axes = d.input("axis", in[1].dtype, in[1].shape);
  const int64_t named = in[1].shape[0].value(), reduced_count = a.exclude ? x.rank() - named : named;
  const std::vector<Mask> masks = reductions_to(result, x.shape(), reduced_count, a.keepdims);
  const auto groups = equivalent(masks, x.shape());
  DType type = f.divide ? mean_type(x.type()) : tensor::compute_type(x.type());
  auto require_valid = [&] {
    d.require_next(
        [&](Index) {
          return logical_and(axes_valid(axes, marked_axes(axes, x.rank())),
                             means_one_of(masks, axes, x.rank(), a.exclude));
        },
        tensor::Status::shape_mismatch);
  };
  if (groups.size() == 1) {
    require_valid();
    define_result(d, x, masks[0], f, a.keepdims, type);
    return d.finish();
  }
  std::vector<Tensor> reduced;
  for (const auto& group : groups) reduced.push_back(reduce(d, x, group[0], f, a.keepdims, type));
  require_valid();
  d.result("result", x.type(), result, [&](Index i) {
    Expr value = reduced.empty() ? number(type, 0) : reduced[0](i);
    for (size_t k = 1; k < groups.size(); ++k)
      value = select(means_one_of(groups[k], axes, x.rank(), a.exclude), reduced[k](i), value);
    return value;
  });
  return d.finish();
}

TensorFunction define(const Reduction& f, const ReduceAttrs& a, const Operands& in, const Shape& result) {
  if (in.size() > 1) return define_by_operand(f, a, in, result);
  Definition d(f.name);
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  DType type = f.divide ? mean_type(x.type()) : tensor::compute_type(x.type());
  define_result(d, x, reduced_axes(a.axis, a.exclude, x.rank()), f, a.keepdims, type);
  return d.finish();
}

// ---- gradients

// A term of the result's shape as one that is broadcast along the reduced axes.
Term along_reduced(const Term& term, const Shape& data, const Mask& mask) {
  return term.reshaped(reduced_shape(data, mask, true));
}

// All axes, those that are kept first; and their number.
std::pair<std::vector<int64_t>, int64_t> kept_first(const Mask& mask) {
  std::vector<int64_t> order(mask.size());
  std::iota(order.begin(), order.end(), 0);
  const auto reduced = std::stable_partition(order.begin(), order.end(), [&](int64_t k) { return !mask[k]; });
  return {order, reduced - order.begin()};
}

// For each element the product of the others, along the reduced axes as one axis: of those before it and those after.
Term product_of_others(const Term& x, const Mask& mask) {
  const auto [order, kept] = kept_first(mask);
  const Term last = x.transposed(order);
  Shape rows(last.shape().begin(), last.shape().begin() + kept);
  rows.push_back(product(extents_of(x.shape(), mask)));
  const Term flat = last.reshaped(rows);
  auto products = [&, axis = kept](bool reverse) {
    return flat.map("cumprod", {{"axis", axis}, {"exclusive", true}, {"reverse", reverse}});
  };
  return (products(false) * products(true)).reshaped(last.shape()).transposed(inverse_order(order));
}

void gradient_of_reduction(const Reduction& f, const ReduceAttrs& a, CallGradient& g) {
  if (g.operand_count() > 1) g.refuse("the axes of the reduction are computed", "make them a constant");
  const Term x = g.operand(0);
  const Mask mask = reduced_axes(a.axis, a.exclude, x.rank());
  const Term gradient = along_reduced(g.gradient(), x.shape(), mask), y = along_reduced(g.result(), x.shape(), mask);
  if (f.log_sum_exp) return g.add(0, gradient * (x - y).map("exp"));
  if (f.reducer == tensor::product_of) return g.add(0, gradient * product_of_others(x, mask));
  if (f.divide)
    return g.add(
        0,
        (gradient * g.code().inverse_of_size(x.dtype(), product(extents_of(x.shape(), mask)))).broadcast_to(x.shape()));
  if (f.reducer == tensor::sum_of) return g.add(0, gradient.broadcast_to(x.shape()));
  // The largest or smallest elements get equal shares.
  const auto [order, kept] = kept_first(mask);
  const Term is_extreme = equal(x, y).cast_to(x.dtype());
  g.add(0, is_extreme * (gradient / is_extreme.sum_over({order.begin() + kept, order.end()})));
}

}  // namespace

void reductions(OperatorTable& table) {
  for (const Reduction& f : all_reductions) {
    table.add<ReduceAttrs>({
        .name = f.name,
        .summary = std::string(f.summary) + ", over some axes",
        .attributes = {{"axis", &ReduceAttrs::axis, "the axes to reduce; all if None or empty"},
                       {"keepdims", &ReduceAttrs::keepdims, "keep reduced axes, with size 1"},
                       {"exclude", &ReduceAttrs::exclude, "reduce the axes that `axis` does not name"}},
        .arguments = {"data"},
        .values = {"axis"},
        .type = [&f](const ReduceAttrs& a, const Operands& in) { return type_of_reduction(f, a, in); },
        .compute_as = [&f](const ReduceAttrs& a, const Operands& in,
                           const Shape& result) { return define(f, a, in, result); },
        .gradient = [&f](const ReduceAttrs& a, CallGradient& g) { gradient_of_reduction(f, a, g); },
        .tolerance = f.log_sum_exp ? 2e-6 : 0,
    });
  }
}

}  // namespace dlcc::relay::ops

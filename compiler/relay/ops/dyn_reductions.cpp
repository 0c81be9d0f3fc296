// dyn.sum, dyn.mean, dyn.max, dyn.min: reductions whose axes are an operand and whose result's shape is declared. Axes
// that do not lead to the declared shape end the run with status shape_mismatch.
#include <algorithm>

#include "relay/op_support/reductions.h"
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct DynReduceAttrs {
  std::vector<Dim> shape;
  bool keepdims = false, noop_with_empty_axes = false;
};

struct Reduction {
  const char* name;
  const char* summary;
  const TypeClass& types;
  tensor::Reducer (*reducer)(DType);
  bool divide = false;
};

const Reduction all_reductions[] = {
    {"dyn.sum", "the sum", types::number, tensor::sum_of},
    {"dyn.mean", "the sum divided by the number of elements; integers toward zero", types::number, tensor::sum_of,
     true},
    {"dyn.max", "the largest element; NaN if one is NaN", types::ordinary, tensor::max_of},
    {"dyn.min", "the smallest element; NaN if one is NaN", types::ordinary, tensor::min_of},
};

using Mask = std::vector<bool>;

// Every set of axes whose reduction gives the declared shape.
std::vector<Mask> candidates(const DynReduceAttrs& a, const Shape& data) {
  std::vector<Mask> found;
  for (uint32_t set = 0; set < uint32_t{1} << data.size(); ++set) {
    Mask mask(data.size());
    for (size_t k = 0; k < data.size(); ++k) mask[k] = set >> k & 1;
    Shape shape = reduced_shape(data, mask, a.keepdims);
    if (shape.size() == a.shape.size() && std::ranges::equal(shape, a.shape)) found.push_back(mask);
  }
  return found;
}

// The candidates with as many axes as the operand has elements; an empty operand means all axes or none.
Checked<std::vector<Mask>> meanings(const DynReduceAttrs& a, const Operands& in) {
  const Shape& data = in[0].shape;
  int64_t named = in[1].shape[0].value();
  if (named == 0 && !a.noop_with_empty_axes) named = static_cast<int64_t>(data.size());
  std::vector<Mask> list = candidates(a, data);
  std::erase_if(list, [&](const Mask& m) { return std::ranges::count(m, true) != named; });
  if (list.empty())
    return shape_error(
        fmt::format("reducing {} axes of {} cannot give the declared shape {}", named, str(data), str(a.shape)));
  return list;
}

TypeResult type_of_dyn_reduction(const Reduction& f, const DynReduceAttrs& a, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "data", f.types), check_list_operand(in[1], "axes")})) return *e;
  if (in[0].shape.size() > 16) return shape_error("data must have at most 16 dimensions");
  auto list = meanings(a, in);
  if (auto* e = std::get_if<TypeError>(&list)) return *e;
  return tensor_result(a.shape, in[0].dtype);
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

// The operand names exactly the axes of one of the masks.
Expr means_one_of(const std::vector<Mask>& masks, const Tensor& axes, int rank) {
  std::vector<Expr> marked = marked_axes(axes, rank), any;
  for (const Mask& mask : masks) {
    std::vector<Expr> same;
    for (int k = 0; k < rank; ++k) same.push_back(mask[k] ? marked[k] : logical_not(marked[k]));
    any.push_back(all_of(same));
  }
  return any_of(any);
}

// The reduction of the axes of one mask, as an intermediate.
Tensor reduce(Definition& d, const Tensor& x, const Mask& mask, const Reduction& f, const DynReduceAttrs& a,
              DType type) {
  Shape extents = extents_of(x.shape(), mask);
  auto element = [&](Index i, Index r) { return cast(type, x(merge_index(mask, a.keepdims, i, r))); };
  Tensor reduced = d.reduce("reduced", a.shape, f.reducer(type), extents, element);
  if (!f.divide) return reduced;
  return d.compute("mean", type, a.shape, [&](Index i) { return reduced(i) / size_as(type, extents); });
}

// Where the declared shape allows several groups of masks, the reductions of all groups are computed and the operand
// selects one.
TensorFunction define_dyn_reduction(const Reduction& f, const DynReduceAttrs& a, const Operands& in) {
  Definition d(f.name);
  Tensor x = d.input("data", in[0].dtype, in[0].shape), axes = d.input("axes", in[1].dtype, in[1].shape);
  std::vector<Mask> masks = std::get<0>(meanings(a, in));
  auto groups = equivalent(masks, x.shape());
  DType type = f.divide ? mean_type(x.type()) : tensor::compute_type(x.type());
  auto require_valid = [&] {
    if (axes.extent(0).value() > 0)
      d.require_next(
          [&](Index) {
            return logical_and(axes_valid(axes, marked_axes(axes, x.rank())), means_one_of(masks, axes, x.rank()));
          },
          tensor::Status::shape_mismatch);
  };
  if (groups.size() == 1) {
    require_valid();
    define_reduction(d, x, masks[0], a.keepdims, f.reducer(type), f.divide);
    return d.finish();
  }
  std::vector<Tensor> reduced;
  for (const auto& group : groups) reduced.push_back(reduce(d, x, group[0], f, a, type));
  require_valid();
  d.result("result", x.type(), a.shape, [&](Index i) {
    Expr value = reduced[0](i);
    for (size_t k = 1; k < groups.size(); ++k)
      value = select(means_one_of(groups[k], axes, x.rank()), reduced[k](i), value);
    return value;
  });
  return d.finish();
}

}  // namespace

void dyn_reductions(OperatorTable& table) {
  using A = DynReduceAttrs;
  for (const Reduction& f : all_reductions) {
    table.add<A>({
        .name = f.name,
        .summary = std::string(f.summary) + ", over axes given as an operand, which must give the declared shape",
        .attributes = {{"shape", &A::shape, "the declared shape of the result", true},
                       {"keepdims", &A::keepdims, "keep reduced axes, with size 1"},
                       {"noop_with_empty_axes", &A::noop_with_empty_axes, "no axes mean none, not all"}},
        .arguments = {"data", "axes"},
        .type = [&f](const A& a, const Operands& in) { return type_of_dyn_reduction(f, a, in); },
        .compute = [&f](const A& a, const Operands& in) { return define_dyn_reduction(f, a, in); },
    });
  }
}

}  // namespace dlcc::relay::ops

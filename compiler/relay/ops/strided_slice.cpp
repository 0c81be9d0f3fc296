// strided_slice, strided_set: every stride-th element between two bounds of some axes, clamped as in numpy. Strides may
// be negative.
#include "relay/op_support/gradients.h"
#include "relay/op_support/shape_operands.h"
#include "shape/facts.h"

namespace dlcc::relay::ops {

namespace {

constexpr const char* list_names[] = {"begin", "end", "strides"};

struct StridedSliceAttrs {
  std::optional<std::vector<Dim>> begin, end, strides;
  std::optional<std::vector<int64_t>> axes;
  std::string slice_mode = "end";
  bool strict = false;
};

// The bounds of one axis of the data, as far as they are known; `item`: their position in the operands.
struct Bounds {
  size_t item;
  std::optional<Dim> begin, end, stride;
};

// Element i of the result's axis is element begin + i * stride of the data's.
struct Slice {
  Dim begin, count;
  int64_t stride;
};

// Exporters write the largest numbers of int32 and int64 for "to the end", and the smallest for "to the beginning". No
// axis is that long: a tensor has at most 2^40 elements, and one of 2^31 - 1 elements is not sliced in this way.
constexpr int64_t beyond_any_axis = INT32_MAX;

// The first and the last position at which a slice may begin or end: one before the first element where it runs
// backward, and one after the last element where it runs forward.
struct Limits {
  Dim first, last;
};

Limits limits_of(const Dim& extent, int64_t stride) {
  return stride > 0 ? Limits{0, extent} : Limits{-1, extent - Dim(1)};
}

// The position of a bound, which may be before `limits.first`; empty if it is not known whether the bound counts from
// the end.
std::optional<Dim> position_of(const Dim& bound, const Dim& extent, const Limits& limits) {
  if (!extent.is_constant() && bound.is_constant()) {
    if (bound.value() >= beyond_any_axis) return limits.last;
    if (bound.value() < -beyond_any_axis) return limits.first;
  }
  if (provably_le(0, bound)) return min(bound, limits.last);
  if (provably_lt(bound, 0)) return min(extent + bound, limits.last);
  // n - 1 counts from the end for n = 0 only, where it is before the first element in any case.
  Facts counts_from_end;
  const bool is_before_first =
      counts_from_end.assume_le(bound, -1) && counts_from_end.provably_le(extent + bound, limits.first);
  return is_before_first ? std::optional(min(bound, limits.last)) : std::nullopt;
}

// The number of positions from `low` to `high`, where positions before `first` count as `first`; may be negative. If it
// is not known whether `low` is before `first`, that is the number from `first` or that from `low`, whichever is
// smaller. For the last element of an axis, from n - 1 to n, it is min(n, 1).
Dim distance(const Dim& low, const Dim& high, const Dim& first) {
  const Dim from = max(low, first), to = max(high, first);
  const bool is_decided = from == low || from == first;
  return is_decided ? to - from : min(to - first, max(high - low, 0));
}

// The number of elements at every stride-th of the positions.
Dim count_of(const Dim& positions, int64_t stride) {
  const Dim step = stride > 0 ? Dim(stride) : Dim(0) - Dim(stride);
  return max(floor_div(positions - Dim(1), step) + Dim(1), Dim(0));
}

// The operand u of an extent max(u, 0); else the extent.
Dim without_limit(const Dim& extent) {
  const auto& terms = extent.terms();
  const bool is_atom = terms.size() == 1 && terms[0].coefficient == 1 && terms[0].atoms.size() == 1;
  if (!is_atom || terms[0].atoms[0]->kind != DimAtom::Kind::max) return extent;
  const std::vector<Dim>& operands = terms[0].atoms[0]->args;
  if (operands[0] == Dim(0)) return operands[1];
  return operands[1] == Dim(0) ? operands[0] : extent;
}

// The length of a slice that leaves out `begin` elements at the begin of the axis and `end` at its end. Crops of crops
// have lengths max(0, n - c), which do not grow.
std::optional<Dim> cropped_length(const Dim& begin, const Dim& end, const Dim& extent) {
  if (!begin.is_constant() || !end.is_constant() || extent.is_constant()) return std::nullopt;
  const int64_t from = begin.value(), to = end.value();
  if (from < 0 || from >= beyond_any_axis || (to >= 0 && to < beyond_any_axis) || to < -beyond_any_axis)
    return std::nullopt;
  return max(without_limit(extent) - Dim(from) + Dim(std::min(to, int64_t{0})), 0);
}

// The stride of a slice if it is known. No two elements of an axis are farther apart than its limit.
std::optional<int64_t> stride_of(const Bounds& b) {
  if (!b.stride || !b.stride->is_constant()) return std::nullopt;
  return std::clamp(b.stride->value(), -tensor::max_elements, tensor::max_elements);
}

std::optional<Slice> slice_of(const Bounds& b, const Dim& extent) {
  const std::optional<int64_t> stride = stride_of(b);
  if (!b.begin || !b.end || !stride) return std::nullopt;
  const Limits limits = limits_of(extent, *stride);
  const auto from = position_of(*b.begin, extent, limits), to = position_of(*b.end, extent, limits);
  if (!from || !to) return std::nullopt;
  const Dim begin = max(*from, limits.first);
  if (*stride == 1)
    if (const auto count = cropped_length(*b.begin, *b.end, extent)) return Slice{begin, *count, *stride};
  const Dim positions = *stride > 0 ? distance(*from, *to, limits.first) : distance(*to, *from, limits.first);
  return Slice{begin, count_of(positions, *stride), *stride};
}

// An upper bound of the length of a slice whose begin or end is not known, or may count from the end. A begin of which
// that is not known is at min(begin, last) or, if it counts from the end, after that.
Dim largest_length(const Bounds& b, const Dim& extent) {
  const std::optional<int64_t> stride = stride_of(b);
  if (!stride) return extent;
  const Limits limits = limits_of(extent, *stride);
  auto position = [&](const std::optional<Dim>& bound) {
    return bound ? position_of(*bound, extent, limits) : std::nullopt;
  };
  const std::optional<Dim>&lower = *stride > 0 ? b.begin : b.end, &upper = *stride > 0 ? b.end : b.begin;
  const Dim low = position(lower).value_or(lower ? min(*lower, limits.last) : limits.first);
  const Dim high = position(upper).value_or(limits.last);
  return count_of(distance(low, high, limits.first), *stride);
}

// The end of a slice that has `count` elements from `begin` on; -1: all.
std::optional<Dim> end_of_size(const Dim& begin, const Dim& count) {
  if (begin.is_constant() && count.is_constant()) {
    const int64_t from = begin.value(), size = count.value();
    const bool to_the_end = size < 0 || (from < 0 && from + size >= 0) || size > INT64_MAX - std::max(from, int64_t{0});
    return to_the_end ? INT64_MAX : from + size;
  }
  const bool plain = provably_le(0, begin) && provably_le(0, count);
  return plain ? std::optional(begin + count) : std::nullopt;
}

Failure check_lists(const StridedSliceAttrs& a, const Operands& in) {
  const int rank = static_cast<int>(in[0].shape.size());
  if (a.slice_mode != "end" && a.slice_mode != "size")
    return attribute_error(fmt::format("slice_mode must be \"end\" or \"size\", found \"{}\"", a.slice_mode));
  if (in.size() > 1 && a.slice_mode != "end")
    return TypeError{DiagnosticId::unsupported_attribute,
                     "slice_mode \"size\" needs begin and end that are known at compile time", ""};
  if (a.strict && a.slice_mode != "end") return attribute_error("strict needs slice_mode \"end\"");
  if (in.size() == 1 && (!a.begin || !a.end)) return attribute_error("begin and end must be lists");
  return a.axes ? check_axes("axes", *a.axes, rank) : std::nullopt;
}

Failure check_lengths(const StridedSliceAttrs& a, const PartialList& begin, const PartialList& end,
                      const PartialList& strides, size_t rank) {
  const size_t count = a.axes ? a.axes->size() : begin.size();
  if (count > rank) return attribute_error(fmt::format("begin has {} numbers, but the data has {} axes", count, rank));
  if (begin.size() != count || end.size() != count)
    return attribute_error(
        fmt::format("begin and end must have {} numbers, found {} and {}", count, begin.size(), end.size()));
  if (strides.size() != count && strides.size() != 1)
    return attribute_error(fmt::format("strides must have {} numbers, found {}", count, strides.size()));
  for (const auto& s : strides)
    if (s == Dim(0) || s == Dim(INT64_MIN)) return attribute_error(fmt::format("a stride must not be {}", s->str()));
  return std::nullopt;
}

// For each axis of the data: the bounds of its slice, empty for an axis that is not sliced.
Checked<std::vector<std::optional<Bounds>>> bounds_of(const StridedSliceAttrs& a, const Operands& in) {
  if (auto e = check_lists(a, in)) return *e;
  PartialList lists[3];
  const std::vector<Dim> none, one = {1};
  const std::vector<Dim>* attributes[] = {a.begin ? &*a.begin : &none, a.end ? &*a.end : &none,
                                          a.strides ? &*a.strides : &one};
  for (size_t k = 0; k < 3; ++k) {
    Checked<PartialList> list = list_value(in, k + 1, *attributes[k], list_names[k]);
    if (auto* e = std::get_if<TypeError>(&list)) return *e;
    lists[k] = std::get<PartialList>(list);
  }
  const auto& [begin, end, strides] = lists;
  const size_t rank = in[0].shape.size();
  if (auto e = check_lengths(a, begin, end, strides, rank)) return *e;
  std::vector<std::optional<Bounds>> all(rank);
  for (size_t k = 0; k < begin.size(); ++k) {
    const auto axis = a.axes ? static_cast<size_t>(wrap_axis((*a.axes)[k], static_cast<int>(rank))) : k;
    Bounds b{k, begin[k], end[k], strides[strides.size() == 1 ? 0 : k]};
    if (a.slice_mode == "size") {
      b.end = begin[k] && end[k] ? end_of_size(*begin[k], *end[k]) : std::nullopt;
      b.stride = 1;
    }
    all[axis] = b;
  }
  return all;
}

TypeResult type_of_strided_slice(const StridedSliceAttrs& a, const Operands& in) {
  if (auto e = check_type(in[0], "data", types::movable)) return *e;
  auto bounds = bounds_of(a, in);
  if (auto* e = std::get_if<TypeError>(&bounds)) return *e;
  Shape shape = in[0].shape;
  for (size_t k = 0; k < shape.size(); ++k) {
    const auto& b = std::get<0>(bounds)[k];
    if (!b) continue;
    auto slice = slice_of(*b, shape[k]);
    shape[k] = slice ? slice->count : unknown_dim();
  }
  return tensor_result(shape, in[0].dtype);
}

Shape largest_slice(const StridedSliceAttrs& a, const Operands& in) {
  const auto bounds = std::get<0>(bounds_of(a, in));
  Shape shape = in[0].shape;
  for (size_t k = 0; k < shape.size(); ++k)
    if (bounds[k]) shape[k] = largest_length(*bounds[k], shape[k]);
  return shape;
}

// ---- bounds that the definition computes

// A bound clamped as numpy does for the stride's direction.
Expr clamped(Expr bound, Expr extent, Expr forward) {
  Expr at = select(bound < Expr(0), bound + extent, bound);
  return select(forward, max(min(at, extent), Expr(0)), max(min(at, extent - Expr(1)), Expr(-1)));
}

// The number of elements of a slice.
Expr count_of(const Expr& begin, const Expr& end, const Expr& stride, const Expr& extent) {
  Expr forward = stride > Expr(0);
  Expr from = clamped(begin, extent, forward), to = clamped(end, extent, forward);
  Expr distance = select(forward, to - from, from - to), step = select(forward, stride, Expr(0) - stride);
  return select(distance > Expr(0), (distance - Expr(1)) / step + Expr(1), Expr(0));
}

struct ComputedSlice {
  Expr begin, stride, fits;  // fits: it has as many elements as the result
};

ComputedSlice slice_of(const Expr& begin, const Expr& end, const Expr& stride, const Expr& extent, const Dim& result) {
  Expr from = clamped(begin, extent, stride > Expr(0));
  Expr fits = equal(count_of(begin, end, stride, extent), Expr(result));
  return {from, stride, logical_and(not_equal(stride, Expr(0)), fits)};
}

TensorFunction define_strided_slice(const StridedSliceAttrs& a, const Operands& in, const Shape& result) {
  Definition d("strided_slice");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  std::vector<Tensor> lists;
  for (size_t k = 1; k < in.size(); ++k) lists.push_back(d.input(list_names[k - 1], in[k].dtype, in[k].shape));
  const auto bounds = std::get<0>(bounds_of(a, in));
  auto item = [&](const Bounds& b, size_t list, const std::optional<Dim>& known) {
    if (known) return Expr(*known);
    const bool repeated = lists[list].extent(0) == Dim(1);
    return integer_at(lists[list], repeated ? 0 : static_cast<int64_t>(b.item));
  };
  auto computed = [&](size_t axis, const Bounds& b) {
    return slice_of(item(b, 0, b.begin), item(b, 1, b.end), item(b, 2, b.stride), Expr(x.shape()[axis]), result[axis]);
  };
  auto is_within = [&](size_t axis, const Bounds& b) {
    const Expr begin = item(b, 0, b.begin), end = item(b, 1, b.end);
    return all_of({Expr(0) <= begin, begin <= end, end <= Expr(x.shape()[axis])});
  };
  for (size_t k = 0; k < bounds.size(); ++k) {
    if (bounds[k] && a.strict)
      d.require_next([&, k](Index) { return is_within(k, *bounds[k]); }, tensor::Status::shape_mismatch);
    if (!bounds[k]) {
      require_equal_next(d, result[k], x.shape()[k]);
    } else if (auto known = slice_of(*bounds[k], x.shape()[k])) {
      require_equal_next(d, result[k], known->count);
    } else {
      d.require_next([&, k](Index) { return computed(k, *bounds[k]).fits; }, tensor::Status::shape_mismatch);
    }
  }
  d.result("result", x.type(), result, [&](Index i) {
    std::vector<Expr> at = i;
    for (size_t k = 0; k < at.size(); ++k) {
      if (!bounds[k]) continue;
      auto known = slice_of(*bounds[k], x.shape()[k]);
      if (known) at[k] = i[k] * Expr(known->stride) + Expr(known->begin);
      if (!known) at[k] = computed(k, *bounds[k]).begin + i[k] * computed(k, *bounds[k]).stride;
    }
    return stored(x, at);
  });
  return d.finish();
}

std::vector<Expr> sizes_of_slice(const StridedSliceAttrs& a, const Operands& in, const std::vector<Tensor>& lists,
                                 Definition&) {
  const auto bounds = std::get<0>(bounds_of(a, in));
  std::vector<Expr> sizes;
  for (size_t k = 0; k < bounds.size(); ++k) {
    const Expr extent(in[0].shape[k]);
    auto item = [&](const Tensor& list) {
      return bounded_element(list, list.extent(0) == Dim(1) ? 0 : static_cast<int64_t>(bounds[k]->item));
    };
    sizes.push_back(bounds[k] ? count_of(item(lists[0]), item(lists[1]), item(lists[2]), extent) : extent);
  }
  return sizes;
}

// ---- strided_set

TypeResult type_of_strided_set(const NoAttrs&, const Operands& in) {
  const int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of({check_type(in[0], "data", types::movable), check_same_type(in[0], "data", in[1], "v"),
                         check_rank(in[1], "v", rank)}))
    return *e;
  for (size_t k = 0; k < 3; ++k) {
    if (auto e = check_list_operand(in[k + 2], list_names[k])) return *e;
    if (in[k + 2].shape[0].value() > rank)
      return shape_error(
          fmt::format("{} has {} numbers, but the data has {} axes", list_names[k], in[k + 2].shape[0].str(), rank));
  }
  return tensor_result(in[0].shape, in[0].dtype);
}

// The elements of the slice are those of `v`, which must have the slice's sizes.
TensorFunction define_strided_set(const NoAttrs&, const Operands& in) {
  Definition d("strided_set");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), v = d.input("v", in[1].dtype, in[1].shape);
  std::vector<Tensor> lists;
  for (size_t k = 0; k < 3; ++k) lists.push_back(d.input(list_names[k], in[k + 2].dtype, in[k + 2].shape));
  // The slice of axis k; axes beyond the lists are taken whole.
  auto slice_at = [=](int k) {
    auto item = [&](size_t list, const Expr& otherwise) {
      return k < lists[list].extent(0).value() ? integer_at(lists[list], k) : otherwise;
    };
    const Expr extent(x.extent(k));
    return slice_of(item(0, Expr(0)), item(1, extent), item(2, Expr(1)), extent, v.extent(k));
  };
  for (int k = 0; k < x.rank(); ++k)
    d.require_next([=](Index) { return slice_at(k).fits; }, tensor::Status::shape_mismatch);
  d.result("result", x.type(), x.shape(), [&](Index i) {
    std::vector<Expr> at, inside;
    for (int k = 0; k < x.rank(); ++k) {
      const ComputedSlice slice = slice_at(k);
      const Expr stride = select(equal(slice.stride, Expr(0)), Expr(1), slice.stride);
      const Expr index = floor_div(i[k] - slice.begin, stride);
      inside.push_back(equal(index * stride + slice.begin, i[k]));
      at.push_back(index);
      inside.push_back(logical_and(index >= Expr(0), index < Expr(v.extent(k))));
    }
    return select(all_of(inside), tensor::load(v.buffer(), at, stored(x, i)), stored(x, i));
  });
  return d.finish();
}

// The gradient between zeros, where the slice has all elements between two known positions.
void gradient_of_slice(const StridedSliceAttrs& a, CallGradient& g) {
  const TensorType& x = g.operands()[0].type;
  if (g.operand_count() > 1) return gradient_by_positions(g, {0});
  Term whole = g.gradient();
  const auto bounds = std::get<0>(bounds_of(a, {x}));
  for (size_t k = 0; k < bounds.size(); ++k) {
    if (!bounds[k]) continue;
    const std::optional<Slice> slice = slice_of(*bounds[k], x.shape[k]);
    if (!slice || slice->stride != 1) return gradient_by_positions(g, {0});
    whole = whole.padded(static_cast<int64_t>(k), slice->begin, x.shape[k] - slice->begin - slice->count);
  }
  g.add(0, whole);
}

}  // namespace

void strided_slice(OperatorTable& table) {
  using A = StridedSliceAttrs;
  table.add<A>({
      .name = "strided_slice",
      .summary = "elements between bounds, every stride-th of some axes",
      .attributes = {{"begin", &A::begin, "first element, per axis; negative counts from the end", true},
                     {"end", &A::end,
                      "bound after the last element, or with slice_mode \"size\" the count (-1: to the end)", true},
                     {"strides", &A::strides, "step, per axis; 1 if None"},
                     {"axes", &A::axes, "the sliced axes; the first ones if None"},
                     {"slice_mode", &A::slice_mode, "\"end\" or \"size\" (which ignores strides)"},
                     {"strict", &A::strict, "bounds are within the axis and in order, which a run checks"}},
      .arguments = {"data"},
      .values = {list_names[0], list_names[1], list_names[2]},
      .type = type_of_strided_slice,
      .compute_as = define_strided_slice,
      .sizes = sizes_of_slice,
      .largest_sizes = largest_slice,
      .gradient = gradient_of_slice,
  });
  table.add<NoAttrs>({
      .name = "strided_set",
      .summary = "the data with the elements of a strided slice replaced by those of v",
      .arguments = {"data", "v", "begin", "end", "strides"},
      .type = type_of_strided_set,
      .compute = define_strided_set,
      .gradient =
          [](const NoAttrs&, CallGradient& g) {
            gradient_by_positions(g, {0, 1});
          },
      .sample_shapes = {{2, 2}, {2, 2}, {2}},
  });
}

}  // namespace dlcc::relay::ops

// scatter_elements, scatter_nd, tensor_scatter: a copy of the data in which some elements are replaced by updates, or
// combined with them. Updates of one element are applied in row-major order.
#include "relay/op_support/gradients.h"
#include "relay/op_support/indices.h"
#include "relay/op_support/shape_operands.h"
#include "relay/op_support/type_checks.h"
#include "tensor/statements.h"

namespace dlcc::relay::ops {

namespace {

using tensor::Statements;

struct ScatterElementsAttrs {
  int64_t axis = 0;
  std::string reduction = "update";
};
struct ScatterNdAttrs {
  std::string mode = "update";
};
struct TensorScatterAttrs {
  int64_t axis = -2;
  bool circular = false;
};

// ---- the combination of an element with an update

struct Combination {
  const char* name;
  Expr (*combine)(Expr old, Expr update);
};
const Combination combinations[] = {
    {"update", [](Expr, Expr update) { return update; }},
    {"add", [](Expr old, Expr update) { return std::move(old) + std::move(update); }},
    {"mul", [](Expr old, Expr update) { return std::move(old) * std::move(update); }},
    {"min", [](Expr old, Expr update) { return min(std::move(old), std::move(update)); }},
    {"max", [](Expr old, Expr update) { return max(std::move(old), std::move(update)); }},
};

const Combination* find_combination(const std::string& name) {
  auto found = std::ranges::find_if(combinations, [&](const Combination& c) { return c.name == name; });
  return found == std::end(combinations) ? nullptr : found;
}

Failure check_scattered(const char* attribute, const std::string& combination, const Operands& in) {
  if (!find_combination(combination))
    return attribute_error(
        fmt::format(R"({} must be "update", "add", "mul", "min" or "max", found "{}")", attribute, combination));
  return first_of({check_type(in[0], "data", combination == "update" ? types::movable : types::number),
                   check_type(in[1], "indices", types::index), check_same_type(in[0], "data", in[2], "updates")});
}

void combine_at(Statements& s, const Combination& c, const Tensor& y, const std::vector<Expr>& target,
                const Tensor& updates, const std::vector<Expr>& source) {
  if (c.name == std::string("update"))
    s.store(y, target, stored(updates, source));
  else
    s.store(y, target, c.combine(y(target), updates(source)));
}

// The position that an index means; negative ones count from the end. It is required to be in the axis: by the lower
// limit of the variable and then the upper one, as IndexFacts::assume needs them, so that accesses need no predicate.
Expr position_of(Statements& s, const Expr& index, const Dim& extent) {
  const Expr n(extent), at = s.let("at", cast(dtype::i64, index));
  const Expr position = s.let("position", select(at < Expr(0), at + n, at));
  s.require(logical_and(position >= Expr(0), position < n), tensor::Status::index_out_of_range);
  return position;
}

// Loops over the elements of a slice, which are different ones: the innermost is a vector loop.
void each_element(Statements& s, Shape slice, const std::function<void(Index)>& body) {
  if (slice.empty()) return body({});
  const Dim row = slice.back();
  slice.pop_back();
  s.loops(slice, [&](Index outer) {
    std::vector<Expr> index = outer;
    index.emplace_back();
    s.loop(
        "i", Expr(row),
        [&](const Expr& i) {
          index.back() = i;
          body(index);
        },
        tensor::LoopKind::vector);
  });
}

Tensor copy_of(Definition& d, const Tensor& data) {
  return d.compute("result", data.type(), data.shape(), [&](Index i) { return stored(data, i); });
}

// The error that the updates do not have the expected shape. If all sizes may be equal, one of those that are not
// proved equal can be checked at run time.
TypeError unequal_shapes(const Shape& updates, const Shape& expected, std::string message) {
  TypeError error = shape_error(std::move(message));
  if (!may_be_equal(updates, expected)) return error;
  const auto [first, other] = std::ranges::mismatch(updates, expected);
  return unequal_sizes(std::move(error), *first, *other);
}

// ---- scatter_elements

TypeResult type_of_scatter_elements(const ScatterElementsAttrs& a, const Operands& in) {
  const int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of({check_scattered("reduction", a.reduction, in), check_axis("axis", a.axis, rank),
                         check_rank(in[1], "indices", rank)}))
    return *e;
  if (!(in[1].shape == in[2].shape))
    return unequal_shapes(
        in[2].shape, in[1].shape,
        fmt::format("indices have shape {}, updates have shape {}", str(in[1].shape), str(in[2].shape)));
  for (int k = 0; k < rank; ++k)
    if (k != wrap_axis(a.axis, rank) && provably_lt(in[0].shape[k], in[1].shape[k]))
      return shape_error(fmt::format("indices have {} elements along axis {}, the data has {}", in[1].shape[k].str(), k,
                                     in[0].shape[k].str()));
  return tensor_result(in[0].shape, in[0].dtype);
}

TensorFunction define_scatter_elements(const ScatterElementsAttrs& a, const Operands& in) {
  Definition d("scatter_elements");
  Tensor data = d.input("data", in[0].dtype, in[0].shape), indices = d.input("indices", in[1].dtype, in[1].shape),
         updates = d.input("updates", in[2].dtype, in[2].shape);
  Tensor y = copy_of(d, data);
  const auto axis = static_cast<size_t>(wrap_axis(a.axis, data.rank()));
  const Combination& c = *find_combination(a.reduction);
  Statements s;
  for (size_t k = 0; k < data.shape().size(); ++k)
    if (k != axis && !provably_le(indices.shape()[k], data.shape()[k]))
      s.require(Expr(indices.shape()[k]) <= Expr(data.shape()[k]), tensor::Status::shape_mismatch);
  const auto at = indices.shape().begin() + static_cast<std::ptrdiff_t>(axis);
  const Shape outer(indices.shape().begin(), at), inner(at, indices.shape().end());
  s.loops(
      outer,
      [&](Index o) {
        const std::vector<Expr> leading = o;
        s.loops(inner, [&](Index i) {
          std::vector<Expr> source = leading;
          source.insert(source.end(), i.begin(), i.end());
          std::vector<Expr> target = source;
          target[axis] = position_of(s, indices(source), data.shape()[axis]);
          combine_at(s, c, y, target, updates, source);
        });
      },
      tensor::LoopKind::parallel);
  d.body({y}, s.finish());
  d.mark_result(y);
  return d.finish();
}

// ---- scatter_nd

TypeResult type_of_scatter_nd(const ScatterNdAttrs& a, const Operands& in) {
  if (auto e = check_scattered("mode", a.mode, in)) return *e;
  const Shape &data = in[0].shape, &indices = in[1].shape;
  if (indices.empty() || !indices[0].is_constant())
    return shape_error("the first dimension of indices must be a number", fmt::format("found {}", str(indices)));
  const int64_t named = indices[0].value();
  if (named > static_cast<int64_t>(data.size()))
    return shape_error(fmt::format("indices name {} of {} axes", named, data.size()));
  Shape expected(indices.begin() + 1, indices.end());
  expected.insert(expected.end(), data.begin() + named, data.end());
  if (!(in[2].shape == expected))
    return unequal_shapes(in[2].shape, expected,
                          fmt::format("updates must have shape {}, found {}", str(expected), str(in[2].shape)));
  return tensor_result(data, in[0].dtype);
}

TensorFunction define_scatter_nd(const ScatterNdAttrs& a, const Operands& in) {
  Definition d("scatter_nd");
  Tensor data = d.input("data", in[0].dtype, in[0].shape), indices = d.input("indices", in[1].dtype, in[1].shape),
         updates = d.input("updates", in[2].dtype, in[2].shape);
  Tensor y = copy_of(d, data);
  const auto named = indices.extent(0).value();
  const Combination& c = *find_combination(a.mode);
  const Shape tuples(indices.shape().begin() + 1, indices.shape().end()),
      slice(data.shape().begin() + named, data.shape().end());
  Statements s;
  s.loops(tuples, [&](Index t) {
    std::vector<Expr> source = t, target;
    for (int64_t k = 0; k < named; ++k) {
      std::vector<Expr> at = t;
      at.insert(at.begin(), Expr(k));
      target.push_back(position_of(s, indices(at), data.shape()[static_cast<size_t>(k)]));
    }
    each_element(s, slice, [&](Index i) {
      std::vector<Expr> from = source, to = target;
      from.insert(from.end(), i.begin(), i.end());
      to.insert(to.end(), i.begin(), i.end());
      combine_at(s, c, y, to, updates, from);
    });
  });
  d.body({y}, s.finish());
  d.mark_result(y);
  return d.finish();
}

// ---- tensor_scatter

TypeResult type_of_tensor_scatter(const TensorScatterAttrs& a, const Operands& in) {
  const Shape &data = in[0].shape, &update = in[1].shape;
  const int rank = static_cast<int>(data.size());
  if (auto e = first_of({check_type(in[0], "data", types::movable), check_same_type(in[0], "data", in[1], "update"),
                         check_type(in[2], "write_indices", types::index), check_axis("axis", a.axis, rank),
                         check_rank(in[1], "update", rank), check_rank(in[2], "write_indices", 1)}))
    return *e;
  const int axis = wrap_axis(a.axis, rank);
  if (axis == 0) return attribute_error("axis must not be the batch axis");
  for (int k = 0; k < rank; ++k)
    if (k != axis && provably_different(data[k], update[k]))
      return shape_error(fmt::format("update has shape {}, the data {}", str(update), str(data)));
  if (provably_lt(data[axis], update[axis]))
    return shape_error(
        fmt::format("update has {} elements along axis {}, the data {}", update[axis].str(), axis, data[axis].str()));
  if (auto e = check_equal(in[2].shape[0], "the length of write_indices", data[0], "the batch size")) return *e;
  return tensor_result(data, in[0].dtype);
}

// An index expression: the element of the update where the position is in the window that begins at the sample's index.
TensorFunction define_tensor_scatter(const TensorScatterAttrs& a, const Operands& in) {
  Definition d("tensor_scatter");
  Tensor data = d.input("data", in[0].dtype, in[0].shape), update = d.input("update", in[1].dtype, in[1].shape),
         starts = d.input("write_indices", in[2].dtype, in[2].shape);
  const auto axis = static_cast<size_t>(wrap_axis(a.axis, data.rank()));
  const Expr extent(data.shape()[axis]), length(update.shape()[axis]);
  auto start = [&](Index i) { return cast(dtype::i64, starts(i[0])); };
  for (size_t k = 0; k < data.shape().size(); ++k)
    if (k != axis) require_equal_next(d, update.shape()[k], data.shape()[k]);
  d.require_next(
      [&](Index i) {
        const Expr below = a.circular ? start(i) < extent : start(i) <= extent - length;
        return logical_and(start(i) >= Expr(0), logical_and(below, length <= extent));
      },
      tensor::Status::index_out_of_range);
  d.result("result", data.type(), data.shape(), [&](Index i) {
    const Expr distance = i[axis] - start(i), at = a.circular ? floor_mod(distance, extent) : distance;
    std::vector<Expr> source = i;
    source[axis] = max(min(at, length - Expr(1)), Expr(0));
    return select(logical_and(at >= Expr(0), at < length), stored(update, source), stored(data, i));
  });
  return d.finish();
}

// Of updates that replace or are added; others would need the factors or the extrema.
void gradient_of_scatter(CallGradient& g, const std::string& combination, const char* gather, const Attrs& attrs) {
  if (combination == "update") return gradient_by_positions(g, {0, 2});
  if (combination != "add") g.refuse(fmt::format("updates are combined by \"{}\"", combination));
  g.add(0, g.gradient());
  if (g.wants(2)) g.add(2, g.code().call(gather, {g.gradient(), g.operand(1)}, attrs));
}

}  // namespace

void scatter(OperatorTable& table) {
  table.add<ScatterElementsAttrs>({
      .name = "scatter_elements",
      .summary = "the data with the element at each index of `indices`, whose position along one axis is the value "
                 "there, replaced by the update or combined with it",
      .attributes = {{"axis", &ScatterElementsAttrs::axis, "the axis that the indices are positions of"},
                     {"reduction", &ScatterElementsAttrs::reduction,
                      "how updates are combined: \"update\" replaces; \"add\", \"mul\", \"min\", \"max\""}},
      .arguments = {"data", "indices", "updates"},
      .type = type_of_scatter_elements,
      .compute = define_scatter_elements,
      .gradient =
          [](const ScatterElementsAttrs& a, CallGradient& g) {
            gradient_of_scatter(g, a.reduction, "gather", {{"axis", a.axis}});
          },
  });
  table.add<ScatterNdAttrs>({
      .name = "scatter_nd",
      .summary = "the data with slices replaced by updates or combined with them; each column of `indices` along its "
                 "first axis is the position of a slice",
      .attributes = {{"mode", &ScatterNdAttrs::mode,
                      "how updates are combined: \"update\" replaces; \"add\", \"mul\", \"min\", \"max\""}},
      .arguments = {"data", "indices", "updates"},
      .type = type_of_scatter_nd,
      .compute = define_scatter_nd,
      .gradient = [](const ScatterNdAttrs& a, CallGradient& g) { gradient_of_scatter(g, a.mode, "gather_nd", {}); },
  });
  table.add<TensorScatterAttrs>({
      .name = "tensor_scatter",
      .summary = "the data with a window along one axis replaced by the update; the window of each sample of the batch "
                 "begins at its index",
      .attributes = {{"axis", &TensorScatterAttrs::axis, "the axis of the window, not the first"},
                     {"circular", &TensorScatterAttrs::circular, "the window goes on at the begin of the axis"}},
      .arguments = {"data", "update", "write_indices"},
      .type = type_of_tensor_scatter,
      .compute = define_tensor_scatter,
      .gradient =
          [](const TensorScatterAttrs&, CallGradient& g) {
            gradient_by_positions(g, {0, 1});
          },
  });
}

}  // namespace dlcc::relay::ops

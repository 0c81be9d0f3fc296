// nn.pad: adds elements at both ends of axes; negative widths crop, before elements are repeated.
#include <algorithm>

#include "relay/op_support/gradients.h"
#include "relay/op_support/indices.h"
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct PadAttrs {
  AttrValue pad_width;
  std::string pad_mode = "constant";
};

// The number of elements that a width removes.
Dim cropped(const Dim& width) { return max(Dim(0) - width, 0); }

// The widths of one axis, as far as they are known; a negative one crops.
struct Widths {
  std::optional<Dim> before, after;

  // The number of elements of the data that the result has.
  std::optional<Dim> kept(const Dim& extent) const {
    return before && after ? std::optional(extent - cropped(*before) - cropped(*after)) : std::nullopt;
  }
};

TypeError widths_error(int rank) {
  return attribute_error(fmt::format("pad_width must be a list of {} pairs (before, after), one per axis", rank));
}

Checked<std::vector<Widths>> widths_of_attribute(const PadAttrs& a, int rank) {
  const AttrList* list = std::get_if<AttrList>(&a.pad_width.v);
  std::vector<Widths> widths;
  for (const AttrValue& item : list ? *list : AttrList{}) {
    std::vector<Dim> pair;
    if (detail::from_value(item, pair) && pair.size() == 2) widths.push_back({pair[0], pair[1]});
  }
  if (!list || widths.size() != list->size() || static_cast<int>(widths.size()) != rank) return widths_error(rank);
  return widths;
}

// The operand pad_width has a row (before, after) per axis.
Checked<std::vector<Widths>> widths_of(const PadAttrs& a, const Operands& in) {
  const int rank = static_cast<int>(in[0].shape.size());
  if (in.size() <= 2) return widths_of_attribute(a, rank);
  if (auto e = check_type(in[2], "pad_width", types::index)) return *e;
  if (in[2].shape != Shape{rank, 2})
    return shape_error(fmt::format("pad_width must have shape ({}, 2), found {}", rank, str(in[2].shape)));
  std::vector<Widths> widths(static_cast<size_t>(rank));
  for (size_t k = 0; in[2].value && k < widths.size(); ++k)
    widths[k] = {in[2].value->elements[2 * k], in[2].value->elements[2 * k + 1]};
  return widths;
}

// A number of another type is converted.
Failure check_pad_value(const TensorType& data, const TensorType& value) {
  if (types::number.contains(data.dtype) && types::number.contains(value.dtype)) return std::nullopt;
  return check_same_type(data, "data", value, "pad_value");
}

TypeResult type_of_pad(const PadAttrs& a, const Operands& in) {
  const Shape& data = in[0].shape;
  if (auto e = first_of({check_type(in[0], "data", types::movable), check_pad_value(in[0], in[1]),
                         check_rank(in[1], "pad_value", 0), check_pad_mode(a.pad_mode)}))
    return *e;
  auto widths = widths_of(a, in);
  if (auto* e = std::get_if<TypeError>(&widths)) return *e;
  Shape shape;
  for (size_t k = 0; k < data.size(); ++k) {
    const Widths& w = std::get<0>(widths)[k];
    shape.push_back(w.before && w.after ? data[k] + *w.before + *w.after : unknown_dim());
    const bool grows = (w.before && provably_lt(0, *w.before)) || (w.after && provably_lt(0, *w.after));
    if (a.pad_mode != "constant" && grows && provably_le(w.kept(data[k]).value_or(data[k]), 0))
      return shape_error(fmt::format("axis {} {} and cannot be padded with mode \"{}\"", k,
                                     data[k] == Dim(0) ? "is empty" : "is cropped to nothing", a.pad_mode));
  }
  return tensor_result(shape, in[0].dtype);
}

// How the definition treats one axis.
struct Padding {
  Expr before, after;
  Expr begin, kept;  // the elements of the data that the result has
  bool grows;        // the result may have elements beyond these
  bool once;         // positions are at most one reflection away
};

// Elements can be repeated only if there is one.
void require_kept_element(Definition& d, const Expr& kept, const std::optional<Dim>& known, const Shape& result) {
  if (known) return require_element_next(d, *known, result);
  d.require_next(
      [kept, count = product(result)](Index) { return logical_or(Expr(0) < kept, equal(Expr(count), Expr(0))); },
      tensor::Status::shape_mismatch);
}

TensorFunction define_pad(const PadAttrs& a, const Operands& in, const Shape& result) {
  Definition d("nn.pad");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), value = d.input("pad_value", in[1].dtype, in[1].shape);
  Tensor operand = in.size() > 2 ? d.input("pad_width", in[2].dtype, in[2].shape) : Tensor();
  std::vector<Widths> widths = std::get<0>(widths_of(a, in));
  const bool constant = a.pad_mode == "constant";
  std::vector<Padding> axes;
  for (int k = 0; k < x.rank(); ++k) {
    const auto& [before, after] = widths[k];
    auto width = [&](const std::optional<Dim>& known, int side) {
      return known ? Expr(*known) : cast(dtype::i64, operand(Expr(k), Expr(side)));
    };
    auto may_grow = [](const std::optional<Dim>& known) { return !known || !provably_le(*known, 0); };
    auto removed = [&](const std::optional<Dim>& known, int side) {
      return known ? Expr(cropped(*known)) : max(Expr(0) - width(known, side), Expr(0));
    };
    Padding p{width(before, 0), width(after, 1), removed(before, 0), {}, may_grow(before) || may_grow(after), false};
    const std::optional<Dim> kept = widths[k].kept(x.extent(k));
    p.kept = kept ? Expr(*kept) : Expr(x.extent(k)) - p.begin - removed(after, 1);
    p.once = kept && provably_le(max(*before, *after), *kept - Dim(1));
    axes.push_back(p);
    if (!constant && p.grows) require_kept_element(d, p.kept, kept, result);
    if (before && after)
      require_equal_next(d, result[k], x.extent(k) + *before + *after);
    else
      d.require_next(
          [&, k](Index) { return equal(Expr(x.extent(k)) + axes[k].before + axes[k].after, Expr(result[k])); },
          tensor::Status::shape_mismatch);
  }
  const bool inside = std::ranges::none_of(axes, &Padding::grows);
  d.result("result", x.type(), result, [&](Index i) {
    std::vector<Expr> at;
    for (int k = 0; k < x.rank(); ++k) {
      Expr position = i[k] - axes[k].before;
      const bool moved = !constant && axes[k].grows;
      at.push_back(moved ? padded_position(a.pad_mode, position - axes[k].begin, axes[k].kept, axes[k].once) +
                               axes[k].begin
                         : position);
    }
    if (!constant || inside) return stored(x, at);
    return tensor::load(x.buffer(), at, value.type() == x.type() ? stored(value, {}) : cast(x.type(), value()));
  });
  return d.finish();
}

// The part of the gradient that has the data, where it is between elements of one value.
void gradient_of_pad(const PadAttrs& a, CallGradient& g) {
  if (a.pad_mode != "constant") return gradient_by_positions(g, {0});
  const Shape x = g.operands()[0].type.shape;
  const auto widths = g.operand_count() == 2 ? widths_of_attribute(a, static_cast<int>(x.size()))
                                             : Checked<std::vector<Widths>>(std::vector<Widths>{});
  bool only_grows = !std::get<0>(widths).empty() && !g.wants(1);
  for (const Widths& w : std::get<0>(widths))
    only_grows = only_grows && provably_le(0, *w.before) && provably_le(0, *w.after);
  if (!only_grows) return gradient_by_positions(g, {0, 1});
  Term inner = g.gradient();
  for (size_t k = 0; k < x.size(); ++k)
    inner = inner.sliced(static_cast<int64_t>(k), *std::get<0>(widths)[k].before, x[k]);
  g.add(0, inner);
}

}  // namespace

void pad(OperatorTable& table) {
  table.add<PadAttrs>({
      .name = "nn.pad",
      .summary = "extends a tensor at its borders",
      .attributes = {{"pad_width", &PadAttrs::pad_width,
                      "per axis: the number of elements added before and after; a negative number crops", true},
                     {"pad_mode", &PadAttrs::pad_mode,
                      "values of the added elements: \"constant\" (pad_value), \"edge\" (the nearest element), "
                      "\"reflect\" (mirrored "
                      "without the edge), \"symmetric\" (mirrored with it) or \"wrap\" (from the other end)"}},
      .arguments = {"data", "pad_value"},
      .values = {"pad_width"},
      .type = type_of_pad,
      .compute_as = define_pad,
      .sizes =
          [](const PadAttrs&, const Operands& in, const std::vector<Tensor>& v, Definition&) {
            const Expr most(2 * tensor::max_elements);
            std::vector<Expr> sizes;
            for (size_t k = 0; k < in[0].shape.size(); ++k) {
              auto width = [&](int64_t side) {
                const Expr w = cast(dtype::i64, v[0](Expr(static_cast<int64_t>(k)), Expr(side)));
                return max(min(w, most), Expr(0) - most);
              };
              sizes.push_back(Expr(in[0].shape[k]) + width(0) + width(1));
            }
            return sizes;
          },
      .gradient = gradient_of_pad,
  });
}

}  // namespace dlcc::relay::ops

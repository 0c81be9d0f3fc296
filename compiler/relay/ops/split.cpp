// split: cuts a tensor into pieces along one axis; the result is a tuple, even of a single piece.
#include "relay/op_support/gradients.h"
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct SplitAttrs {
  AttrValue indices_or_sections;
  int64_t axis = 0;
};

constexpr int64_t most_pieces = (1 << 16) - 2;  // which bounds the size of the definition

TypeError too_many_pieces(int64_t pieces) {
  return {DiagnosticId::too_large, fmt::format("a split has at most {} pieces, found {}", most_pieces, pieces), ""};
}

// The first index of each piece, and then the extent of the axis.
Checked<std::vector<Dim>> boundaries(const SplitAttrs& a, const Dim& extent) {
  std::vector<Dim> at = {0};
  int64_t sections = 0;
  std::vector<int64_t> indices;
  if (detail::from_value(a.indices_or_sections, sections)) {
    if (sections < 1)
      return attribute_error(fmt::format("the number of sections must be at least 1, found {}", sections));
    if (sections > most_pieces) return too_many_pieces(sections);
    const Dim rest = floor_mod(extent, sections);
    if (rest.is_constant() && !(rest == Dim(0)))
      return shape_error(fmt::format("{} elements cannot be split into {} equal sections", extent.str(), sections),
                         "give a list of the indices at which to cut");
    for (int64_t k = 1; k <= sections; ++k) at.push_back(floor_div(extent, Dim(sections)) * Dim(k));
    return at;
  }
  if (!detail::from_value(a.indices_or_sections, indices))
    return attribute_error("indices_or_sections must be an int or a list of int");
  for (int64_t index : indices) {
    if (!provably_le(at.back(), Dim(index)) || !provably_le(Dim(index), extent))
      return attribute_error(fmt::format("index {} is not between {} and {}", index, at.back().str(), extent.str()),
                             "indices must not decrease and must be within the axis");
    at.push_back(index);
  }
  at.push_back(extent);
  return at;
}

TypeResult type_of_split(const SplitAttrs& a, const Operands& in) {
  int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of({check_type(in[0], "data", types::movable), check_axis("axis", a.axis, rank)})) return *e;
  int axis = wrap_axis(a.axis, rank);
  auto at = boundaries(a, in[0].shape[axis]);
  if (auto* e = std::get_if<TypeError>(&at)) return *e;
  const std::vector<Dim>& cuts = std::get<0>(at);
  std::vector<Type> pieces;
  for (size_t k = 0; k + 1 < cuts.size(); ++k) {
    Shape shape = in[0].shape;
    shape[axis] = cuts[k + 1] - cuts[k];
    pieces.push_back(tensor_type(shape, in[0].dtype));
  }
  return tuple_type(std::move(pieces));
}

TensorFunction define_split(const SplitAttrs& a, const Operands& in) {
  Definition d("split");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  int axis = wrap_axis(a.axis, x.rank());
  std::vector<Dim> cuts = std::get<0>(boundaries(a, x.extent(axis)));
  int64_t sections = 0;
  if (detail::from_value(a.indices_or_sections, sections))
    require_equal_next(d, floor_mod(x.extent(axis), sections), 0);
  for (size_t k = 0; k + 1 < cuts.size(); ++k) {
    Shape shape = x.shape();
    shape[axis] = cuts[k + 1] - cuts[k];
    d.result(fmt::format("piece{}", k), x.type(), shape, [&](Index i) {
      std::vector<Expr> at = i;
      at[axis] = at[axis] + Expr(cuts[k]);
      return stored(x, at);
    });
  }
  return d.finish();
}

}  // namespace

void split(OperatorTable& table) {
  table.add<SplitAttrs>({
      .name = "split",
      .summary = "cuts a tensor into pieces along one axis",
      .attributes = {{"indices_or_sections", &SplitAttrs::indices_or_sections,
                      "an int: the number of equal pieces; a list: the indices at which to cut", true},
                     {"axis", &SplitAttrs::axis, "the axis to cut"}},
      .arguments = {"data"},
      .type = type_of_split,
      .compute = define_split,
      .gradient =
          [](const SplitAttrs& a, CallGradient& g) {
            std::vector<Term> pieces;
            for (size_t k = 0; k < g.result_count(); ++k) pieces.push_back(g.gradient(k));
            g.add(0, g.code().call("concatenate", pieces, {{"axis", a.axis}}));
          },
  });
}

}  // namespace dlcc::relay::ops

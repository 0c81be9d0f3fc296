// nn.pad: adds elements at both ends of axes; negative widths crop.
#include "relay/op_support/indices.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct PadAttrs {
  AttrValue pad_width;
  std::string pad_mode = "constant";
};
struct Widths {
  int64_t before, after;
};

Checked<std::vector<Widths>> widths_of(const PadAttrs& a, int rank) {
  const AttrList* list = std::get_if<AttrList>(&a.pad_width.v);
  std::vector<Widths> widths;
  for (const AttrValue& item : list ? *list : AttrList{}) {
    std::vector<int64_t> pair;
    if (detail::from_value(item, pair) && pair.size() == 2) widths.push_back({pair[0], pair[1]});
  }
  if (!list || widths.size() != list->size() || static_cast<int>(widths.size()) != rank)
    return attribute_error(fmt::format("pad_width must be a list of {} pairs (before, after), one per axis", rank));
  return widths;
}

TypeResult type_of_pad(const PadAttrs& a, const Operands& in) {
  const Shape& data = in[0].shape;
  int rank = static_cast<int>(data.size());
  if (auto e = first_of({check_type(in[0], "data", types::movable), check_same_type(in[0], "data", in[1], "pad_value"),
                         check_rank(in[1], "pad_value", 0), check_pad_mode(a.pad_mode)}))
    return *e;
  auto widths = widths_of(a, rank);
  if (auto* e = std::get_if<TypeError>(&widths)) return *e;
  Shape shape;
  for (int k = 0; k < rank; ++k) {
    auto [before, after] = std::get<0>(widths)[k];
    shape.push_back(data[k] + Dim(before) + Dim(after));
    if (a.pad_mode != "constant" && data[k] == Dim(0) && (before > 0 || after > 0))
      return shape_error(fmt::format("axis {} is empty and cannot be padded with mode \"{}\"", k, a.pad_mode));
  }
  return tensor_result(shape, in[0].dtype);
}

TensorFunction define_pad(const PadAttrs& a, const Operands& in) {
  Definition d("nn.pad");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), value = d.input("pad_value", in[1].dtype, in[1].shape);
  std::vector<Widths> widths = std::get<0>(widths_of(a, x.rank()));
  bool constant = a.pad_mode == "constant", inside = true;
  for (const Widths& w : widths) inside = inside && w.before <= 0 && w.after <= 0;
  d.result("result", x.type(), shape_in(type_of_pad(a, in)), [&](Index i) {
    std::vector<Expr> at;
    for (int k = 0; k < x.rank(); ++k) {
      auto [before, after] = widths[k];
      Expr position = i[k] - Expr(before);
      bool once = provably_le(Dim(std::max(before, after)), x.extent(k) - Dim(1));
      bool moved = !constant && (before > 0 || after > 0);
      at.push_back(moved ? padded_position(a.pad_mode, position, x.extent(k), once) : position);
    }
    return constant && !inside ? tensor::load(x.buffer(), at, stored(value, {})) : stored(x, at);
  });
  return d.finish();
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
                      "without the "
                      "edge) or \"wrap\" (from the other end)"}},
      .arguments = {"data", "pad_value"},
      .type = type_of_pad,
      .compute = define_pad,
  });
}

}  // namespace dlcc::relay::ops

// einsum: one tensor by Einstein's summation convention: axes are permuted, axes with equal labels become one (a
// diagonal), and labels that the result lacks are summed over.
#include <algorithm>
#include <map>

#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct EinsumAttrs {
  std::string equation;
};

// The labels of the operand's and the result's axes, and the extent of each label.
struct Labels {
  std::string operand, result, summed;
  std::map<char, Dim> extents;

  Shape shape_of(const std::string& labels) const {
    Shape shape;
    for (char label : labels) shape.push_back(extents.at(label));
    return shape;
  }
};

Checked<Labels> labels_of(const EinsumAttrs& a, const Shape& data) {
  const size_t arrow = a.equation.find("->");
  if (arrow == std::string::npos) return attribute_error("equation must be \"LABELS->LABELS\"");
  Labels labels{a.equation.substr(0, arrow), a.equation.substr(arrow + 2), {}, {}};
  if (labels.operand.size() != data.size())
    return shape_error(fmt::format("equation names {} axes, the data has {}", labels.operand.size(), data.size()));
  for (size_t k = 0; k < data.size(); ++k) {
    auto [known, is_new] = labels.extents.emplace(labels.operand[k], data[k]);
    if (!is_new)
      if (auto e = check_equal(data[k], fmt::format("axis {}", k), known->second,
                               fmt::format("another axis with label {}", labels.operand[k])))
        return *e;
  }
  for (const auto& [label, extent] : labels.extents)
    if (labels.result.find(label) == std::string::npos) labels.summed += label;
  for (char label : labels.result)
    if (!labels.extents.contains(label) || std::ranges::count(labels.result, label) != 1)
      return attribute_error(fmt::format("the label '{}' of the result must occur once there, and in the data", label));
  return labels;
}

TensorFunction define_einsum(const EinsumAttrs& a, const Operands& in) {
  Definition d("einsum");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  const Labels labels = std::get<Labels>(labels_of(a, x.shape()));
  auto index = [&](Index i, Index r) {
    std::map<char, Expr> at;
    for (size_t k = 0; k < labels.result.size(); ++k) at[labels.result[k]] = i[k];
    for (size_t k = 0; k < labels.summed.size(); ++k) at[labels.summed[k]] = r[k];
    std::vector<Expr> list;
    for (char label : labels.operand) list.push_back(at.at(label));
    return list;
  };
  const Shape result = labels.shape_of(labels.result);
  if (labels.summed.empty()) {
    d.result("result", x.type(), result, [&](Index i) { return stored(x, index(i, {})); });
  } else {
    d.reduce_result("result", x.type(), result, tensor::sum_of(tensor::compute_type(x.type())),
                    labels.shape_of(labels.summed), [&](Index i, Index r) { return x(index(i, r)); });
  }
  return d.finish();
}

}  // namespace

void einsum(OperatorTable& table) {
  table.add<EinsumAttrs>({
      .name = "einsum",
      .summary = "permutes axes, takes diagonals and sums over axes, as an equation says",
      .attributes = {{"equation", &EinsumAttrs::equation,
                      "\"iij->j\": a letter for each axis of the data and of the result", true}},
      .arguments = {"data"},
      .type = [](const EinsumAttrs& a, const Operands& in) -> TypeResult {
        if (auto e = check_type(in[0], "data", types::number)) return *e;
        auto labels = labels_of(a, in[0].shape);
        if (auto* e = std::get_if<TypeError>(&labels)) return *e;
        return tensor_result(std::get<Labels>(labels).shape_of(std::get<Labels>(labels).result), in[0].dtype);
      },
      .compute = define_einsum,
  });
}

}  // namespace dlcc::relay::ops

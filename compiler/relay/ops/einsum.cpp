// einsum: products of tensors by Einstein's summation convention: axes with equal labels are one axis, those of one
// tensor its diagonal, and labels that the result lacks are summed over.
#include <algorithm>
#include <map>

#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct EinsumAttrs {
  std::string equation;
};

// The labels of the operands' and the result's axes, and the extent of each label.
struct Labels {
  std::vector<std::string> operands;
  std::string result, summed;
  std::map<char, Dim> extents;

  Shape shape_of(const std::string& labels) const {
    Shape shape;
    for (char label : labels) shape.push_back(extents.at(label));
    return shape;
  }
};

// The parts of a text between commas.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

Failure add_extents(Labels& labels, const std::string& operand, const Shape& data) {
  if (operand.size() != data.size())
    return shape_error(
        fmt::format("equation names {} axes in \"{}\", the data has {}", operand.size(), operand, data.size()));
  for (size_t k = 0; k < data.size(); ++k) {
    auto [known, is_new] = labels.extents.emplace(operand[k], data[k]);
    if (!is_new)
      if (auto e = check_equal(data[k], fmt::format("axis {} of \"{}\"", k, operand), known->second,
                               fmt::format("another axis with label {}", operand[k])))
        return e;
  }
  return std::nullopt;
}

Checked<Labels> labels_of(const EinsumAttrs& a, const Operands& in) {
  std::string equation = a.equation;
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos) return attribute_error("equation must be \"LABELS,LABELS->LABELS\"");
  Labels labels{parts_of(equation.substr(0, arrow)), equation.substr(arrow + 2), {}, {}};
  if (labels.operands.size() != in.size())
    return attribute_error(
        fmt::format("equation names {} tensors, the data has {}", labels.operands.size(), in.size()));
  for (size_t n = 0; n < in.size(); ++n)
    if (auto e = add_extents(labels, labels.operands[n], in[n].shape)) return *e;
  for (const auto& [label, extent] : labels.extents)
    if (labels.result.find(label) == std::string::npos) labels.summed += label;
  for (char label : labels.result)
    if (!labels.extents.contains(label) || std::ranges::count(labels.result, label) != 1)
      return attribute_error(fmt::format("the label '{}' of the result must occur once there, and in the data", label));
  return labels;
}

TypeResult type_of_einsum(const EinsumAttrs& a, const Operands& in) {
  for (size_t n = 0; n < in.size(); ++n) {
    const std::string what = fmt::format("field {}", n);
    if (auto e = first_of(
            {check_type(in[n], what.c_str(), types::number), check_same_type(in[0], "field 0", in[n], what.c_str())}))
      return *e;
  }
  auto labels = labels_of(a, in);
  if (auto* e = std::get_if<TypeError>(&labels)) return *e;
  return tensor_result(std::get<Labels>(labels).shape_of(std::get<Labels>(labels).result), in[0].dtype);
}

TensorFunction define_einsum(const EinsumAttrs& a, const Operands& in) {
  Definition d("einsum");
  std::vector<Tensor> data;
  for (size_t n = 0; n < in.size(); ++n) data.push_back(d.input(fmt::format("data{}", n), in[n].dtype, in[n].shape));
  const Labels labels = std::get<Labels>(labels_of(a, in));
  auto index = [&](const std::string& operand, Index i, Index r) {
    std::vector<Expr> list;
    for (char label : operand) {
      const size_t kept = labels.result.find(label);
      list.push_back(kept != std::string::npos ? i[kept] : r[labels.summed.find(label)]);
    }
    return list;
  };
  auto product = [&](Index i, Index r) {
    Expr all = data[0](index(labels.operands[0], i, r));
    for (size_t n = 1; n < data.size(); ++n) all = all * data[n](index(labels.operands[n], i, r));
    return all;
  };
  const DType type = data[0].type();
  const Shape result = labels.shape_of(labels.result);
  if (!labels.summed.empty())
    d.reduce_result("result", type, result, tensor::sum_of(tensor::compute_type(type)), labels.shape_of(labels.summed),
                    product);
  else if (data.size() > 1)
    d.result("result", type, result, [&](Index i) { return product(i, {}); });
  else
    d.result("result", type, result, [&](Index i) { return stored(data[0], index(labels.operands[0], i, {})); });
  return d.finish();
}

}  // namespace

void einsum(OperatorTable& table) {
  table.add<EinsumAttrs>({
      .name = "einsum",
      .summary = "sums of products of tensors along axes with equal labels; permutes axes and takes diagonals",
      .attributes = {{"equation", &EinsumAttrs::equation,
                      "\"ij,jk->ik\": a letter for each axis of the tensors and of the result", true}},
      .arguments = {"data"},
      .variadic = true,
      .type = type_of_einsum,
      .compute = define_einsum,
      .sample_attrs = {{"equation", "ij,jk->ik"}},
  });
}

}  // namespace dlcc::relay::ops

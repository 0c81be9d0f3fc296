// einsum: products of tensors by Einstein's summation convention: axes with equal labels are one axis, those of one
// tensor its diagonal, and labels that the result lacks are summed over.
#include <algorithm>
#include <cctype>
#include <map>

#include "relay/call_gradient.h"
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

constexpr const char* ellipsis = "...";

// The labels in place of "...": 1 for the last of its axes, 2 for the one before.
std::string with_ellipsis(const std::string& term, size_t axes) {
  const size_t at = term.find(ellipsis);
  if (at == std::string::npos) return term;
  std::string labels;
  for (size_t k = axes; k-- > 0;) labels += static_cast<char>(1 + k);
  return term.substr(0, at) + labels + term.substr(at + 3);
}

bool is_of_ellipsis(char label) { return label < ' '; }

// The term as the equation has it.
std::string without_ellipsis_labels(const std::string& labels) {
  std::string term;
  for (const char c : labels)
    if (!is_of_ellipsis(c))
      term += c;
    else if (!term.ends_with(ellipsis))
      term += ellipsis;
  return term;
}

// The number of axes that "..." is in the term of an operand of this rank; 0 if the term does not have it.
size_t ellipsis_axes(const std::string& term, size_t rank) {
  const bool has = term.find(ellipsis) != std::string::npos;
  return has && rank + 3 > term.size() ? rank + 3 - term.size() : 0;
}

// What an equation without "->" has after it: "..." and, sorted, all letters that occur once.
std::string implicit_result(const std::vector<std::string>& terms) {
  std::map<char, int> uses;
  for (const std::string& term : terms)
    for (char c : term) ++uses[c];
  std::string result = uses.contains('.') ? ellipsis : "";
  for (const auto& [label, count] : uses)
    if (label != '.' && count == 1) result += label;
  return result;
}

// Whether the term consists of letters and digits, and of "..." at most once.
bool is_term(std::string term) {
  if (const size_t at = term.find(ellipsis); at != std::string::npos) term.erase(at, 3);
  return std::ranges::all_of(term, [](unsigned char c) { return std::isalnum(c) != 0; });
}

std::string other_axis(char label) {
  return is_of_ellipsis(label) ? "the same axis of another \"...\"" : fmt::format("another axis with label {}", label);
}

Failure add_extents(Labels& labels, const std::string& operand, const Shape& data) {
  if (operand.size() != data.size())
    return shape_error(
        fmt::format("equation names {} axes in \"{}\", the data has {}", operand.size(), operand, data.size()));
  for (size_t k = 0; k < data.size(); ++k) {
    auto [known, is_new] = labels.extents.emplace(operand[k], data[k]);
    if (!is_new)
      if (auto e = check_equal(data[k], fmt::format("axis {} of \"{}\"", k, without_ellipsis_labels(operand)),
                               known->second, other_axis(operand[k])))
        return e;
  }
  return std::nullopt;
}

Checked<Labels> labels_of(const EinsumAttrs& a, const Operands& in) {
  std::string equation = a.equation;
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  Labels labels{parts_of(equation.substr(0, arrow)), {}, {}, {}};
  labels.result = arrow == std::string::npos ? implicit_result(labels.operands) : equation.substr(arrow + 2);
  if (!std::ranges::all_of(labels.operands, is_term) || !is_term(labels.result))
    return attribute_error("equation must be \"LETTERS,LETTERS->LETTERS\", with \"...\" for axes without letters");
  if (labels.operands.size() != in.size())
    return attribute_error(
        fmt::format("equation names {} tensors, the data has {}", labels.operands.size(), in.size()));
  size_t most = 0;
  for (size_t n = 0; n < in.size(); ++n) {
    const size_t axes = ellipsis_axes(labels.operands[n], in[n].shape.size());
    labels.operands[n] = with_ellipsis(labels.operands[n], axes);
    most = std::max(most, axes);
  }
  labels.result = with_ellipsis(labels.result, most);
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

// The equation with the result in the place of one operand. A label that only this operand has is summed over: the
// gradient is the same for all of its elements, the operand of ones being multiplied for that.
void gradient_of_einsum(const EinsumAttrs& a, CallGradient& g) {
  Operands in;
  for (const CallGradient::Slot& slot : g.operands()) in.emplace_back(slot.type);
  const Labels labels = std::get<Labels>(labels_of(a, in));
  std::map<char, char> letters;  // those of the extents, where "..." has labels that equations do not
  for (const auto& [label, extent] : labels.extents)
    letters.emplace(label,
                    static_cast<char>((letters.size() < 26 ? 'a' : 'A' - 26) + static_cast<int>(letters.size())));
  auto spelled = [&](const std::string& list) {
    std::string text;
    for (const char label : list) text += letters.at(label);
    return text;
  };
  for (size_t n = 0; n < in.size(); ++n) {
    if (!g.wants(n)) continue;
    const std::string& own = labels.operands[n];
    std::vector<Term> factors = {g.gradient()};
    std::string equation = spelled(labels.result), others = labels.result;
    for (size_t k = 0; k < in.size(); ++k) {
      if (k == n) continue;
      factors.push_back(g.operand(k));
      equation += "," + spelled(labels.operands[k]);
      others += labels.operands[k];
    }
    std::string missing;
    for (const char label : own) {
      if (std::ranges::count(own, label) > 1) g.refuse("einsum takes a diagonal");
      if (others.find(label) == std::string::npos) missing += label;
    }
    if (!missing.empty()) {
      factors.push_back(g.code().full(labels.shape_of(missing), g.gradient().dtype(), 1));
      equation += "," + spelled(missing);
    }
    g.add(n, g.code().call("einsum", factors, {{"equation", equation + "->" + spelled(own)}}));
  }
}

}  // namespace

void einsum(OperatorTable& table) {
  table.add<EinsumAttrs>({
      .name = "einsum",
      .summary = "sums of products of tensors along axes with equal labels; permutes axes and takes diagonals",
      .attributes = {{"equation", &EinsumAttrs::equation,
                      "\"ij,jk->ik\": a letter for each axis of the tensors and of the result; \"...\" stands for "
                      "axes without letters. Without \"->\", the result has these axes and, sorted, those of the "
                      "letters that occur once",
                      true}},
      .arguments = {"data"},
      .variadic = true,
      .type = type_of_einsum,
      .compute = define_einsum,
      .gradient = gradient_of_einsum,
      .sample_attrs = {{"equation", "ij,jk->ik"}},
  });
}

}  // namespace dlcc::relay::ops

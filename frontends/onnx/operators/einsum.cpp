// Einsum. Operands are multiplied pairwise from the left. Labels that only one of the two has, and that are not needed
// later, are summed first; the product is a batched matrix product.
#include <algorithm>
#include <map>
#include <set>

#include "frontends/onnx/operators/table.h"
#include "support/ascii.h"

namespace dlcc::frontends::onnx {
namespace {

// A tensor and a label for each of its axes.
struct Term {
  Value value;
  std::string labels;

  bool has(char label) const { return labels.find(label) != std::string::npos; }
  Dim extent(char label) const { return value.type.shape[labels.find(label)]; }
};

struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

// The labels that stand for an ellipsis, '0' for the last of its axes, '1' for the one before.
std::string ellipsis_labels(int64_t count) {
  std::string labels;
  for (int64_t k = count; k-- > 0;) labels += static_cast<char>('0' + k);
  return labels;
}

// Replaces "..." by the labels of its `count` axes; at most 10 are possible.
std::optional<std::string> expanded(Node& n, const std::string& term, int64_t count) {
  const size_t at = term.find("...");
  std::string labels =
      at == std::string::npos ? term : term.substr(0, at) + ellipsis_labels(count) + term.substr(at + 3);
  if (!n.check(std::ranges::all_of(labels, is_alphanumeric) && count <= 10, DiagnosticId::bad_attribute,
               fmt::format("the term '{}' of the equation is not a list of letters", term)))
    return std::nullopt;
  return labels;
}

// Without an arrow the result has the ellipsis and then, sorted, all letters that occur once.
std::string implicit_result(const std::vector<std::string>& operands, int64_t ellipsis) {
  std::string all, result;
  for (const std::string& term : operands) all += term;
  std::ranges::sort(all);
  for (char label : all)
    if (is_letter(label) && std::ranges::count(all, label) == 1) result += label;
  return ellipsis_labels(ellipsis) + result;
}

std::optional<Equation> read_equation(Node& n) {
  std::string text = n.text("equation", "");
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  std::vector<std::string> terms(1);
  for (char c : left)
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  if (!n.check(static_cast<int>(terms.size()) == n.input_count(), DiagnosticId::bad_attribute,
               fmt::format("the equation '{}' is for {} inputs, found {}", text, terms.size(), n.input_count())))
    return std::nullopt;
  Equation e;
  int64_t longest = 0;
  for (size_t k = 0; k < terms.size(); ++k) {
    const bool dots = terms[k].find("...") != std::string::npos;
    const int64_t rank = n.in(static_cast<int>(k)).rank();
    const int64_t hidden = dots ? rank - static_cast<int64_t>(terms[k].size()) + 3 : 0;
    auto labels = expanded(n, terms[k], std::max<int64_t>(hidden, 0));
    if (!labels || !n.check(hidden >= 0 && static_cast<int64_t>(labels->size()) == rank, DiagnosticId::shape_mismatch,
                            fmt::format("the term '{}' of the equation does not fit {}", terms[k],
                                        describe(n.in(static_cast<int>(k)).type))))
      return std::nullopt;
    longest = std::max(longest, hidden);
    e.operands.push_back(*labels);
  }
  if (arrow == std::string::npos) {
    e.result = implicit_result(e.operands, longest);
    return e;
  }
  auto result = expanded(n, text.substr(arrow + 2), longest);
  if (!result) return std::nullopt;
  e.result = *result;
  for (char label : e.result) {
    const bool known = std::ranges::any_of(e.operands, [&](const std::string& t) { return t.find(label) != t.npos; });
    n.check(known && std::ranges::count(e.result, label) == 1, DiagnosticId::bad_attribute,
            fmt::format("the label '{}' of the result must occur once there, and in an input", label));
  }
  return n.failed() ? std::nullopt : std::optional(e);
}

// ---- terms --------------------------------------------------------------------------------------------------------

// The term with these labels, in this order: the others are summed over, equal ones become a diagonal.
Term with_labels(Node& n, const Term& t, const std::string& labels) {
  if (t.labels == labels) return t;
  return {n.call("einsum", {t.value}, {{"equation", t.labels + "->" + labels}}), labels};
}

// The term without axes of size 1 where the other term has more elements: they are broadcast.
Term without_broadcast(Node& n, const Term& t, const Term& other) {
  std::string kept;
  for (char label : t.labels)
    if (!(t.extent(label) == Dim(1) && other.has(label) && !(other.extent(label) == Dim(1)))) kept += label;
  return with_labels(n, t, kept);
}

// The term with the sizes of the other one along equal labels. A run checks sizes of which this is not known.
Term with_sizes_of(Node& n, const Term& t, const Term& other) {
  Shape shape = t.value.type.shape;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (const char label = t.labels[axis]; other.has(label) && !shape[axis].is_constant())
      shape[axis] = other.extent(label);
  const auto value = n.with_shape(t.value, shape);
  n.check(value.has_value(), DiagnosticId::shape_mismatch,
          fmt::format("axes '{}' have the sizes {} and {}", t.labels, str(t.value.type.shape), str(shape)));
  return {value.value_or(Value::poison()), t.labels};
}

// Each label of the term once, and only those that `needed` has.
Term reduced(Node& n, const Term& t, const std::string& needed) {
  std::string kept;
  for (char label : t.labels)
    if (needed.find(label) != std::string::npos && kept.find(label) == std::string::npos) kept += label;
  return with_labels(n, t, kept);
}

Dim product_of(const Term& t, const std::string& labels) {
  Dim size = 1;
  for (char label : labels) size = size * t.extent(label);
  return size;
}

// The product of two terms, with the labels that `needed` has.
Term multiply(Node& n, Term a, Term b, const std::string& needed) {
  a = reduced(n, a, needed + b.labels);
  b = reduced(n, b, needed + a.labels);
  if (n.failed()) return {Value::poison(), ""};
  a = without_broadcast(n, a, b);
  b = without_broadcast(n, b, a);
  a = reduced(n, a, needed + b.labels);
  b = reduced(n, b, needed + a.labels);
  if (n.failed()) return {Value::poison(), ""};
  a = with_sizes_of(n, a, b);
  b = with_sizes_of(n, b, a);
  if (n.failed()) return {Value::poison(), ""};
  std::string batch, rows, columns, summed;
  for (char label : a.labels) (!b.has(label) ? rows : needed.find(label) != needed.npos ? batch : summed) += label;
  for (char label : b.labels)
    if (!a.has(label)) columns += label;
  a = with_labels(n, a, batch + rows + summed);
  b = with_labels(n, b, batch + summed + columns);
  if (n.failed()) return {Value::poison(), ""};
  Shape shape;
  for (char label : batch + rows) shape.push_back(a.extent(label));
  for (char label : columns) shape.push_back(b.extent(label));
  const Dim count = product_of(a, batch), m = product_of(a, rows), inner = product_of(a, summed);
  Value left = n.reshape(a.value, {count, m, inner}),
        right = n.reshape(b.value, {count, inner, product_of(b, columns)});
  const bool elementwise = summed.empty();
  Value product = n.call(elementwise ? "multiply" : "nn.batch_matmul", {left, right});
  return {n.reshape(product, shape), batch + rows + columns};
}

// The axes with one label have one size, or 1, which is broadcast.
bool check_sizes(Node& n, const Equation& e) {
  struct Axis {
    Dim size;
    int input;
  };
  std::map<char, Axis> known;
  for (int k = 0; k < n.input_count(); ++k)
    for (size_t axis = 0; const char label : e.operands[static_cast<size_t>(k)]) {
      const Dim size = n.in(k).type.shape[axis++];
      if (!size.is_constant() || size == Dim(1)) continue;
      const Axis& first = known.try_emplace(label, Axis{size, k}).first->second;
      n.check(first.size == size, DiagnosticId::shape_mismatch,
              is_digit(label) ? fmt::format("the sizes of '...' differ: {} in input {}, {} in input {}",
                                            first.size.str(), first.input, size.str(), k)
                              : fmt::format("the sizes of '{}' differ: {} in input {}, {} in input {}", label,
                                            first.size.str(), first.input, size.str(), k));
    }
  return !n.failed();
}

Values convert_einsum(Node& n) {
  auto equation = read_equation(n);
  if (!equation || !check_sizes(n, *equation)) return {};
  std::vector<Term> terms;
  for (int k = 0; k < n.input_count(); ++k) terms.push_back({n.in(k), equation->operands[static_cast<size_t>(k)]});
  Term product = terms[0];
  for (size_t k = 1; k < terms.size(); ++k) {
    std::string needed = equation->result;
    for (size_t later = k + 1; later < terms.size(); ++later) needed += terms[later].labels;
    product = multiply(n, product, terms[k], needed);
    if (n.failed()) return {};
  }
  return {with_labels(n, product, equation->result).value};
}

}  // namespace

void add_einsum(Table& table) {
  table.add({{"Einsum", 12, "Inputs", 1, any_number, 1, convert_einsum}});
  table.only_if("Einsum", "axes with one label have equal sizes, or one that is 1 at compile time");
}

}  // namespace dlcc::frontends::onnx

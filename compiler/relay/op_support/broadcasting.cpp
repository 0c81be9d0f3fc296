// Shapes and indices of broadcast operands.
#include "relay/op_support/broadcasting.h"

#include <algorithm>

namespace dlcc::relay {

namespace {

// Whether an axis of the result has the size of the operand's axis wherever both exist: max(0, n - 2) is n - 2 there,
// since no tensor has a negative size.
bool is_same_size(const Dim& operand, const Dim& result) { return operand == result || operand == max(result, 0); }

// The size of a broadcast of several sizes: the largest one, or 0 if one of them is 0, since the others are 0 or 1
// then.
Dim broadcast_size(std::vector<Dim> sizes) {
  std::ranges::sort(sizes, [](const Dim& a, const Dim& b) { return Dim::compare(a, b) < 0; });
  const auto repeated = std::ranges::unique(sizes);
  sizes.erase(repeated.begin(), repeated.end());
  Dim largest = sizes.front(), is_positive = 1;
  for (const Dim& size : sizes) {
    largest = max(largest, size);
    is_positive = is_positive * min(1, size);
  }
  return largest * is_positive;
}

// Adds the sizes of which a `max`, at any depth of nesting, is the largest.
void add_operands_of_max(const Dim& d, std::vector<Dim>& sizes) {
  const bool is_atom = d.terms().size() == 1 && d.terms()[0].coefficient == 1 && d.terms()[0].atoms.size() == 1;
  const DimAtom* atom = is_atom ? d.terms()[0].atoms[0].get() : nullptr;
  if (!atom || atom->kind != DimAtom::Kind::max) return sizes.push_back(d);
  for (const Dim& operand : atom->args) add_operands_of_max(operand, sizes);
}

// Adds the sizes of whose broadcast `d` is the size, or `d` itself. So chains of broadcasts, such as a + b + c, have
// sizes that grow by one operand at a time: as nested expressions they would double.
void add_broadcast_sizes(const Dim& d, std::vector<Dim>& sizes) {
  std::vector<Dim> operands;
  if (d.terms().size() == 1)
    for (const auto& atom : d.terms()[0].atoms)
      if (atom->kind == DimAtom::Kind::max) add_operands_of_max(Dim::of_atom(atom), operands);
  if (operands.empty() || !(broadcast_size(operands) == d)) operands = {d};
  std::ranges::move(operands, std::back_inserter(sizes));
}

// The size of the result for operands of two sizes; empty if they cannot be broadcast.
std::optional<Dim> broadcast(const Dim& a, const Dim& b) {
  const Dim one = 1;
  if (is_same_size(b, a) || b == one) return a;
  if (is_same_size(a, b) || a == one) return b;
  auto above_one = [&](const Dim& d) { return provably_lt(one, d); };
  if (above_one(a) && above_one(b) && provably_different(a, b)) return std::nullopt;
  if (a.is_constant() && b.is_constant()) return std::nullopt;
  if (above_one(a)) return a;
  if (above_one(b)) return b;
  std::vector<Dim> sizes;
  add_broadcast_sizes(a, sizes);
  add_broadcast_sizes(b, sizes);
  return broadcast_size(std::move(sizes));
}

}  // namespace

Checked<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  size_t lead = longer.size() - shorter.size();
  Shape result = longer;
  for (size_t k = 0; k < shorter.size(); ++k) {
    std::optional<Dim> size = broadcast(longer[lead + k], shorter[k]);
    if (!size)
      return shape_error(fmt::format("shapes {} and {} cannot be broadcast: sizes {} and {} differ and neither is 1",
                                     str(a), str(b), longer[lead + k].str(), shorter[k].str()),
                         "shapes are aligned at their last dimensions; reshape or expand_dims one of them");
    result[lead + k] = *size;
  }
  return result;
}

TypeResult broadcast_result(const Operands& in, const TypeClass& types, DType result) {
  if (auto e = first_of({check_type(in[0], "lhs", types), check_same_type(in[0], "lhs", in[1], "rhs")})) return *e;
  Checked<Shape> shape = broadcast(in[0].shape, in[1].shape);
  if (auto* e = std::get_if<TypeError>(&shape)) return *e;
  return tensor_result(std::get<Shape>(shape), result);
}

std::vector<Expr> broadcast_index(const Shape& operand, const Shape& result, Index result_index) {
  std::vector<Expr> index;
  size_t lead = result.size() - operand.size();
  for (size_t k = 0; k < operand.size(); ++k) {
    const Expr& at = result_index[lead + k];
    const bool is_one = operand[k] == Dim(1), is_whole = is_same_size(operand[k], result[lead + k]);
    index.push_back(is_whole ? at : is_one ? Expr(0) : min(at, Expr(operand[k]) - Expr(1)));
  }
  return index;
}

void require_broadcast_next(Definition& d, const Shape& operand, const Shape& result) {
  size_t lead = result.size() - operand.size();
  for (size_t k = 0; k < operand.size(); ++k) {
    const Dim &size = operand[k], &whole = result[lead + k];
    if (is_same_size(size, whole) || size == Dim(1)) continue;
    d.require_next([=](Index) { return logical_or(equal(Expr(size), Expr(1)), equal(Expr(size), Expr(whole))); },
                   tensor::Status::shape_mismatch);
  }
}

}  // namespace dlcc::relay

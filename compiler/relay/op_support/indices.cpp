// Row-major positions, index maps of reshapes, positions in padding.
#include "relay/op_support/indices.h"

#include <algorithm>

namespace dlcc::relay {

Expr flatten_index(const Shape& shape, Index index) {
  Expr position(0);
  for (size_t k = 0; k < shape.size(); ++k)
    if (!(shape[k] == Dim(1))) position = position * Expr(shape[k]) + index[k];
  return position;
}

std::vector<Expr> unflatten_index(const Shape& shape, Expr position) {
  std::vector<Expr> index(shape.size());
  Expr stride(1);
  size_t first = 0;
  while (first < shape.size() && shape[first] == Dim(1)) ++first;
  for (size_t k = shape.size(); k-- > 0;) {
    Expr quotient = floor_div(position, stride);
    index[k] = shape[k] == Dim(1) ? Expr(0) : k <= first ? quotient : floor_mod(quotient, Expr(shape[k]));
    stride = stride * Expr(shape[k]);
  }
  return index;
}

namespace {

// Dimensions [from_begin, from_end) of one shape and [to_begin, to_end) of another with equal products.
struct DimGroup {
  size_t from_begin, from_end, to_begin, to_end;
};

Dim product_of(const Shape& s, size_t begin, size_t end) {
  return product(Shape(s.begin() + static_cast<ptrdiff_t>(begin), s.begin() + static_cast<ptrdiff_t>(end)));
}

// The number of dimensions of `fine`, from `begin` on, that divide up a dimension of this size: as many as have a
// product of at most the size. 0 if there are none.
size_t dimensions_within(const Dim& size, const Shape& fine, size_t begin) {
  size_t found = 0;
  for (size_t end = begin + 1; end <= fine.size(); ++end)
    if (provably_le(product_of(fine, begin, end), size)) found = end - begin;
  return found;
}

// The number of dimensions of `fine`, from `f` on, that divide up dimension `c` of `coarse`, if each dimension of
// `coarse` from `c` on is at least the product of those that divide it up. As the products of all dimensions are equal,
// and not zero, so are these: if h * w = 4 * (h / 2) * (w / 2), then h = 2 * (h / 2) and w = 2 * (w / 2). 0 if there is
// no such division.
size_t dimensions_of_first(const Shape& coarse, size_t c, const Shape& fine, size_t f) {
  size_t first = 0;
  for (size_t k = c; k < coarse.size(); ++k) {
    const size_t within = dimensions_within(coarse[k], fine, f);
    if (within == 0) return 0;
    if (k == c) first = within;
    f += within;
  }
  return f == fine.size() ? first : 0;
}

// The shortest such group that starts at dimensions `f` and `t`. Where symbolic sizes cannot be compared, the group is
// one dimension with those that divide it up. Where there is no such division either, it has all dimensions but the
// equal ones at the end.
DimGroup group_at(const Shape& from, const Shape& to, size_t f, size_t t) {
  DimGroup group{f, std::min(f + 1, from.size()), t, std::min(t + 1, to.size())};
  while (true) {
    Dim a = product_of(from, group.from_begin, group.from_end), b = product_of(to, group.to_begin, group.to_end);
    if (a == b) return group;
    bool comparable = a.is_constant() && b.is_constant();
    if (comparable && a.value() < b.value() && group.from_end < from.size())
      ++group.from_end;
    else if (comparable && a.value() > b.value() && group.to_end < to.size())
      ++group.to_end;
    else
      break;
  }
  if (const size_t parts = dimensions_of_first(from, f, to, t)) return {f, f + 1, t, t + parts};
  if (const size_t parts = dimensions_of_first(to, t, from, f)) return {f, f + parts, t, t + 1};
  group.from_end = from.size();
  group.to_end = to.size();
  while (group.from_end > f + 1 && group.to_end > t + 1 && from[group.from_end - 1] == to[group.to_end - 1]) {
    --group.from_end;
    --group.to_end;
  }
  return group;
}

}  // namespace

std::vector<Expr> reshape_index(const Shape& from, const Shape& to, Index to_index) {
  std::vector<Expr> index(from.size(), Expr(0));
  if (product(from) == Dim(0)) return index;  // there is no element to read
  size_t f = 0, t = 0;
  while (true) {
    while (f < from.size() && from[f] == Dim(1)) ++f;
    while (t < to.size() && to[t] == Dim(1)) ++t;
    if (f == from.size() && t == to.size()) return index;
    DimGroup group = group_at(from, to, f, t);
    auto part = [](const auto& list, size_t begin, size_t end) {
      return std::decay_t<decltype(list)>(list.begin() + static_cast<ptrdiff_t>(begin),
                                          list.begin() + static_cast<ptrdiff_t>(end));
    };
    Expr position = flatten_index(part(to, group.to_begin, group.to_end), part(to_index, group.to_begin, group.to_end));
    std::vector<Expr> mapped = unflatten_index(part(from, group.from_begin, group.from_end), position);
    std::ranges::copy(mapped, index.begin() + static_cast<ptrdiff_t>(group.from_begin));
    f = group.from_end;
    t = group.to_end;
  }
}

TensorFunction define_view(const char* name, const TensorType& data, const Shape& result) {
  Definition d(name);
  Tensor x = d.input("data", data.dtype, data.shape);
  d.result("result", x.type(), result, [&](Index i) { return stored(x, reshape_index(x.shape(), result, i)); });
  return d.finish();
}

Expr from_start(Expr index, Expr extent) { return select(index < Expr(0), index + extent, index); }

Expr padded_position(const std::string& mode, Expr at, const Expr& extent, bool once) {
  Expr last = extent - Expr(1);
  if (mode == "edge") return max(min(at, last), Expr(0));
  if (mode == "wrap") return floor_mod(at, extent);
  if (mode == "symmetric") {
    const Expr twice = extent * Expr(2), in_period = floor_mod(at, twice);
    return min(in_period, twice - Expr(1) - in_period);
  }
  if (tensor::constant_integer(extent) == 1) return Expr(0);
  Expr period = last * Expr(2);
  at = once ? max(at, Expr(0) - at) : floor_mod(at, period);
  return min(at, period - at);
}

}  // namespace dlcc::relay

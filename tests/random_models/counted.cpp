// Operators whose results have as many elements as data decide. The data are inputs of the graph, whose elements the
// generator knows.
#include <algorithm>
#include <set>

#include "graph.h"

namespace dlcc::random_models {
namespace {

bool add_non_zero(Graph& g) {
  auto x = g.any([&](const Value& v) { return g.data_of(v) && v.rank() > 0 && v.count() > 0; });
  if (!x) return false;
  const Constant& data = *g.data_of(*x);
  int64_t count = 0;
  for (int64_t k = 0; k < data.count(); ++k) count += data.number_at(k) != 0;
  Value r{"", dtype::i64, {{x->rank(), ""}, g.counted(count)}, 1, 1};
  for (int64_t n : data.shape()) r.bound = std::max(r.bound, static_cast<double>(n));
  g.add("NonZero", {*x}, r);
  return true;
}

// Of slices along an axis, or of all elements; the condition may be shorter than the axis.
bool add_compress(Graph& g) {
  auto x =
      g.any([](const Value& v) { return v.rank() > 0 && !v.is_symbolic() && v.count() > 0 && v.type != dtype::bf16; });
  if (!x) return false;
  const bool flat = g.chance(30);
  const auto axis = static_cast<size_t>(g.draw(static_cast<int>(x->rank())));
  const int64_t most = flat ? x->count() : x->shape[axis].number, length = std::max<int64_t>(1, most - g.draw(3));
  const Value condition = g.input(dtype::boolean, {{length, ""}});
  int64_t count = 0;
  for (int64_t k = 0; k < length; ++k) count += g.data_of(condition)->integer_at(k);
  Value r = x->renamed("");
  if (flat)
    r.shape = {g.counted(count)};
  else
    r.shape[axis] = g.counted(count);
  Node node = g.add("Compress", {*x, condition}, r);
  if (!flat) node.integer("axis", static_cast<int64_t>(axis) - (g.chance(30) ? x->rank() : 0));
  return true;
}

// The number of different slices along an axis.
int64_t distinct_slices(const Constant& data, size_t axis) {
  int64_t inner = 1;
  for (size_t k = axis + 1; k < data.shape().size(); ++k) inner *= data.shape()[k];
  const int64_t n = data.shape()[axis];
  std::set<std::vector<double>> slices;
  for (int64_t s = 0; s < n; ++s) {
    std::vector<double> slice;
    for (int64_t k = 0; k < data.count(); ++k)
      if (k / inner % n == s) slice.push_back(data.number_at(k));
    slices.insert(slice);
  }
  return static_cast<int64_t>(slices.size());
}

bool add_unique(Graph& g) {
  auto x = g.any([&](const Value& v) {
    return g.data_of(v) && v.rank() > 0 && v.count() > 0 && !is_bool(v.type) && v.type != dtype::bf16 &&
           !v.is_symbolic();
  });
  if (!x) return false;
  const bool flat = g.chance(60);
  const auto axis = flat ? size_t{0} : static_cast<size_t>(g.draw(static_cast<int>(x->rank())));
  const Constant& data = *g.data_of(*x);
  const Size count = g.counted(distinct_slices(flat ? data.reshaped({data.count()}) : data, axis));
  const int64_t n = flat ? x->count() : x->shape[axis].number;
  Value values = x->renamed("");
  if (flat)
    values.shape = {count};
  else
    values.shape[axis] = count;
  const Value of_count{"", dtype::i64, {count}, static_cast<double>(n), 1},
      of_all{"", dtype::i64, {{n, ""}}, static_cast<double>(n), 1};
  Node node = g.add("Unique", {*x}, {values, of_count, of_all, of_count});
  node.integer("sorted", g.draw(2));
  if (!flat) node.integer("axis", static_cast<int64_t>(axis));
  return true;
}

}  // namespace

const std::vector<Operator>& counted_operators() {
  static const std::vector<Operator> rows = {add_non_zero, add_compress, add_unique};
  return rows;
}

}  // namespace dlcc::random_models

#include "relay/ops_common.h"

#include <algorithm>

namespace dlcc::relay {

// ---- errors and element types

TypeError shape_error(std::string message, std::string help) {
  return {DiagnosticId::shape_mismatch, std::move(message), std::move(help)};
}

TypeError attribute_error(std::string message, std::string help) {
  return {DiagnosticId::bad_attribute, std::move(message), std::move(help)};
}

Failure first_of(std::initializer_list<Failure> failures) {
  for (const Failure& f : failures)
    if (f) return f;
  return std::nullopt;
}

namespace types {
const TypeClass movable{"a type of at least 8 bits", [](DType t) { return bits(t) >= 8; }};
const TypeClass ordinary{"bool, an integer or a float of at least 16 bits",
                         [](DType t) { return is_float(t) ? bits(t) >= 16 : bits(t) >= 8; }};
const TypeClass number{"an integer or a float of at least 16 bits",
                       [](DType t) { return !is_bool(t) && ordinary.contains(t); }};
const TypeClass real{"float16, bfloat16, float32 or float64", [](DType t) { return is_float(t) && bits(t) >= 16; }};
const TypeClass integer{"an integer of 8 to 64 bits", [](DType t) { return is_integer(t) && bits(t) >= 8; }};
const TypeClass boolean{"bool", is_bool};
const TypeClass index{"a signed integer, or an unsigned one of up to 32 bits",
                      [](DType t) { return integer.contains(t) && t != dtype::u64; }};
}  // namespace types

Failure check_type(const TensorType& type, const char* what, const TypeClass& expected) {
  if (expected.contains(type.dtype)) return std::nullopt;
  return TypeError{DiagnosticId::unsupported_type,
                   fmt::format("{} must be {}, found {}", what, expected.text, name(type.dtype)),
                   "convert it with cast"};
}

Failure check_same_type(const TensorType& a, const char* what_a, const TensorType& b, const char* what_b) {
  if (a.dtype == b.dtype) return std::nullopt;
  return TypeError{DiagnosticId::type_mismatch,
                   fmt::format("{} and {} must have one element type, found {} and {}", what_a, what_b, name(a.dtype),
                               name(b.dtype)),
                   "convert one of them with cast"};
}

Failure check_rank(const TensorType& type, const char* what, int rank) {
  int found = static_cast<int>(type.shape.size());
  if (found == rank) return std::nullopt;
  return shape_error(fmt::format("{} must have {} dimension{}, found {}", what, rank, rank == 1 ? "" : "s", found));
}

Failure check_equal(const Dim& a, const std::string& what_a, const Dim& b, const std::string& what_b) {
  if (a == b) return std::nullopt;
  bool symbolic = !a.is_constant() || !b.is_constant();
  return shape_error(
      fmt::format("{} must equal {}, found {} and {}", what_a, what_b, a.str(), b.str()),
      symbolic ? "the two sizes cannot be proved equal; name them with the same symbol or check with match_cast" : "");
}

Failure check_positive(const char* attribute, const std::vector<int64_t>& values) {
  for (int64_t v : values)
    if (v < 1) return attribute_error(fmt::format("{} must be at least 1, found {}", attribute, v));
  return std::nullopt;
}

Failure check_layout(const char* attribute, const std::string& found, const std::string& expected) {
  if (found == expected) return std::nullopt;
  return TypeError{DiagnosticId::unsupported_attribute,
                   fmt::format("{} must be \"{}\", found \"{}\"", attribute, expected, found),
                   "transpose the operand; dlcc chooses how tensors are stored by itself"};
}

Failure check_pad_mode(const std::string& mode) {
  for (const char* known : {"constant", "edge", "reflect", "wrap"})
    if (mode == known) return std::nullopt;
  return attribute_error(
      fmt::format("pad_mode must be \"constant\", \"edge\", \"reflect\" or \"wrap\", found \"{}\"", mode));
}

TypeResult tensor_result(Shape shape, DType type) {
  for (const Dim& d : shape)
    if (d.is_constant() && d.value() < 0)
      return shape_error(fmt::format("the result would have shape {}, with a negative size", str(shape)));
  bool overflow = std::ranges::any_of(shape, [](const Dim& d) { return d.is_overflow(); });
  if (overflow || (product(shape) * Dim(bits(type))).is_overflow())
    return TypeError{DiagnosticId::too_large,
                     fmt::format("the size of a result of shape {} does not fit 63 bits", str(shape)), ""};
  return tensor_type(std::move(shape), type);
}

const Shape& shape_in(const TypeResult& result) {
  const Type* type = std::get_if<Type>(&result);
  DLCC_CHECK(type && as<TensorType>(*type), "not the type of a tensor");
  return as<TensorType>(*type)->shape;
}

// ---- axes

Failure check_axis(const char* attribute, int64_t axis, int rank) {
  if (-rank <= axis && axis < rank) return std::nullopt;
  if (rank == 0) return attribute_error(fmt::format("{} is {}, but a scalar has no axes", attribute, axis));
  return attribute_error(fmt::format("{} must be in [{}, {}], found {}", attribute, -rank, rank - 1, axis));
}

int wrap_axis(int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

Failure check_axes(const char* attribute, const std::vector<int64_t>& axes, int rank) {
  std::vector<bool> seen(rank, false);
  for (int64_t axis : axes) {
    if (auto e = check_axis(attribute, axis, rank)) return e;
    int k = wrap_axis(axis, rank);
    if (seen[k]) return attribute_error(fmt::format("{} names axis {} twice", attribute, k));
    seen[k] = true;
  }
  return std::nullopt;
}

std::vector<bool> axis_mask(const std::vector<int64_t>& axes, int rank) {
  std::vector<bool> mask(rank, false);
  for (int64_t axis : axes) mask[wrap_axis(axis, rank)] = true;
  return mask;
}

std::vector<bool> reduced_axes(const std::optional<std::vector<int64_t>>& axes, bool exclude, int rank) {
  std::vector<bool> mask(rank, true);
  if (axes) mask = axis_mask(*axes, rank);
  if (axes && exclude) mask.flip();
  return mask;
}

Shape reduced_shape(const Shape& shape, const std::vector<bool>& reduced, bool keepdims) {
  Shape result;
  for (size_t k = 0; k < shape.size(); ++k)
    if (!reduced[k] || keepdims) result.push_back(reduced[k] ? Dim(1) : shape[k]);
  return result;
}

Shape extents_of(const Shape& shape, const std::vector<bool>& marked) {
  Shape result;
  for (size_t k = 0; k < shape.size(); ++k)
    if (marked[k]) result.push_back(shape[k]);
  return result;
}

std::vector<Expr> merge_index(const std::vector<bool>& reduced, bool keepdims, Index kept, Index folded) {
  std::vector<Expr> index;
  size_t next_kept = 0, next_folded = 0;
  for (bool fold : reduced) {
    index.push_back(fold ? folded[next_folded++] : kept[next_kept]);
    if (!fold || keepdims) ++next_kept;
  }
  return index;
}

// ---- broadcasting

Checked<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  size_t lead = longer.size() - shorter.size();
  Shape result = longer;
  for (size_t k = 0; k < shorter.size(); ++k) {
    Dim& d = result[lead + k];
    if (d == shorter[k] || shorter[k] == Dim(1)) continue;
    if (d == Dim(1)) {
      d = shorter[k];
      continue;
    }
    bool symbolic = !d.is_constant() || !shorter[k].is_constant();
    return shape_error(fmt::format("shapes {} and {} cannot be broadcast: sizes {} and {} differ and neither is 1",
                                   str(a), str(b), d.str(), shorter[k].str()),
                       symbolic ? "give both dimensions the same symbol, or check one with match_cast"
                                : "shapes are aligned at their last dimensions; reshape or expand_dims one of them");
  }
  return result;
}

Failure check_broadcasts_to(const Shape& from, const Shape& to) {
  bool fits = from.size() <= to.size();
  for (size_t k = 0; fits && k < from.size(); ++k) {
    const Dim& target = to[to.size() - from.size() + k];
    fits = from[k] == target || from[k] == Dim(1);
  }
  if (fits) return std::nullopt;
  return shape_error(fmt::format("shape {} cannot be broadcast to {}", str(from), str(to)),
                     "aligned at the last dimension, each size must be equal or 1");
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
  for (size_t k = 0; k < operand.size(); ++k)
    index.push_back(operand[k] == result[lead + k] ? result_index[lead + k] : Expr(0));
  return index;
}

// ---- elements

Expr stored(const Tensor& tensor, std::vector<Expr> index) { return tensor::load(tensor.buffer(), std::move(index)); }

Expr integer_at(const Tensor& list, int64_t k) { return cast(dtype::i64, list(Expr(k))); }

Expr scalar(const Tensor& tensor) { return tensor(std::vector<Expr>{}); }

Expr number(DType type, double value) { return tensor::literal(type, value); }

Expr size_as(DType type, const Shape& shape) {
  Dim count = product(shape);
  return count.is_constant() ? tensor::literal(type, count.value()) : cast(type, Expr(count));
}

Expr not_equal(Expr a, Expr b) { return tensor::binary(tensor::BinaryOp::ne, std::move(a), std::move(b)); }

Expr all_of(const std::vector<Expr>& conditions) {
  Expr all = tensor::literal(dtype::boolean, int64_t{1});
  for (const Expr& c : conditions) all = logical_and(all, c);
  return all;
}

Expr any_of(const std::vector<Expr>& conditions) {
  Expr any = tensor::literal(dtype::boolean, int64_t{0});
  for (const Expr& c : conditions) any = logical_or(any, c);
  return any;
}

// ---- index maps

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

// Runs [from_begin, from_end) and [to_begin, to_end) of dimensions with equal products.
struct Run {
  size_t from_begin, from_end, to_begin, to_end;
};

// The shortest such run that starts at the given dimensions; where sizes cannot be compared, all but what is equal at
// the end.
Run run_at(const Shape& from, const Shape& to, size_t f, size_t t) {
  Run run{f, std::min(f + 1, from.size()), t, std::min(t + 1, to.size())};
  auto product_of = [](const Shape& s, size_t begin, size_t end) {
    return product(Shape(s.begin() + static_cast<ptrdiff_t>(begin), s.begin() + static_cast<ptrdiff_t>(end)));
  };
  while (true) {
    Dim a = product_of(from, run.from_begin, run.from_end), b = product_of(to, run.to_begin, run.to_end);
    if (a == b) return run;
    bool comparable = a.is_constant() && b.is_constant();
    if (comparable && a.value() < b.value() && run.from_end < from.size())
      ++run.from_end;
    else if (comparable && a.value() > b.value() && run.to_end < to.size())
      ++run.to_end;
    else
      break;
  }
  run.from_end = from.size();
  run.to_end = to.size();
  while (run.from_end > f + 1 && run.to_end > t + 1 && from[run.from_end - 1] == to[run.to_end - 1]) {
    --run.from_end;
    --run.to_end;
  }
  return run;
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
    Run run = run_at(from, to, f, t);
    auto part = [](const auto& list, size_t begin, size_t end) {
      return std::decay_t<decltype(list)>(list.begin() + static_cast<ptrdiff_t>(begin),
                                          list.begin() + static_cast<ptrdiff_t>(end));
    };
    Expr position = flatten_index(part(to, run.to_begin, run.to_end), part(to_index, run.to_begin, run.to_end));
    std::vector<Expr> mapped = unflatten_index(part(from, run.from_begin, run.from_end), position);
    std::ranges::copy(mapped, index.begin() + static_cast<ptrdiff_t>(run.from_begin));
    f = run.from_end;
    t = run.to_end;
  }
}

TensorFunction define_view(const char* name, const TensorType& data, const Shape& result) {
  Definition d(name);
  Tensor x = d.input("data", data.dtype, data.shape);
  d.result("result", x.type(), result, [&](Index i) { return stored(x, reshape_index(x.shape(), result, i)); });
  return d.finish();
}

Expr padded_position(const std::string& mode, Expr at, const Dim& extent, bool once) {
  Expr last = Expr(extent) - Expr(1);
  if (mode == "edge") return max(min(at, last), Expr(0));
  if (mode == "wrap") return floor_mod(at, Expr(extent));
  if (extent == Dim(1)) return Expr(0);
  Expr period = last * Expr(2);
  at = once ? max(at, Expr(0) - at) : floor_mod(at, period);
  return min(at, period - at);
}

// ---- reductions

DType mean_type(DType type) {
  if (is_integer(type)) return is_signed(type) ? dtype::i64 : dtype::u64;
  return tensor::compute_type(type);
}

void define_reduction(Definition& d, const Tensor& x, const std::vector<bool>& folded, bool keepdims,
                      const tensor::Reducer& reducer, bool divide) {
  Shape shape = reduced_shape(x.shape(), folded, keepdims), extents = extents_of(x.shape(), folded);
  if (extents.empty()) {
    d.result("result", x.type(), shape, [&](Index i) { return stored(x, i); });
    return;
  }
  DType inner = reducer.left[0]->type;
  auto element = [&](Index i, Index r) { return cast(inner, x(merge_index(folded, keepdims, i, r))); };
  if (!divide) {
    d.reduce_result("result", x.type(), shape, reducer, extents, element);
    return;
  }
  Tensor total = d.reduce("total", shape, reducer, extents, element);
  d.result("result", x.type(), shape, [&](Index i) { return total(i) / size_as(inner, extents); });
}

// ---- operands that decide a shape

Failure check_list_operand(const TensorType& type, const char* what) {
  if (auto e = first_of({check_type(type, what, types::index), check_rank(type, what, 1)})) return e;
  if (type.shape[0].is_constant()) return std::nullopt;
  return TypeError{DiagnosticId::dynamic_shape, fmt::format("the length of {} must be known at compile time", what),
                   ""};
}

std::vector<Expr> marked_axes(const Tensor& axes, int rank) {
  std::vector<Expr> marked;
  for (int k = 0; k < rank; ++k) {
    std::vector<Expr> named;
    for (int64_t j = 0; j < axes.extent(0).value(); ++j) {
      Expr axis = integer_at(axes, j);
      named.push_back(logical_or(equal(axis, Expr(k)), equal(axis, Expr(k - rank))));
    }
    marked.push_back(any_of(named));
  }
  return marked;
}

Expr drops_to(const std::vector<Expr>& marked, const Shape& data, const Shape& result) {
  std::vector<Expr> conditions;
  Expr position(0);  // in the result, of the next axis that stays
  for (size_t k = 0; k < data.size(); ++k) {
    std::vector<Expr> places;  // where in the result this axis may stand
    for (size_t p = 0; p < result.size(); ++p)
      if (data[k] == result[p]) places.push_back(equal(position, Expr(static_cast<int64_t>(p))));
    Expr droppable = tensor::literal(dtype::boolean, int64_t{data[k] == Dim(1)});
    conditions.push_back(select(marked[k], droppable, any_of(places)));
    position = position + cast(dtype::i64, logical_not(marked[k]));
  }
  conditions.push_back(equal(position, Expr(static_cast<int64_t>(result.size()))));
  return all_of(conditions);
}

Expr axes_valid(const Tensor& axes, const std::vector<Expr>& marked) {
  // As many different axes are marked as there are elements.
  Expr count(0);
  for (const Expr& m : marked) count = count + cast(dtype::i64, m);
  return equal(count, Expr(axes.extent(0)));
}

}  // namespace dlcc::relay

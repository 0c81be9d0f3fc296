// unique_slices: the distinct slices along an axis. unique: the distinct elements of a vector, as TVM has it.
#include "relay/op_support/composition.h"
#include "relay/op_support/sorting.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct SlicesAttrs {
  int64_t axis = 0;
  bool sorted = true;
};
struct UniqueAttrs {
  bool sorted = true, return_counts = false;
};

TypeResult type_of_slices(const SlicesAttrs& a, const Operands& in) {
  const int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of({check_type(in[0], "data", types::ordinary), check_axis("axis", a.axis, rank)})) return *e;
  const Dim& n = in[0].shape[static_cast<size_t>(wrap_axis(a.axis, rank))];
  const Type positions = tensor_type(Shape{n}, dtype::i64);
  return tuple_type({positions, positions, positions, tensor_type(Shape{Dim(1)}, dtype::i64)});
}

// Slices are sorted element by element from the last to the first, each time in a stable order. Equal slices are
// neighbours then, the first occurrence in front: a *group*.
class Groups {
 public:
  Groups(Definition& d, const Tensor& x, int axis) : x_(x), axis_(static_cast<size_t>(axis)), n_(x.extent(axis)) {
    others_ = x.shape();
    others_.erase(others_.begin() + axis);
    order_ = d.declare("order", dtype::i64, {n_});
    scratch_ = d.declare("scratch", dtype::i64, {n_});
  }

  std::vector<Tensor> temporaries() const { return {order_, scratch_}; }

  void sort(Statements& s) const {
    store_positions(s, order_, {}, n_);
    s.loops(others_, [&](Index i) {
      std::vector<Expr> element;
      for (size_t k = 0; k < others_.size(); ++k) element.push_back(Expr(others_[k]) - Expr(1) - i[k]);
      merge_sort(s, order_, scratch_, {}, Expr(n_), n_,
                 [&](const Expr& a, const Expr& b) { return is_before(value(a, element), value(b, element), true); });
    });
  }

  // Calls `visit` in sorted order with the position of each slice and whether it begins a group.
  void visit(Statements& s, const std::function<void(Expr position, Expr begins)>& visit) const {
    s.loop("k", Expr(n_), [&](const Expr& k) {
      const Expr position = s.let("position", order_(k)),
                 previous = s.let("previous", order_(max(k - Expr(1), Expr(0))));
      const Tensor differs = s.local("differs", dtype::boolean);
      s.store(differs, {}, equal(k, Expr(0)));
      s.loops(others_, [&](Index i) {
        const Expr a = value(previous, i), b = value(position, i);
        s.store(differs, {}, logical_or(scalar(differs), logical_not(are_equal(a, b))));
      });
      visit(position, s.let("begins", scalar(differs)));
    });
  }

 private:
  Expr value(const Expr& position, std::vector<Expr> element) const {
    element.insert(element.begin() + static_cast<std::ptrdiff_t>(axis_), position);
    const Expr e = x_(element);
    return is_bool(e.type()) ? cast(dtype::i32, e) : e;
  }
  static Expr are_equal(const Expr& a, const Expr& b) {  // two NaN are equal, as in numpy
    if (!is_float(a.type())) return equal(a, b);
    return logical_or(equal(a, b), logical_and(not_equal(a, a), not_equal(b, b)));
  }

  const Tensor& x_;
  size_t axis_;
  Dim n_;
  Shape others_;
  Tensor order_, scratch_;
};

TensorFunction define_slices(const SlicesAttrs& a, const Operands& in) {
  Definition d("unique_slices");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  const int axis = wrap_axis(a.axis, x.rank());
  const Dim& n = x.extent(axis);
  auto vector = [&](const char* name) { return d.declare(name, dtype::i64, {n}); };
  Tensor first = vector("first"), inverse = vector("inverse"), counts = vector("counts");
  Tensor count = d.declare("count", dtype::i64, {1});
  // The group of each slice, and where groups begin, in sorted order.
  Tensor group = vector("group"), begin = vector("begin"), number = vector("number");
  const Groups groups(d, x, axis);
  Statements s;
  groups.sort(s);
  Tensor next = s.local("next", dtype::i64);
  s.store(next, {}, Expr(0));
  groups.visit(s, [&](const Expr& position, const Expr& begins) {
    s.if_then(begins, [&] {
      s.store(begin, {scalar(next)}, position);
      s.store(next, {}, scalar(next) + Expr(1));
    });
    s.store(group, {position}, scalar(next) - Expr(1));
  });
  s.store(count, {Expr(0)}, scalar(next));
  // The number of each group in the result: in sorted order, or in the order of first occurrences.
  s.store(next, {}, Expr(0));
  s.loop("p", Expr(n), [&](const Expr& p) {
    const Expr g = s.let("g", group(p));
    s.if_then(equal(begin(g), p), [&] {
      const Expr own = s.let("own", a.sorted ? g : scalar(next));
      s.store(number, {g}, own);
      s.store(first, {own}, p);
      s.store(counts, {own}, Expr(0));
      s.store(next, {}, scalar(next) + Expr(1));
    });
    const Expr own = s.let("own", number(g));
    s.store(inverse, {p}, own);
    s.store(counts, {own}, counts(own) + Expr(1));
  });
  std::vector<Tensor> written = {first, inverse, counts, count, group, begin, number};
  for (const Tensor& t : groups.temporaries()) written.push_back(t);
  d.body(written, s.finish());
  for (const Tensor& t : {first, inverse, counts, count}) d.mark_result(t);
  return d.finish();
}

// In TVM, too, elements of the results from the count on are unspecified.
std::vector<Value> unique_elements(const UniqueAttrs& a, Composition& c) {
  const Value x = c.operand(0);
  c.require(check_rank(x.type, "data", 1));
  const std::vector<Value> slices = c.call_all("unique_slices", {x}, {{"sorted", a.sorted}});
  auto as_int32 = [&](size_t k) { return c.cast(slices[k], dtype::i32); };
  const Value first = slices[0];
  std::vector<Value> results = {c.call("take", {x, first}, {{"mode", "clip"}}), as_int32(0), as_int32(1), as_int32(3)};
  if (a.return_counts) results.push_back(as_int32(2));
  return results;
}

}  // namespace

void unique(OperatorTable& table) {
  table.add<SlicesAttrs>({
      .name = "unique_slices",
      .summary =
          "the distinct slices along an axis: the positions of their first occurrences, the number of each slice "
          "among them, how often each occurs, and their count, from which on elements are unspecified",
      .attributes = {{"axis", &SlicesAttrs::axis, "the axis of the slices"},
                     {"sorted", &SlicesAttrs::sorted,
                      "in ascending order of the slices; else in the order of first occurrences"}},
      .arguments = {"data"},
      .type = type_of_slices,
      .compute = define_slices,
  });
  using U = UniqueAttrs;
  table.add(composed<U>(
      {.name = "unique",
       .summary = "the distinct elements of a vector, the positions of their first occurrences, the number of each "
                  "element among them, and their count, from which on elements are unspecified",
       .attributes = {{"sorted", &U::sorted, "in ascending order; else in the order of first occurrences"},
                      {"return_counts", &U::return_counts, "one more result: how often each occurs"}},
       .arguments = {"data"},
       .sample_shapes = {{4}}},
      unique_elements));
}

}  // namespace dlcc::relay::ops

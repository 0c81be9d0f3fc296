// topk: the largest or smallest elements of an axis in sorted order, and their positions.
#include "relay/op_support/gradients.h"
#include "relay/op_support/shape_operands.h"
#include "relay/op_support/sorting.h"

namespace dlcc::relay::ops {

namespace {

struct TopkAttrs {
  std::vector<Dim> k = {1};
  int64_t axis = -1;
  bool is_ascend = false;
  std::string ret_type = "both";
  DType dtype = dtype::i32;
  bool all_below_1 = true;

  bool gives_values() const { return ret_type != "indices"; }
  bool gives_positions() const { return ret_type != "values"; }
};

// The number k: an attribute, or an operand that is a scalar or a list of one number. Empty if it is not known.
Checked<std::optional<Dim>> count_of(const TopkAttrs& a, const Operands& in) {
  if (in.size() > 1 && in[1].shape.empty()) {
    if (auto e = check_type(in[1], "k", types::index)) return *e;
    return in[1].value ? in[1].value->elements.at(0) : std::nullopt;
  }
  Checked<PartialList> k = list_value(in, 1, a.k, "k");
  if (auto* e = std::get_if<TypeError>(&k)) return *e;
  const PartialList& list = std::get<PartialList>(k);
  if (list.size() != 1) return shape_error(fmt::format("k must be one number, found {}", list.size()));
  return list[0];
}

TypeResult type_of_topk(const TopkAttrs& a, const Operands& in) {
  const int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of({check_type(in[0], "data", types::number), check_axis("axis", a.axis, rank)})) return *e;
  if (a.dtype != dtype::i32 && a.dtype != dtype::i64)
    return attribute_error(fmt::format("dtype must be \"int32\" or \"int64\", found \"{}\"", name(a.dtype)));
  if (a.ret_type != "both" && a.ret_type != "values" && a.ret_type != "indices")
    return attribute_error(
        fmt::format("ret_type must be \"both\", \"values\" or \"indices\", found \"{}\"", a.ret_type));
  const Checked<std::optional<Dim>> k = count_of(a, in);
  if (auto* e = std::get_if<TypeError>(&k)) return *e;
  Shape shape = in[0].shape;
  Dim& extent = shape[static_cast<size_t>(wrap_axis(a.axis, rank))];
  const Dim count = std::get<std::optional<Dim>>(k).value_or(unknown_dim());
  const bool selects_all = a.all_below_1 && provably_lt(count, 1);
  if (provably_lt(count, 0) && !selects_all) return shape_error(fmt::format("k is {}", count.str()));
  if (provably_lt(extent, count))
    return shape_error(fmt::format("k is {}, the axis has {} elements", count.str(), extent.str()));
  if (!selects_all) extent = count;
  TypeResult positions = tensor_result(shape, a.dtype), values = tensor_result(shape, in[0].dtype);
  if (std::get_if<TypeError>(&values) || !a.gives_positions()) return values;
  if (!a.gives_values()) return positions;
  return tuple_type({std::get<Type>(values), std::get<Type>(positions)});
}

// The index of an element of the data or of the results: a position along the axis, at fixed indices of the other axes.
using IndexAt = std::function<std::vector<Expr>(Expr position)>;

// Keeps the best elements so far in a heap in the results, and sorts it in the end (Knuth, "The Art of Computer
// Programming", volume 3, section 5.2.3). Entry i has the children 2 i + 1 and 2 i + 2, which are sorted before it:
// entry 0 is the worst.
class Heap {
 public:
  Heap(Statements& s, const Tensor& values, const Tensor& positions, IndexAt index_at, const Dim& k, bool ascending)
      : s_(s), values_(values), positions_(positions), index_at_(std::move(index_at)), k_(k), ascending_(ascending) {
    while ((int64_t{2} << levels_) <= k.constant().value_or(tensor::max_elements)) ++levels_;
  }

  void select(const Tensor& x, const Dim& n) {
    s_.loop("j", Expr(k_), [&](const Expr& j) { store(j, {x(index_at_(j)), j}); });
    const Expr parents = floor_div(Expr(k_), Expr(2));
    s_.loop("parent", parents, [&](const Expr& p) {
      const Expr at = s_.let("at", parents - Expr(1) - p);
      sift_down(at, entry(at), Expr(k_));
    });
    s_.loop("j", Expr(n) - Expr(k_), [&](const Expr& rest) {
      const Expr j = s_.let("j", Expr(k_) + rest), value = s_.let("value", x(index_at_(j)));
      s_.if_then(is_before(value, values_(index_at_(Expr(0))), ascending_), [&] {
        sift_down(Expr(0), {value, cast(positions_.type(), j)}, Expr(k_));
      });
    });
  }

  void sort() {
    s_.loop("sorted", Expr(k_) - Expr(1), [&](const Expr& sorted) {
      const Expr last = s_.let("last", Expr(k_) - Expr(1) - sorted);
      const Entry moved = entry(last);
      store(last, entry(Expr(0)));
      sift_down(Expr(0), moved, last);
    });
  }

 private:
  struct Entry {
    Expr value, position;
  };

  Entry entry(const Expr& at) {
    return {s_.let("value", values_(index_at_(at))), s_.let("position", positions_(index_at_(at)))};
  }
  void store(const Expr& at, const Entry& e) {
    s_.store(values_, index_at_(at), e.value);
    s_.store(positions_, index_at_(at), e.position);
  }

  // Whether `a` is sorted after `b`: of equal values, the first one of the axis comes first.
  Expr is_after(const Entry& a, const Entry& b) const {
    return logical_or(is_before(b.value, a.value, ascending_),
                      logical_and(logical_not(is_before(a.value, b.value, ascending_)), a.position > b.position));
  }

  // Stores the entry at `from` or below it, in a heap of `count` entries. Entries that are sorted after it move up.
  void sift_down(const Expr& from, const Entry& moved, const Expr& count) {
    const Tensor hole = s_.local("hole", dtype::i64);
    s_.store(hole, {}, from);
    s_.loop("level", Expr(levels_), [&](const Expr&) {
      const Expr at = s_.let("at", scalar(hole)), left = s_.let("left", at * Expr(2) + Expr(1));
      s_.if_then(left < count, [&] {
        const Expr right = s_.let("right", min(left + Expr(1), count - Expr(1)));
        const Entry a = entry(left), b = entry(right);
        const Expr takes_right = s_.let("takes_right", is_after(b, a));
        const Entry child = {s_.let("value", tensor::select(takes_right, b.value, a.value)),
                             s_.let("position", tensor::select(takes_right, b.position, a.position))};
        s_.if_then(is_after(child, moved), [&] {
          store(at, child);
          s_.store(hole, {}, tensor::select(takes_right, right, left));
        });
      });
    });
    store(s_.let("free", scalar(hole)), moved);
  }

  Statements& s_;
  const Tensor &values_, &positions_;
  const IndexAt index_at_;
  const Dim k_;
  const bool ascending_;
  int64_t levels_ = 0;  // below entry 0, or a bound if k is symbolic
};

TensorFunction define_topk(const TopkAttrs& a, const Operands& in, const Shape& shape) {
  Definition d("topk");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  const size_t axis = static_cast<size_t>(wrap_axis(a.axis, x.rank()));
  const Dim &n = x.extent(static_cast<int>(axis)), &k = shape[axis];
  Statements s;
  if (in.size() > 1) {
    const Tensor number = d.input("k", in[1].dtype, in[1].shape);
    const Expr count = number.rank() == 0 ? cast(dtype::i64, scalar(number)) : integer_at(number, 0);
    const Expr selected = a.all_below_1 ? select(count < Expr(1), Expr(n), count) : count;
    s.require(equal(selected, Expr(k)), tensor::Status::shape_mismatch);
  }
  if (!provably_le(k, n)) s.require(Expr(k) <= Expr(n), tensor::Status::shape_mismatch);
  Tensor values = d.declare("values", x.type(), shape), positions = d.declare("indices", a.dtype, shape);
  Shape rows = x.shape();
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(axis));
  s.loops(
      rows,
      [&](Index row) {
        const IndexAt index_at = [row = std::vector<Expr>(row), axis](Expr position) {
          std::vector<Expr> index = row;
          index.insert(index.begin() + static_cast<std::ptrdiff_t>(axis), std::move(position));
          return index;
        };
        if (k == Dim(0)) return;
        s.if_then(Expr(k) > Expr(0), [&] {
          Heap heap(s, values, positions, index_at, k, a.is_ascend);
          heap.select(x, n);
          heap.sort();
        });
      },
      tensor::LoopKind::parallel);
  tensor::Stmt body = s.finish();
  d.body({values, positions}, body ? body : tensor::make_stmt(tensor::Sequence{}));
  if (a.gives_values()) d.mark_result(values);
  if (a.gives_positions()) d.mark_result(positions);
  return d.finish();
}

}  // namespace

void topk(OperatorTable& table) {
  table.add<TopkAttrs>({
      .name = "topk",
      .summary = "the k largest elements of an axis in descending order, and their positions; of equal ones the first "
                 "comes first, NaN counts as the largest",
      .attributes = {{"k", &TopkAttrs::k, "the number of elements, as a list of one number"},
                     {"axis", &TopkAttrs::axis, "the axis to select from"},
                     {"is_ascend", &TopkAttrs::is_ascend, "the smallest in ascending order instead"},
                     {"ret_type", &TopkAttrs::ret_type, "the results: \"both\", \"values\" or \"indices\""},
                     {"dtype", &TopkAttrs::dtype, "element type of the positions: int32 or int64"},
                     {"all_below_1", &TopkAttrs::all_below_1,
                      "a number k below 1 selects the whole axis, as in TVM; else k=0 selects nothing"}},
      .arguments = {"data"},
      .values = {"k"},
      .type = type_of_topk,
      .compute_as = define_topk,
      .gradient =
          [](const TopkAttrs& a, CallGradient& g) {
            Attrs attrs = g.attrs();
            attrs["ret_type"] = "both";
            const Term positions =
                g.result_count() == 2 ? g.result(1) : g.code().call_all(g.op(), g.all_operands(), attrs).at(1);
            g.add(0, sum_at_positions(g.operands()[0].type, positions, g.gradient(), a.axis));
          },
  });
}

}  // namespace dlcc::relay::ops

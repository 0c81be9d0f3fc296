// topk: the largest or smallest elements of an axis in sorted order, and their positions.
#include "relay/op_support/shape_operands.h"
#include "relay/op_support/sorting.h"

namespace dlcc::relay::ops {

namespace {

// Up to this k, the best elements are kept in an insertion-sorted list while the axis is read once: few elements are
// inserted. For a larger k the whole axis is sorted.
constexpr int64_t most_by_insertion = 64;

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

TypeResult type_of_topk(const TopkAttrs& a, const Operands& in) {
  const int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of({check_type(in[0], "data", types::number), check_axis("axis", a.axis, rank)})) return *e;
  if (a.dtype != dtype::i32 && a.dtype != dtype::i64)
    return attribute_error(fmt::format("dtype must be \"int32\" or \"int64\", found \"{}\"", name(a.dtype)));
  if (a.ret_type != "both" && a.ret_type != "values" && a.ret_type != "indices")
    return attribute_error(
        fmt::format("ret_type must be \"both\", \"values\" or \"indices\", found \"{}\"", a.ret_type));
  Checked<PartialList> k = list_value(in, 1, a.k, "k");
  if (auto* e = std::get_if<TypeError>(&k)) return *e;
  const PartialList& list = std::get<PartialList>(k);
  if (list.size() != 1) return shape_error(fmt::format("k must be one number, found {}", list.size()));
  if (!list[0])
    return TypeError{DiagnosticId::dynamic_shape, "k is known only when the program runs",
                     "sort the whole axis, and take a slice of the result"};
  Shape shape = in[0].shape;
  Dim& extent = shape[static_cast<size_t>(wrap_axis(a.axis, rank))];
  const bool selects_all = a.all_below_1 && provably_lt(*list[0], 1);
  if (provably_lt(*list[0], 0) && !selects_all) return shape_error(fmt::format("k is {}", list[0]->str()));
  if (provably_lt(extent, *list[0]))
    return shape_error(fmt::format("k is {}, the axis has {} elements", list[0]->str(), extent.str()));
  if (!selects_all) extent = *list[0];
  TypeResult positions = tensor_result(shape, a.dtype), values = tensor_result(shape, in[0].dtype);
  if (std::get_if<TypeError>(&values) || !a.gives_positions()) return values;
  if (!a.gives_values()) return positions;
  return tuple_type({std::get<Type>(values), std::get<Type>(positions)});
}

// The index of an element of the data or of the results: a position along the axis, at fixed indices of the other axes.
using IndexAt = std::function<std::vector<Expr>(Expr position)>;

// Keeps the best elements so far sorted in the results.
void insert_all(Statements& s, const Tensor& x, const Tensor& values, const Tensor& positions, const IndexAt& index_at,
                const Dim& n, const Expr& k, bool ascending) {
  s.loop("j", Expr(n), [&](const Expr& j) {
    const Expr value = s.let("value", x(index_at(j)));
    const Expr last = s.let("last", min(j, k - Expr(1)));  // the last entry that is free or may be overwritten
    const Expr is_better = select(j < k, tensor::literal(dtype::boolean, int64_t{1}),
                                  is_before(value, values(index_at(k - Expr(1))), ascending));
    s.if_then(is_better, [&] {
      const Tensor at = s.local("at", dtype::i64);
      s.store(at, {}, last);
      s.loop("t", last, [&](const Expr& t) {
        const Expr from = s.let("from", last - Expr(1) - t);
        s.if_then(is_before(value, values(index_at(from)), ascending), [&] {
          s.store(values, index_at(from + Expr(1)), values(index_at(from)));
          s.store(positions, index_at(from + Expr(1)), positions(index_at(from)));
          s.store(at, {}, from);
        });
      });
      const Expr free = s.let("free", scalar(at));
      s.store(values, index_at(free), value);
      s.store(positions, index_at(free), j);
    });
  });
}

TensorFunction define_topk(const TopkAttrs& a, const Operands& in, const Shape& shape) {
  Definition d("topk");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  const size_t axis = static_cast<size_t>(wrap_axis(a.axis, x.rank()));
  const Dim &n = x.extent(static_cast<int>(axis)), &k = shape[axis];
  Statements s;
  if (!provably_le(k, n)) s.require(Expr(k) <= Expr(n), tensor::Status::shape_mismatch);
  Tensor values = d.declare("values", x.type(), shape), positions = d.declare("indices", a.dtype, shape);
  Shape rows = x.shape();
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(axis));
  std::vector<Tensor> written = {values, positions};
  const bool sorts = k.constant().value_or(most_by_insertion + 1) > most_by_insertion;
  Tensor order, scratch;
  if (sorts) {
    Shape of_all = rows;
    of_all.push_back(n);
    written.push_back(order = d.declare("order", dtype::i64, of_all));
    written.push_back(scratch = d.declare("scratch", dtype::i64, of_all));
  }
  s.loops(
      rows,
      [&](Index row) {
        const IndexAt index_at = [row = std::vector<Expr>(row), axis](Expr position) {
          std::vector<Expr> index = row;
          index.insert(index.begin() + static_cast<std::ptrdiff_t>(axis), std::move(position));
          return index;
        };
        if (!sorts) {
          if (!(k == Dim(0))) insert_all(s, x, values, positions, index_at, n, Expr(k), a.is_ascend);
          return;
        }
        const std::vector<Expr> own = row;
        store_positions(s, order, own, n);
        merge_sort(s, order, scratch, own, Expr(n), n, [&](const Expr& i, const Expr& j) {
          return is_before(x(index_at(i)), x(index_at(j)), a.is_ascend);
        });
        s.loop("j", Expr(k), [&](const Expr& j) {
          std::vector<Expr> at = own;
          at.push_back(j);
          const Expr from = s.let("from", order(at));
          s.store(values, index_at(j), stored(x, index_at(from)));
          s.store(positions, index_at(j), from);
        });
      },
      tensor::LoopKind::parallel);
  tensor::Stmt body = s.finish();
  d.body(written, body ? body : tensor::make_stmt(tensor::Sequence{}));
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
  });
}

}  // namespace dlcc::relay::ops

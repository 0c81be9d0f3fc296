// cumsum, cumprod: the sum or product of the elements up to each position of an axis.
#include "relay/op_support/gradients.h"
#include "relay/op_support/indices.h"
#include "relay/op_support/shape_operands.h"
#include "tensor/statements.h"

namespace dlcc::relay::ops {

namespace {

using tensor::Statements;

struct CumulativeAttrs {
  std::optional<int64_t> axis;
  std::optional<DType> dtype;
  bool exclusive = false, reverse = false;
};

struct Cumulative {
  const char* name;
  const char* summary;
  double identity;
  Expr (*combine)(Expr, Expr);
};

const Cumulative all_cumulative[] = {
    {"cumsum", "the sum of the elements up to each position of an axis", 0,
     [](Expr a, Expr b) { return std::move(a) + std::move(b); }},
    {"cumprod", "the product of the elements up to each position of an axis", 1,
     [](Expr a, Expr b) { return std::move(a) * std::move(b); }},
};

TypeResult type_of_cumulative(const CumulativeAttrs& a, const Operands& in) {
  const int rank = static_cast<int>(in[0].shape.size());
  if (auto e = check_type(in[0], "data", types::number)) return *e;
  const DType type = a.dtype.value_or(in[0].dtype);
  if (auto e = check_type({{}, type}, "dtype", types::number)) return *e;
  if (in.size() > 1) {
    if (auto e = first_of({check_type(in[1], "axis", types::index), check_rank(in[1], "axis", 0)})) return *e;
    if (rank == 0) return shape_error("data must have an axis");
    return tensor_result(in[0].shape, type);
  }
  if (!a.axis) return tensor_result({product(in[0].shape)}, type);
  if (auto e = check_axis("axis", *a.axis, rank)) return *e;
  return tensor_result(in[0].shape, type);
}

// The statements that fill `y` along axis `k` of `x`. Results are accumulated in the type of arithmetic; along the
// innermost axis in a register, along others in the result, since neighbouring sums make vectors.
class Scan {
 public:
  Scan(const Cumulative& f, const CumulativeAttrs& a, const Tensor& x, const Tensor& y) : f_(f), a_(a), x_(x), y_(y) {}

  void add_to(Statements& s, size_t k) const {
    const Shape& shape = x_.shape();
    const auto at = shape.begin() + static_cast<std::ptrdiff_t>(k);
    const Shape outer(shape.begin(), at), inner(at + 1, shape.end());
    s.loops(
        outer,
        [&](Index o) {
          if (product(inner) == Dim(1))
            innermost(s, o, inner, shape[k]);
          else
            rows(s, o, inner, shape[k]);
        },
        tensor::LoopKind::parallel);
  }

 private:
  DType type() const { return tensor::compute_type(y_.type()); }
  Expr identity() const { return tensor::literal(type(), f_.identity); }
  Expr element(const std::vector<Expr>& index) const { return cast(type(), x_(index)); }
  Expr place(const Expr& j, const Dim& n) const { return a_.reverse ? Expr(n) - Expr(1) - j : j; }
  static std::vector<Expr> joined(Index outer, const Expr& j, Index inner) {
    std::vector<Expr> index = outer;
    index.push_back(j);
    index.insert(index.end(), inner.begin(), inner.end());
    return index;
  }

  void innermost(Statements& s, Index outer, const Shape& inner, const Dim& n) const {
    const std::vector<Expr> zeros(inner.size(), Expr(0));
    const Tensor total = s.local("total", type());
    s.store(total, {}, identity());
    s.loop("j", Expr(n), [&](const Expr& j) {
      const std::vector<Expr> here = joined(outer, place(j, n), zeros);
      const Expr before = s.let("before", scalar(total));
      const Expr after = s.let("after", f_.combine(before, element(here)));
      s.store(y_, here, a_.exclusive ? before : after);
      s.store(total, {}, after);
    });
  }

  void rows(Statements& s, Index outer, const Shape& inner, const Dim& n) const {
    auto row = [&](const Expr& j, const std::function<Expr(const std::vector<Expr>& inner)>& value) {
      const Shape outside(inner.begin(), inner.end() - 1);
      s.loops(outside, [&](Index i) {
        s.loop(
            "i", Expr(inner.back()),
            [&](const Expr& last) {
              std::vector<Expr> index = i;
              index.push_back(last);
              s.store(y_, joined(outer, place(j, n), index), value(index));
            },
            tensor::LoopKind::vector);
      });
    };
    s.loop("j", Expr(n), [&](const Expr& j) {
      const Expr previous = place(j - Expr(1), n), current = place(j, n);
      s.if_then(
          equal(j, Expr(0)),
          [&] { row(j, [&](Index i) { return a_.exclusive ? identity() : element(joined(outer, current, i)); }); },
          [&] {
            row(j, [&](Index i) {
              const Expr so_far = y_(joined(outer, previous, i));
              return f_.combine(so_far, element(joined(outer, a_.exclusive ? previous : current, i)));
            });
          });
    });
  }

  const Cumulative& f_;
  const CumulativeAttrs& a_;
  const Tensor &x_, &y_;
};

// An axis that is an operand selects one of the scans.
void scan_along_operand(Statements& s, const Scan& scan, const Tensor& axis, int rank) {
  const Expr given = s.let("given", cast(dtype::i64, scalar(axis)));
  s.require(logical_and(Expr(-rank) <= given, given < Expr(rank)), tensor::Status::index_out_of_range);
  const Expr wrapped = s.let("wrapped", select(given < Expr(0), given + Expr(rank), given));
  for (int k = 0; k < rank; ++k) s.if_then(equal(wrapped, Expr(k)), [&] { scan.add_to(s, static_cast<size_t>(k)); });
}

TensorFunction define(const Cumulative& f, const CumulativeAttrs& a, const Operands& in, const Shape& result) {
  Definition d(f.name);
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  const bool flat = in.size() == 1 && !a.axis;
  const int rank = x.rank();
  Statements s;
  Tensor axis;
  if (in.size() > 1) axis = d.input("axis", in[1].dtype, in[1].shape);
  if (flat && rank != 1) {
    const Tensor original = x;
    x = d.compute("flat", x.type(), result,
                  [&](Index i) { return stored(original, unflatten_index(original.shape(), i[0])); });
  }
  Tensor y = d.declare("result", a.dtype.value_or(x.type()), result);
  const Scan scan(f, a, x, y);
  if (in.size() > 1)
    scan_along_operand(s, scan, axis, rank);
  else
    scan.add_to(s, flat ? 0 : static_cast<size_t>(wrap_axis(*a.axis, rank)));
  d.body({y}, s.finish());
  d.mark_result(y);
  return d.finish();
}

}  // namespace

void cumulative(OperatorTable& table) {
  using A = CumulativeAttrs;
  for (const Cumulative& f : all_cumulative)
    table.add<A>({
        .name = f.name,
        .summary = f.summary,
        .attributes = {{"axis", &A::axis, "the axis; the flattened data if None"},
                       {"dtype", &A::dtype, "element type of the result; that of the data if None"},
                       {"exclusive", &A::exclusive, "leave out the element at the position itself"},
                       {"reverse", &A::reverse, "begin at the end of the axis"}},
        .arguments = {"data"},
        .values = {"axis"},
        .type = type_of_cumulative,
        .compute_as = [&f](const A& a, const Operands& in, const Shape& result) { return define(f, a, in, result); },
        .gradient =
            [&f](const A& a, CallGradient& g) {
              if (f.identity != 0) g.refuse("cumprod has no rule for it");
              std::vector<Term> args = {g.gradient()};
              if (g.operand_count() > 1) args.push_back(g.operand(1));
              Attrs attrs = {{"exclusive", a.exclusive}, {"reverse", !a.reverse}};
              if (a.axis) attrs["axis"] = *a.axis;
              g.add(0, g.code().call("cumsum", args, attrs).reshaped(g.operands()[0].type.shape));
            },
    });
}

}  // namespace dlcc::relay::ops

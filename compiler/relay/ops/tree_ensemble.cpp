// tree_ensemble: walks every tree of an ensemble for each row and combines the weights of the leaves that it reaches.
#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"
#include "tensor/statements.h"

namespace dlcc::relay::ops {

using tensor::Statements;

namespace {

struct TreeEnsembleAttrs {
  int64_t n_targets = 1;
  std::string aggregate = "sum";
  bool has_missing_values = false;
};

// The columns of `nodes`. A leaf is its own child.
enum Column { feature, child_if_greater, child_if_less_equal, missing_is_less, first_weight, end_of_weights, columns };

TypeResult type_of_ensemble(const TreeEnsembleAttrs& a, const Operands& in) {
  const Operand &data = in[0], &nodes = in[1], &weights = in[6];
  if (auto e =
          first_of({check_type(data, "data", types::real), check_rank(data, "data", 2),
                    check_type(nodes, "nodes", types::index), check_rank(nodes, "nodes", 2),
                    check_same_type(data, "data", in[2], "thresholds"), check_type(weights, "weights", types::real)}))
    return *e;
  for (int k : {3, 4, 5})
    if (auto e = check_type(in[k], "roots, depths and targets", types::index)) return *e;
  for (size_t k = 2; k < in.size(); ++k)
    if (auto e = check_rank(in[k], "each table", 1)) return *e;
  if (auto e = first_of(
          {check_equal(nodes.shape[1], "columns of nodes", Dim(columns), "feature, children, missing values, weights"),
           check_equal(in[2].shape[0], "thresholds", nodes.shape[0], "nodes"),
           check_equal(in[3].shape[0], "roots", in[4].shape[0], "depths"),
           check_equal(in[5].shape[0], "targets", weights.shape[0], "weights")}))
    return *e;
  for (const Dim& size : {nodes.shape[0], weights.shape[0], data.shape[1]})
    if (!provably_le(1, size)) return shape_error("the nodes, the weights and the features must be at least 1 each");
  if (a.n_targets < 1) return attribute_error(fmt::format("n_targets must be at least 1, found {}", a.n_targets));
  if (a.aggregate != "sum" && a.aggregate != "min" && a.aggregate != "max")
    return attribute_error(fmt::format("aggregate must be \"sum\", \"min\" or \"max\", found \"{}\"", a.aggregate));
  return tensor_result({data.shape[0], Dim(a.n_targets)}, weights.dtype);
}

// The tables are not checked: an index out of range is clamped.
Expr in_range(const Expr& index, const Dim& extent) {
  return min(max(tensor::cast(dtype::i64, index), Expr(0)), Expr(extent) - Expr(1));
}

class Ensemble {
 public:
  Ensemble(Definition& d, const TreeEnsembleAttrs& a, const Operands& in) : a_(a) {
    static constexpr const char* names[] = {"data", "nodes", "thresholds", "roots", "depths", "targets", "weights"};
    for (size_t k = 0; k < in.size(); ++k) tables_.push_back(d.input(names[k], in[k].dtype, in[k].shape));
    scores_ = d.declare("scores", in[6].dtype, {in[0].shape[0], Dim(a.n_targets)});
  }

  void define(Definition& d) const {
    Statements s;
    s.loops(
        {data().extent(0)}, [&](Index i) { row(s, i[0]); }, tensor::LoopKind::parallel);
    d.body({scores_}, s.finish());
    d.mark_result(scores_);
  }

 private:
  const Tensor& data() const { return tables_[0]; }
  const Tensor& nodes() const { return tables_[1]; }
  const Tensor& thresholds() const { return tables_[2]; }
  const Tensor& roots() const { return tables_[3]; }
  const Tensor& depths() const { return tables_[4]; }
  const Tensor& targets() const { return tables_[5]; }
  const Tensor& weights() const { return tables_[6]; }

  Expr entry(const Expr& node, Column column) const {
    return tensor::cast(dtype::i64, nodes()(node, Expr(int64_t{column})));
  }

  void row(Statements& s, const Expr& row) const {
    const DType type = tensor::compute_type(scores_.type());
    const double none = a_.aggregate == "min" ? INFINITY : a_.aggregate == "max" ? -INFINITY : 0;
    s.loop("c", Expr(a_.n_targets), [&](const Expr& c) { s.store(scores_, {row, c}, number(type, none)); });
    s.loop("t", Expr(roots().extent(0)), [&](const Expr& t) {
      const Tensor node = s.local("node", dtype::i64);
      s.store(node, {}, in_range(roots()(t), nodes().extent(0)));
      s.loop("level", max(tensor::cast(dtype::i64, depths()(t)), Expr(0)),
             [&](const Expr&) { s.store(node, {}, child(s, row, s.let("parent", scalar(node)))); });
      add_weights(s, row, s.let("leaf", scalar(node)));
    });
  }

  Expr child(Statements& s, const Expr& row, const Expr& node) const {
    const Expr value = s.let("value", data()(row, in_range(entry(node, feature), data().extent(1))));
    Expr is_less = value <= thresholds()(node);
    if (a_.has_missing_values)
      is_less = logical_or(is_less, logical_and(not_equal(value, value), entry(node, missing_is_less) > Expr(0)));
    return in_range(select(is_less, entry(node, child_if_less_equal), entry(node, child_if_greater)),
                    nodes().extent(0));
  }

  void add_weights(Statements& s, const Expr& row, const Expr& leaf) const {
    const Expr first = s.let("first", entry(leaf, first_weight));
    s.loop("w", max(entry(leaf, end_of_weights) - first, Expr(0)), [&](const Expr& w) {
      const Expr at = s.let("at", in_range(first + w, weights().extent(0)));
      const Expr target = s.let("target", in_range(targets()(at), Dim(a_.n_targets)));
      const Expr score = scores_(row, target), weight = weights()(at);
      s.store(scores_, {row, target},
              a_.aggregate == "sum"   ? score + weight
              : a_.aggregate == "min" ? min(score, weight)
                                      : max(score, weight));
    });
  }

  const TreeEnsembleAttrs& a_;
  std::vector<Tensor> tables_;
  Tensor scores_;
};

}  // namespace

void tree_ensemble(OperatorTable& table) {
  using A = TreeEnsembleAttrs;
  table.add<A>({
      .name = "ml.tree_ensemble",
      .summary = "for each row the sum, minimum or maximum of the weights of the leaves that it reaches, for each "
                 "target; targets without a weight have 0 or an infinity. A row of nodes is (feature, child where the "
                 "feature is above the threshold or NaN, other child, whether NaN leads to the other child, first "
                 "weight, end of weights); a leaf is its own child",
      .attributes = {{"n_targets", &A::n_targets, "the number of columns of the result"},
                     {"aggregate", &A::aggregate, "\"sum\", \"min\" or \"max\""},
                     {"has_missing_values", &A::has_missing_values, "whether NaN leads to the other child of a node"}},
      .arguments = {"data", "nodes", "thresholds", "roots", "depths", "targets", "weights"},
      .type = type_of_ensemble,
      .compute =
          [](const A& a, const Operands& in) {
            Definition d("tree_ensemble");
            Ensemble(d, a, in).define(d);
            return d.finish();
          },
  });
}

}  // namespace dlcc::relay::ops

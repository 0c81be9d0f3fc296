#include "tensor/builder.h"

#include "tensor/text.h"

namespace dlcc::tensor {

DType compute_type(DType type) { return type == dtype::f16 || type == dtype::bf16 ? dtype::f32 : type; }

Expr Tensor::operator()(const std::vector<Expr>& index) const {
  return cast(compute_type(type()), load(buffer_, index));
}

Expr Tensor::at_or(const std::vector<Expr>& index, Expr otherwise) const {
  return cast(compute_type(type()), load(buffer_, index, cast(type(), std::move(otherwise))));
}

// ---- reducers

namespace {

Reducer named_reducer(ReducerKind kind, DType type) {
  Reduction r = named_reduction(kind, {}, type);
  return {r.left, r.right, r.combined, r.identity};
}

// Reduces pairs (value, index) to the extremum and its index. The comparison `wins` holds if the next value is better
// than the best so far; the first NaN (the last one with `last`) is better than any number. With `last`, an equal value
// is better too. Index -1 in the identity means that there is no value yet: any value is better.
Reducer arg_reducer(DType value, DType index, bool last, BinaryOp wins, Expr identity) {
  Var best = make_var("a", value), at = make_var("i", index), next = make_var("b", value),
      next_at = make_var("j", index);
  Expr better = binary(wins, next, best);
  if (last) better = logical_or(better, equal(next, best));
  if (is_float(value)) {
    Expr next_nan = unary(UnaryOp::is_nan, next), best_nan = unary(UnaryOp::is_nan, best);
    Expr nan_wins = last ? next_nan : logical_and(next_nan, logical_not(best_nan));
    better = logical_or(nan_wins, logical_and(better, logical_not(best_nan)));
  }
  better = logical_or(better, Expr(at) < literal(index, int64_t{0}));
  return {{best, at},
          {next, next_at},
          {select(better, next, best), select(better, next_at, at)},
          {std::move(identity), literal(index, int64_t{-1})}};
}

}  // namespace

Reducer sum_of(DType type) { return named_reducer(ReducerKind::sum, type); }
Reducer product_of(DType type) { return named_reducer(ReducerKind::product, type); }
Reducer max_of(DType type) { return named_reducer(is_bool(type) ? ReducerKind::any : ReducerKind::max, type); }
Reducer min_of(DType type) { return named_reducer(is_bool(type) ? ReducerKind::all : ReducerKind::min, type); }
Reducer max_number_of(DType type) {
  const Var a = make_var("a", type), b = make_var("b", type);
  return {{a}, {b}, {select(Expr(b) > Expr(a), b, a)}, {lowest(type)}};
}
Reducer arg_max_of(DType value, DType index, bool last) {
  return arg_reducer(value, index, last, BinaryOp::gt, lowest(value));
}
Reducer arg_min_of(DType value, DType index, bool last) {
  return arg_reducer(value, index, last, BinaryOp::lt, highest(value));
}

// ---- definitions

Definition::Definition(std::string name) { function_.name = std::move(name); }

Tensor Definition::input(std::string name, DType type, Shape shape) {
  function_.params.push_back(make_buffer(std::move(name), type, std::move(shape)));
  return Tensor(function_.params.back());
}

Stage Definition::make_stage(const Shape& shape, std::vector<Expr>& index) {
  Stage stage;
  for (size_t d = 0; d < shape.size(); ++d) {
    stage.axes.push_back({make_var("i" + std::to_string(d)), shape[d]});
    index.push_back(stage.axes.back().var);
  }
  for (auto& [condition, status] : pending_) stage.requirements.push_back({condition(index), status});
  pending_.clear();
  return stage;
}

Tensor Definition::compute(std::string name, DType type, Shape shape, const Point& point) {
  std::vector<Expr> index;
  Stage stage = make_stage(shape, index);
  stage.values = {cast(type, point(index))};
  stage.results = {make_buffer(std::move(name), type, std::move(shape))};
  function_.stages.push_back(std::move(stage));
  return Tensor(function_.stages.back().results[0]);
}

Tensor Definition::result(std::string name, DType type, Shape shape, const Point& point) {
  Tensor t = compute(std::move(name), type, std::move(shape), point);
  mark_result(t);
  return t;
}

std::vector<Tensor> Definition::reduce_tuple(std::vector<std::string> names, Shape shape, const Reducer& reducer,
                                             Shape reduced, const ReducedTuplePoint& point) {
  std::vector<Expr> index, over;
  Stage stage = make_stage(shape, index);
  Reduction reduction{{}, reducer.left, reducer.right, reducer.combined, reducer.identity};
  for (size_t d = 0; d < reduced.size(); ++d) {
    reduction.axes.push_back({make_var("r" + std::to_string(d)), reduced[d]});
    over.push_back(reduction.axes.back().var);
  }
  stage.values = point(index, over);
  stage.reduction = std::move(reduction);
  std::vector<Tensor> tensors;
  for (size_t k = 0; k < names.size(); ++k) {
    DLCC_CHECK(stage.values[k].type() == reducer.left[k]->type, "{} reduces {} with a reducer of {}", names[k],
               dlcc::name(stage.values[k].type()), dlcc::name(reducer.left[k]->type));
    stage.results.push_back(make_buffer(names[k], stage.values[k].type(), shape));
    tensors.push_back(Tensor(stage.results.back()));
  }
  function_.stages.push_back(std::move(stage));
  return tensors;
}

Tensor Definition::reduce(std::string name, Shape shape, const Reducer& reducer, Shape reduced,
                          const ReducedPoint& point) {
  return reduce_tuple({std::move(name)}, std::move(shape), reducer, std::move(reduced),
                      [&](Index i, Index r) { return std::vector{point(i, r)}; })[0];
}

Tensor Definition::reduce_result(std::string name, DType type, Shape shape, const Reducer& reducer, Shape extents,
                                 const ReducedPoint& point) {
  DType inner = reducer.left[0]->type;
  Tensor reduced = reduce(inner == type ? name : name + "_wide", shape, reducer, std::move(extents), point);
  if (inner != type) return result(std::move(name), type, std::move(shape), [&](Index i) { return reduced(i); });
  mark_result(reduced);
  return reduced;
}

Tensor Definition::declare_result(std::string name, DType type, Shape shape) {
  function_.results.push_back(make_buffer(std::move(name), type, std::move(shape)));
  return Tensor(function_.results.back());
}

void Definition::compute_box(const Tensor& of, std::vector<Dim> origin, Shape shape, const Point& point) {
  std::vector<Expr> index;
  Stage stage = make_stage(shape, index);
  stage.values = {cast(of.type(), point(index))};
  stage.results = {of.buffer()};
  stage.origin = std::move(origin);
  function_.stages.push_back(std::move(stage));
}

Tensor Definition::declare(std::string name, DType type, Shape shape) {
  return Tensor(make_buffer(std::move(name), type, std::move(shape)));
}

void Definition::body(const std::vector<Tensor>& results, Stmt statements) {
  Stage stage;
  for (const Tensor& t : results) stage.results.push_back(t.buffer());
  stage.body = std::move(statements);
  function_.stages.push_back(std::move(stage));
}

void Definition::mark_result(const Tensor& tensor) { function_.results.push_back(tensor.buffer()); }

void Definition::require_next(std::function<Expr(Index)> condition, Status status) {
  pending_.emplace_back(std::move(condition), status);
}

TensorFunction Definition::finish() {
  DLCC_CHECK(pending_.empty(), "{}: a requirement without a stage", function_.name);
  return std::move(function_);
}

// ---- scalar functions

Expr element_at(const std::vector<Expr>& list, const Expr& index) {
  Expr element = list.back();
  for (size_t k = list.size() - 1; k-- > 0;)
    element = select(equal(index, Expr(static_cast<int64_t>(k))), list[k], element);
  return element;
}

Expr exp(Expr a) { return unary(UnaryOp::exp, std::move(a)); }
// The bounds let expand_math take one factor for the power of two. The upper one is 1, because the minimum with 0
// becomes two instructions.
Expr exp_of_nonpositive(Expr x) {
  const Expr least = literal(x.type(), x.type() == dtype::f64 ? -708.0 : -87.0);
  return select(x < least, literal(x.type(), 0.0), exp(max(min(x, literal(x.type(), 1.0)), least)));
}
Expr log(Expr a) { return unary(UnaryOp::log, std::move(a)); }
Expr sqrt(Expr a) { return unary(UnaryOp::sqrt, std::move(a)); }
Expr expm1(Expr a) { return unary(UnaryOp::expm1, std::move(a)); }
Expr log1p(Expr a) { return unary(UnaryOp::log1p, std::move(a)); }
Expr tanh(Expr a) { return unary(UnaryOp::tanh, std::move(a)); }
Expr erf(Expr a) { return unary(UnaryOp::erf, std::move(a)); }
Expr sigmoid(Expr a) { return unary(UnaryOp::sigmoid, std::move(a)); }
Expr floor(Expr a) { return unary(UnaryOp::floor, std::move(a)); }
Expr ceil(Expr a) { return unary(UnaryOp::ceil, std::move(a)); }
Expr abs(Expr a) { return unary(UnaryOp::abs, std::move(a)); }
Expr trunc(Expr a) { return unary(UnaryOp::trunc, std::move(a)); }
Expr round_even(Expr a) { return unary(UnaryOp::round_even, std::move(a)); }
Expr pow(Expr a, Expr b) { return binary(BinaryOp::pow, std::move(a), std::move(b)); }

}  // namespace dlcc::tensor

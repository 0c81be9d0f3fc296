#include "frontends/onnx/operators/loop_function.h"

#include <algorithm>
#include <span>

#include "frontends/onnx/operators/axes.h"
#include "frontends/onnx/operators/invariant_sizes.h"
#include "relay/passes/replace.h"

namespace dlcc::frontends::onnx {
namespace {

// Whether the value is a constant that is true, or false, as expected.
bool is_known(const std::optional<Value>& v, bool expected) {
  const Constant* c = v ? v->constant() : nullptr;
  return c && (c->integer_at(0) != 0) == expected;
}

class LoopFunction {
 public:
  LoopFunction(Node& n, LoopParts parts) : n_(n), builder_(n.context().builder), parts_(std::move(parts)) {
    counter_ = parameter("i", {{}, dtype::i64});
    for (size_t k = 0; k < parts_.initial.size(); ++k)
      carried_.push_back(parameter(k < parts_.names.size() ? parts_.names[k] : "state", parts_.initial[k].type));
  }

  std::optional<Values> build() {
    builder_.open();
    if (parts_.limit) limit_iterations(parts_.limit->most);
    first_symbol_ = builder_.next_symbol();
    std::optional<Iteration> iteration = parts_.iteration(counter_, carried_);
    if (iteration && !n_.failed()) find_end(*iteration);
    if (iteration && !n_.failed()) write_slices(*iteration);
    if (!iteration || n_.failed()) {
      builder_.discard();
      return std::nullopt;
    }
    relay::Block body = close_iteration(*iteration);
    limit_count();
    if (length_of_count_) define_length();
    const size_t scanned = parts_.initial.size();
    for (const Value& all : std::span(carried_).subspan(scanned))
      parts_.initial.push_back(zeros(n_, all.type.dtype, all.type.shape));
    const bool is_empty = parts_.count && parts_.count->constant() && parts_.count->constant()->integer_at(0) <= 0;
    Values results = is_empty ? parts_.initial : call(define(std::move(body)));
    if (returns_count_ && !is_empty) cut(results, scanned);
    transpose(results, scanned);
    return results;
  }

 private:
  Value parameter(const std::string& name, const relay::TensorType& type) {
    return {builder_.parameter(name, type), type};
  }

  // ---- when the loop ends

  void find_end(Iteration& iteration) {
    at_most_once_ = is_known(iteration.again, false);
    most_ = iteration.most;
    if (iteration.again && !iteration.again->constant()) again_ = parameter("again", {{}, dtype::boolean});
    n_.check(parts_.count || again_ || at_most_once_ || is_known(parts_.first, false), DiagnosticId::malformed_model,
             "the loop never ends: it has no trip count, and its condition stays true",
             "give it a trip count, or a condition that the body computes");
  }

  // The number of iterations, if it is a number or an expression of sizes.
  std::optional<Dim> known_count() const {
    if (is_known(parts_.first, false)) return Dim(0);
    if (again_ || (parts_.first && !parts_.first->constant())) return std::nullopt;
    if (!parts_.count) return at_most_once_ ? std::optional(Dim(1)) : std::nullopt;
    const relay::KnownValue count = builder_.known(*parts_.count);
    if (!count || !count->elements[0]) return std::nullopt;
    const Dim most = max(*count->elements[0], Dim(0));
    return at_most_once_ ? min(most, Dim(1)) : most;
  }

  // Replaces conditions that do not change during the loop by limits of the number of iterations.
  void limit_count() {
    if (at_most_once_)
      parts_.count = parts_.count ? n_.call("minimum", {*parts_.count, integer_scalar(1)}) : integer_scalar(1);
    if (is_known(parts_.first, true)) parts_.first.reset();
    if (is_known(parts_.first, false)) parts_.count = integer_scalar(0);
    if (again_ || !parts_.first || !parts_.count) return;
    parts_.count = n_.call("where", {*parts_.first, *parts_.count, integer_scalar(0)});
  }

  // ---- an iteration

  // The length of the scan outputs, or the largest one if the iterations end the loop. A trip count that is no number
  // at compile time defines a size.
  std::optional<Dim> length(const ScanOutput& out) {
    if (parts_.length) return parts_.length;
    if (auto known = known_count()) return known;
    returns_count_ = again_.has_value();
    const relay::KnownValue count = parts_.count ? builder_.known(*parts_.count) : nullptr;
    const std::optional<Dim> trips = count ? count->elements[0] : std::nullopt;
    const bool is_limit = !trips || !trips->is_constant() || trips->value() <= tensor::max_elements;
    if (returns_count_ && parts_.limit) return parts_.limit->most;
    if (returns_count_ && trips && is_limit) return max(*trips, Dim(0));
    if (returns_count_ && out.declared_length) {
      limit_iterations(*out.declared_length);
      return out.declared_length;
    }
    if (returns_count_ && parts_.count && !trips && !parts_.limit)
      if (auto of_input = builder_.size_of_input(*parts_.count, bounded_name(), n_.location())) return of_input;
    if (returns_count_ && most_) {
      limit_iterations(*most_);
      return most_;
    }
    const bool is_bounded = at_most_once_ || parts_.limit || (parts_.count && is_limit);
    if (returns_count_ || !is_bounded) return std::nullopt;
    if (const std::optional<Dim> of_input = length_of_input()) return of_input;
    if (!length_of_count_) length_of_count_ = builder_.new_size();
    return length_of_count_;
  }

  // The trip count as a size that loops of the same count share, if it is an input that nothing limits.
  std::optional<Dim> length_of_input() {
    const bool is_trip_count = parts_.count && (!parts_.first || is_known(parts_.first, true)) && !at_most_once_;
    if (!is_trip_count || parts_.limit) return std::nullopt;
    return builder_.size_of_input(*parts_.count, bounded_name(), n_.location());
  }

  // The slice, with sizes that are known before the loop in place of those that each iteration computes: the declared
  // numbers, or sizes of equal values. They are checked at run time.
  Value fixed_size_slice(const ScanOutput& out, InvariantSizes& sizes) {
    Shape declared = out.slice.type.shape;
    for (size_t k = 0; k < declared.size() && declared.size() == out.declared_sizes.size(); ++k)
      if (out.declared_sizes[k] && builder_.has_new_symbol(declared[k], first_symbol_))
        declared[k] = *out.declared_sizes[k];
    const std::optional<Shape> known = sizes.before_loop(declared);
    n_.check(known.has_value(), DiagnosticId::dynamic_shape,
             fmt::format("the slices of the scan output '{}' are {}: their sizes may differ between iterations",
                         out.name, describe(out.slice.type)),
             "declare the sizes as numbers in the body's output; or compute them from values that no iteration "
             "changes; or carry a tensor to which every iteration appends");
    if (n_.failed() || *known == out.slice.type.shape) return out.slice;
    return builder_.check_sizes(out.slice, *known, n_.location());
  }

  // Makes scan outputs carried values in which an iteration replaces a slice.
  void write_slices(Iteration& iteration) {
    Values of_iteration = carried_;
    of_iteration.push_back(counter_);
    InvariantSizes sizes(n_, of_iteration, first_symbol_);
    for (const ScanOutput& out : iteration.scanned) {
      const Value slice = fixed_size_slice(out, sizes);
      if (n_.failed()) return;
      const std::optional<Dim> most = length(out);
      n_.check(most.has_value(), DiagnosticId::dynamic_shape,
               "the number of iterations depends on data, and with it the size of the scan outputs; nothing bounds it",
               fmt::format("give the largest number of iterations that you expect: --bound {}=100; or give the loop a "
                           "trip count; or declare the shapes of the scan outputs, for the largest number of "
                           "iterations; or leave out the scan outputs if nothing uses them",
                           variable_name(parts_.counter)));
      if (n_.failed()) return;
      Shape shape = slice.type.shape;
      const int64_t axis = axis_of_iterations(out);
      shape.insert(shape.begin() + axis, *most);
      Value all = parameter("scanned", {shape, slice.type.dtype});
      Value at = out.reversed ? slice_index(n_, counter_, size_of_axis(n_, all, axis), true) : counter_;
      carried_.push_back(all);
      transposed_to_.push_back(axis == out.axis ? 0 : out.axis);
      iteration.carried.push_back(n_.call("dynamic_update_slice", {all, slice, at}, {{"axis", axis}}));
    }
  }

  // The axis along which the loop writes the slices of a scan output: its own if the slices are contiguous in memory;
  // else the outermost axis, and the output is transposed after the loop.
  static int64_t axis_of_iterations(const ScanOutput& out) {
    const Shape& slice = out.slice.type.shape;
    const bool are_contiguous = product(Shape(slice.begin(), slice.begin() + out.axis)) == Dim(1);
    return are_contiguous ? out.axis : 0;
  }

  // Moves the axis of the iterations to where the model has it.
  void transpose(Values& results, size_t scanned) {
    for (size_t k = 0; k < transposed_to_.size() && !n_.failed(); ++k) {
      Value& all = results[scanned + k];
      all = with_axis_moved(n_, all, 0, transposed_to_[k]);
    }
  }

  // Requires, in an iteration, that at most `most` iterations have begun.
  void limit_iterations(const Dim& most) {
    define_size(n_, n_.call("add", {counter_, integer_scalar(1)}), builder_.new_size(), most, bounded_name());
  }

  const std::string& bounded_name() const { return parts_.limit ? parts_.limit->name : parts_.counter; }

  // Defines the size of the scan outputs: the trip count, which is known before the loop.
  void define_length() {
    const Value count = n_.call("maximum", {*parts_.count, integer_scalar(0)});
    const Dim limit = parts_.limit ? Dim(parts_.limit->most) : relay::unknown_dim();
    define_size(n_, count, *length_of_count_, at_most_once_ ? Dim(1) : limit, bounded_name());
  }

  // Cuts the scan outputs to the slices that the iterations have written. The last result is the number of slices.
  void cut(Values& results, size_t scanned) {
    const Value count = n_.reshape(results.back(), {1});
    results.pop_back();
    for (size_t k = scanned; k < results.size(); ++k) results[k] = n_.call("prefix", {results[k], count});
  }

  bool uses_counter(const Iteration& iteration) const {
    relay::Uses uses;
    for (const relay::Binding& b : builder_.current().bindings) uses.add(b.op, 1);
    for (const Value& v : iteration.carried) uses.add(v.atom, 1);
    return uses[std::get<relay::Var>(counter_.atom)] > 0;
  }

  // Ends the iteration with the call of the next one.
  relay::Block close_iteration(const Iteration& iteration) {
    counts_ = parts_.count || at_most_once_ || returns_count_ || uses_counter(iteration);
    std::vector<relay::Type> params;
    for (const Value& p : parameters()) params.push_back(relay::tensor_type(p.type.shape, p.type.dtype));
    function_ = builder_.fresh("loop", relay::function_type(std::move(params), type_of(results())));
    Values next;
    if (counts_) next.push_back(n_.call("add", {counter_, integer_scalar(1)}));
    if (again_) next.push_back(*iteration.again);
    next.insert(next.end(), iteration.carried.begin(), iteration.carried.end());
    return builder_.close(call_with(next, "next"));
  }

  // ---- the function

  Values parameters() const {
    Values list;
    if (counts_) list.push_back(counter_);
    if (again_) list.push_back(*again_);
    list.insert(list.end(), carried_.begin(), carried_.end());
    return list;
  }

  Values results() const {
    Values list = carried_;
    if (returns_count_) list.push_back(counter_);
    return list;
  }

  relay::Var call_with(const Values& args, const std::string& name) {
    relay::Call call{function_, {}, {}};
    for (const Value& v : args) call.args.push_back(v.atom);
    return builder_.bind(std::move(call), type_of(results()), name, n_.location());
  }

  relay::Function define(relay::Block iteration) {
    relay::Function f;
    for (const Value& p : parameters()) f.params.push_back(std::get<relay::Var>(p.atom));
    f.result_type = type_of(results());
    f.location = n_.location();
    builder_.open();
    std::optional<Value> more;
    if (parts_.count) more = n_.call("less", {counter_, *parts_.count});
    if (again_) more = more ? n_.call("logical_and", {*more, *again_}) : *again_;
    builder_.open();
    relay::If choice{more->atom, std::move(iteration), builder_.close(results(), n_.location())};
    f.body = builder_.close(builder_.bind(std::move(choice), f.result_type, "result", n_.location()));
    return f;
  }

  Values call(relay::Function f) {
    builder_.bind(function_, relay::MakeFunction{std::move(f)}, n_.location());
    Values args;
    if (counts_) args.push_back(integer_scalar(0));
    if (again_) args.push_back(parts_.first.value_or(Value::of(Constant::of<uint8_t>(dtype::boolean, {}, {1}))));
    args.insert(args.end(), parts_.initial.begin(), parts_.initial.end());
    relay::Var all = call_with(args, "results");
    if (results().size() == 1) return {{all, carried_[0].type}};
    return builder_.fields(all, results().size(), "result", n_.location());
  }

  Node& n_;
  BlockBuilder& builder_;
  LoopParts parts_;
  relay::Var function_;
  Value counter_;
  std::optional<Value> again_;          // if iterations compute a condition
  Values carried_;                      // scan outputs last
  std::vector<int64_t> transposed_to_;  // of scan outputs: the axis to which the outermost one moves; 0: it stays
  bool counts_ = false;                 // whether the counter is needed
  bool returns_count_ = false;          // whether the number of iterations is the last result of the function
  int first_symbol_ = 0;                // of the iteration
  std::optional<Dim> length_of_count_;  // of the scan outputs: a symbol for the trip count
  std::optional<Dim> most_;             // the largest number of iterations that the condition allows, if it is known
  bool at_most_once_ = false;           // whether the condition is false after an iteration
};

}  // namespace

std::optional<Values> loop_function(Node& n, LoopParts parts) { return LoopFunction(n, std::move(parts)).build(); }

std::optional<Dim> known_trip_count(const BlockBuilder& builder, const std::optional<Value>& count) {
  const relay::KnownValue known = count ? builder.known(*count) : nullptr;
  if (!known || !known->elements[0]) return std::nullopt;
  const Dim trips = max(*known->elements[0], Dim(0));
  return trips.is_constant() && trips.value() > tensor::max_elements ? std::nullopt : std::optional(trips);
}

void define_size(Node& n, const Value& scalar, const Dim& size, const Dim& most, const std::string& name) {
  const Value vector = n.reshape(scalar, {1});
  if (n.failed()) return;
  n.context().builder.bind(relay::DefineSizes{vector.atom, size.symbols(), {most}}, relay::tuple_type({}), name,
                           n.location());
}

Value integer_scalar(int64_t value) { return Value::of(Constant::of<int64_t>(dtype::i64, {}, {value})); }

Value zeros(Node& n, DType type, const Shape& shape) {
  return n.call("full", {n.scalar(type, 0)}, {{"shape", relay::sizes_attribute(shape)}});
}

Value size_of_axis(Node& n, const Value& data, int64_t axis) {
  if (auto known = data.type.shape[static_cast<size_t>(axis)].constant()) return integer_scalar(*known);
  return n.call("take", {n.call("shape_of", {data}, {{"dtype", dtype_attr(dtype::i64)}}), integer_scalar(axis)},
                {{"axis", 0}});
}

Value slice_index(Node& n, const Value& counter, const Value& length, bool reversed) {
  if (!reversed) return counter;
  return n.call("subtract", {n.call("subtract", {length, integer_scalar(1)}), counter});
}

Value slice_at(Node& n, const Value& data, const Value& index, int64_t axis) {
  Shape slice = data.type.shape;
  bool none = slice[static_cast<size_t>(axis)] == Dim(0);  // the loop has no iteration
  slice.erase(slice.begin() + axis);
  return none ? zeros(n, data.type.dtype, slice) : n.call("take", {data, index}, {{"axis", axis}});
}

}  // namespace dlcc::frontends::onnx

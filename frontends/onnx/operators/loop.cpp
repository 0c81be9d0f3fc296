// Loop: its body is a subgraph that may use values of the enclosing graphs.
#include <algorithm>

#include "frontends/onnx/operators/growing_values.h"
#include "frontends/onnx/operators/iteration_bound.h"
#include "frontends/onnx/operators/loop_function.h"
#include "frontends/onnx/operators/subgraphs.h"
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/operators/unrolled_loop.h"
#include "frontends/onnx/schema.h"
#include "frontends/onnx/scope.h"
#include "frontends/onnx/structure.h"

namespace dlcc::frontends::onnx {
namespace {

class LoopNode {
 public:
  explicit LoopNode(Node& n) : n_(n), body_(n.graph("body")) {}

  Values convert() {
    if (!body_ || !check_counts()) return {};
    for (int k = 0; k < n_.input_count(); ++k)
      if (n_.has(k) && n_.in(k).structure) return unrolled_loop(n_, *body_);
    const std::optional<Value> count = scalar_input(0, dtype::i64, "one integer");
    const std::optional<Value> first = scalar_input(1, dtype::boolean, "one bool");
    if (n_.failed()) return {};
    const auto trips = known_trip_count(n_.context().builder, count);
    if (trips && trips->is_constant() && selects_shape({body_})) return unrolled_loop(n_, *body_);
    if (never_runs(count, first) && n_.output_count() <= carried_count()) return initial_values();
    find_limit(count);
    GrowingValues::Parts changed{.count = count, .counter = counter_name()};
    if (limit_) changed.limit = limit_->most;
    std::vector<int> positions;
    for (int k = 0; k < carried_count(); ++k) {
      unchanged_.push_back(is_unchanged(k));
      if (unchanged_.back()) continue;
      changed.initial.push_back(n_.in(before_carried + k));
      changed.inputs.push_back(body_->input(before_carried + k).name());
      changed.outputs.push_back(body_->output(1 + k).name());
      changed.node_outputs.push_back(output_name(k));
      positions.push_back(k);
    }
    changed.keeps_size = [&](size_t value, size_t axis) { return declares_equal(positions[value], axis); };
    return n_.failed() ? Values{} : loop(count, first, std::move(changed));
  }

 private:
  // Emits the loop, again if an iteration shows that values change their sizes.
  Values loop(const std::optional<Value>& count, const std::optional<Value>& first, GrowingValues::Parts changed) {
    std::vector<std::string> names = changed.inputs;
    GrowingValues values(n_, std::move(changed));
    do {
      LoopParts parts{.count = count, .first = first, .limit = limit_, .initial = values.before_loop()};
      parts.counter = counter_name();
      if (n_.failed()) return {};
      names.resize(values.carried_count(), "length");
      parts.names = names;
      parts.iteration = [&](const Value& counter, const Values& carried) {
        return iteration(values, counter, carried);
      };
      const bool begins = !first || (first->constant() && first->constant()->integer_at(0) != 0);
      if (auto results = loop_function(n_, std::move(parts))) return outputs(values, *results, begins && goes_on_);
    } while (values.must_repeat() && !n_.failed());
    return {};
  }

  // The name of an output of the node; empty if the model does not use it.
  std::string output_name(int k) const { return n_.wants(k) ? n_.context().proto.output(k) : std::string(); }

  // The names of the scan outputs that the model uses.
  std::vector<std::string> scan_names() const {
    std::vector<std::string> names;
    for (int k = carried_count(); k < n_.output_count(); ++k)
      if (n_.wants(k)) names.push_back(output_name(k));
    return names;
  }

  // The name by which the user may bound the number of iterations: that of a scan output, which is unique in its graph,
  // or of the body's iteration number.
  std::string counter_name() const {
    const std::vector<std::string> names = scan_names();
    return names.empty() ? body_->input(0).name() : names[0];
  }

  // The user may bound the number of iterations by either name. The latter may name values of several loops: a bound
  // does not concern those which need none.
  void find_limit(const std::optional<Value>& count) {
    const std::vector<std::string> names = scan_names();
    for (const std::string& name : names)
      if (const auto most = n_.bound_of(name); most && (!limit_ || *most < limit_->most))
        limit_ = IterationLimit{*most, name};
    if (limit_ || known_trip_count(n_.context().builder, count)) return;
    const std::string& counter = body_->input(0).name();
    if (const auto most = n_.bound_in_body(counter, names.empty() ? "" : names[0]))
      limit_ = IterationLimit{*most, counter};
  }

  // Whether the body declares that the size of a carried value is the same before and after an iteration.
  bool declares_equal(int k, size_t axis) const {
    const auto& before = body_->input(before_carried + k).type().tensor_type();
    const auto& after = body_->output(1 + k).type().tensor_type();
    const int d = static_cast<int>(axis);
    if (d >= before.shape().dim_size() || d >= after.shape().dim_size()) return false;
    const auto &a = before.shape().dim(d), &b = after.shape().dim(d);
    return has_size(a) ? has_size(b) && a.dim_value() == b.dim_value()
                       : !a.dim_param().empty() && a.dim_param() == b.dim_param();
  }

  static bool never_runs(const std::optional<Value>& count, const std::optional<Value>& first) {
    return (count && count->constant() && count->constant()->integer_at(0) <= 0) ||
           (first && first->constant() && first->constant()->integer_at(0) == 0);
  }

  Values initial_values() const {
    Values values;
    for (int k = 0; k < carried_count(); ++k) values.push_back(n_.in(before_carried + k));
    return values;
  }

  using Graphs = std::vector<const schema::GraphProto*>;

  // Whether an iteration reads a tensor of a sequence from around the loop, whose tensors have several shapes: the
  // position in the sequence must then be known at compile time. `graphs`: the body and the branches in it that contain
  // the nodes of the last one.
  bool selects_shape(const Graphs& graphs) const {
    return std::ranges::any_of(graphs.back()->node(), [&](const schema::NodeProto& node) {
      if (node.op_type() == "If") return branch_selects_shape(node, graphs);
      if (node.op_type() != "SequenceAt" || node.input_size() < 2 || !is_computed(node.input(1), graphs)) return false;
      const Value* sequence = n_.context().find_value(node.input(0));
      if (!sequence || !is_sequence(*sequence)) return false;
      const Values& tensors = sequence->structure->elements;
      return std::ranges::any_of(tensors, [&](const Value& v) { return v.type.shape != tensors[0].type.shape; });
    });
  }

  bool branch_selects_shape(const schema::NodeProto& node, const Graphs& graphs) const {
    return std::ranges::any_of(node.attribute(), [&](const schema::AttributeProto& branch) {
      Graphs inner = graphs;
      inner.push_back(&branch.g());
      return branch.has_g() && selects_shape(inner);
    });
  }

  // Whether an iteration computes the value of this name in one of the graphs, or the loop carries it.
  bool is_computed(const std::string& name, const Graphs& graphs) const {
    const auto has_name = [&](const schema::NodeProto& node) { return std::ranges::count(node.output(), name) > 0; };
    for (const schema::GraphProto* graph : graphs) {
      const auto node = std::ranges::find_if(graph->node(), has_name);
      if (node != graph->node().end()) return node->op_type() != "Constant";
    }
    return std::ranges::any_of(body_->input(), [&](const auto& input) { return input.name() == name; });
  }

  int carried_count() const { return std::max(n_.input_count() - before_carried, 0); }

  int output_count() const { return body_->output_size() - 1; }  // carried values and scan outputs

  bool check_counts() {
    int carried = carried_count(), scanned = body_->output_size() - 1 - carried;
    n_.check(body_->input_size() == before_carried + carried, DiagnosticId::wrong_arity,
             fmt::format("the body must have {} inputs, found {}", before_carried + carried, body_->input_size()));
    n_.check(scanned >= 0 && n_.output_count() <= carried + scanned && n_.output_count() > 0, DiagnosticId::wrong_arity,
             fmt::format("the body has {} outputs for {} carried values and {} outputs of the node",
                         body_->output_size(), carried, n_.output_count()),
             "a body computes the condition, the carried values and the scan outputs");
    return !n_.failed();
  }

  // An optional input of one element, as a value of rank 0.
  std::optional<Value> scalar_input(int input, DType type, const char* expected) {
    if (!n_.has(input)) return std::nullopt;
    const Value& v = n_.in(input);
    bool fits = is_bool(type) ? is_bool(v.type.dtype) : is_integer(v.type.dtype);
    n_.check(fits && product(v.type.shape) == Dim(1), DiagnosticId::type_mismatch,
             fmt::format("{} must be {}, found {}", v.role, expected, describe(v.type)));
    return n_.failed() ? std::nullopt : std::optional(n_.cast(as_scalar(n_, v), type));
  }

  // Whether the body returns a carried value unchanged. Such a value is not carried: the body uses the initial value,
  // which may be a constant.
  bool is_unchanged(int k) const {
    return passes_on(*body_, body_->input(before_carried + k).name(), body_->output(1 + k).name());
  }

  std::optional<Iteration> iteration(GrowingValues& values, const Value& counter, const Values& carried) {
    const int first_symbol = n_.context().builder.next_symbol();
    const Values before = values.of_iteration(carried);
    // An iteration takes place only if the condition is true.
    Value condition = Value::of(Constant::of<uint8_t>(dtype::boolean, {}, {1}));
    Values inputs = {in_declared_rank(n_, counter, body_->input(0)), in_declared_rank(n_, condition, body_->input(1))};
    for (int k = 0, next = 0; k < carried_count(); ++k)
      inputs.push_back(unchanged_[static_cast<size_t>(k)] ? n_.in(before_carried + k)
                                                          : before[static_cast<size_t>(next++)]);
    auto results = n_.context().import_inline(*body_, inputs);
    if (!results || !are_tensors(*results)) return std::nullopt;
    Iteration it;
    const Value& again = results->at(0);
    n_.check(is_bool(again.type.dtype) && product(again.type.shape) == Dim(1), DiagnosticId::type_mismatch,
             fmt::format("the body's first output, the condition, must be one bool, found {}", describe(again.type)));
    if (n_.failed()) return std::nullopt;
    it.again = as_scalar(n_, again);
    goes_on_ = again.constant() && again.constant()->integer_at(0) != 0;
    Values next;
    for (int k = 0; k < carried_count(); ++k)
      if (!unchanged_[static_cast<size_t>(k)]) next.push_back(results->at(static_cast<size_t>(1 + k)));
    it.most =
        most_iterations(n_.context().builder, {counter, carried, values.initial(), next, first_symbol}, *it.again);
    values.limit_iterations(it.most);
    auto after = values.after_iteration(before, next);
    if (!after) return std::nullopt;
    it.carried = std::move(*after);
    for (int k = carried_count(); k < output_count(); ++k) {
      if (!n_.wants(k)) continue;
      const schema::ValueInfoProto& output = body_->output(1 + k);
      it.scanned.push_back(
          {scanned(k, *results, next), 0, false, declared_length(k), output.name(), declared_sizes(output)});
    }
    return it;
  }

  // A loop that begins with tensors carries tensors.
  bool are_tensors(const Values& results) {
    for (const Value& v : results)
      n_.check(!v.structure, DiagnosticId::type_mismatch,
               fmt::format("the body computes {} where the loop carries a tensor", describe(v)));
    return !n_.failed();
  }

  // The slice of a scan output. If the body's output is also a carried value, the slice is taken from `next`, the
  // carried values after the iteration, which have the required sizes.
  Value scanned(int output, const Values& results, const Values& next) const {
    const Value& slice = results.at(static_cast<size_t>(1 + output));
    const auto* var = std::get_if<relay::Var>(&slice.atom);
    for (size_t k = 0, position = 0; k < unchanged_.size(); ++k) {
      if (unchanged_[k]) continue;
      const auto* other = std::get_if<relay::Var>(&results.at(1 + k).atom);
      if (var && other && *var == *other) return next[position];
      ++position;
    }
    return slice;
  }

  // The number of slices of a scan output that the model declares.
  std::optional<Dim> declared_length(int output) const {
    const std::optional<Shape>& shape = n_.declared_shape(static_cast<size_t>(output));
    return shape && !shape->empty() && (*shape)[0].is_constant() ? std::optional((*shape)[0]) : std::nullopt;
  }

  // The node's outputs from the results of the emitted loop, which has neither unchanged values nor scan outputs
  // without a name. `runs_all`: whether the trip count alone ends the loop.
  Values outputs(GrowingValues& values, const Values& results, bool runs_all) {
    Values changed = values.after_loop(results, runs_all);
    changed.insert(changed.end(), results.begin() + static_cast<std::ptrdiff_t>(values.carried_count()), results.end());
    Values all;
    size_t next = 0;
    for (int k = 0; k < output_count(); ++k) {
      const bool carried = k < carried_count();
      if (carried && unchanged_[static_cast<size_t>(k)])
        all.push_back(n_.in(before_carried + k));
      else
        all.push_back(carried || n_.wants(k) ? changed[next++] : Value::poison());
    }
    return all;
  }

  Node& n_;
  const schema::GraphProto* body_;
  std::vector<bool> unchanged_;  // by carried value
  std::optional<IterationLimit> limit_;
  bool goes_on_ = false;  // whether every iteration's condition is true
};

}  // namespace

void add_loop(Table& table) {
  table.add_with_structures(
      {{"Loop", 1, "M cond v_initial", 0, any_number, any_number, [](Node& n) { return LoopNode(n).convert(); }}});
  table.only_if("Loop",
                "the number of iterations with scan outputs and the sizes of carried values have bounds, and no "
                "iteration changes the sizes of the slices of a scan output; where the loop carries sequences, the "
                "number of iterations is known at compile time");
}

}  // namespace dlcc::frontends::onnx

// Scan: its body is applied to the slices of tensors, one after the other.
#include "frontends/onnx/operators/loop_function.h"
#include "frontends/onnx/operators/subgraphs.h"
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/schema.h"

namespace dlcc::frontends::onnx {
namespace {

class ScanNode {
 public:
  explicit ScanNode(Node& n) : n_(n), body_(n.graph("body")) {}

  Values convert() {
    if (!read(0)) return {};
    Values inputs = n_.all_inputs();
    std::vector<int64_t> axes = n_.integers("scan_input_axes", inputs_.size(), 0);
    for (size_t k = 0; k < inputs_.size(); ++k)
      if (auto axis = n_.axis_of(axes[k], inputs[states_ + k].rank())) inputs_[k].axis = *axis;
    read_directions("scan_input_directions", inputs_);
    // Negative axes are resolved later: the ranks of the outputs are known only after the import of the body.
    output_axes_ = n_.integers("scan_output_axes", outputs_.size(), 0);
    read_directions("scan_output_directions", outputs_);
    if (n_.failed()) return {};
    return scan(inputs, std::nullopt).value_or(Values{});
  }

  // Operator set 8: the first axis of all inputs and outputs is a batch, whose elements are scanned one by one, each
  // for its own number of iterations.
  Values convert_batched() {
    if (!read(1)) return {};
    read_directions("directions", inputs_);
    output_axes_.assign(outputs_.size(), 0);
    Values inputs;
    for (int k = 1; k < n_.input_count(); ++k) inputs.push_back(n_.in(k));
    if (!check_batch(inputs)) return {};
    LoopParts batch;
    batch.count = size_of_axis(n_, inputs[0], 0);
    batch.length = inputs[0].type.shape[0];
    batch.iteration = [&](const Value& element, const Values&) -> std::optional<Iteration> {
      Values own;
      for (const Value& v : inputs) own.push_back(slice_at(n_, v, element, 0));
      auto results =
          scan(own, n_.has(0) ? std::optional(n_.cast(slice_at(n_, n_.in(0), element, 0), dtype::i64)) : std::nullopt);
      if (!results) return std::nullopt;
      Iteration it;
      for (const Value& r : *results) it.scanned.push_back({r});
      return it;
    };
    return loop_function(n_, std::move(batch)).value_or(Values{});
  }

 private:
  // The axis along which the slices of a tensor are stored, and their order.
  struct SliceAxis {
    int64_t axis = 0;
    bool reversed = false;
  };

  bool check_batch(const Values& inputs) {
    for (size_t k = 0; k < inputs.size() && !n_.failed(); ++k) {
      int least = k < states_ ? 1 : 2;
      n_.check(inputs[k].rank() >= least && inputs[k].type.shape[0] == inputs[0].type.shape[0],
               DiagnosticId::shape_mismatch,
               fmt::format("{} must have at least {} axes, the first one of equal size for all inputs, found {}",
                           inputs[k].role, least, describe(inputs[k].type)));
    }
    if (n_.has(0) && !n_.failed())
      n_.check(is_integer(n_.in(0).type.dtype) && n_.in(0).type.shape == Shape{inputs[0].type.shape[0]},
               DiagnosticId::type_mismatch,
               fmt::format("sequence_lens must be one integer for each element of the batch, found {}",
                           describe(n_.in(0).type)));
    return !n_.failed();
  }

  // Reads the attributes and inputs that all versions have; `before` inputs precede the states.
  bool read(int before) {
    int64_t scanned = n_.required_integer("num_scan_inputs"), all = n_.input_count() - before;
    if (!body_ || n_.failed()) return false;
    n_.check(scanned >= 1 && scanned <= all, DiagnosticId::bad_attribute,
             fmt::format("num_scan_inputs is {} with {} inputs", scanned, all));
    n_.check(body_->input_size() == all, DiagnosticId::wrong_arity,
             fmt::format("the body must have {} inputs, found {}", all, body_->input_size()));
    if (n_.failed()) return false;
    states_ = static_cast<size_t>(all - scanned);
    int outputs = body_->output_size() - static_cast<int>(states_);
    n_.check(outputs >= 0 && n_.output_count() <= body_->output_size(), DiagnosticId::wrong_arity,
             fmt::format("the body has {} outputs for {} states and {} outputs of the node", body_->output_size(),
                         states_, n_.output_count()));
    if (n_.failed()) return false;
    inputs_.resize(static_cast<size_t>(scanned));
    outputs_.resize(static_cast<size_t>(outputs));
    return true;
  }

  void read_directions(const char* name, std::vector<SliceAxis>& slice_axes) {
    std::vector<int64_t> list = n_.integers(name, slice_axes.size(), 0);
    for (size_t k = 0; k < slice_axes.size(); ++k) {
      n_.check(list[k] == 0 || list[k] == 1, DiagnosticId::bad_attribute,
               fmt::format("attribute '{}' must have 0 (forward) and 1 (reverse), found {}", name, list[k]));
      slice_axes[k].reversed = list[k] == 1;
    }
  }

  // Scans `inputs`, first the states; `count` is the number of iterations, if it differs from the number of slices.
  std::optional<Values> scan(Values inputs, const std::optional<Value>& count) {
    const Value& first = inputs[states_];
    const Dim length = first.type.shape[static_cast<size_t>(inputs_[0].axis)];
    for (size_t k = 0; k < inputs_.size(); ++k) {
      Value& input = inputs[states_ + k];
      const auto axis = static_cast<size_t>(inputs_[k].axis);
      const Dim own = input.type.shape[axis];
      Shape shape = input.type.shape;
      shape[axis] = length;
      const auto checked = n_.with_shape(input, shape);
      n_.check(checked.has_value(), DiagnosticId::shape_mismatch,
               fmt::format("scan input {} has {} slices, scan input 0 has {}", k, own.str(), length.str()));
      if (checked) input = *checked;
    }
    if (n_.failed()) return std::nullopt;
    LoopParts parts;
    Value steps = size_of_axis(n_, first, inputs_[0].axis);
    if (count) steps = n_.call("minimum", {*count, steps});
    parts.count = steps;
    parts.length = length;
    parts.initial.assign(inputs.begin(), inputs.begin() + static_cast<ptrdiff_t>(states_));
    for (size_t k = 0; k < states_; ++k) parts.names.push_back(body_->input(static_cast<int>(k)).name());
    parts.iteration = [&](const Value& counter, const Values& states) {
      return iteration(inputs, steps, counter, states);
    };
    return loop_function(n_, std::move(parts));
  }

  std::optional<Iteration> iteration(const Values& inputs, const Value& steps, const Value& counter,
                                     const Values& states) {
    Values given = states;
    for (size_t k = 0; k < inputs_.size(); ++k) {
      const Value& all = inputs[states_ + k];
      Value at = slice_index(n_, counter, steps, inputs_[k].reversed);
      given.push_back(slice_at(n_, all, at, inputs_[k].axis));
    }
    auto results = n_.context().import_inline(*body_, given);
    if (!results) return std::nullopt;
    Iteration it;
    for (size_t k = 0; k < states_; ++k) {
      const std::string& name = body_->output(static_cast<int>(k)).name();
      it.carried.push_back(carried(n_, name, states[k].type, results->at(k)));
    }
    for (size_t k = 0; k < outputs_.size(); ++k) {
      const Value& slice = results->at(states_ + k);
      const schema::ValueInfoProto& output = body_->output(static_cast<int>(states_ + k));
      if (auto axis = n_.axis_of(output_axes_[k], slice.rank() + 1))
        it.scanned.push_back({slice, *axis, outputs_[k].reversed, {}, output.name(), declared_sizes(output)});
    }
    return it;
  }

  Node& n_;
  const schema::GraphProto* body_;
  size_t states_ = 0;  // the number of carried values
  std::vector<SliceAxis> inputs_, outputs_;
  std::vector<int64_t> output_axes_;  // as in the attribute
};

}  // namespace

void add_scan(Table& table) {
  table.add({
      {"Scan", 8, "sequence_lens initial_state_and_scan_inputs", 0, any_number, any_number,
       [](Node& n) { return ScanNode(n).convert_batched(); }},
      {"Scan", 9, "initial_state_and_scan_inputs", 1, any_number, any_number,
       [](Node& n) { return ScanNode(n).convert(); }},
  });
}

}  // namespace dlcc::frontends::onnx

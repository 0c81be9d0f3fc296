#include "frontends/onnx/operators/growing_values.h"

#include <algorithm>

#include "frontends/onnx/operators/loop_function.h"
#include "frontends/onnx/operators/subgraphs.h"

namespace dlcc::frontends::onnx {

GrowingValues::GrowingValues(Node& n, Parts parts)
    : n_(n),
      builder_(n.context().builder),
      parts_(std::move(parts)),
      growth_(parts_.initial.size()),
      is_constant_(parts_.initial.size()) {}

// ---- the largest sizes

// A trip count that is no number at compile time defines a size.
std::optional<Dim> GrowingValues::most_iterations() {
  if (iterations_ || !parts_.count) return iterations_;
  const relay::KnownValue known = builder_.known(*parts_.count);
  if (known && known->elements[0]) {
    const Dim count = max(*known->elements[0], Dim(0));
    if (!count.is_constant() || count.value() <= tensor::max_elements) iterations_ = count;
  } else {
    const Value count = n_.call("maximum", {*parts_.count, integer_scalar(0)});
    iterations_ = defined(count, relay::unknown_dim(), "iterations");
  }
  return iterations_;
}

std::optional<int64_t> GrowingValues::bound_of(size_t value) const {
  const auto& bounds = n_.context().bounds;
  const auto bound = bounds.find(variable_name(parts_.inputs[value]));
  return bound == bounds.end() ? std::nullopt : std::optional(bound->second);
}

std::optional<Dim> GrowingValues::largest_size(size_t value, const Growth& growth) {
  const relay::TensorType& type = parts_.initial[value].type;
  const Dim& first = type.shape[growth.axis];
  const std::string name = variable_name(parts_.inputs[value]);
  if (const auto bound = bound_of(value)) {
    n_.check(!provably_lt(*bound, first), DiagnosticId::shape_mismatch,
             fmt::format("the carried value '{}' is {} before the loop, larger than --bound {}={}",
                         parts_.inputs[value], describe(type), name, *bound));
    return n_.failed() ? std::nullopt : std::optional(Dim(*bound));
  }
  if (growth.only_shrinks) return first;
  const std::optional<Dim> iterations = growth.step ? most_iterations() : std::nullopt;
  if (iterations) return max(first, first + *iterations * *growth.step);
  if (!growth.is_certain) return std::nullopt;
  n_.fail(DiagnosticId::dynamic_shape,
          fmt::format("the iterations change the size of axis {} of the carried value '{}', {} before the loop, and "
                      "nothing bounds it",
                      growth.axis, parts_.inputs[value], describe(type)),
          fmt::format("give the largest size that you expect: --bound {}=100{}", name,
                      growth.step ? "; or give the loop a trip count" : ""));
  return std::nullopt;
}

// ---- before the loop

Values GrowingValues::before_loop() {
  repeats_ = false;
  lengths_.clear();
  Values carried = parts_.initial, lengths;
  for (size_t k = 0; k < growth_.size(); ++k) {
    if (!growth_[k]) continue;
    const auto most = largest_size(k, *growth_[k]);
    if (n_.failed()) return carried;
    if (!most) {
      growth_[k].reset();
      is_constant_[k] = true;
      continue;
    }
    const Value& initial = parts_.initial[k];
    growth_[k]->length = length_of(*growth_[k], initial.type.shape[growth_[k]->axis], *most);
    if (growth_[k]->length == lengths.size())
      lengths.push_back(size_of_axis(n_, initial, static_cast<int64_t>(growth_[k]->axis)));
    carried[k] = padded(initial, growth_[k]->axis, *most);
  }
  carried.insert(carried.end(), lengths.begin(), lengths.end());
  first_symbol_ = builder_.next_symbol();
  return carried;
}

// The index of the length of a value, shared with values of equal growth. A value of unknown growth has a length of its
// own.
size_t GrowingValues::length_of(const Growth& growth, const Dim& first, const Dim& most) {
  const auto equal = std::ranges::find_if(lengths_, [&](const Length& l) {
    return growth.step && l.step && *growth.step == *l.step && l.first == first && l.most == most;
  });
  const auto position = static_cast<size_t>(equal - lengths_.begin());
  if (equal == lengths_.end()) lengths_.push_back({first, growth.step, most});
  return position;
}

// ---- in an iteration

Values GrowingValues::of_iteration(const Values& carried) {
  const size_t count = parts_.initial.size();
  for (size_t k = 0; k < lengths_.size(); ++k) {
    const auto of_length = [&](const std::optional<Growth>& g) { return g && g->length == k; };
    const auto value = static_cast<size_t>(std::ranges::find_if(growth_, of_length) - growth_.begin());
    lengths_[k].in_iteration = defined(carried[count + k], lengths_[k].most, parts_.inputs[value]);
  }
  Values values(carried.begin(), carried.begin() + static_cast<std::ptrdiff_t>(count));
  for (size_t k = 0; k < count; ++k)
    if (growth_[k]) values[k] = in_use(values[k], *growth_[k], lengths_[growth_[k]->length].in_iteration);
  return values;
}

std::optional<Values> GrowingValues::after_iteration(const Values& before, Values& next) {
  for (size_t k = 0; k < next.size(); ++k) repeats_ |= learn(k, before[k].type, next[k].type);
  if (repeats_) return std::nullopt;
  std::vector<std::optional<Value>> lengths(lengths_.size());
  Values carried;
  for (size_t k = 0; k < next.size(); ++k) {
    relay::TensorType type = before[k].type;
    if (growth_[k] && growth_[k]->axis < next[k].type.shape.size())
      type.shape[growth_[k]->axis] = next[k].type.shape[growth_[k]->axis];
    next[k] = onnx::carried(n_, parts_.outputs[k], type, next[k]);
    if (n_.failed()) return std::nullopt;
    if (!growth_[k]) {
      carried.push_back(next[k]);
      continue;
    }
    const size_t axis = growth_[k]->axis, length = growth_[k]->length;
    if (!lengths[length]) lengths[length] = size_of_axis(n_, next[k], static_cast<int64_t>(axis));
    if (bound_of(k)) defined(*lengths[length], lengths_[length].most, parts_.inputs[k]);
    carried.push_back(padded(next[k], axis, lengths_[length].most));
  }
  for (const std::optional<Value>& v : lengths) carried.push_back(*v);
  return carried;
}

// The axis along which a value changes its size: the only one where the sizes provably differ, or else the only one
// where they are different expressions. A size that is known only within an iteration may change if the value has a
// bound.
std::optional<GrowingValues::Growth> GrowingValues::change(size_t value, const relay::TensorType& before,
                                                           const relay::TensorType& after) const {
  if (before.dtype != after.dtype || before.shape.size() != after.shape.size()) return std::nullopt;
  std::vector<size_t> different, perhaps;
  for (size_t d = 0; d < before.shape.size(); ++d) {
    if (before.shape[d] == after.shape[d]) continue;
    const bool may_change = !is_of_iteration({after.shape[d]}) || bound_of(value);
    if (provably_different(before.shape[d], after.shape[d]))
      different.push_back(d);
    else if (may_change && !is_constant_[value])
      perhaps.push_back(d);
  }
  const bool is_certain = !different.empty();
  const std::vector<size_t>& axes = is_certain ? different : perhaps;
  if (axes.size() != 1) return std::nullopt;
  const Dim step = after.shape[axes[0]] - before.shape[axes[0]];
  return Growth{axes[0], is_certain, is_of_iteration({step}) ? std::nullopt : std::optional(step)};
}

// Records the growth of a value. True if it was not known before.
bool GrowingValues::learn(size_t value, const relay::TensorType& before, const relay::TensorType& after) {
  std::optional<Growth>& growth = growth_[value];
  if (!growth) {
    growth = change(value, before, after);
    return growth.has_value();
  }
  if (before.dtype != after.dtype || before.shape.size() != after.shape.size()) return false;
  const Dim &first = before.shape[growth->axis], &next = after.shape[growth->axis];
  const bool is_as_known =
      growth->step ? next - first == *growth->step : !growth->only_shrinks || provably_le(next, first);
  if (is_as_known) return false;
  growth->step.reset();
  growth->only_shrinks = !growth->only_shrinks && provably_le(next, first);
  return true;
}

bool GrowingValues::is_of_iteration(const Shape& shape) const {
  return std::ranges::any_of(shape, [&](const Dim& d) { return builder_.has_new_symbol(d, first_symbol_); });
}

// ---- after the loop

Values GrowingValues::after_loop(const Values& carried, bool runs_all) {
  const size_t count = parts_.initial.size();
  std::vector<std::optional<Dim>> sizes(lengths_.size());
  Values values(carried.begin(), carried.begin() + static_cast<std::ptrdiff_t>(count));
  for (size_t k = 0; k < count; ++k) {
    if (!growth_[k]) continue;
    const size_t length = growth_[k]->length;
    if (runs_all && iterations_ && growth_[k]->step)
      sizes[length] = lengths_[length].first + *iterations_ * *growth_[k]->step;
    if (!sizes[length]) sizes[length] = defined(carried[count + length], lengths_[length].most, parts_.inputs[k]);
    values[k] = in_use(values[k], *growth_[k], *sizes[length]);
  }
  return values;
}

// ---- parts of buffers

// The value of a scalar as a size: its known value, or a new symbol.
Dim GrowingValues::defined(const Value& length, const Dim& most, const std::string& name) {
  const relay::KnownValue known = builder_.known(length);
  if (known && known->elements[0]) return *known->elements[0];
  const Dim size = builder_.new_size(most.constant().value_or(INT64_MAX));
  builder_.bind(relay::DefineSizes{n_.reshape(length, {1}).atom, size.symbols(), {most}}, relay::tuple_type({}), name,
                n_.location());
  return size;
}

Value GrowingValues::in_use(const Value& buffer, const Growth& growth, const Dim& length) {
  if (buffer.type.shape[growth.axis] == length) return buffer;
  return n_.call("prefix", {buffer}, {{"length", shape_attr({length})}, {"axis", static_cast<int64_t>(growth.axis)}});
}

// The value, followed by zeros along the axis.
Value GrowingValues::padded(const Value& value, size_t axis, const Dim& size) {
  const Dim missing = size - value.type.shape[axis];
  if (missing == Dim(0)) return value;
  relay::AttrList widths(value.type.shape.size(), relay::AttrList{0, 0});
  widths[axis] = shape_attr({Dim(0), missing});
  return n_.call("nn.pad", {value, n_.scalar(value.type.dtype, 0)}, {{"pad_width", widths}});
}

}  // namespace dlcc::frontends::onnx

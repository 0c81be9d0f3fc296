#include "frontends/onnx/operators/growing_values.h"

#include <algorithm>
#include <utility>

#include "frontends/onnx/operators/subgraphs.h"
#include "relay/passes/replace.h"

namespace dlcc::frontends::onnx {

GrowingValues::GrowingValues(Node& n, Parts parts) : n_(n), builder_(n.context().builder), parts_(std::move(parts)) {}

// ---- the largest sizes

// The bound that the user gives for the size of a carried value, by the name of the node's output or of the body's
// input.
std::optional<int64_t> GrowingValues::bound_of(size_t value) const {
  const std::string& output = parts_.node_outputs[value];
  const std::optional<int64_t> bound = output.empty() ? std::nullopt : n_.bound_of(output);
  return bound ? bound : n_.bound_of(parts_.inputs[value]);
}

// The name by which the user gives, or may give, the bound. That of the output is unique in its graph.
std::string GrowingValues::name_of_bound(size_t value) const {
  const std::string &input = parts_.inputs[value], &output = parts_.node_outputs[value];
  const bool has_only_input = !output.empty() && !n_.bound_of(output) && n_.bound_of(input);
  return output.empty() || has_only_input ? input : output;
}

// A trip count that is no number at compile time defines a size.
std::optional<Dim> GrowingValues::most_iterations() {
  if (iterations_) return iterations_;
  if ((iterations_ = count())) return all_iterations_ = iterations_;
  if (parts_.limit) return iterations_ = Dim(*parts_.limit);
  if (by_condition_) return by_condition_;
  if (!parts_.count || builder_.known(*parts_.count)) return std::nullopt;
  const Value trips = n_.call("maximum", {*parts_.count, integer_scalar(0)});
  return iterations_ = all_iterations_ = defined(trips, relay::unknown_dim(), parts_.counter);
}

// The largest size that follows from the bound of each iteration. Empty if no bound or no trip count is known.
std::optional<Dim> GrowingValues::derived_size(const Change& change, const Dim& first) {
  if (!change.step && !change.growth) return std::nullopt;
  const Dim increment = change.step ? *change.step : change.growth->increment;
  const Dim least = change.step ? first : max(first, change.growth->least);
  if (provably_le(increment, 0)) return least;
  const bool needs_definition = !iterations_ && !count() && !parts_.limit && !by_condition_;
  if (needs_definition && bound_of(change.value)) return std::nullopt;
  const std::optional<Dim> iterations = most_iterations();
  return iterations ? std::optional(max(least, least + *iterations * increment)) : std::nullopt;
}

// A bound of the user replaces the derived size, unless that is a smaller number.
std::optional<Dim> GrowingValues::largest_size(const Change& change) {
  const relay::TensorType& type = parts_.initial[change.value].type;
  const Dim& first = type.shape[change.axis];
  const std::string &input = parts_.inputs[change.value], name = name_of_bound(change.value);
  const std::optional<Dim> derived = derived_size(change, first);
  const std::optional<int64_t> bound = bound_of(change.value);
  if (!bound || (derived && derived->is_constant() && provably_le(*derived, *bound))) return derived;
  if (name == input) n_.bound_in_body(input, parts_.node_outputs[change.value]);
  n_.check(!provably_lt(*bound, first), DiagnosticId::shape_mismatch,
           fmt::format("the carried value '{}' is {} before the loop, larger than --bound {}={}", input, describe(type),
                       variable_name(name), *bound));
  return Dim(*bound);
}

void GrowingValues::report_unbounded(const Change& change) {
  const std::string& input = parts_.inputs[change.value];
  const bool lacks_iterations = change.step || change.growth;
  n_.fail(DiagnosticId::dynamic_shape,
          fmt::format("the iterations change the size of axis {} of the carried value '{}', {} before the loop, and "
                      "nothing bounds it",
                      change.axis, input, describe(parts_.initial[change.value].type)),
          fmt::format(
              "give the largest size that you expect: --bound {}=100{}", variable_name(name_of_bound(change.value)),
              lacks_iterations
                  ? fmt::format("; or the largest number of iterations: --bound {}=100", variable_name(parts_.counter))
                  : ""));
}

// ---- before the loop

Values GrowingValues::before_loop() {
  repeats_ = false;
  lengths_.clear();
  Values carried = parts_.initial, lengths;
  for (Change& c : changes_) {
    const Value& initial = parts_.initial[c.value];
    std::optional<Dim> most = largest_size(c);
    if (!most && !c.is_confirmed) most = relay::unknown_dim();  // of an emission that must be repeated
    if (!most) report_unbounded(c);
    if (n_.failed()) return carried;
    c.length = length_of(c, initial.type.shape[c.axis], *most);
    if (c.length == lengths.size()) lengths.push_back(size_of_axis(n_, initial, static_cast<int64_t>(c.axis)));
    if (!(*most == relay::unknown_dim())) carried[c.value] = padded(carried[c.value], c.axis, *most);
  }
  carried.insert(carried.end(), lengths.begin(), lengths.end());
  first_symbol_ = builder_.next_symbol();
  return carried;
}

// The index of the length of a value, shared with values of equal growth. A value of unknown growth has a length of its
// own.
size_t GrowingValues::length_of(const Change& change, const Dim& first, const Dim& most) {
  const int64_t least = change.may_shrink ? 0 : std::max(first.lower_bound().value_or(0), int64_t{0});
  const auto equal = std::ranges::find_if(lengths_, [&](const Length& l) {
    return change.step && l.step && *change.step == *l.step && l.first == first && l.most == most && l.least == least;
  });
  const auto position = static_cast<size_t>(equal - lengths_.begin());
  if (equal == lengths_.end()) lengths_.push_back({first, change.step, most, name_of_bound(change.value), least});
  return position;
}

// ---- in an iteration

Values GrowingValues::of_iteration(const Values& carried) {
  const size_t count = parts_.initial.size();
  for (size_t k = 0; k < lengths_.size(); ++k) {
    lengths_[k].at_begin = carried[count + k];
    lengths_[k].in_iteration = in_iteration(lengths_[k]);
  }
  buffers_.assign(carried.begin(), carried.begin() + static_cast<std::ptrdiff_t>(count));
  Values values = buffers_;
  for (const Change& c : changes_) values[c.value] = in_use(values[c.value], c.axis, lengths_[c.length].in_iteration);
  return values;
}

// The length as a size: a symbol plus the least length, so that the last row of a value that never is empty is one row.
Dim GrowingValues::in_iteration(const Length& length) {
  if (length.least == 0) return defined(length.at_begin, length.most, length.name);
  const Value above_least = n_.call("subtract", {length.at_begin, integer_scalar(length.least)});
  const bool is_bounded = !(length.most == relay::unknown_dim());
  return defined(above_least, is_bounded ? length.most - length.least : length.most, length.name) + length.least;
}

std::optional<Values> GrowingValues::after_iteration(const Values& before, Values& next) {
  for (size_t k = 0; k < next.size(); ++k) repeats_ |= learn(k, before[k].type, next[k].type);
  if (repeats_) return std::nullopt;
  std::vector<std::optional<Value>> lengths(lengths_.size());
  Values carried;
  for (size_t k = 0; k < next.size(); ++k) {
    relay::TensorType type = before[k].type;
    for (const Change& c : changes_)
      if (c.value == k && c.axis < next[k].type.shape.size()) type.shape[c.axis] = next[k].type.shape[c.axis];
    next[k] = onnx::carried(n_, parts_.outputs[k], type, next[k]);
    if (n_.failed()) return std::nullopt;
    Value buffer = next[k];
    for (const Change& c : changes_) {
      if (c.value != k) continue;
      std::optional<Value>& length = lengths[c.length];
      if (const auto row = appended_row(c, before[k], next[k])) {
        buffer = with_row(c, before[k], *row, next[k], length);
        continue;
      }
      if (!length) length = size_of_axis(n_, next[k], static_cast<int64_t>(c.axis));
      check_bound(*length, c);
      buffer = padded(buffer, c.axis, lengths_[c.length].most);
    }
    carried.push_back(buffer);
  }
  for (const std::optional<Value>& v : lengths) carried.push_back(*v);
  return carried;
}

GrowingValues::Change* GrowingValues::change_of(size_t value, size_t axis) {
  const auto found =
      std::ranges::find_if(changes_, [&](const Change& c) { return c.value == value && c.axis == axis; });
  return found == changes_.end() ? nullptr : &*found;
}

// Records how a value changes its sizes. True if it was not known before.
bool GrowingValues::learn(size_t value, const relay::TensorType& before, const relay::TensorType& after) {
  if (before.dtype != after.dtype || before.shape.size() != after.shape.size()) return false;
  bool is_new = false;
  for (size_t d = 0; d < before.shape.size(); ++d) {
    if (Change* known = change_of(value, d)) {
      is_new |= extend(*known, before.shape[d], after.shape[d]);
    } else if (!(before.shape[d] == after.shape[d])) {
      const bool is_kept = parts_.keeps_size(value, d) && !bound_of(value);
      if (is_kept && !provably_different(before.shape[d], after.shape[d])) continue;
      const Dim step = after.shape[d] - before.shape[d];
      changes_.push_back({value, d, is_of_iteration(step) ? std::nullopt : std::optional(step)});
      is_new = true;
    }
  }
  return is_new;
}

// Extends what is known about a change by the sizes before and after an iteration. An iteration that begins with at
// least as many rows as the first one must end so, or lengths have no lower bound. The bound of an increment may depend
// on the largest sizes of other values, so that it is searched again when these are known, and when the value does not
// share its length any more.
bool GrowingValues::extend(Change& change, const Dim& before, const Dim& after) {
  if (!change.may_shrink && !provably_le(lengths_[change.length].least, after)) return change.may_shrink = true;
  const bool was_confirmed = std::exchange(change.is_confirmed, true);
  if (change.step && after - before == *change.step)
    return !was_confirmed && lengths_[change.length].most == relay::unknown_dim();
  change.step.reset();
  std::map<std::string, Dim> largest = builder_.largest_sizes(first_symbol_);
  for (const Symbol& s : before.symbols()) largest.erase(s.name);
  auto found = size_growth(after, before, largest, [&](const Dim& d) { return is_of_iteration(d); });
  if (found && change.growth) {
    found->increment = max(found->increment, change.growth->increment);
    found->least = max(found->least, change.growth->least);
    if (*found == *change.growth) return false;
  }
  if (change.is_searched()) return false;
  ++change.searches;
  const bool waits = std::ranges::any_of(changes_, [&](const Change& c) {
    const bool is_unknown = !c.step && !c.growth && !c.is_searched();
    return &c != &change && (is_unknown || c.length == change.length);
  });
  if (!found && !waits) change.searches = max_searches + 1;
  change.growth = change.is_searched() ? std::nullopt : found;
  change.is_confirmed = change.growth || change.is_searched();
  return true;
}

bool GrowingValues::is_of_iteration(const Dim& size) const { return builder_.has_new_symbol(size, first_symbol_); }

// ---- after the loop

Values GrowingValues::after_loop(const Values& carried, bool runs_all) {
  const size_t count = parts_.initial.size();
  std::vector<std::optional<Dim>> sizes(lengths_.size());
  Values values(carried.begin(), carried.begin() + static_cast<std::ptrdiff_t>(count));
  for (const Change& c : changes_) {
    std::optional<Dim>& size = sizes[c.length];
    const Length& length = lengths_[c.length];
    if (runs_all && all_iterations_ && c.step && !bound_of(c.value)) size = length.first + *all_iterations_ * *c.step;
    if (!size) size = defined(carried[count + c.length], length.most, length.name);
    values[c.value] = in_use(values[c.value], c.axis, *size);
  }
  return values;
}

// ---- parts of buffers

// The value of a scalar as a size: its known value, or a new symbol.
Dim GrowingValues::defined(const Value& length, const Dim& most, const std::string& name) {
  const relay::KnownValue known = builder_.known(length);
  if (known && known->elements[0]) return *known->elements[0];
  const Dim size = builder_.new_size(most);
  define_size(n_, length, size, most, name);
  return size;
}

// The row that an iteration appends to the value along the axis; empty if it does anything else.
std::optional<Value> GrowingValues::appended_row(const Change& change, const Value& before, const Value& after) const {
  const auto& bindings = builder_.current().bindings;
  auto operation = [&](const relay::Atom& a) -> const relay::Operation* {
    const auto* var = std::get_if<relay::Var>(&a);
    const auto bound = std::ranges::find_if(bindings, [&](const relay::Binding& b) { return var && b.var == *var; });
    return bound == bindings.end() ? nullptr : &bound->op;
  };
  const relay::Operation* op = operation(after.atom);
  const auto* call = op ? std::get_if<relay::Call>(op) : nullptr;
  const auto* callee = call ? std::get_if<relay::OperatorRef>(&call->callee) : nullptr;
  if (!callee || callee->op->name != "concatenate") return std::nullopt;
  const auto* axis = std::get_if<int64_t>(&call->attrs.at("axis").v);
  const relay::Operation* operands = operation(call->args[0]);
  const auto* parts = operands ? std::get_if<relay::MakeTuple>(operands) : nullptr;
  const auto* first = parts && parts->fields.size() == 2 ? std::get_if<relay::Var>(&parts->fields[0]) : nullptr;
  const int64_t from_front = axis && *axis < 0 ? *axis + after.rank() : axis ? *axis : -1;
  const bool appends =
      from_front == static_cast<int64_t>(change.axis) && first && *first == std::get<relay::Var>(before.atom);
  const bool is_row = after.type.shape[change.axis] - before.type.shape[change.axis] == Dim(1);
  const bool is_only_change = std::ranges::count(changes_, change.value, &Change::value) == 1;
  if (!appends || !is_row || !is_only_change) return std::nullopt;
  relay::TensorType row = after.type;
  row.shape[change.axis] = 1;
  return Value{parts->fields[1], row};
}

// Writes the row into the buffer, and makes `after` a part of the buffer in place of a concatenation. Returns the
// buffer. `length` receives the length of `after`, unless it has a value.
Value GrowingValues::with_row(const Change& change, const Value& before, const Value& row, const Value& after,
                              std::optional<Value>& length) {
  const auto axis = static_cast<int64_t>(change.axis);
  const relay::Var longer = std::get<relay::Var>(after.atom);
  relay::Block iteration = builder_.suspend(), earlier;
  const auto concatenation = std::ranges::find(iteration.bindings, longer, &relay::Binding::var);
  const relay::Var operands = std::get<relay::Var>(std::get<relay::Call>(concatenation->op).args[0]);
  std::move(iteration.bindings.begin(), concatenation, std::back_inserter(earlier.bindings));
  builder_.resume(std::move(earlier));

  const Value& at = lengths_[change.length].at_begin;
  const Value longer_length = n_.call("add", {at, integer_scalar(1)});
  if (!length) length = longer_length;
  check_bound(longer_length, change);
  Shape slice = row.type.shape;
  slice.erase(slice.begin() + axis);
  const Value buffer =
      n_.call("dynamic_update_slice", {buffers_[change.value], n_.reshape(row, slice), at}, {{"axis", axis}});
  builder_.bind(longer, relay::Alias{in_use(buffer, change.axis, after.type.shape[change.axis]).atom}, n_.location());

  relay::Block all = builder_.suspend();
  std::move(concatenation + 1, iteration.bindings.end(), std::back_inserter(all.bindings));
  for (const relay::Var& v : {operands, std::get<relay::Var>(before.atom)}) {  // reads of the buffer before the update
    relay::Uses uses;
    for (const relay::Binding& b : all.bindings) uses.add(b.op, 1);
    std::erase_if(all.bindings, [&](const relay::Binding& b) { return b.var == v && uses[v] == 0; });
  }
  builder_.resume(std::move(all));
  return buffer;
}

// Requires that the length after an iteration is at most the bound of the user, if there is one.
void GrowingValues::check_bound(const Value& length, const Change& change) {
  const Length& known = lengths_[change.length];
  if (bound_of(change.value)) defined(length, known.most, known.name);
}

Value GrowingValues::in_use(const Value& buffer, size_t axis, const Dim& length) {
  if (buffer.type.shape[axis] == length) return buffer;
  return n_.call("prefix", {buffer},
                 {{"length", relay::sizes_attribute({length})}, {"axis", static_cast<int64_t>(axis)}});
}

// The value, followed by zeros along the axis.
Value GrowingValues::padded(const Value& value, size_t axis, const Dim& size) {
  const Dim missing = size - value.type.shape[axis];
  if (missing == Dim(0)) return value;
  relay::AttrList widths(value.type.shape.size(), relay::AttrList{0, 0});
  widths[axis] = relay::sizes_attribute({Dim(0), missing});
  return n_.call("nn.pad", {value, n_.scalar(value.type.dtype, 0)}, {{"pad_width", widths}});
}

}  // namespace dlcc::frontends::onnx

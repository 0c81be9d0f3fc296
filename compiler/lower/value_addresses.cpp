#include "lower/value_addresses.h"

#include <algorithm>

namespace dlcc::lower {

std::string ValueAddresses::label(ValueId v) const {
  const std::string& name = function_.values[v].name;
  return name.empty() ? fmt::format("%{}", v) : fmt::format("%{} '{}'", v, name);
}

// Gives every value an address. The arena begins at 0; inputs, outputs and constants have disjoint memory after it.
void ValueAddresses::lay_out() {
  if (plan_.offsets.size() != function_.values.size())
    fail("the plan has {} offsets for {} values", plan_.offsets.size(), function_.values.size());
  if (plan_.arena_bytes < 0) fail("the arena has {} bytes", plan_.arena_bytes);
  address_.assign(function_.values.size(), 0);
  int64_t next = plan_.arena_bytes;
  for (ValueId v = 0; v < static_cast<ValueId>(function_.values.size()); ++v) {
    const Value& value = function_.values[v];
    if (!value.bytes.is_constant() || value.bytes.value() < 0) fail("{} has {} bytes", label(v), value.bytes.str());
    if (value.storage == Storage::view) {
      check_view(v);
    } else if (value.storage == Storage::temporary && !aliases_) {
      address_[v] = plan_.offsets[v];
    } else if (value.storage == Storage::temporary) {
      address_[v] = next;
      next += value.bytes.value();
    } else {
      if (plan_.offsets[v] != -1) fail("{} is not a temporary but has an offset", label(v));
      address_[v] = next;
      next += value.bytes.value();
    }
  }
  for (ValueId v = 0; v < static_cast<ValueId>(function_.values.size()); ++v)
    if (function_.values[v].storage == Storage::view)
      address_[v] = address_[base_id(v)] + function_.values[v].base_offset.value();
}

void ValueAddresses::check_view(ValueId v) const {
  const Value& view = function_.values[v];
  if (view.base < 0 || view.base >= static_cast<ValueId>(function_.values.size()) ||
      function_.values[view.base].storage == Storage::view)
    fail("{} is a view of {}, which is not a base", label(v), view.base);
}

// A view is checked where a step uses it: a requirement before the step may ensure that it is inside its base.
void ValueAddresses::check_inside_base(ValueId v) const {
  const Value& view = function_.values[v];
  if (view.storage != Storage::view) return;
  const Dim &bytes = view.bytes, &in_base = base_of(v).bytes;
  if (begins_at_scalar(v) && in_base == Dim(0)) return;
  const bool are_numbers = bytes.is_constant() && in_base.is_constant();
  const int64_t offset = view.base_offset.value();
  if (!are_numbers || offset < 0 || offset > in_base.value() - bytes.value())
    fail("{} extends beyond {}", label(v), label(view.base));
}

void ValueAddresses::check_temporary(ValueId v) const {
  const Value& value = function_.values[v];
  const int64_t offset = plan_.offsets[v];
  if (value.alignment < 1) fail("{} has alignment {}", label(v), value.alignment);
  if (offset < 0 || offset > plan_.arena_bytes - value.bytes.value())
    fail("{} at offset {} is outside the arena of {} bytes", label(v), offset, plan_.arena_bytes);
  if (offset % value.alignment != 0 || plan_.arena_alignment % value.alignment != 0)
    fail("{} at offset {} of an arena aligned to {} is not aligned to {}", label(v), offset, plan_.arena_alignment,
         value.alignment);
}

// The plan computes the memory for the largest data-dependent sizes; the value has the size of a run.
void ValueAddresses::check_memory(ValueId v) const {
  const int64_t bytes = function_.values[v].bytes.value();
  const std::optional<int64_t> memory = aliases_->memory_at(v, sizes_);
  if (memory && bytes > *memory)
    fail("{} has {} bytes, for which the plan has {} bytes of memory", label(v), bytes, *memory);
}

Bytes ValueAddresses::range_of(ValueId v) const {
  const ValueId owner = begins_at_scalar(v) ? base_id(v) : v;
  return {address_[owner], address_[owner] + function_.values[owner].bytes.value()};
}

int64_t ValueAddresses::known_alignment(ValueId v) const {
  const Value& base = base_of(v);
  const int64_t element = std::max<int64_t>(1, storage_bytes(base.type, 1));
  int64_t alignment = element;
  int64_t offset = v == base_id(v) ? 0 : function_.values[v].base_offset.value();
  if (base.storage == Storage::temporary && aliases_) {
    alignment = aliases_->alignment(base_id(v));
  } else if (base.storage == Storage::temporary) {
    alignment = plan_.arena_alignment;
    offset += plan_.offsets[base_id(v)];
  } else if (base.storage == Storage::constant) {
    alignment = std::max(element, base.alignment);
  }
  const int64_t stride = begins_at_scalar(v) ? function_.values[v].stride : 0;
  while (alignment > 1 && (offset % alignment != 0 || stride % alignment != 0)) alignment /= 2;
  return alignment;
}

void ValueAddresses::check_usable(ValueId v, const std::string& where) const {
  if (v < 0 || v >= static_cast<ValueId>(function_.values.size())) fail("{}: there is no value {}", where, v);
  check_inside_base(v);
  if (base_of(v).storage != Storage::temporary) return;
  const bool has_place = aliases_ ? plan_.has_memory(base_id(v)) : plan_.offsets[base_id(v)] != -1;
  if (!has_place) fail("{}: {} has no offset in the arena", where, label(v));
  aliases_ ? check_memory(base_id(v)) : check_temporary(base_id(v));
}

void ValueAddresses::check_writable(ValueId v, const std::string& where) const {
  check_usable(v, where);
  const Storage storage = base_of(v).storage;
  if (storage == Storage::input) fail("{}: writes to the input {}", where, label(v));
  if (storage == Storage::constant) fail("{}: writes to the constant {}", where, label(v));
}

}  // namespace dlcc::lower

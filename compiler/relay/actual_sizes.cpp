#include "relay/actual_sizes.h"

#include <algorithm>
#include <functional>

#include "shape/solve_sizes.h"

namespace dlcc::relay {

namespace {

// Calls `visit` with every symbolic dimension in the value.
void for_each_dim(AttrValue& value, const std::function<void(AttrValue&, const Dim&)>& visit) {
  if (AttrList* list = std::get_if<AttrList>(&value.v)) {
    for (AttrValue& item : *list) for_each_dim(item, visit);
  } else if (const Dim* d = std::get_if<Dim>(&value.v)) {
    visit(value, Dim(*d));
  }
}

}  // namespace

bool has_symbols(const Attrs& attrs) {
  bool has = false;
  for (const auto& [name, value] : attrs) {
    AttrValue copy = value;
    for_each_dim(copy, [&](AttrValue&, const Dim&) { has = true; });
  }
  return has;
}

std::map<std::string, int64_t> ActualSizes::all() const {
  std::map<std::string, int64_t> sizes = sizes_;
  for (const ActualSizes* s = outer_; s; s = s->outer_) sizes.insert(s->sizes_.begin(), s->sizes_.end());
  return sizes;
}

std::optional<int64_t> ActualSizes::value_of(const Dim& d) const {
  return d.is_constant() ? d.constant() : d.evaluate(all());
}

bool ActualSizes::define(const Symbol& symbol, int64_t value) {
  sizes_[symbol.name] = value;
  return value >= symbol.low && value <= symbol.high;
}

tensor::Status ActualSizes::match(const TensorType& declared, const std::vector<int64_t>& shape) {
  if (declared.shape.size() != shape.size()) return tensor::Status::shape_mismatch;
  for (size_t k = 0; k < shape.size(); ++k) {
    const auto axis = as_linear(declared.shape[k]);
    if (!axis || value_of(declared.shape[k])) continue;
    const int64_t multiple = shape[k] - axis->offset;
    if (multiple % axis->scale != 0 || !define(axis->symbol, multiple / axis->scale))
      return tensor::Status::dimension_out_of_range;
  }
  const bool is_equal = std::ranges::equal(declared.shape, shape, [&](const Dim& d, int64_t size) {
    auto expected = value_of(d);
    return !expected || *expected == size;
  });
  return is_equal ? tensor::Status::ok : tensor::Status::shape_mismatch;
}

Attrs ActualSizes::apply(const Attrs& attrs) const {
  Attrs result = attrs;
  for (auto& [name, value] : result)
    for_each_dim(value, [&](AttrValue& item, const Dim& d) {
      if (auto number = value_of(d)) item.v = *number;
    });
  return result;
}

}  // namespace dlcc::relay

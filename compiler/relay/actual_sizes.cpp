#include "relay/actual_sizes.h"

#include <algorithm>
#include <functional>

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

bool ActualSizes::match(const TensorType& declared, const std::vector<int64_t>& shape) {
  if (declared.shape.size() != shape.size()) return false;
  for (size_t k = 0; k < shape.size(); ++k) {
    const Dim& d = declared.shape[k];
    const std::vector<Symbol> symbols = d.symbols();
    const bool plain = symbols.size() == 1 && d == Dim::symbol(symbols[0]);
    if (plain && !value_of(d)) {
      if (shape[k] < symbols[0].low || shape[k] > symbols[0].high) return false;
      sizes_[symbols[0].name] = shape[k];
    }
  }
  return std::ranges::equal(declared.shape, shape, [&](const Dim& d, int64_t size) {
    auto expected = value_of(d);
    return !expected || *expected == size;
  });
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

#include "shape/independent_parts.h"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace dlcc {
namespace {

void for_each_symbol(const Dim::Term& t, const std::function<void(const Symbol&)>& visit) {
  for (const auto& atom : t.atoms) {
    if (atom->kind == DimAtom::Kind::symbol) visit(atom->symbol);
    for (const Dim& arg : atom->args)
      for (const Dim::Term& inner : arg.terms()) for_each_symbol(inner, visit);
  }
}

// Disjoint sets of symbols, each named by the number of one of them (Galler and Fischer, "An improved equivalence
// algorithm", 1964).
class SymbolSets {
 public:
  // Joins the sets of all symbols of the terms. Empty if there is none, else one of the symbols.
  std::optional<size_t> join(std::span<const Dim::Term> terms) {
    std::optional<size_t> joined;
    for (const Dim::Term& t : terms)
      for_each_symbol(t, [&](const Symbol& s) {
        const size_t set = find(number_of(s));
        if (!joined) joined = set;
        parents_[set] = find(*joined);
      });
    return joined;
  }
  size_t find(size_t k) {
    while (parents_[k] != k) k = parents_[k] = parents_[parents_[k]];
    return k;
  }

 private:
  size_t number_of(const Symbol& s) {
    const auto [known, is_new] = numbers_.try_emplace(s.name, parents_.size());
    if (is_new) parents_.push_back(parents_.size());
    return known->second;
  }

  std::map<std::string_view, size_t> numbers_;
  std::vector<size_t> parents_;
};

}  // namespace

std::vector<Dim> independent_parts(const Dim& d, const std::vector<Dim>& assumptions) {
  SymbolSets sets;
  std::vector<std::optional<size_t>> symbols;  // one of each term
  for (const Dim::Term& t : d.terms()) symbols.push_back(sets.join({&t, 1}));
  for (const Dim& fact : assumptions) sets.join(fact.terms());
  std::map<std::optional<size_t>, std::vector<Dim::Term>> terms;  // by set
  for (size_t k = 0; k < symbols.size(); ++k) {
    const auto set = symbols[k] ? std::optional(sets.find(*symbols[k])) : std::nullopt;
    terms[set].push_back(d.terms()[k]);
  }
  std::vector<Dim> parts;
  for (auto& [set, part] : terms) parts.push_back(Dim::sum_of(std::move(part)));
  return parts;
}

}  // namespace dlcc

#include "shape/bound_cache.h"

namespace dlcc {

namespace {

void append(std::string& key, int64_t number) { key.append(reinterpret_cast<const char*>(&number), sizeof number); }

// Lengths come first, so that no key is the beginning of another one.
void append(std::string& key, const Dim& d) {
  append(key, static_cast<int64_t>(d.terms().size()));
  for (const Dim::Term& t : d.terms()) {
    append(key, t.coefficient);
    append(key, static_cast<int64_t>(t.atoms.size()));
    for (const auto& atom : t.atoms) {
      key.push_back(static_cast<char>(atom->kind));
      for (const Dim& argument : atom->args) append(key, argument);
      if (atom->kind != DimAtom::Kind::symbol) continue;
      append(key, static_cast<int64_t>(atom->symbol.name.size()));
      key += atom->symbol.name;
      append(key, atom->symbol.low);
      append(key, atom->symbol.high);
    }
  }
}

}  // namespace

std::string BoundCache::key_of(const Dim& d, int64_t sufficient) {
  std::string key;
  key.reserve(128);
  append(key, sufficient);
  append(key, d);
  return key;
}

}  // namespace dlcc

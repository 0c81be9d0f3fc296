// Names for new entries of maps.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>

namespace dlcc::relay {

// The stem, or the stem with a number, that is no key of the map.
template <class Entry>
std::string unused_name(const std::string& stem, const std::map<std::string, Entry>& taken) {
  std::string name = stem;
  for (int k = 1; taken.contains(name); ++k) name = fmt::format("{}_{}", stem, k);
  return name;
}

}  // namespace dlcc::relay

#include "support/similar_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace dlcc {
namespace {

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

// The distance without regard to case, then with regard to it.
std::pair<size_t, size_t> distances(std::string_view word, const std::string& name) {
  return {edit_distance(lower_case(word), lower_case(name)), edit_distance(word, name)};
}

}  // namespace

// `row` holds the distances of the letters of `a` so far to all prefixes of `b`; `above` and `second_above` are the
// rows for one and two letters less.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1), above(row), second_above(row);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(second_above, above);
    std::swap(above, row);
    row[0] = i;
    for (size_t k = 1; k <= b.size(); ++k) {
      row[k] = std::min({above[k - 1] + (a[i - 1] != b[k - 1]), above[k] + 1, row[k - 1] + 1});
      bool exchanged = i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1];
      if (exchanged) row[k] = std::min(row[k], second_above[k - 2] + 1);
    }
  }
  return row.back();
}

std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string> names) {
  auto nearest = std::ranges::min_element(names, {}, [&](const std::string& name) { return distances(word, name); });
  if (nearest == names.end()) return std::nullopt;
  // A word of one or two letters is similar to every other one.
  const size_t allowed = word.size() < 3 ? 0 : (nearest->size() + 1) / 3;
  if (distances(word, *nearest).first > allowed) return std::nullopt;
  return *nearest;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> names) {
  auto name = nearest_name(word, names);
  return name ? fmt::format("did you mean '{}'?", *name) : "";
}

std::string suggest_names(std::string_view word, std::span<const std::string> names) {
  const std::string meant = did_you_mean(word, names);
  return fmt::format("{}{}there are: {}", meant, meant.empty() ? "" : " ", fmt::join(names, ", "));
}

}  // namespace dlcc

#include "support/similar_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <ranges>
#include <utility>
#include <vector>

#include "support/ascii.h"

namespace dlcc {
namespace {

// "relu" of "nn.relu".
std::string_view last_component(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// The distance without regard to case, then with regard to it.
std::pair<size_t, size_t> distances(std::string_view word, std::string_view name) {
  return {edit_distance(lower_case(word), lower_case(name)), edit_distance(word, name)};
}

// The name or its last component, whichever is nearer to the word.
std::string_view nearer_part(std::string_view word, std::string_view name) {
  const std::string_view part = last_component(name);
  return distances(word, part) < distances(word, name) ? part : name;
}

bool is_similar(std::string_view word, std::string_view name) {
  // A word of one or two letters is similar to every other one.
  const size_t allowed = word.size() < 3 ? 0 : (name.size() + 1) / 3;
  return distances(word, name).first <= allowed;
}

// Whether `word` is the beginning of a name or of its last component: "concat" of "concatenate".
bool begins(std::string_view name, std::string_view word) {
  const std::string start = lower_case(word);
  return word.size() >= 3 &&
         (lower_case(name).starts_with(start) || lower_case(last_component(name)).starts_with(start));
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
  const auto distance = [&](const std::string& name) { return distances(word, nearer_part(word, name)); };
  const auto nearest = std::ranges::min_element(names, {}, distance);
  if (nearest == names.end()) return std::nullopt;
  if (is_similar(word, nearer_part(word, *nearest))) return *nearest;
  auto longer = names | std::views::filter([&](const std::string& name) { return begins(name, word); });
  const auto shortest = std::ranges::min_element(longer, {}, [](const std::string& name) { return name.size(); });
  return shortest == longer.end() ? std::nullopt : std::optional(*shortest);
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
